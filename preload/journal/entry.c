/* SPDX-License-Identifier: Apache-2.0 */
/* Reads entries. The journal may be damaged: every length is checked before it is used. */
#include <string.h>

#include "journal/journal.h"
#include "journal/tensor_at.h"

/* Returns the size of the fixed part of an entry of this type in bytes; 0: unknown type. */
static uint32_t fixed_bytes(const struct journal_entry *e)
{
	switch (e->type) {
	case JE_CALL:
		return sizeof(struct journal_call);
	case JE_END:
		return sizeof(struct journal_end);
	case JE_STACK:
		return sizeof(struct journal_stack);
	case JE_COMM:
		return sizeof(struct journal_comm);
	case JE_KIND:
		return sizeof(struct journal_kind_row);
	case JE_NAME:
		return sizeof(struct journal_name);
	case JE_SCALAR:
		return sizeof(struct journal_scalar);
	}
	return 0;
}

/* True if the dimensions, the values and three strings are inside the entry. */
static bool is_kind_whole(const struct journal_kind_row *k)
{
	const char *p = (const char *)(k + 1), *end = (const char *)k + k->e.bytes;
	size_t numbers = 8 * ((size_t)k->ndim + k->e.n);
	unsigned n = 3;

	if (k->ndim > JOURNAL_KIND_DIMS || numbers > (size_t)(end - p))
		return false;
	for (p += numbers; n && p < end && (p = memchr(p, 0, (size_t)(end - p))); n--)
		p++;
	return n == 0;
}

const struct journal_entry *journal_get_entry_at(
	const struct journal *j, const struct journal_chunk *chunk, uint32_t used, uint32_t offset)
{
	if (used > journal_get_chunk_cap(j) || offset > used || offset % 8 ||
		used - offset < sizeof(struct journal_entry))
		return NULL;

	const struct journal_entry *e = (const struct journal_entry *)(chunk->data + offset);
	uint32_t fixed = fixed_bytes(e);

	if (!fixed || e->bytes < fixed || e->bytes % 8 || e->bytes > used - offset)
		return NULL;
	if (e->type == JE_STACK) {
		const struct journal_stack *s = (const void *)e;

		if ((e->bytes - fixed) / 8 < e->n || s->text_bytes > e->bytes - fixed - 8u * e->n)
			return NULL;
	}
	if (e->type == JE_KIND && !is_kind_whole((const struct journal_kind_row *)e))
		return NULL;
	if (e->type == JE_NAME && (e->bytes - fixed) / 8 <= e->n)
		return NULL;
	/* Strings must end inside the entry. */
	if ((e->type == JE_COMM || e->type == JE_NAME) &&
		(e->bytes == fixed || ((const char *)e)[e->bytes - 1] != 0))
		return NULL;
	return e;
}

const struct journal_tensor *journal_get_first_tensor(const struct journal_entry *e)
{
	return journal_get_tensor_at(e, fixed_bytes(e));
}

const struct journal_tensor *journal_get_next_tensor(
	const struct journal_entry *e, const struct journal_tensor *t)
{
	return journal_get_tensor_at(e,
		(uint32_t)((const char *)t - (const char *)e) + journal_get_tensor_bytes(t->ndim));
}

/*
 * True if the entry contains all strings of its kind, so that no reader runs past its end in
 * search of a NUL.
 */
static bool has_strings(const struct dict_entry *e, uint16_t kind, uint32_t bytes)
{
	static const uint8_t want[] = {[DICT_API] = 3, [DICT_META] = 2, [DICT_MODULE] = 2};
	const char *p = (const char *)(e + 1), *end = (const char *)e + bytes;
	unsigned n = kind < sizeof(want) ? want[kind] : 0;

	for (; n && p < end && (p = memchr(p, 0, (size_t)(end - p))); n--)
		p++;
	return n == 0;
}

static uint64_t zeros_end(const char *base, uint64_t at, uint64_t end)
{
	while (at < end && __atomic_load_n((const uint64_t *)(base + at), __ATOMIC_ACQUIRE) == 0)
		at += 8;
	return at;
}

/*
 * Returns where entries continue after one without a length. Its thread, or a later one, may be
 * filling it in now. Lengths are stored before texts, so if a position is found twice, it is not
 * inside a text.
 */
static uint64_t skip_gap(const char *base, uint64_t at, uint64_t end)
{
	uint64_t to = zeros_end(base, at, end), before;

	do {
		before = to;
		to = zeros_end(base, at, end);
	} while (to != before);
	return to;
}

const struct dict_entry *journal_dict_read_next(const struct journal *j, uint64_t *at, bool *gap)
{
	const struct journal_head *h = j->head;
	const char *base = (const char *)h + h->dict_off;
	uint64_t end = atomic_load_explicit(&h->dict_used, memory_order_acquire);

	if (end > journal_get_space(j, JP_DICT))
		end = journal_get_space(j, JP_DICT);
	end &= ~UINT64_C(7);
	while (*at < end && end - *at >= sizeof(struct dict_entry)) {
		const struct dict_entry *e = (const void *)(base + *at);
		uint32_t bytes = __atomic_load_n(&e->bytes, __ATOMIC_ACQUIRE);
		uint16_t kind = __atomic_load_n(&e->kind, __ATOMIC_ACQUIRE);

		if (!bytes) {
			uint64_t to = skip_gap(base, *at, end);

			if (to == *at)
				return NULL; /* damaged */
			*gap = true;
			*at = to;
			continue;
		}
		if (bytes < sizeof(*e) || bytes % 8 || bytes > end - *at)
			return NULL; /* damaged */
		*at += bytes;
		if (kind && has_strings(e, kind, bytes))
			return e;
		*gap = true;
	}
	return NULL;
}

const char *journal_dict_get(const struct journal *j, enum dict_kind kind, uint16_t id)
{
	const struct dict_entry *e;
	const char *found = NULL;
	uint64_t at = 0;
	bool gap;

	while ((e = journal_dict_read_next(j, &at, &gap)))
		if (e->kind == kind && e->id == id) {
			found = (const char *)(e + 1);
			if (kind != DICT_META)
				break;
		}
	return found;
}

const struct journal_tensor *journal_awaited(const struct journal_call *c)
{
	const struct journal_tensor *t = (const struct journal_tensor *)(c + 1);

	if (c->e.n || c->e.bytes < sizeof(*c) + sizeof(*t) || t->count == JOURNAL_UNTOLD)
		return NULL;
	return t;
}
