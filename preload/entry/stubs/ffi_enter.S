/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where stubs jump: stores the caller's stack position, for the stack of the record, and continues to libffi's go closure,
 * whose address is in the context register and whose first word is its code. Nothing is pushed: libffi finds arguments on the
 * stack where the caller put them.
 */
	.text
	.globl ffi_enter
	.hidden ffi_enter
	.hidden ffi_caller
	.balign 16
#if defined(__x86_64__)
	.type ffi_enter, @function
ffi_enter:
	.cfi_startproc
	endbr64
	movq ffi_caller@gottpoff(%rip), %r11
	movq %rsp, %fs:(%r11)
	movq %rbp, %fs:8(%r11)
	/* Below the return address, as a function that keeps a frame pointer would: see caller_frame() in ffi.c. */
	movq %rbp, -8(%rsp)
	jmp *(%r10)
#elif defined(__aarch64__)
	.type ffi_enter, %function
ffi_enter:
	.cfi_startproc
	hint #34 /* bti c */
	adrp x16, :gottprel:ffi_caller
	ldr x16, [x16, #:gottprel_lo12:ffi_caller]
	mrs x17, tpidr_el0
	add x16, x16, x17
	mov x17, sp
	stp x17, x29, [x16]
	str x30, [x16, #16]
	ldr x16, [x18]
	br x16
#else
#error "no entry for libffi on this processor"
#endif
	.cfi_endproc
	.size ffi_enter, . - ffi_enter

	.section .note.GNU-stack, "", %progbits
