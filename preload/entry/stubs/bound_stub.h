/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers that are bound to one particular function: dlsym's results for a handle. Two copies of
 * a library in one process are normal, and each must get its own calls.
 *
 * The code is a fixed number of stubs inside libprobe.so, used one after the other and never
 * freed. For a compiled wrapper, a stub notes for the calling thread which function is meant, and
 * enters the exported wrapper. For a function without a wrapper it enters libffi with a separate
 * row.
 */
#ifndef PROBE_ENTRY_BOUND_STUB_H
#define PROBE_ENTRY_BOUND_STUB_H

#define BOUND_MAX 4096
#ifndef __ASSEMBLER__

#include <stdint.h>

#include "resolve/bound_call.h"

/*
 * Returns the pointer that dlsym must return instead of `real`, a function of the object `path`:
 * a wrapper, or `real` itself if its calls are not recorded. name: the linker's name. pc: return
 * address of the caller.
 */
void *bind_wrapper(const char *name, void *real, const char *path, uintptr_t pc);

/* For `probe check`: calls visit() for each row that was made for a handle. */
void bound_each(void (*visit)(struct api *a, void *arg), void *arg);

#endif
#endif
