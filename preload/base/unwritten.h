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
 * True if that tensor of the call may be uninitialised, so that a NaN there is not reported. index: among its inputs or
 * outputs.
 */
bool unwritten_may_be(const char *op, bool out, int64_t index);

/*
 * The patterns of names; a trailing * matches anything. *fills: only the first input of such an operator may be such memory.
 * NULL: there is no i-th one.
 */
const char *get_unwritten_pattern(unsigned i, bool *fills);

#endif
