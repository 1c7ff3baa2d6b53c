/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of PyTorch on memory that nobody has written yet: what lies there is no value. */
#ifndef PROBE_BASE_UNWRITTEN_H
#define PROBE_BASE_UNWRITTEN_H

#include <stdbool.h>
#include <stdint.h>

/* op: of the schema, with or without its overload: empty.memory_format. Are its outputs such memory? */
bool unwritten_is_made(const char *op);

/* May that tensor of it be such memory (index: among its inputs, or outputs), so that a NaN there is no finding? */
bool unwritten_may_be(const char *op, bool out, int64_t index);

/*
 * The patterns of names, in which a * at the end stands for anything. *fills: only the first input of such an operator may be such memory.
 * NULL: there is no i-th one.
 */
const char *get_unwritten_pattern(unsigned i, bool *fills);

#endif
