/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/call_site.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* An empty site has an entry of 0 bytes, which no call has: it matches none. */
struct call_sites *open_call_sites(void)
{
	struct call_sites *all = calloc(1, sizeof(*all));

	if (all)
		all->last = &all->site[0];
	return all;
}

bool has_tensors_of_site(const struct call_site *s, const struct journal_call *c)
{
	call_word_pair pair = {0, 0};
	call_word other = 0;

	for (unsigned i = 0; i < s->record.n; i++) {
		const call_word *a = s->entry + s->at[i] / 8;
		const call_word *b = (const call_word *)c + s->at[i] / 8;

		add_tensor_difference(a, b, &pair, &other);
		for (unsigned k = 0; k < s->dims[i]; k++)
			other |= a[14 + k] ^ b[14 + k];
	}
	return !(other | pair[0] | pair[1]);
}

/*
 * True if the rows of the call depend on nothing but the entry and the parts that a site has:
 * complete, no enclosing call, no message, and no name or checksum for any of its tensors. Stores
 * where the tensors are.
 */
static bool has_site(struct call_site *s, const struct journal_call *c)
{
	uint32_t at = sizeof(*c), dims = 0;
	unsigned n;

	if (!is_plain_call(c, NULL, false) || c->parent || !c->e.n || c->e.n > CALL_SITE_TENSORS ||
		c->e.bytes > sizeof(s->entry))
		return false;
	for (n = 0; n < c->e.n; n++) {
		const struct journal_tensor *t = journal_get_tensor_at(&c->e, at);

		if (!t || t->io > IO_OUT || !is_plain_tensor(t) || t->name || t->flags & TF_CRC)
			return false;
		s->at[n] = at;
		at += journal_get_tensor_bytes(t->ndim);
		s->dims[n] = (uint8_t)((journal_get_tensor_bytes(t->ndim) -
					       journal_get_tensor_bytes(0)) /
				       8);
		dims += s->dims[n];
	}
	s->has_dims = dims != 0;
	return dims <= CALL_SITE_DIMS;
}

static uint64_t compute_site_hash(const struct journal_call *c)
{
	const call_word *word = (const call_word *)c;
	uint64_t h = word[0] ^ c->comm;

	for (size_t i = CALL_WORD(root); i < sizeof(*c) / 8; i++)
		h = hash_u64(h, word[i]);
	/* An entry without tensors ends here. */
	if (c->e.bytes >= sizeof(*c) + sizeof(struct journal_tensor))
		h = hash_u64(hash_u64(h, word[sizeof(*c) / 8]), word[sizeof(*c) / 8 + 12]);
	return hash_mix(h) | 1;
}

/*
 * A site is stored only when its call comes a second time, without another one of the same slot
 * in between. So a program with more sites than the table has does not keep replacing them.
 */
struct call_site *find_call_site(
	struct call_sites *all, const struct journal_call *c, const struct row_api *api)
{
	static const char *const no_names[CALL_SITE_TENSORS] = {"", "", "", ""};
	uint64_t hash = compute_site_hash(c);
	struct call_site *s = &all->site[hash >> 32 & (CALL_SITES - 1)];

	if (!is_call_of_site(s, c)) {
		bool again = s->candidate == hash;

		s->candidate = hash;
		if (!again || !api->lib[0] || c->e.bytes > sizeof(s->entry))
			return NULL;
		s->serial = s->entry[0] = 0;
		if (!has_site(s, c))
			return NULL;
		s->serial = ++all->serial;
		s->slot = (uint32_t)(s - all->site);
		s->record = (struct record){
			.api = *api, .n = c->e.n, .tensor = s->tensor, .name = no_names, .site = s};
		memcpy(s->entry, c, c->e.bytes);
	}
	all->last->next = s->slot;
	all->last = s;
	return s;
}
