/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways in which a program ends without destructors: _exit and _Exit (used by every
 * multiprocessing worker), abort, and exec. The hooks write all records (for abort only that it
 * was called) and jump to the real function. In a child of vfork(), which shares the parent's
 * memory, and in any process other than the recorded one, they do nothing.
 */
#include <stddef.h>

#include "entry/check_file.h"
#include "entry/early.h"
#include "entry/stubs/hook_jump.h"
#include "resolve/real.h"
#include "session/state.h"
#include "writer/writer.h"

#define HOOK_EXEC(name)                                                     \
	struct tail hook_##name(void)                                       \
	{                                                                   \
		static _Atomic(void *) real;                                \
                                                                            \
		session_exec();                                             \
		if (!real)                                                  \
			real = real_find_symbol(#name);                     \
		return (struct tail){.target = real, .value = (void *)-1L}; \
	}

HOOK_EXEC(execve)
HOOK_EXEC(execv)
HOOK_EXEC(execvp)
HOOK_EXEC(execvpe)
HOOK_EXEC(execl)
HOOK_EXEC(execlp)
HOOK_EXEC(execle)
HOOK_EXEC(fexecve)

struct tail hook_exit(int code)
{
	session_hooks.exiting(code);
	check_write();
	return (struct tail){.target = real_find_symbol("_exit")};
}

struct tail hook_Exit(int code)
{
	session_hooks.exiting(code);
	check_write();
	return (struct tail){.target = real_find_symbol("_Exit")};
}

struct tail hook_abort(void)
{
	session_hooks.aborting();
	return (struct tail){.target = real_find_symbol("abort")};
}
