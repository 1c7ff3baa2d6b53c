/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate of the hooks. A program may call a hook before anything else in the process is ready: the runtime of a sanitizer
 * that is linked into the program looks its functions up by dlsym() before main() and before any constructor, and until it has
 * them, a call of strcmp() or malloc() ends in its interceptor, which jumps to address 0. So a hook of hooks.S leads to gate_X
 * in early.c, which until entry_open() goes straight to the function of libc, found in the loader's list without any call.
 */
#ifndef PROBE_ENTRY_EARLY_H
#define PROBE_ENTRY_EARLY_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "entry/stubs/hook_jump.h"

/* The hooks themselves, which run after the gate: dl_hooks.c and process.c. */
struct tail hook_dlsym(
	void *handle, const char *name, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc);
struct tail hook_dlvsym(void *handle, const char *name, const char *version, uintptr_t a3,
	uintptr_t from, uintptr_t pc);
struct tail hook_dlopen(
	const char *file, int mode, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc);
struct tail hook_dlmopen(
	long space, const char *file, int mode, uintptr_t a3, uintptr_t from, uintptr_t pc);
struct tail hook_dlclose(void);
struct tail hook_exit(int code);
struct tail hook_Exit(int code);
struct tail hook_abort(void);
struct tail hook_execve(void);
struct tail hook_execv(void);
struct tail hook_execvp(void);
struct tail hook_execvpe(void);
struct tail hook_execl(void);
struct tail hook_execlp(void);
struct tail hook_execle(void);
struct tail hook_fexecve(void);

/*
 * Opens the gate: the constructor has run. If it does not run (another libc than glibc, a
 * privileged program), the gate stays closed.
 */
void entry_open(void);
bool entry_is_open(void);

#endif
