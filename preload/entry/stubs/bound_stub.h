/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers that are bound to one certain function: what dlsym gives for a handle. Two copies of a library in one process
 * are normal, and each must get its own calls back.
 *
 * The code is a fixed number of stubs inside libprobe.so, handed out one after the other and never taken back. For a
 * compiled wrapper a stub notes on the thread which function is meant and enters the exported wrapper; for a function
 * without one it enters libffi with a separate row.
 */
#ifndef PROBE_ENTRY_BOUND_STUB_H
#define PROBE_ENTRY_BOUND_STUB_H

#define BOUND_MAX 4096
#ifndef __ASSEMBLER__

#include <stdint.h>

#include "resolve/bound_call.h"

/*
 * What dlsym is to give instead of `real`, a function of the object `path`: a wrapper, or `real` itself when its calls
 * are not recorded. name: as the linker knows it. pc: who asks.
 */
void *bind_wrapper(const char *name, void *real, const char *path, uintptr_t pc);

/* For `probe check`: calls visit for each row that was made for a handle. */
void bound_each(void (*visit)(struct api *a, void *arg), void *arg);

#endif
#endif
