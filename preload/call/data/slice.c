/* SPDX-License-Identifier: Apache-2.0 */
#include "call/data/slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "call/data/operation.h"
#include "config/rooms/slices.h"
#include "config/slice_item.h"

_Atomic unsigned slicing_is_on;

/*
 * Never changed once it is published, and kept: a call may still use it. At most one for each
 * configuration with another value of the key.
 */
struct slice_table {
	const struct slice_table *earlier; /* NULL: the first one */
	const char *words;
	unsigned n;
	struct slice_item item[];
};

static _Atomic(const struct slice_table *) table_now;
/*
 * All tables of the process, the last one first. They are never freed, because calls refer to them;
 * equal words share one. Written by the thread that changes the configuration.
 */
static const struct slice_table *all_tables;

/*
 * The request's part in one word, so that a call reads it whole: state in the upper bits, then
 * total, begin, end.
 */
#define PART_BITS 20
#define PART_MASK ((UINT64_C(1) << PART_BITS) - 1)
#define STATE_SHIFT (3 * PART_BITS)

static _Atomic uint64_t request_now;

/* Reasons why tensors may be sliced; different threads set them. */
#define SLICED_BY_TABLE 1u
#define SLICED_BY_REQUEST 2u

static void set_switch(unsigned reason, bool on)
{
	if (on)
		atomic_fetch_or(&slicing_is_on, reason);
	else
		atomic_fetch_and(&slicing_is_on, ~reason);
}

static void set_request(uint64_t request)
{
	atomic_store_explicit(&request_now, request, memory_order_relaxed);
	set_switch(SLICED_BY_REQUEST, request != 0);
}

static const struct slice_table *find_table(const char *words)
{
	const struct slice_table *t = all_tables;

	while (t && strcmp(t->words, words) != 0)
		t = t->earlier;
	return t;
}

int slice_load(const struct config *cfg)
{
	const char *words = get_slices_keys(cfg)->slice;
	const struct slice_table *had = words && *words ? find_table(words) : NULL;
	struct slice_table *t;
	unsigned n = 1;

	if (had || !words || !*words) {
		atomic_store(&table_now, had);
		set_switch(SLICED_BY_TABLE, had != NULL);
		return 0;
	}
	for (const char *p = words; *p; p++)
		n += *p == '\n';
	t = malloc(sizeof(*t) + n * sizeof(t->item[0]) + strlen(words) + 1);
	if (!t) {
		atomic_store(&table_now, NULL);
		set_switch(SLICED_BY_TABLE, false);
		log_loss(LOSS_DUMP, "slice: no memory: tensors are recorded whole");
		return -ENOMEM;
	}
	t->n = 0;
	for (size_t len; *words; words += len + (words[len] == '\n')) {
		len = strcspn(words, "\n");
		t->n += slice_item_parse(words, len, &t->item[t->n]) == NULL;
	}
	t->words = strcpy((char *)&t->item[n], get_slices_keys(cfg)->slice);
	t->earlier = all_tables;
	all_tables = t;
	atomic_store(&table_now, t);
	set_switch(SLICED_BY_TABLE, true);
	return 0;
}

struct slicing slicing_read(void)
{
	return (struct slicing){.table = atomic_load_explicit(&table_now, memory_order_acquire),
		.request = atomic_load_explicit(&request_now, memory_order_relaxed)};
}

bool slice_set_request(uint64_t total, uint64_t begin, uint64_t end)
{
	bool fits = total <= PART_MASK && begin <= end && end <= total;

	set_request(fits ? (uint64_t)REQUEST_PART << STATE_SHIFT | total << 2 * PART_BITS |
				    begin << PART_BITS | end
			 : 0);
	return fits;
}

void slice_set_request_state(enum request_state state)
{
	set_request((uint64_t)state << STATE_SHIFT);
}

bool slice_is_request_absent(void)
{
	return atomic_load_explicit(&request_now, memory_order_relaxed) >> STATE_SHIFT ==
	       REQUEST_ABSENT;
}

/* Returns where a Python index lies in a dimension of `size` elements. */
static int64_t get_index_within(int64_t i, int64_t size)
{
	if (i < 0)
		i += size;
	return i < 0 ? 0 : i > size ? size : i;
}

/* Cuts one dimension. begin[], size[]: those of the part so far; whole: the tensor's own sizes. */
static bool set_item_bounds(const struct slice_item *item, unsigned ndim, const int64_t *whole,
	int64_t *begin, int64_t *size)
{
	int64_t first, last;

	if (item->dim >= ndim || (item->size != SLICE_ANY_SIZE && item->size != whole[item->dim]))
		return false;
	first = get_index_within(item->begin, whole[item->dim]);
	last = get_index_within(item->end, whole[item->dim]);
	begin[item->dim] = first;
	size[item->dim] = last > first ? last - first : 0;
	return true;
}

static bool set_all_bounds(
	const struct slicing *s, unsigned ndim, const int64_t *whole, int64_t *begin, int64_t *size)
{
	bool some = false;

	for (unsigned i = 0; s->table && i < s->table->n; i++)
		some |= set_item_bounds(&s->table->item[i], ndim, whole, begin, size);
	if (s->request >> STATE_SHIFT == REQUEST_PART) {
		const struct slice_item tokens = {
			.size = (int64_t)(s->request >> 2 * PART_BITS & PART_MASK),
			.begin = (int64_t)(s->request >> PART_BITS & PART_MASK),
			.end = (int64_t)(s->request & PART_MASK)};

		some |= set_item_bounds(&tokens, ndim, whole, begin, size);
	}
	return some;
}

static bool has_shape(const struct buffer *v)
{
	return v->layout == BUFFER_STRIDED && v->ndim == v->n && v->n && v->n <= SLICE_DIMS_MAX &&
	       v->count && v->base && v->counts && v->displs;
}

const struct buffer *slice_get_part(
	const struct operation *w, const struct buffer *v, struct buffer_part *part)
{
	const int64_t *whole = v->counts, *stride = v->displs;
	int64_t begin[SLICE_DIMS_MAX] = {0};
	uint64_t element, count = 1;

	if (!is_sliced(&w->slicing) || !has_shape(v))
		return v;
	memcpy(part->size, whole, v->n * sizeof(*whole));
	if (!set_all_bounds(&w->slicing, v->n, whole, begin, part->size))
		return v;
	element = v->bytes / v->count;
	part->buffer = *v;
	part->buffer.counts = part->size;
	for (unsigned i = 0; i < v->n; i++) {
		part->buffer.base =
			(const void *)((uintptr_t)part->buffer.base +
				       (uint64_t)begin[i] * (uint64_t)stride[i] * element);
		count *= (uint64_t)part->size[i];
	}
	part->buffer.count = count;
	part->buffer.bytes = count * element;
	return &part->buffer;
}
