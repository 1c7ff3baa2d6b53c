/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables of any bytes, at the end of readable memory: no read after it, no endless loop, only rules that have
 * a meaning. Seeds: .eh_frame_hdr and .eh_frame of shared objects, one after the other.
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Ipreload tests/fuzz/fuzz_cfi.c preload/stack/cfi*.c
 */
#include <stdlib.h>
#include <string.h>

#include "stack/cfi.h"
#include "stack/cfi_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct cfi_rule *r)
{
	if (r->kind != CFI_NONE && r->kind != CFI_FRAME)
		abort();
	if (r->kind == CFI_FRAME &&
		(r->cfa.base > CFI_LOST || r->ra.base > CFI_LOST || r->fp.base > CFI_LOST ||
			r->cfa.base == CFI_AT_CFA || r->cfa.base == CFI_SAME))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = {.end = NULL};
	struct cfi_value v;
	struct cfi_rule r;
	uint8_t *copy;
	uintptr_t lo;

	if (!size)
		return 0;
	copy = malloc(size); /* exactly so large: one byte more is seen */
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	lo = (uintptr_t)copy;
	for (uintptr_t i = 0; i < 64; i++) {
		cfi_find(lo, lo, lo + size, lo - 0x10000 + i * 0x700, &r);
		check(&r);
	}
	/* As the entry's own functions lie: the first address of each place in the search table. */
	for (size_t at = 12; at + 4 <= size && at < 12 + 8 * 32; at += 8) {
		int32_t off;

		memcpy(&off, copy + at, 4);
		cfi_find(lo, lo, lo + size, lo + (uintptr_t)(intptr_t)off + 3, &r);
		check(&r);
	}
	c.p = copy;
	c.end = copy + size;
	cfi_read_expression(c, lo, &v);
	free(copy);
	return 0;
}
