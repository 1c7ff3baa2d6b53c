/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information (.eh_frame): how to get from a frame to its caller's. Keeps only what a walk needs: the
 * canonical frame address (CFA, the stack pointer in the caller), where the return address is, and where the caller's
 * frame pointer is. Other callee-saved registers are never needed, because compilers address frames only by stack or
 * frame pointer. All reads are limited to the table's segment: a wrong table gives no rule, not a crash.
 */
#ifndef PROBE_STACK_CFI_H
#define PROBE_STACK_CFI_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#define CFI_FP 6
#define CFI_SP 7
#define CFI_PC 16 /* DWARF number of the pc, and of the return address column */
#elif defined(__aarch64__)
#define CFI_FP 29
#define CFI_SP 31
#define CFI_PC 0xffff /* has no DWARF number */
#else
#error "stack walking is written for x86-64 and aarch64"
#endif

enum cfi_kind {
	CFI_NONE = 0, /* no information for this address */
	CFI_FRAME, /* the fields below are valid */
	/*
	 * code that a signal handler returns to: the kernel's signal frame is at the stack
	 * pointer
	 */
	CFI_SIGNAL,
	CFI_FOREIGN, /* not in a loaded object (code made at run time, or not code at all) */
};

enum cfi_base {
	CFI_AT_CFA = 0, /* location: CFA + off */
	CFI_AT_SP, /* location: this frame's stack pointer + off */
	CFI_AT_FP, /* location: this frame's frame pointer + off */
	CFI_SAME, /* not saved: still in its register */
	CFI_UNDEFINED, /* lost; for the return address: this is the outermost frame */
	CFI_LOST, /* saved in a way that a rule cannot describe */
};

struct cfi_place {
	int32_t off;
	uint8_t base; /* enum cfi_base */
};

struct cfi_rule {
	struct cfi_place cfa; /* base: CFI_AT_SP, CFI_AT_FP or CFI_LOST */
	struct cfi_place ra, fp;
	int32_t add; /* if deref: CFA = *(base + off) + add */
	uint8_t deref;
	uint8_t kind; /* enum cfi_kind */
	uint8_t exact; /* the caller was interrupted at its pc, instead of making a call */
};

/*
 * Finds the rule for the instruction at pc. table: address of .eh_frame_hdr; [lo, hi): the
 * readable memory that contains it and .eh_frame. Always sets *r; r->kind is CFI_NONE or
 * CFI_FRAME.
 */
void cfi_find(uintptr_t table, uintptr_t lo, uintptr_t hi, uintptr_t pc, struct cfi_rule *r);

#endif
