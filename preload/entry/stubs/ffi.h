/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry for functions without a compiled wrapper: a libffi go closure takes the arguments apart according to the row's
 * spec, ffi_call() puts them together again for the real function, and in between call_enter() and call_leave() are called as
 * in any wrapper.
 *
 * A go closure is data: the code is libffi's own and gets the row in a register. Nothing here is ever writable and executable.
 */
#ifndef PROBE_ENTRY_FFI_H
#define PROBE_ENTRY_FFI_H

#include "api/api.h"

/*
 * Prepares the libffi entry for a row made at run time: a stub must jump to *code with *context
 * in r10 (x86-64) or x18 (aarch64) and all other registers unchanged. The row is kept
 * permanently. Idempotent, takes no lock. Returns 0, -ENOMEM, or -EINVAL if the row's spec cannot
 * be called this way.
 */
int ffi_entry(struct api *a, void **code, void **context);

#endif
