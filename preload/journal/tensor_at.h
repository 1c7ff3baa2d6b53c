/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fast access to calls and their tensors in a chunk. The journal may be damaged: every length is
 * checked before it is used.
 */
#ifndef PROBE_JOURNAL_TENSOR_AT_H
#define PROBE_JOURNAL_TENSOR_AT_H

#include "journal/journal.h"

/*
 * Returns the tensor at byte `at` of entry e; the first one follows the entry's fixed part.
 * Returns NULL if no tensor fits.
 */
static inline const struct journal_tensor *journal_get_tensor_at(
	const struct journal_entry *e, uint32_t at)
{
	const struct journal_tensor *t = (const void *)((const char *)e + at);

	if (at > e->bytes || e->bytes - at < sizeof(struct journal_tensor))
		return NULL;
	return e->bytes - at < journal_get_tensor_bytes(t->ndim) ? NULL : t;
}

/*
 * Like journal_get_entry_at(), for calls, which are nearly all entries. Returns NULL for another or a
 * damaged entry.
 */
static inline const struct journal_entry *journal_get_call_at(
	const struct journal_chunk *chunk, uint32_t used, uint32_t offset)
{
	const struct journal_entry *e = (const struct journal_entry *)(chunk->data + offset);

	if (offset % 8 || offset > used || used - offset < sizeof(struct journal_call) ||
		e->type != JE_CALL)
		return NULL;
	return e->bytes < sizeof(struct journal_call) || e->bytes % 8 || e->bytes > used - offset
		       ? NULL
		       : e;
}

#endif
