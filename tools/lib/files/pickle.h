/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Python's pickle, protocol 2 (PEP 307; opcodes as in Lib/pickletools.py): dicts, lists,
 * pairs, strings, integers, None, True, False. No object is shared, so no memo is written.
 */
#ifndef PROBE_TOOLS_LIB_PICKLE_H
#define PROBE_TOOLS_LIB_PICKLE_H

#include "tools/lib/target.h"

void pickle_start(struct target *t);
void pickle_stop(struct target *t);

void pickle_write_text(struct target *t, const char *s);
void pickle_write_int(struct target *t, int64_t v);
void pickle_write_bool(struct target *t, bool v);

/* A dict: its keys and values follow alternately. A list: its elements follow. */
void pickle_start_dict(struct target *t);
void pickle_close_dict(struct target *t);
void pickle_start_list(struct target *t);
void pickle_close_list(struct target *t);
/* Makes a tuple of the last two values. */
void pickle_write_pair(struct target *t);

#endif
