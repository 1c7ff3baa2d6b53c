/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads words of stacks that may not be mapped. Inside the thread's own stack a word is simply
 * read. For any other address (fibers, alternate signal stacks, garbage) the kernel is first
 * asked whether the page can be read, which never raises a signal.
 */
#ifndef PROBE_ELF_MEMORY_H
#define PROBE_ELF_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * For code that reads frames of other functions: reading their red zones is not an error, and no
 * other thread uses them.
 */
#define MEMORY_RAW __attribute__((no_sanitize("address", "thread")))

/* The smallest page size in use; larger pages are multiples of it. */
#define MEMORY_PAGE ((uintptr_t)4096)

struct memory {
	uintptr_t lo, hi; /* [lo, hi) can be read without asking */
	uintptr_t page; /* one more page that the kernel found readable; 0: none */
};

/* True if the 8 bytes at address a can be read. About 0.1 us. Keeps errno. */
bool is_memory_readable(uintptr_t a);

/* Extends [lo, hi) of *m down to the page of a if all pages in between can be read, at most 16 MiB at once. */
bool memory_extend(struct memory *m, uintptr_t a);

MEMORY_RAW static inline uintptr_t memory_load(uintptr_t a)
{
	return *(const volatile uintptr_t *)a;
}

MEMORY_RAW static inline bool memory_read(struct memory *m, uintptr_t a, uintptr_t *v)
{
	if (__builtin_expect(a & (sizeof(uintptr_t) - 1), 0))
		return false;
	if (__builtin_expect(a < m->lo || a >= m->hi, 0)) {
		uintptr_t page = a & ~(MEMORY_PAGE - 1);

		if (page != m->page || !page) {
			if (!is_memory_readable(a))
				return false;
			m->page = page;
		}
	}
	*v = memory_load(a);
	return true;
}

#endif
