/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's pickle, protocol 2 (PEP 307; opcodes as in Lib/pickletools.py): dicts, lists, pairs, texts, whole numbers,
 * None, True, False. Nothing is shared, so there is no memo.
 */
#ifndef PROBE_TOOLS_LIB_PICKLE_H
#define PROBE_TOOLS_LIB_PICKLE_H

#include "tools/lib/target.h"

void pickle_begin(struct target *t);
void pickle_end(struct target *t);

void pickle_text(struct target *t, const char *s);
void pickle_int(struct target *t, int64_t v);
void pickle_bool(struct target *t, bool v);

/* Begins a dict: keys and values alternate; or a list: its elements. The other function ends it. */
void pickle_begin_dict(struct target *t);
void pickle_end_dict(struct target *t);
void pickle_begin_list(struct target *t);
void pickle_end_list(struct target *t);
/* Turns the two values before it into a tuple. */
void pickle_pair(struct target *t);

#endif
