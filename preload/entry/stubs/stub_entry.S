/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The initial target of stubs, and the stubs inside libprobe.so itself: dlsym returns the latter for functions of a specific
 * handle (bound_stub.c). Layout and registers of a stub: stub_elf.h.
 */
#include "entry/stubs/bound_stub.h"
#include "entry/stubs/hook_jump.inc"

	TAIL probe_stub_entry, stub_first

	.hidden bound_stubs
	.globl bound_stubs
	.hidden bound_targets
	.globl bound_enter
	.hidden bound_enter
	.hidden bound_now
	.text
	.balign 32
bound_stubs:
	.set i, 0
	.rept BOUND_MAX
	.balign 32
#if defined(__x86_64__)
	endbr64
	movq (bound_targets + 8 * i)(%rip), %r11
	movq 8(%r11), %r10
	jmp *(%r11)
#elif defined(__aarch64__)
	hint #34 /* bti c */
	adrp x16, (bound_targets + 8 * i)
	ldr x16, [x16, :lo12:(bound_targets + 8 * i)]
	ldp x17, x18, [x16]
	br x17
#endif
	.set i, i + 1
	.endr
	.balign 32

/* The context is a struct bound: stores it for call_enter() and continues to the wrapper, its first word. */
bound_enter:
	.cfi_startproc
#if defined(__x86_64__)
	endbr64
	movq bound_now@gottpoff(%rip), %r11
	movq %r10, %fs:(%r11)
	jmp *(%r10)
#elif defined(__aarch64__)
	hint #34 /* bti c */
	adrp x16, :gottprel:bound_now
	ldr x16, [x16, :gottprel_lo12:bound_now]
	mrs x17, tpidr_el0
	str x18, [x16, x17]
	ldr x16, [x18]
	br x16
#endif
	.cfi_endproc

	.section .note.GNU-stack, "", %progbits
