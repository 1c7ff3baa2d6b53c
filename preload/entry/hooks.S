/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/tail.inc"

	TAIL dlsym, hook_dlsym
	TAIL dlvsym, hook_dlvsym
	TAIL dlopen, hook_dlopen
	TAIL dlmopen, hook_dlmopen
	TAIL dlclose, hook_dlclose
	TAIL _exit, hook_exit
	TAIL _Exit, hook_Exit
	TAIL execve, hook_execve
	TAIL execv, hook_execv
	TAIL execvp, hook_execvp
	TAIL execvpe, hook_execvpe
	TAIL execl, hook_execl
	TAIL execlp, hook_execlp
	TAIL execle, hook_execle
	TAIL fexecve, hook_fexecve

	.section .note.GNU-stack, "", %progbits
