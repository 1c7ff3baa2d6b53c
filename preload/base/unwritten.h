/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch operators on uninitialised memory: its content is not a value. */
#ifndef PROBE_BASE_UNWRITTEN_H
#define PROBE_BASE_UNWRITTEN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if the outputs of operator `op` are uninitialised. op: name in the schema, with or without overload
 * (empty.memory_format).
 */
bool unwritten_is_made(const char *op);

/*
 * True if an input or output of operator op may be uninitialised, so that a NaN in it is not
 * reported. out: an output; index: its position among the outputs, or the inputs.
 */
bool is_possibly_unwritten(const char *op, bool out, int64_t index);

/* Which tensors of an operator may be uninitialised. */
enum unwritten_part { UNWRITTEN_ALL, UNWRITTEN_FIRST_INPUT, UNWRITTEN_INPUTS };

/*
 * Returns the i-th pattern for names of operators (a trailing * matches any text), or NULL if
 * there are fewer. *part: which of its tensors are meant.
 */
const char *get_unwritten_pattern(unsigned i, enum unwritten_part *part);

#endif
