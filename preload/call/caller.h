/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls: the program, or a library whose calls are recorded themselves. */
#ifndef PROBE_CALL_CALLER_H
#define PROBE_CALL_CALLER_H

#include <stdbool.h>

struct call;

/* Is the caller such a library, and another one than that of the call (oneCCL calls MPI)? Looks at all rows: for rare calls. */
bool caller_is_recorded(const struct call *c);

#endif
