/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Python's pickle, protocol 2 (PEP 307; opcodes as in Lib/pickletools.py): dicts, lists,
 * pairs, strings, integers, None, True, False. No object is shared, so no memo is written.
 */
#ifndef PROBE_TOOLS_LIB_PICKLE_H
#define PROBE_TOOLS_LIB_PICKLE_H

#include "tools/lib/target.h"

void pickle_begin(struct target *t);
void pickle_end(struct target *t);

void pickle_text(struct target *t, const char *s);
void pickle_int(struct target *t, int64_t v);
void pickle_bool(struct target *t, bool v);

/* A dict: its keys and values follow alternately. A list: its elements follow. */
void pickle_begin_dict(struct target *t);
void pickle_end_dict(struct target *t);
void pickle_begin_list(struct target *t);
void pickle_end_list(struct target *t);
/* Makes a tuple of the last two values. */
void pickle_pair(struct target *t);

#endif
