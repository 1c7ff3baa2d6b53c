/* SPDX-License-Identifier: Apache-2.0 */
/*
 * void private_stack_switch(void (*fn)(void *), void *arg, void *top): calls fn(arg) with the stack pointer at `top`, which is
 * aligned as the processor wants it. The frame stays on the old stack and is found by the frame pointer, so a walk leads
 * from fn through here to the caller.
 */
	.text
	.globl private_stack_switch
	.hidden private_stack_switch
	.balign 16
#if defined(__x86_64__)
	.type private_stack_switch, @function
private_stack_switch:
	.cfi_startproc
	endbr64
	pushq %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq %rdi, %rax
	movq %rsi, %rdi
	movq %rdx, %rsp
	call *%rax
	movq %rbp, %rsp
	popq %rbp
	.cfi_def_cfa %rsp, 8
	ret
#elif defined(__aarch64__)
	.type private_stack_switch, %function
private_stack_switch:
	.cfi_startproc
	hint #34 /* bti c */
	stp x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov x29, sp
	.cfi_def_cfa_register x29
	mov x9, x0
	mov x0, x1
	mov sp, x2
	blr x9
	mov sp, x29
	.cfi_def_cfa_register sp
	ldp x29, x30, [sp], #16
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
#else
#error "no switch of stacks for this processor"
#endif
	.cfi_endproc
	.size private_stack_switch, . - private_stack_switch

	.section .note.GNU-stack, "", %progbits
