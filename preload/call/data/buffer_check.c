/* SPDX-License-Identifier: Apache-2.0 */
#include "call/data/buffer_check.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/hash.h"
#include "call/data/view.h"
#include "elf/memory.h"

/*
 * True if this page can be read. Because buffers are reused, the kernel is asked only once in
 * 4096 times: the low bits of an entry count how often the page may still be trusted. Pages share
 * entries and may overwrite each other; if two threads lose a count, the kernel is only asked
 * more often.
 */
static bool is_page_believed(uintptr_t page)
{
	static _Atomic uintptr_t places[64];
	_Atomic uintptr_t *p = &places[hash_mix(page) % 64];
	uintptr_t v = atomic_load_explicit(p, memory_order_relaxed);

	if ((v & ~(MEMORY_PAGE - 1)) == page && v != page) {
		atomic_store_explicit(p, v - 1, memory_order_relaxed);
		return true;
	}
	if (!is_memory_readable(page))
		return false;
	atomic_store_explicit(p, page + MEMORY_PAGE - 1, memory_order_relaxed);
	return true;
}

void check_buffers(struct buffer *v, unsigned n)
{
	for (; n; n--, v++) {
		uintptr_t first = (uintptr_t)v->base, last = first + v->bytes - 1;

		if (v->layout != BUFFER_CONTIG || !v->bytes || v->nostats)
			continue;
		if (last < first || !is_page_believed(first & ~(MEMORY_PAGE - 1)) ||
			!is_page_believed(last & ~(MEMORY_PAGE - 1)))
			v->nostats = 1;
	}
}

bool is_buffer_readable_now(const struct buffer *v)
{
	uintptr_t lo, hi;

	return buffer_get_bounds(v, &lo, &hi) && lo < hi &&
	       is_page_believed(lo & ~(MEMORY_PAGE - 1)) &&
	       is_page_believed((hi - 1) & ~(MEMORY_PAGE - 1));
}
