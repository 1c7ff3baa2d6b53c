/* SPDX-License-Identifier: Apache-2.0 */
/* A stub as the stub objects have them: jumps to stub_code with stub_context in the context register. */
#ifndef TESTS_UNIT_STUB_HELPER_H
#define TESTS_UNIT_STUB_HELPER_H

static void *stub_code, *stub_context;
void stub(void);
#if defined(__x86_64__)
__asm__(".text\n.globl stub\n.type stub,@function\nstub:\n\t.cfi_startproc\n\t"
	"movq stub_context_p(%rip), %r10\n\tmovq (%r10), %r10\n\t"
	"movq stub_code_p(%rip), %r11\n\tjmp *(%r11)\n\t.cfi_endproc\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl stub\n.type stub,%function\nstub:\n\t.cfi_startproc\n\t"
	"adrp x16, stub_context_p\n\tldr x16, [x16, :lo12:stub_context_p]\n\tldr x18, [x16]\n\t"
	"adrp x16, stub_code_p\n\tldr x16, [x16, :lo12:stub_code_p]\n\tldr x16, [x16]\n\t"
	"br x16\n\t.cfi_endproc\n");
#endif

/* Its address, which the compiler is not to see through. */
void *stub_at = (void *)stub;
void **stub_context_p = &stub_context, **stub_code_p = &stub_code;

#endif
