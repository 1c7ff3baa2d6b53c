/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call is stored as its difference from the previous one. The dictionaries contain what
 * repeats: a site is a function on a communicator, a stack, and the tensors' types and shapes;
 * the number of a site stands for all of these.
 */
#include "formats/compact/block.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/compact/column_number.h"
#include "formats/compact/compact_layout.h"
#include "formats/compact/dictionary.h"
#include "sink/calls_csv.h"
#include "sink/row_values.h"
#include "sink/sink.h"
#include "stats/stats.h"
#include "terms/dtype.h"

#define CALL_ROOM 128 /* upper limit of a call's bytes in CC_CALL: twelve numbers */
#define ROW_ROOM 80 /* upper limit of a row's bytes in CC_ROW: seven numbers and a checksum */
#define TENSOR_ROOM (64 + COMPACT_VARINT_MAX * ROW_DIMS_MAX)
#define ENTRY_ROOM 96 /* maximum bytes of an entry in CC_COMMS and CC_FUNCTIONS */
#define TENSOR_WORDS (4 + ROW_DIMS_MAX)
#define SITE_WORDS (2 + (RECORD_TENSORS_MAX + 1) / 2)
#define KEYS_MAX (1u << 20) /* maximum number of words of a dictionary's keys */
#define TEXT_WORDS (1 + COMPACT_TEXT_MAX / 8)

static const uint32_t column_space[COMPACT_COLUMNS] = {
	[CC_TEXTS] = 192u << 10,
	[CC_COMMS] = 16u << 10,
	[CC_FUNCTIONS] = 64u << 10,
	[CC_TENSORS] = 256u << 10,
	[CC_SITES] = 64u << 10,
	[CC_SITE] = 3 * COMPACT_CALLS_MAX,
	[CC_PRESENT] = 2 * COMPACT_CALLS_MAX,
	[CC_SEQ] = COMPACT_VARINT_MAX * COMPACT_CALLS_MAX,
	[CC_START] = COMPACT_VARINT_MAX * COMPACT_CALLS_MAX,
	[CC_DURATION] = COMPACT_VARINT_MAX * COMPACT_CALLS_MAX,
	[CC_CALL] = 96u << 10,
	[CC_KIND] = COMPACT_ROWS_MAX,
	[CC_WIDTHS] = COMPACT_ROWS_MAX,
	[CC_MIN] = 8 * COMPACT_ROWS_MAX,
	[CC_MAX] = 8 * COMPACT_ROWS_MAX,
	[CC_MEAN] = 8 * COMPACT_ROWS_MAX,
	[CC_NORM] = 8 * COMPACT_ROWS_MAX,
	[CC_ROW] = 160u << 10,
};

/* Index: number of the function's entry in the dictionary. */
struct function_state {
	uint32_t comm;
	int32_t peer, tag; /* those of the function's last call */
};

struct comm_state {
	int64_t next; /* the comm_seq that is expected next, JOURNAL_NONE64: none */
};

struct site_state {
	uint32_t function, stack, n;
	uint32_t first; /* index of its first tensor in site_tensor */
	uint32_t next; /* the site that came after its last call */
};

/* The last row with an input, or an output, if nothing but its four numbers may differ in the next one. */
struct row_state {
	uint32_t tensor; /* number in the dictionary; UINT32_MAX: it had other parts */
	bool wide;
	uint64_t components;
	uint64_t *before; /* the values that min, max, mean and norm are compared with */
};

struct compact_block {
	struct column column[COMPACT_COLUMNS];
	struct dictionary texts, comms, functions, tensors, sites;
	struct function_state *function;
	struct comm_state *comm;
	struct site_state *site;
	uint32_t *site_tensor;
	uint32_t cap_function, cap_comm, cap_site, cap_site_tensor, nsite_tensor;
	uint32_t last_site;
	uint32_t calls, rows;
	bool first; /* dictionaries begin with this block */
	/* Values of the previous call. */
	uint64_t seq, start;
	uint32_t step, micro_step;
	uint64_t before[2][COMPACT_LANES]
		       [4]; /* values of previous rows, by enum tensor_io, lane, column */
	struct row_state row[2]; /* by enum tensor_io */
};

struct compact_block *compact_block_open(void)
{
	size_t bytes = sizeof(struct compact_block);
	struct compact_block *b;
	unsigned char *p;

	for (unsigned i = 0; i < COMPACT_COLUMNS; i++)
		bytes += column_space[i];
	b = malloc(bytes);
	if (!b)
		return NULL;
	memset(b, 0, sizeof(*b));
	p = (unsigned char *)(b + 1);
	for (unsigned i = 0; i < COMPACT_COLUMNS; p += column_space[i++])
		b->column[i] = (struct column){p, p, p + column_space[i]};
	compact_block_reset(b, true);
	return b;
}

void compact_block_free(struct compact_block *b)
{
	if (!b)
		return;
	dictionary_free(&b->texts);
	dictionary_free(&b->comms);
	dictionary_free(&b->functions);
	dictionary_free(&b->tensors);
	dictionary_free(&b->sites);
	free(b->function);
	free(b->comm);
	free(b->site);
	free(b->site_tensor);
	free(b);
}

void compact_block_reset(struct compact_block *b, bool forget)
{
	for (unsigned i = 0; i < COMPACT_COLUMNS; i++)
		b->column[i].at = b->column[i].from;
	b->calls = b->rows = 0;
	b->seq = b->start = 0;
	b->step = 0;
	b->micro_step = UINT32_MAX;
	memset(b->before, 0, sizeof(b->before));
	b->first = forget;
	if (!forget)
		return;
	dictionary_reset(&b->texts);
	dictionary_reset(&b->comms);
	dictionary_reset(&b->functions);
	dictionary_reset(&b->tensors);
	dictionary_reset(&b->sites);
	b->nsite_tensor = b->last_site = 0;
	b->row[0].tensor = b->row[1].tensor = UINT32_MAX;
}

uint32_t compact_block_get_calls(const struct compact_block *b)
{
	return b->calls;
}

bool compact_block_is_crowded(const struct compact_block *b)
{
	return b->sites.used >= KEYS_MAX || b->tensors.used >= KEYS_MAX ||
	       b->texts.used >= KEYS_MAX || b->sites.n >= COMPACT_SITES_MAX ||
	       b->tensors.n >= COMPACT_SITES_MAX || b->functions.n >= COMPACT_SITES_MAX ||
	       b->comms.n >= COMPACT_SITES_MAX || b->texts.n >= COMPACT_SITES_MAX;
}

/* ---- dictionaries ---- */

static bool grow_array(void **array, uint32_t *cap, uint32_t n, size_t each)
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
	if (!grow_array((void **)&b->comm, &b->cap_comm, b->comms.n + 1, sizeof(*b->comm)))
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

#define FUNCTION_WORDS 4
#define UNKNOWN_API (UINT64_C(1) << 63)

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
	if (!grow_array((void **)&b->function, &b->cap_function, b->functions.n + 1,
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

static inline void compute_function_key(
	const struct record *r, uint32_t flags, uint64_t key[FUNCTION_WORDS])
{
	const struct journal_call *call = r->call;

	_Static_assert(
		offsetof(struct journal_call, phase) == offsetof(struct journal_call, tid) + 7 &&
			offsetof(struct journal_call, comm_size) ==
				offsetof(struct journal_call, comm_rank) + 4,
		"words of the key");
	key[0] = call->comm;
	memcpy(&key[1], &call->comm_rank, 8);
	memcpy(&key[2], &call->tid, 8); /* tid, api, redop, phase */
	key[3] = (uint32_t)call->root | (uint64_t)flags << 32;
	/* An api that is not known yet has another key than when it is known. */
	if (__builtin_expect(!r->api.lib[0], 0))
		key[3] |= UNKNOWN_API;
}

static int64_t find_function(struct compact_block *b, const struct record *r, uint32_t flags,
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

/* Returns the word of a tensor's key that contains everything except the number of elements. */
static inline uint64_t compute_type_word(const struct journal_tensor *t, uint64_t text)
{
	return t->index | (uint64_t)t->dtype << 16 | (uint64_t)t->io << 24 |
	       (uint64_t)(t->ndim > ROW_DIMS_MAX ? 255 : t->ndim) << 25 | text << 33;
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

	if (!grow_array((void **)&b->site, &b->cap_site, b->sites.n + 1, sizeof(*b->site)) ||
		!grow_array((void **)&b->site_tensor, &b->cap_site_tensor, b->nsite_tensor + n,
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

/*
 * True if the tensor equals entry `number` of the dictionary. A tensor with a name is not
 * compared: its text would have to be found first.
 */
static inline bool is_known_tensor(const struct compact_block *b, uint32_t number,
	const struct journal_tensor *t, const char *name)
{
	const struct dictionary_entry *e = &b->tensors.entry[number];
	const uint64_t *key = b->tensors.keys + e->key;
	const uint64_t *dim = (const uint64_t *)(t + 1);
	uint64_t other =
		(key[0] ^ t->count) | (key[1] ^ t->bytes) | (key[2] ^ compute_type_word(t, 0));

	if (other || *name)
		return false;
	for (uint32_t i = 3; __builtin_expect(i < e->words, 0); i++)
		other |= key[i] ^ dim[i - 3];
	return !other;
}

/*
 * True if the site is the one that is expected: programs run in loops, so this is the site that
 * came after the previous one the last time.
 */
static inline bool is_expected_site(const struct compact_block *b, uint32_t number,
	const uint64_t function[FUNCTION_WORDS], const struct record *r)
{
	const struct site_state *s = &b->site[number];
	const uint64_t *key;
	uint64_t other;

	if (number >= b->sites.n || s->n != r->n || s->stack != r->call->stack)
		return false;
	key = b->functions.keys + FUNCTION_WORDS * s->function;
	other = (key[0] ^ function[0]) | (key[1] ^ function[1]) | (key[2] ^ function[2]) |
		(key[3] ^ function[3]);
	if (other)
		return false;
	for (unsigned i = 0; i < r->n; i++)
		if (!is_known_tensor(b, b->site_tensor[s->first + i], r->tensor[i], r->name[i]))
			return false;
	return true;
}

static int64_t find_block_site(struct compact_block *b, uint32_t function, const struct record *r)
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

/* ---- rows ---- */

static uint64_t compute_optional(int64_t v, int64_t none)
{
	return v == none ? 0 : 1 + compact_compute_zigzag(v);
}

/* Writes the parts that only few rows have. */
static void write_rare_of_row(
	struct compact_block *b, const struct journal_tensor *t, unsigned kind)
{
	unsigned char *p = b->column[CC_ROW].at;

	if (kind & CR_ZEROS)
		p = compact_write_number(p, t->stats.zeros);
	if (kind & CR_NANS)
		p = compact_write_number(p, t->stats.nans);
	if (kind & CR_INFS)
		p = compact_write_number(p, t->stats.infs);
	if (kind & CR_COMPONENTS)
		p = compact_write_number(p, t->stats.n);
	if (kind & CR_CHECKSUM) {
		compact_write_u32(p, t->crc);
		p += 4;
	}
	if (kind & CR_OWN) {
		p = compact_write_number(p, compute_optional(t->comm_seq, JOURNAL_NONE64));
		p = compact_write_number(p, compute_optional(t->peer, JOURNAL_NONE));
		p = compact_write_number(p, compute_optional(t->tag, JOURNAL_NONE));
	}
	b->column[CC_ROW].at = p;
}

/* number: of the tensor in the dictionary. */
static __attribute__((noinline)) void write_any_row(
	struct compact_block *b, const struct journal_tensor *t, uint32_t number)
{
	const struct stats *s = &t->stats;
	struct row_state *k = &b->row[t->io != IO_IN];
	unsigned kind = 0;

	k->tensor = UINT32_MAX;
	if (s->n) {
		const struct dtype_info *d = dtype_info(t->dtype);
		uint64_t(*before)[4] = b->before[t->io != IO_IN];
		uint64_t *value = before[compact_has_integers(d) ? COMPACT_INTEGERS : d->wide];
		unsigned widths;

		kind = CR_STATISTICS;
		if (__builtin_expect((s->zeros | s->nans | s->infs) != 0, 0))
			kind |= (s->zeros ? CR_ZEROS : 0u) | (s->nans ? CR_NANS : 0u) |
				(s->infs ? CR_INFS : 0u);
		if (s->n != compact_compute_components(t->dtype, t->count))
			kind |= CR_COMPONENTS;
		widths = write_block_value(&b->column[CC_MIN], s->min, &value[0], d);
		widths |= write_block_value(&b->column[CC_MAX], s->max, &value[1], d) << 2;
		widths |=
			write_real_value(&b->column[CC_MEAN], s->mean, &before[d->wide][2], d->wide)
			<< 4;
		widths |=
			write_real_value(&b->column[CC_NORM], s->norm, &before[d->wide][3], d->wide)
			<< 6;
		*b->column[CC_WIDTHS].at++ = (unsigned char)widths;
		if (value == before[d->wide] && !(kind & CR_COMPONENTS))
			*k = (struct row_state){.tensor = number,
				.wide = d->wide,
				.components = s->n,
				.before = value};
	}
	if (t->flags & TF_NOSTATS)
		kind |= CR_NOSTATS;
	if (t->flags & TF_CRC)
		kind |= CR_CHECKSUM;
	if (t->comm_seq != JOURNAL_NONE64 || t->peer != JOURNAL_NONE || t->tag != JOURNAL_NONE)
		kind |= CR_OWN;
	*b->column[CC_KIND].at++ = (unsigned char)kind;
	if (__builtin_expect(kind & ~(unsigned)(CR_STATISTICS | CR_NOSTATS), 0))
		write_rare_of_row(b, t, kind);
}

/* Like write_any_row(), for a row in which only the four numbers may differ from the last one. */
static inline void write_compact_row(
	struct compact_block *b, const struct journal_tensor *t, uint32_t number)
{
	const struct stats *s = &t->stats;
	const struct row_state *k = &b->row[t->io != IO_IN];
	struct column *c = b->column;
	uint64_t *v = k->before;
	unsigned widths = 0;

	if (__builtin_expect(k->tensor != number, 0) ||
		__builtin_expect((s->n ^ k->components) | s->zeros | s->nans | s->infs | t->flags |
					 !is_plain_tensor(t),
			0)) {
		write_any_row(b, t, number);
		return;
	}
	*c[CC_KIND].at++ = CR_STATISTICS;
	if ((v[0] ^ s->min.u) | (v[1] ^ s->max.u) | (v[2] ^ get_bits(s->mean)) |
		(v[3] ^ get_bits(s->norm))) {
		widths = write_real_value(&c[CC_MIN], s->min.f, &v[0], k->wide);
		widths |= write_real_value(&c[CC_MAX], s->max.f, &v[1], k->wide) << 2;
		widths |= write_real_value(&c[CC_MEAN], s->mean, &v[2], k->wide) << 4;
		widths |= write_real_value(&c[CC_NORM], s->norm, &v[3], k->wide) << 6;
	}
	*c[CC_WIDTHS].at++ = (unsigned char)widths;
}

/* ---- calls ---- */

/*
 * Writes those parts of a call that differ from what was expected, and notes what is expected
 * next.
 */
static inline __attribute__((always_inline)) unsigned write_call(struct compact_block *b,
	const struct journal_call *call, const struct row_values *v, struct function_state *f,
	struct comm_state *comm, bool plain)
{
	unsigned char *p = b->column[CC_CALL].at;
	unsigned present = 0;

	if (call->step != b->step) {
		present |= CP_STEP;
		p = compact_write_signed(p, (int64_t)call->step - (int64_t)b->step);
		b->step = call->step;
	}
	if (call->micro_step != b->micro_step) {
		present |= CP_MICRO_STEP;
		p = compact_write_number(p, (uint64_t)(uint32_t)(call->micro_step + 1));
		b->micro_step = call->micro_step;
	}
	if (v->comm_seq != comm->next) {
		if (v->comm_seq == JOURNAL_NONE64) {
			present |= CP_NO_COMM_SEQ;
		} else {
			uint64_t from = comm->next == JOURNAL_NONE64 ? 0 : (uint64_t)comm->next;

			present |= CP_COMM_SEQ;
			p = compact_write_signed(p, (int64_t)((uint64_t)v->comm_seq - from));
		}
	}
	comm->next = v->comm_seq == JOURNAL_NONE64 ? JOURNAL_NONE64
						   : (int64_t)((uint64_t)v->comm_seq + 1);
	if (v->peer != f->peer) {
		present |= CP_PEER;
		p = compact_write_signed(p, (int64_t)v->peer - f->peer);
		f->peer = v->peer;
	}
	if (v->tag != f->tag) {
		present |= CP_TAG;
		p = compact_write_signed(p, (int64_t)v->tag - f->tag);
		f->tag = v->tag;
	}
	/* One test for all parts that few calls have. */
	if (__builtin_expect(plain && !call->parent, 1)) {
		b->column[CC_CALL].at = p;
		return present;
	}
	if (v->wait_ns != JOURNAL_NONE64) {
		present |= CP_WAIT;
		p = compact_write_number(p, (uint64_t)v->wait_ns);
	}
	if (v->issue_ns != JOURNAL_NONE64) {
		present |= CP_ISSUE;
		p = compact_write_number(p, (uint64_t)v->issue_ns);
	}
	if (v->dev_ns != JOURNAL_NONE64) {
		present |= CP_DEVICE;
		p = compact_write_number(p, (uint64_t)v->dev_ns);
	}
	if (call->parent) {
		present |= CP_PARENT;
		p = compact_write_signed(p, (int64_t)(call->seq - call->parent));
	}
	if (v->flags & CF_ERROR) {
		present |= CP_ERROR;
		p = compact_write_signed(p, v->error);
	}
	if (v->flags & CF_NODE) {
		present |= CP_NODE;
		p = compact_write_number(p, (uint64_t)v->node);
	}
	if (v->awaited) {
		present |= CP_AWAIT;
		*p++ = v->awaited->dtype;
		p = compact_write_number(p, v->awaited->count);
	}
	b->column[CC_CALL].at = p;
	return present;
}

static bool has_block_space(const struct compact_block *b, unsigned rows)
{
	const struct column *call = &b->column[CC_CALL], *row = &b->column[CC_ROW];

	return b->calls < COMPACT_CALLS_MAX && b->rows + rows <= COMPACT_ROWS_MAX &&
	       call->end - call->at >= CALL_ROOM &&
	       row->end - row->at >= (ptrdiff_t)(ROW_ROOM * (size_t)rows);
}

int compact_block_add(struct compact_block *b, const struct record *r)
{
	const uint32_t known = (uint32_t)((UINT64_C(1) << CALL_FLAGS) - 1);
	const struct journal_call *call = r->call;
	const bool plain = is_plain_call(call, r->end, r->open);
	struct row_values v = plain ? settle_plain_row(r->clock, call, NULL)
				    : settle_row(r->clock, call, r->end, NULL, r->open);
	struct column *c = b->column;
	struct function_state *f;
	uint64_t start = clock_to_real(r->clock, call->start);
	uint64_t key[FUNCTION_WORDS];
	int64_t function, site;

	if (!has_block_space(b, r->n))
		return -ENOBUFS;
	if (r->n)
		v.awaited = NULL;
	compute_function_key(r, v.flags & known, key);
	site = b->sites.n ? b->site[b->last_site].next : 0;
	if (__builtin_expect(!is_expected_site(b, (uint32_t)site, key, r), 0)) {
		function = find_function(b, r, v.flags & known, key);
		if (function < 0)
			return (int)function;
		site = find_block_site(b, (uint32_t)function, r);
		if (site < 0)
			return (int)site;
		b->site[b->last_site].next = (uint32_t)site;
	}
	b->last_site = (uint32_t)site;
	f = &b->function[b->site[site].function];
	c[CC_SITE].at = compact_write_number(c[CC_SITE].at, (uint64_t)site);
	c[CC_PRESENT].at = compact_write_number(
		c[CC_PRESENT].at, write_call(b, call, &v, f, &b->comm[f->comm], plain));
	c[CC_SEQ].at = compact_write_signed(c[CC_SEQ].at, (int64_t)(call->seq - b->seq - 1));
	b->seq = call->seq;
	c[CC_START].at = compact_write_signed(c[CC_START].at, (int64_t)(start - b->start));
	b->start = start;
	if (!(v.flags & CF_OPEN))
		c[CC_DURATION].at = compact_write_number(c[CC_DURATION].at, (uint64_t)v.dur_ns);
	for (unsigned i = 0, first = b->site[site].first; i < r->n; i++)
		write_compact_row(b, r->tensor[i], b->site_tensor[first + i]);
	b->calls++;
	b->rows += r->n;
	return 0;
}

/* ---- the whole ---- */

static unsigned char *write_head(const struct compact_block *b, unsigned char *p)
{
	compact_write_u32(p + COMPACT_AT_CALLS, b->calls);
	compact_write_u32(p + COMPACT_AT_FLAGS,
		(b->first ? COMPACT_FIRST : 0u) | (uint32_t)COMPACT_COLUMNS << 16);
	p += COMPACT_HEAD;
	for (unsigned i = 0; i < COMPACT_COLUMNS; i++)
		p = compact_write_number(p, (uint64_t)(b->column[i].at - b->column[i].from));
	return p;
}

size_t compact_block_measure(const struct compact_block *b)
{
	unsigned char head[COMPACT_HEAD + COMPACT_COLUMNS * COMPACT_VARINT_MAX];
	size_t n = (size_t)(write_head(b, head) - head);

	for (unsigned i = 0; i < COMPACT_COLUMNS; i++)
		n += (size_t)(b->column[i].at - b->column[i].from);
	return n;
}

void compact_block_write(struct compact_block *b, unsigned char *p)
{
	unsigned char *at = write_head(b, p);
	size_t bytes;

	for (unsigned i = 0; i < COMPACT_COLUMNS; i++) {
		size_t n = (size_t)(b->column[i].at - b->column[i].from);

		memcpy(at, b->column[i].from, n);
		at += n;
	}
	bytes = (size_t)(at - p);
	memcpy(p, COMPACT_MAGIC, 4);
	compact_write_u32(p + COMPACT_AT_BYTES, (uint32_t)bytes);
	compact_write_u32(p + COMPACT_AT_SUM,
		stats_checksum_of(CHECKSUM_CRC32, p + COMPACT_SUM_FROM, bytes - COMPACT_SUM_FROM));
}
