/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/kept/dump_order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW (256u << 10)
#define NOT_PART UINT64_MAX

static int add_ref(struct dump_order *o, const struct dump_ref *r)
{
	if (o->n == DUMP_CALLS_MAX) {
		o->lost++;
		return 0;
	}
	if (o->n == o->cap) {
		uint32_t want = o->cap ? o->cap * 2 : 4096;
		struct dump_ref *more = realloc(o->ref, want * sizeof(*more));

		if (!more)
			return -ENOMEM;
		o->ref = more;
		o->cap = want;
	}
	o->ref[o->n++] = *r;
	return 0;
}

static int compare_parts(const void *x, const void *y)
{
	const struct dump_part *a = x, *b = y;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return a->ref < b->ref ? -1 : a->ref > b->ref;
}

static int compare_refs(const void *x, const void *y)
{
	const struct dump_ref *a = x, *b = y;

	if (a->batch != b->batch)
		return a->batch < b->batch ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* Reads heads and numbers of all items, window by window. */
static int read_item_heads(struct dump_order *o, char *window)
{
	uint64_t at = 0;
	uint32_t batch = 0;

	for (;;) {
		ssize_t n = pread(o->fd, window, WINDOW, (off_t)at);
		uint64_t k = 0;

		if (n < 0)
			return -errno;
		while (k + sizeof(struct staged_head) + 16 <= (uint64_t)n) {
			const struct staged_head *h = (const struct staged_head *)(window + k);
			const struct journal_call *c = (const struct journal_call *)(h + 1);
			int err = 0;

			/*
			 * Head and call of the item are inside the window; the item may extend
			 * beyond it.
			 */
			if (!staged_head_valid(h, UINT32_MAX))
				return 0;
			if (h->what == STAGED_CALL && k + sizeof(*h) + sizeof(*c) > (uint64_t)n)
				break;
			if (h->what == STAGED_MADE)
				batch++;
			else if (h->what == STAGED_CALL)
				err = add_ref(o,
					&(struct dump_ref){.seq = c->seq,
						.at = at + k,
						.parent = c->flags & CF_PART ? c->parent : NOT_PART,
						.bytes = h->bytes,
						.batch = batch});
			if (err)
				return err;
			k += h->bytes;
			if (h->what == STAGED_MADE && h->bytes < 24 && k >= (uint64_t)n)
				break;
		}
		if (!k || (uint64_t)n < WINDOW)
			return 0;
		at += k;
	}
}

/* To be called when the calls are sorted. */
static int sort_parts(struct dump_order *o)
{
	for (uint32_t i = 0; i < o->n; i++) {
		if (o->ref[i].parent == NOT_PART)
			continue;
		if (o->nparts == o->cap_part) {
			uint32_t want = o->cap_part ? o->cap_part * 2 : 1024;
			struct dump_part *more = realloc(o->part, want * sizeof(*more));

			if (!more)
				return -ENOMEM;
			o->part = more;
			o->cap_part = want;
		}
		o->part[o->nparts++] = (struct dump_part){o->ref[i].parent, i};
	}
	if (o->nparts)
		qsort(o->part, o->nparts, sizeof(*o->part), compare_parts);
	return 0;
}

int dump_order_read(struct dump_order *o, int dirfd, uint32_t step)
{
	char path[48], *window = malloc(WINDOW);
	int err;

	*o = (struct dump_order){.fd = -1};
	dump_format_part_path(step, path, sizeof(path));
	if (!window)
		return -ENOMEM;
	o->fd = io_open_regular(dirfd, path, O_RDONLY | O_NOFOLLOW, 0);
	err = o->fd < 0 ? o->fd : read_item_heads(o, window);
	free(window);
	if (!err && o->n)
		qsort(o->ref, o->n, sizeof(*o->ref), compare_refs);
	if (!err)
		err = sort_parts(o);
	if (err)
		dump_order_free(o);
	return err;
}

void dump_order_free(struct dump_order *o)
{
	if (o->fd >= 0)
		close(o->fd);
	free(o->ref);
	free(o->part);
	*o = (struct dump_order){.fd = -1};
}

const struct staged_head *dump_order_read_item(
	const struct dump_order *o, uint32_t i, void **buf, size_t *cap)
{
	const struct dump_ref *r = &o->ref[i];
	const struct staged_head *h;

	if (*cap < r->bytes) {
		void *more = realloc(*buf, r->bytes);

		if (!more)
			return NULL;
		*buf = more;
		*cap = r->bytes;
	}
	if (pread(o->fd, *buf, r->bytes, (off_t)r->at) != (ssize_t)r->bytes)
		return NULL;
	h = *buf;
	return staged_head_valid(h, r->bytes) ? h : NULL;
}

const struct dump_part *dump_order_find_parts(
	const struct dump_order *o, uint64_t parent, uint32_t *n)
{
	uint32_t lo = 0, hi = o->nparts;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (o->part[mid].parent < parent)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (*n = 0; lo + *n < o->nparts && o->part[lo + *n].parent == parent;)
		++*n;
	return *n ? &o->part[lo] : NULL;
}

bool dump_order_has(const struct dump_order *o, uint64_t seq)
{
	uint32_t lo = 0, hi = o->n;

	/* Searches the first batch, which contains nearly all calls. */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (o->ref[mid].batch == 0 && o->ref[mid].seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < o->n && o->ref[lo].seq == seq;
}
