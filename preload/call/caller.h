/* SPDX-License-Identifier: Apache-2.0 */
/* Determines whether the caller is the program, or a library whose calls are recorded. */
#ifndef PROBE_CALL_CALLER_H
#define PROBE_CALL_CALLER_H

#include <stdbool.h>

struct call;

/*
 * True if the caller is a recorded library other than the one called (oneCCL calls MPI). Searches
 * all rows: for rare calls.
 */
bool caller_is_recorded(const struct call *c);

#endif
