/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call is stored as its difference from the previous one. The dictionaries contain what
 * repeats: a site is a function on a communicator, a stack, and the tensors' types and shapes;
 * the number of a site stands for all of these.
 */
#include "formats/compact/block.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/compact/block_entries.h"
#include "sink/call_site.h"
#include "sink/calls_csv.h"
#include "sink/row_values.h"
#include "sink/sink.h"
#include "stats/stats.h"
#include "terms/dtype.h"

#define CALL_ROOM 128 /* upper limit of a call's bytes in CC_CALL: twelve numbers */
#define ROW_ROOM 80 /* upper limit of a row's bytes in CC_ROW: seven numbers and a checksum */
#define KEYS_MAX (1u << 20) /* maximum number of words of a dictionary's keys */

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
	b->known = calloc(CALL_SITES, sizeof(*b->known));
	if (!b->known) {
		free(b);
		return NULL;
	}
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
	free(b->known);
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
	b->dictionaries++;
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
		const struct dtype_info *d = get_dtype_info(t->dtype);
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
		widths |= write_real_value(&b->column[CC_MEAN], get_bits(&s->mean),
				  &before[d->wide][2], d->wide)
			  << 4;
		widths |= write_real_value(&b->column[CC_NORM], get_bits(&s->norm),
				  &before[d->wide][3], d->wide)
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

/*
 * Writes the numbers of a row in which nothing but four real numbers may differ from `before`,
 * those of the last one. Returns their widths.
 */
static inline unsigned write_four_numbers(
	struct column *c, const struct stats *s, uint64_t *before, bool wide)
{
	_Static_assert(offsetof(struct stats, norm) == offsetof(struct stats, min) + 24,
		"four numbers, one after the other");
	const call_word *v = (const call_word *)&s->min;
	call_word_pair other =
		get_pair_difference(v, before, 0) | get_pair_difference(v, before, 2);
	unsigned widths = 0;

	if (other[0] | other[1]) {
		widths = write_real_value(&c[CC_MIN], v[0], &before[0], wide);
		widths |= write_real_value(&c[CC_MAX], v[1], &before[1], wide) << 2;
		widths |= write_real_value(&c[CC_MEAN], v[2], &before[2], wide) << 4;
		widths |= write_real_value(&c[CC_NORM], v[3], &before[3], wide) << 6;
	}
	return widths;
}

/* Like write_any_row(), for a row in which only the four numbers may differ from the last one. */
static inline void write_compact_row(
	struct compact_block *b, const struct journal_tensor *t, uint32_t number)
{
	const struct stats *s = &t->stats;
	const struct row_state *k = &b->row[t->io != IO_IN];
	struct column *c = b->column;

	if (__builtin_expect(k->tensor != number, 0) ||
		__builtin_expect((s->n ^ k->components) | s->zeros | s->nans | s->infs | t->flags |
					 !is_plain_tensor(t),
			0)) {
		write_any_row(b, t, number);
		return;
	}
	*c[CC_WIDTHS].at++ = (unsigned char)write_four_numbers(c, s, k->before, k->wide);
	*c[CC_KIND].at++ = CR_STATISTICS;
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

/* Writes the columns from the call's site to its duration. start: in ns. */
static inline __attribute__((always_inline)) void write_call_columns(struct compact_block *b,
	const struct journal_call *call, const struct row_values *v, uint32_t site,
	struct function_state *f, struct comm_state *comm, uint64_t start, bool plain)
{
	struct column *c = b->column;

	c[CC_SITE].at = compact_write_number(c[CC_SITE].at, site);
	c[CC_PRESENT].at =
		compact_write_number(c[CC_PRESENT].at, write_call(b, call, v, f, comm, plain));
	c[CC_SEQ].at = compact_write_signed(c[CC_SEQ].at, (int64_t)(call->seq - b->seq - 1));
	b->seq = call->seq;
	c[CC_START].at = compact_write_signed(c[CC_START].at, (int64_t)(start - b->start));
	b->start = start;
	if (!(v->flags & CF_OPEN))
		c[CC_DURATION].at = compact_write_number(c[CC_DURATION].at, (uint64_t)v->dur_ns);
	b->calls++;
}

/* Stores what the block has of the record's site. */
static void add_known_site(struct compact_block *b, const struct record *r, uint32_t site)
{
	struct known_site *k = &b->known[r->site->slot];
	const struct site_state *s = &b->site[site];

	k->serial = r->site->serial;
	k->dictionaries = b->dictionaries;
	k->site = site;
	k->function = s->function;
	k->comm = b->function[s->function].comm;
	for (unsigned i = 0; i < r->n; i++) {
		const struct journal_tensor *t = r->tensor[i];
		const struct dtype_info *d = get_dtype_info(t->dtype);

		k->before[i] = NULL;
		k->wide[i] = d->wide;
		if (t->stats.n && !t->flags && !compact_has_integers(d) &&
			t->stats.n == compact_compute_components(t->dtype, t->count))
			k->before[i] = b->before[t->io != IO_IN][d->wide];
	}
}

/* Adds a call of a site that the block has. */
static int add_known_call(
	struct compact_block *b, const struct record *r, const struct known_site *k)
{
	const struct journal_call *call = r->call;
	const struct row_values v = compute_plain_row(r->clock, call, NULL);

	if (__builtin_expect(!has_block_space(b, r->n), 0))
		return -ENOBUFS;
	write_call_columns(b, call, &v, k->site, &b->function[k->function], &b->comm[k->comm],
		clock_to_real(r->clock, call->start), true);
	b->last_site = k->site;
	for (unsigned i = 0, n = r->n; i < n; i++) {
		const struct journal_tensor *t = r->tensor[i];
		const struct stats *s = &t->stats;
		struct column *c = b->column;

		if (__builtin_expect(!k->before[i] || s->zeros | s->nans | s->infs, 0)) {
			write_any_row(b, t, b->site_tensor[b->site[k->site].first + i]);
			continue;
		}
		*c[CC_WIDTHS].at++ =
			(unsigned char)write_four_numbers(c, s, k->before[i], k->wide[i]);
		*c[CC_KIND].at++ = CR_STATISTICS;
	}
	b->rows += r->n;
	return 0;
}

static __attribute__((noinline)) int add_any_call(struct compact_block *b, const struct record *r)
{
	const uint32_t known = (uint32_t)((UINT64_C(1) << CALL_FLAGS) - 1);
	const struct journal_call *call = r->call;
	const bool plain = is_plain_call(call, r->end, r->open);
	struct row_values v = plain ? compute_plain_row(r->clock, call, NULL)
				    : compute_row(r->clock, call, r->end, NULL, r->open);
	struct function_state *f;
	uint64_t key[FUNCTION_WORDS];
	int64_t function, site;

	if (!has_block_space(b, r->n))
		return -ENOBUFS;
	if (r->n)
		v.awaited = NULL;
	compute_function_key(r, v.flags & known, key);
	site = b->sites.n ? b->site[b->last_site].next : 0;
	if (__builtin_expect(!is_expected_site(b, (uint32_t)site, key, r), 0)) {
		function = find_block_function(b, r, v.flags & known, key);
		if (function < 0)
			return (int)function;
		site = find_block_site(b, (uint32_t)function, r);
		if (site < 0)
			return (int)site;
		b->site[b->last_site].next = (uint32_t)site;
	}
	b->last_site = (uint32_t)site;
	f = &b->function[b->site[site].function];
	write_call_columns(b, call, &v, (uint32_t)site, f, &b->comm[f->comm],
		clock_to_real(r->clock, call->start), plain);
	if (r->site)
		add_known_site(b, r, (uint32_t)site);
	for (unsigned i = 0, first = b->site[site].first; i < r->n; i++)
		write_compact_row(b, r->tensor[i], b->site_tensor[first + i]);
	b->rows += r->n;
	return 0;
}

int compact_block_add(struct compact_block *b, const struct record *r)
{
	const struct known_site *k = r->site ? &b->known[r->site->slot] : NULL;

	return __builtin_expect(
		       k && k->serial == r->site->serial && k->dictionaries == b->dictionaries, 1)
		       ? add_known_call(b, r, k)
		       : add_any_call(b, r);
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
