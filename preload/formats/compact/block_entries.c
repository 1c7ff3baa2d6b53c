/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/compact/block_entries.h"

#include <errno.h>
#include <stdlib.h>

#include "sink/sink.h"

#define TENSOR_ROOM (64 + COMPACT_VARINT_MAX * ROW_DIMS_MAX)
#define ENTRY_ROOM 96 /* maximum bytes of an entry in CC_COMMS and CC_FUNCTIONS */
#define TENSOR_WORDS (4 + ROW_DIMS_MAX)
#define SITE_WORDS (2 + (RECORD_TENSORS_MAX + 1) / 2)
#define TEXT_WORDS (1 + COMPACT_TEXT_MAX / 8)

static bool add_array_space(void **array, uint32_t *cap, uint32_t n, size_t each)
{
	uint32_t want = *cap ? *cap : 64;
	void *more;

	if (n <= *cap)
		return true;
	while (want < n)
		want *= 2;
	more = realloc(*array, want * each);
	if (!more)
		return false;
	*array = more;
	*cap = want;
	return true;
}

/* Each returns the number of the entry, or -ENOBUFS if the block is full, or -ENOMEM. */
static int64_t add_block_entry(struct dictionary *d, const struct column *c, size_t bytes,
	const uint64_t *key, uint32_t words, uint32_t hash)
{
	uint32_t n;

	if ((size_t)(c->end - c->at) < bytes || d->n >= 2 * COMPACT_SITES_MAX)
		return -ENOBUFS;
	n = dictionary_add(d, key, words, hash);
	return n == UINT32_MAX ? -ENOMEM : (int64_t)n;
}

static int64_t find_text(struct compact_block *b, const char *s)
{
	struct column *c = &b->column[CC_TEXTS];
	uint64_t key[TEXT_WORDS];
	size_t n = strnlen(s, COMPACT_TEXT_MAX);
	uint32_t words = 1 + (uint32_t)(n + 7) / 8, hash, found;
	int64_t added;

	key[words - 1] = 0;
	key[0] = n;
	memcpy(key + 1, s, n);
	hash = dictionary_compute_hash(key, words);
	found = dictionary_find(&b->texts, key, words, hash);
	if (found != UINT32_MAX)
		return found;
	added = add_block_entry(&b->texts, c, n + COMPACT_VARINT_MAX, key, words, hash);
	if (added >= 0) {
		c->at = compact_write_number(c->at, n);
		memcpy(c->at, s, n);
		c->at += n;
	}
	return added;
}

static int64_t find_comm(struct compact_block *b, const struct journal_call *call)
{
	struct column *c = &b->column[CC_COMMS];
	uint64_t key[2] = {
		call->comm, (uint64_t)(uint32_t)call->comm_rank << 32 | (uint32_t)call->comm_size};
	uint32_t hash = dictionary_compute_hash(key, 2),
		 found = dictionary_find(&b->comms, key, 2, hash);
	int64_t added;

	if (found != UINT32_MAX)
		return found;
	if (!add_array_space((void **)&b->comm, &b->cap_comm, b->comms.n + 1, sizeof(*b->comm)))
		return -ENOMEM;
	added = add_block_entry(&b->comms, c, ENTRY_ROOM, key, 2, hash);
	if (added >= 0) {
		memcpy(c->at, &call->comm, 8);
		c->at = compact_write_signed(c->at + 8, call->comm_rank);
		c->at = compact_write_signed(c->at, call->comm_size);
		b->comm[added].next = call->comm ? 0 : JOURNAL_NONE64;
	}
	return added;
}

static int64_t add_function(struct compact_block *b, const struct record *r, uint32_t flags,
	const uint64_t *key, uint32_t hash)
{
	const struct journal_call *call = r->call;
	struct column *c = &b->column[CC_FUNCTIONS];
	int64_t lib = find_text(b, r->api.lib), symbol = find_text(b, r->api.symbol),
		op = find_text(b, r->api.op), comm = find_comm(b, call), added;
	unsigned char *p;

	for (int i = 0; i < 4; i++) {
		int64_t n = (int64_t[]){lib, symbol, op, comm}[i];

		if (n < 0)
			return n;
	}
	if (!add_array_space((void **)&b->function, &b->cap_function, b->functions.n + 1,
		    sizeof(*b->function)))
		return -ENOMEM;
	added = add_block_entry(&b->functions, c, ENTRY_ROOM, key, FUNCTION_WORDS, hash);
	if (added < 0)
		return added;
	p = compact_write_number(c->at, (uint64_t)lib);
	p = compact_write_number(p, (uint64_t)symbol);
	p = compact_write_number(p, (uint64_t)op);
	p = compact_write_number(p, (uint64_t)comm);
	p = compact_write_number(p, call->tid);
	p = compact_write_number(p, call->redop);
	p = compact_write_number(p, call->phase);
	p = compact_write_number(
		p, call->root == JOURNAL_NONE ? 0 : 1 + compact_compute_zigzag(call->root));
	c->at = compact_write_number(p, flags);
	b->function[added] = (struct function_state){
		.comm = (uint32_t)comm, .peer = JOURNAL_NONE, .tag = JOURNAL_NONE};
	return added;
}

int64_t find_block_function(struct compact_block *b, const struct record *r, uint32_t flags,
	const uint64_t key[FUNCTION_WORDS])
{
	uint32_t hash, found;

	hash = dictionary_compute_hash(key, FUNCTION_WORDS);
	found = dictionary_find(&b->functions, key, FUNCTION_WORDS, hash);
	return __builtin_expect(found != UINT32_MAX, 1) ? (int64_t)found
							: add_function(b, r, flags, key, hash);
}

static int64_t add_block_tensor(struct compact_block *b, const struct journal_tensor *t,
	unsigned dims, uint64_t name, const uint64_t *key, uint32_t words, uint32_t hash)
{
	struct column *c = &b->column[CC_TENSORS];
	int64_t added = add_block_entry(&b->tensors, c, TENSOR_ROOM, key, words, hash);
	unsigned char *p = c->at;

	if (added < 0)
		return added;
	*p++ = t->io;
	*p++ = t->dtype;
	p = compact_write_number(p, t->index);
	p = compact_write_number(p, t->ndim > ROW_DIMS_MAX ? 0 : dims + 1);
	for (unsigned i = 0; i < dims; i++)
		p = compact_write_number(p, ((const uint64_t *)(t + 1))[i]);
	p = compact_write_number(p, t->count);
	p = compact_write_number(p, t->bytes);
	c->at = compact_write_number(p, name);
	return added;
}

static int64_t find_block_tensor(
	struct compact_block *b, const struct journal_tensor *t, const char *name)
{
	unsigned dims = t->ndim > ROW_DIMS_MAX ? 0 : t->ndim;
	uint64_t key[TENSOR_WORDS], text = 0;
	uint32_t words = 3 + dims, hash, found;

	if (__builtin_expect(*name, 0)) {
		int64_t n = find_text(b, name);

		if (n < 0)
			return n;
		text = (uint64_t)n + 1;
	}
	key[0] = t->count;
	key[1] = t->bytes;
	key[2] = compute_type_word(t, text);
	for (unsigned i = 0; i < dims; i++)
		key[3 + i] = ((const uint64_t *)(t + 1))[i];
	hash = dictionary_compute_hash(key, words);
	found = dictionary_find(&b->tensors, key, words, hash);
	return __builtin_expect(found != UINT32_MAX, 1)
		       ? (int64_t)found
		       : add_block_tensor(b, t, dims, text, key, words, hash);
}

static int64_t add_site(struct compact_block *b, uint32_t function, uint32_t stack,
	const uint32_t *tensor, unsigned n, const uint64_t *key, uint32_t words, uint32_t hash)
{
	struct column *c = &b->column[CC_SITES];
	int64_t added;
	unsigned char *p = c->at;

	if (!add_array_space((void **)&b->site, &b->cap_site, b->sites.n + 1, sizeof(*b->site)) ||
		!add_array_space((void **)&b->site_tensor, &b->cap_site_tensor, b->nsite_tensor + n,
			sizeof(*b->site_tensor)))
		return -ENOMEM;
	added = add_block_entry(&b->sites, c, 32 + 4 * (size_t)n, key, words, hash);
	if (added < 0)
		return added;
	b->site[added] = (struct site_state){
		.function = function, .stack = stack, .n = n, .first = b->nsite_tensor};
	if (n)
		memcpy(b->site_tensor + b->nsite_tensor, tensor, n * sizeof(*tensor));
	b->nsite_tensor += n;
	p = compact_write_number(p, function);
	p = compact_write_number(p, stack);
	p = compact_write_number(p, n);
	for (unsigned i = 0; i < n; i++)
		p = compact_write_number(p, tensor[i]);
	c->at = p;
	return added;
}

int64_t find_block_site(struct compact_block *b, uint32_t function, const struct record *r)
{
	uint64_t key[SITE_WORDS];
	uint32_t tensor[RECORD_TENSORS_MAX + 1], words = 2 + (r->n + 1) / 2, hash, found;

	key[0] = function | (uint64_t)r->call->stack << 32;
	key[1] = r->n;
	for (unsigned i = 0; i < r->n; i++) {
		int64_t n = find_block_tensor(b, r->tensor[i], r->name[i]);

		if (n < 0)
			return n;
		tensor[i] = (uint32_t)n;
	}
	tensor[r->n] = 0;
	for (unsigned i = 0; i < r->n; i += 2)
		key[2 + i / 2] = tensor[i] | (uint64_t)tensor[i + 1] << 32;
	hash = dictionary_compute_hash(key, words);
	found = dictionary_find(&b->sites, key, words, hash);
	return __builtin_expect(found != UINT32_MAX, 1)
		       ? (int64_t)found
		       : add_site(b, function, r->call->stack, tensor, r->n, key, words, hash);
}
