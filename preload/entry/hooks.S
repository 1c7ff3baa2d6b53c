/* SPDX-License-Identifier: Apache-2.0 */
/* Each leads to its gate in early.c. */
#include "entry/stubs/hook_jump.inc"

	TAIL dlsym, gate_dlsym
	TAIL dlvsym, gate_dlvsym
	TAIL dlopen, gate_dlopen
	TAIL dlmopen, gate_dlmopen
	TAIL dlclose, gate_dlclose
	TAIL _exit, gate__exit
	TAIL _Exit, gate__Exit
	TAIL abort, gate_abort
	TAIL execve, gate_execve
	TAIL execv, gate_execv
	TAIL execvp, gate_execvp
	TAIL execvpe, gate_execvpe
	TAIL execl, gate_execl
	TAIL execlp, gate_execlp
	TAIL execle, gate_execle
	TAIL fexecve, gate_fexecve

	.section .note.GNU-stack, "", %progbits
