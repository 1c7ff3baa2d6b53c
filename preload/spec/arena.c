/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/arena.h"

#include <stdint.h>
#include <stdlib.h>

#ifdef __has_feature
#define CLANG_ASAN __has_feature(address_sanitizer)
#else
#define CLANG_ASAN 0
#endif

/*
 * With a sanitizer that checks each access, every piece is a separate block, so that an overrun
 * by one byte is detected.
 */
#if defined(__SANITIZE_ADDRESS__) || CLANG_ASAN
#define BLOCK_MIN 0
#else
#define BLOCK_MIN ((size_t)16 << 10)
#endif

struct arena_block {
	struct arena_block *next;
	size_t size; /* bytes of data */
	max_align_t data[];
};

void *arena_new(struct arena *a, size_t n)
{
	const size_t align = sizeof(max_align_t);
	struct arena_block *b = a->blocks;
	size_t size;

	if (n > SIZE_MAX / 2)
		return NULL;
	n = n ? (n + align - 1) / align * align : align;
	if (a->used > a->limit || n > a->limit - a->used)
		return NULL;
	if (!b || n > a->space) {
		size = n > BLOCK_MIN ? n : BLOCK_MIN;
		b = calloc(1, sizeof(*b) + size);
		if (!b)
			return NULL;
		b->size = size;
		/*
		 * A large piece fills a block of its own: the previous block may have more space
		 * left.
		 */
		if (a->blocks && size - n < a->space) {
			b->next = a->blocks->next;
			a->blocks->next = b;
			a->used += n;
			return b->data;
		}
		b->next = a->blocks;
		a->blocks = b;
		a->space = size;
	}
	a->used += n;
	a->space -= n;
	return (char *)b->data + b->size - a->space - n;
}

void arena_free(struct arena *a)
{
	struct arena_block *next;

	for (struct arena_block *b = a->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	a->blocks = NULL;
	a->space = a->used = 0;
}
