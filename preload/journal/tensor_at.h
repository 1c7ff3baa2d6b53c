/* SPDX-License-Identifier: Apache-2.0 */
/* Iterates quickly over the tensors of an entry. The journal may be damaged: every length is checked before it is used. */
#ifndef PROBE_JOURNAL_TENSOR_AT_H
#define PROBE_JOURNAL_TENSOR_AT_H

#include "journal/journal.h"

/* The tensor at that byte of the entry; the first one follows its fixed part. NULL: the entry has no room for it. */
static inline const struct journal_tensor *journal_get_tensor_at(
	const struct journal_entry *e, uint32_t at)
{
	const struct journal_tensor *t = (const void *)((const char *)e + at);

	if (at > e->bytes || e->bytes - at < sizeof(struct journal_tensor))
		return NULL;
	return e->bytes - at < journal_tensor_bytes(t->ndim) ? NULL : t;
}

#endif
