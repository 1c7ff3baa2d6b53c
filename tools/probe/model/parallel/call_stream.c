/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/parallel/call_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "journal/columns.h"

#define MAGIC UINT64_C(0x314c4c4143425250) /* "PRBCALL1" */
#define BLOCK_BYTES 16384 /* a rank's turn ends after this many bytes ... */
#define TURN_NS UINT64_C(50000000) /* ... or when it is this far ahead of the others, ns */
#define WORDS (sizeof(struct call) / 8)
#define REOPEN_MS 1000
#define NAMES 6 /* number of interned members of a call */

_Static_assert(
	sizeof(struct call) % 8 == 0 && WORDS < 64, "a call differs from the format of the stream");

enum block_kind { BLOCK_CALLS = 1, BLOCK_NAME, BLOCK_END };
enum record_kind { RECORD_CALL = 1, RECORD_BAD, RECORD_ROUNDS };

struct stream_head {
	uint64_t magic, key;
	uint32_t call_bytes, columns;
};

struct block_head {
	uint32_t kind, rank, bytes, name;
	uint64_t done; /* position in the rank's files, in bytes */
};

struct rank_end {
	uint64_t rows, damaged, truncated, unreadable;
};

/* ---- writing ---- */

struct buffer_out {
	char *p;
	size_t n, cap;
};

static char *reserve_out(struct buffer_out *b, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = (b->n + n) * 2;
		b->p = tool_realloc(b->p, b->cap);
	}
	b->n += n;
	return b->p + b->n - n;
}

static void write_out(struct buffer_out *b, const void *p, size_t n)
{
	memcpy(reserve_out(b, n), p, n);
}

struct rank_out {
	struct calls *calls;
	calls_bad_fn *bad; /* the function of the caller's reader */
	void *bad_arg;
	struct call last, next;
	bool has;
};

struct stream_out {
	int fd, err;
	struct buffer_out block, all;
	struct rank_out *rank;
	struct rank_out *now; /* the rank whose calls are being read */
	unsigned char *told; /* one bit per interned number: its string is already in the stream */
	uint32_t ntold;
};

static void write_block(struct stream_out *o, const struct block_head *h, const void *p)
{
	o->all.n = 0;
	write_out(&o->all, h, sizeof(*h));
	write_out(&o->all, p, h->bytes);
	if (!o->err)
		o->err = io_write_all(o->fd, o->all.p, o->all.n);
}

static void tell_name(struct stream_out *o, uint32_t id)
{
	const char *s;

	if (id / 8 >= o->ntold) {
		uint32_t want = (id / 8 + 1) * 2;

		o->told = tool_realloc(o->told, want);
		memset(o->told + o->ntold, 0, want - o->ntold);
		o->ntold = want;
	}
	if (!id || o->told[id / 8] >> (id % 8) & 1)
		return;
	o->told[id / 8] |= (unsigned char)(1 << id % 8);
	s = intern_get_name(id);
	write_block(o,
		&(struct block_head){.kind = BLOCK_NAME, .name = id, .bytes = (uint32_t)strlen(s)},
		s);
}

static void names_of_call(const struct call *c, uint32_t id[NAMES])
{
	id[0] = c->lib;
	id[1] = c->api;
	id[2] = c->op;
	id[3] = c->redop;
	id[4] = c->dtype;
	id[5] = c->phase;
}

/*
 * Writes the words of a call that differ from the previous call, preceded by a mask with one bit
 * per word.
 */
static void write_call_words(struct stream_out *o, struct rank_out *r, const struct call *c)
{
	uint64_t mask = 0, changed[1 + WORDS];
	uint32_t id[NAMES];
	unsigned n = 1;

	names_of_call(c, id);
	for (unsigned i = 0; i < NAMES; i++)
		tell_name(o, id[i]);
	for (unsigned i = 0; i < WORDS; i++) {
		uint64_t now, was;

		memcpy(&now, (const char *)c + i * sizeof(now), sizeof(now));
		memcpy(&was, (const char *)&r->last + i * sizeof(was), sizeof(was));
		/* Without branches, because which words change is hard to predict. */
		changed[n] = now;
		mask |= (uint64_t)(now != was) << i;
		n += now != was;
	}
	changed[0] = mask;
	write_out(&o->block, changed, n * sizeof(*changed));
	r->last = *c;
}

/* A calls_bad_fn. */
static void write_bad_row(
	void *arg, struct calls *s, const struct call *c, uint64_t nans, uint64_t infs)
{
	struct stream_out *o = arg;
	uint64_t count[2] = {nans, infs};

	*reserve_out(&o->block, 1) = RECORD_BAD;
	write_call_words(o, o->now, c);
	write_out(&o->block, count, sizeof(count));
	for (int i = 0; i < COLUMNS; i++) {
		const struct csv_text *t = calls_get_column(s, (enum column)i);
		uint32_t n = (uint32_t)t->n;

		write_out(&o->block, &n, sizeof(n));
		write_out(&o->block, t->s, n);
	}
}

static void write_rank_end(struct stream_out *o, const struct calls *s)
{
	struct rank_end e = {s->rows, s->damaged, s->truncated, s->unreadable};

	o->block.n = 0;
	write_out(&o->block, &e, sizeof(e));
	if (s->wrong)
		write_out(&o->block, s->wrong, strlen(s->wrong));
	write_block(o,
		&(struct block_head){.kind = BLOCK_END,
			.rank = s->rank,
			.bytes = (uint32_t)o->block.n,
			.done = calls_get_bytes_read(s)},
		o->block.p);
	o->block.n = 0;
}

static bool is_out_before(const struct rank_out *a, const struct rank_out *b)
{
	return a->next.start < b->next.start;
}

static void sift_out(struct rank_out **heap, unsigned n, unsigned i)
{
	for (;;) {
		unsigned least = i;

		for (unsigned k = 2 * i + 1; k <= 2 * i + 2; k++)
			if (k < n && is_out_before(heap[k], heap[least]))
				least = k;
		if (least == i)
			return;

		struct rank_out *t = heap[i];

		heap[i] = heap[least];
		heap[least] = t;
		i = least;
	}
}

static void write_rounds(struct stream_out *o, const struct rank_dir *d)
{
	uint64_t n[3] = {d->nround, d->nlonger, d->peers_steps};

	if (!n[0])
		return;
	*reserve_out(&o->block, 1) = RECORD_ROUNDS;
	write_out(&o->block, n, sizeof(n));
	write_out(&o->block, d->round, n[0] * sizeof(*d->round));
	if (n[1])
		write_out(&o->block, d->longer, n[1] * sizeof(*d->longer));
}

static void read_next_out(struct stream_out *o, struct rank_out *r)
{
	o->now = r;
	r->has = calls_read_next(r->calls, &r->next);
}

static void write_calls_block(struct stream_out *o, const struct rank_out *r)
{
	if (!o->block.n)
		return;
	write_block(o,
		&(struct block_head){.kind = BLOCK_CALLS,
			.rank = r->calls->rank,
			.bytes = (uint32_t)o->block.n,
			.done = calls_get_bytes_read(r->calls)},
		o->block.p);
	o->block.n = 0;
}

/*
 * Writes as many calls of one rank as fit into a block, without getting far ahead of the next rank.
 */
static void write_turn(struct stream_out *o, struct rank_out *r)
{
	uint64_t until = r->next.start + TURN_NS;

	while (r->has && o->block.n < BLOCK_BYTES && r->next.start <= until) {
		*reserve_out(&o->block, 1) = RECORD_CALL;
		write_call_words(o, r, &r->next);
		read_next_out(o, r);
	}
	write_calls_block(o, r);
}

static void write_all_ranks(struct stream_out *o, unsigned n, const volatile sig_atomic_t *stop)
{
	struct rank_out **heap = tool_alloc((n + 1) * sizeof(*heap));
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++) {
		struct rank_out *r = &o->rank[i];

		write_rounds(o, r->calls->dir);
		read_next_out(o, r);
		/* Also writes the bad rows of the first call. */
		write_calls_block(o, r);
		if (r->has)
			heap[left++] = r;
		else
			write_rank_end(o, r->calls);
	}
	for (unsigned i = left; i-- > 0;)
		sift_out(heap, left, i);
	while (left && !o->err && !*stop) {
		struct rank_out *r = heap[0];

		write_turn(o, r);
		if (!r->has) {
			write_rank_end(o, r->calls);
			heap[0] = heap[--left];
		}
		sift_out(heap, left, 0);
	}
	free(heap);
}

int stream_write_calls(int fd, uint64_t key, struct calls *const *reader, unsigned n,
	const volatile sig_atomic_t *stop)
{
	struct stream_head h = {MAGIC, key, sizeof(struct call), COLUMNS};
	struct stream_out o = {.fd = fd};

	o.err = io_write_all(fd, &h, sizeof(h));
	o.rank = tool_alloc((n + 1) * sizeof(*o.rank));
	for (unsigned i = 0; i < n; i++) {
		o.rank[i].calls = reader[i];
		o.rank[i].bad = reader[i]->bad;
		o.rank[i].bad_arg = reader[i]->bad_arg;
		reader[i]->bad = write_bad_row;
		reader[i]->bad_arg = &o;
	}
	write_all_ranks(&o, n, stop);
	for (unsigned i = 0; i < n; i++) {
		reader[i]->bad = o.rank[i].bad;
		reader[i]->bad_arg = o.rank[i].bad_arg;
	}
	free(o.rank);
	free(o.told);
	free(o.block.p);
	free(o.all.p);
	return o.err;
}

/* ---- reading ---- */

struct piece {
	struct piece *next;
	uint64_t done;
	size_t n, at;
	char data[];
};

struct rank_in {
	struct piece *first, *last; /* blocks that were read before their rank needed them */
	struct call now;
	bool ended;
};

struct call_source {
	char *path;
	int fd; /* -1: not opened yet */
	const volatile sig_atomic_t *stop;
	uint64_t key;
	bool begun, broken;
	unsigned nrank;
	struct rank_in *rank; /* by folder index; only ranks of the stream are used */
	uint32_t *name; /* converts the writer's numbers to the reader's */
	uint32_t nname;
};

/*
 * Opens the file again at the current position. The client of a file server checks whether a file
 * has grown when it is opened. Otherwise it may not notice the growth for a minute.
 */
static void reopen_source(struct call_source *s)
{
	off_t at = s->fd >= 0 ? lseek(s->fd, 0, SEEK_CUR) : 0;

	if (s->fd >= 0)
		close(s->fd);
	s->fd = open(s->path, O_RDONLY | O_CLOEXEC);
	if (s->fd >= 0)
		lseek(s->fd, at, SEEK_SET);
}

/* Returns false if no more data will come. */
static bool read_stream_bytes(struct call_source *s, void *p, size_t n)
{
	unsigned waited_ms = 0;

	while (n) {
		ssize_t got = s->fd < 0 ? 0 : read(s->fd, p, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || *s->stop || waited_ms > SOURCE_MISSING_S * 1000)
			return false;
		if (got == 0) {
			if (s->fd < 0 || waited_ms % REOPEN_MS == REOPEN_MS - 1)
				reopen_source(s);
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
			waited_ms++;
			continue;
		}
		waited_ms = 0;
		p = (char *)p + got;
		n -= (size_t)got;
	}
	return true;
}

struct call_source *call_source_open(
	char *path, uint64_t key, unsigned ranks, const volatile sig_atomic_t *stop)
{
	struct call_source *s = tool_alloc(sizeof(*s));

	s->path = path;
	s->fd = -1;
	s->stop = stop;
	s->nrank = ranks;
	s->rank = tool_alloc((ranks + 1) * sizeof(*s->rank));
	s->key = key;
	return s;
}

void call_source_close(struct call_source *s)
{
	for (unsigned i = 0; i < s->nrank; i++)
		for (struct piece *p = s->rank[i].first, *next; p; p = next) {
			next = p->next;
			free(p);
		}
	if (s->fd >= 0)
		close(s->fd);
	free(s->path);
	free(s->rank);
	free(s->name);
	free(s);
}

static void learn_name(struct call_source *s, uint32_t id, const struct piece *p)
{
	if (id >= s->nname) {
		uint32_t want = id * 2 + 64;

		s->name = tool_realloc(s->name, want * sizeof(*s->name));
		memset(s->name + s->nname, 0, (want - s->nname) * sizeof(*s->name));
		s->nname = want;
	}
	s->name[id] = intern_add_text(p->data, p->n);
}

/* Handles the rank's last block: its counts. */
static void finish_rank(struct calls *s, const struct piece *p)
{
	struct rank_end e;

	if (p->n < sizeof(e))
		return;
	memcpy(&e, p->data, sizeof(e));
	s->rows = e.rows;
	s->damaged = e.damaged;
	s->truncated = e.truncated;
	s->unreadable = e.unreadable;
	s->bytes_done = p->done;
	if (p->n > sizeof(e))
		s->wrong = tool_format("%.*s", (int)(p->n - sizeof(e)), p->data + sizeof(e));
}

#define BLOCK_MOST (64u << 20)

static bool read_stream_head(struct call_source *s)
{
	struct stream_head h;

	s->begun = true;
	return read_stream_bytes(s, &h, sizeof(h)) && h.magic == MAGIC && h.key == s->key &&
	       h.call_bytes == sizeof(struct call) && h.columns == COLUMNS;
}

/*
 * Reads a block and queues it for its rank. The last block of a rank (BLOCK_END) follows all its
 * calls. Its `at` is SIZE_MAX.
 */
static bool read_stream_block(struct call_source *s)
{
	struct block_head h;
	struct piece *p;

	s->broken |= !s->begun && !read_stream_head(s);
	if (s->broken || !read_stream_bytes(s, &h, sizeof(h)) || h.bytes > BLOCK_MOST ||
		(h.kind != BLOCK_NAME && h.rank >= s->nrank) || h.name > 1u << 24) {
		s->broken = true;
		return false;
	}
	p = tool_alloc(sizeof(*p) + h.bytes + 1);
	p->n = h.bytes;
	p->done = h.done;
	if (!read_stream_bytes(s, p->data, h.bytes)) {
		free(p);
		s->broken = true;
		return false;
	}
	if (h.kind == BLOCK_NAME) {
		learn_name(s, h.name, p);
		free(p);
		return true;
	}

	struct rank_in *r = &s->rank[h.rank];

	p->at = h.kind == BLOCK_END ? SIZE_MAX : 0;
	*(r->last ? &r->last->next : &r->first) = p;
	r->last = p;
	return true;
}

static bool take_piece_bytes(struct piece *p, void *to, size_t n)
{
	if (p->n - p->at < n)
		return false;
	memcpy(to, p->data + p->at, n);
	p->at += n;
	return true;
}

static uint32_t own_name(const struct call_source *s, uint32_t id)
{
	return id < s->nname ? s->name[id] : 0;
}

static bool take_stream_call(struct piece *p, struct call *c)
{
	uint64_t mask;
	const char *from;

	if (!take_piece_bytes(p, &mask, sizeof(mask)) || mask >> WORDS ||
		p->n - p->at < 8 * (size_t)__builtin_popcountll(mask))
		return false;
	from = p->data + p->at;
	for (; mask; mask &= mask - 1, from += 8)
		memcpy((char *)c + 8 * __builtin_ctzll(mask), from, 8);
	p->at = (size_t)(from - p->data);
	return true;
}

static struct call translate_call(const struct call_source *s, const struct call *c)
{
	struct call own = *c;

	own.lib = own_name(s, c->lib);
	own.api = own_name(s, c->api);
	own.op = own_name(s, c->op);
	own.redop = own_name(s, c->redop);
	own.dtype = own_name(s, c->dtype);
	own.phase = own_name(s, c->phase);
	return own;
}

static bool take_bad_row(
	const struct call_source *from, struct piece *p, struct calls *s, struct call *c)
{
	uint64_t count[2];
	struct call own;

	if (!take_stream_call(p, c) || !take_piece_bytes(p, count, sizeof(count)))
		return false;
	for (int i = 0; i < COLUMNS; i++) {
		uint32_t n;

		if (!take_piece_bytes(p, &n, sizeof(n)) || p->n - p->at < n)
			return false;
		s->csv.field[i] = (struct csv_text){p->data + p->at, n};
		p->at += n;
	}
	own = translate_call(from, c);
	if (s->bad)
		s->bad(s->bad_arg, s, &own, count[0], count[1]);
	return true;
}

static bool take_rounds(struct piece *p, struct rank_dir *d)
{
	uint64_t n[3], most;

	if (d->round || !take_piece_bytes(p, n, sizeof(n)))
		return false;
	most = (p->n - p->at) / sizeof(*d->round);
	if (n[0] > most || n[1] > most)
		return false;
	d->nround = (unsigned)n[0];
	d->nlonger = (unsigned)n[1];
	d->peers_steps = n[2] != 0;
	d->round = tool_alloc((n[0] + 1) * sizeof(*d->round));
	d->longer = tool_alloc((n[1] + 1) * sizeof(*d->longer));
	return take_piece_bytes(p, d->round, n[0] * sizeof(*d->round)) &&
	       take_piece_bytes(p, d->longer, n[1] * sizeof(*d->longer));
}

static bool take_record(
	const struct call_source *from, struct piece *p, char kind, struct calls *s, struct call *c)
{
	switch (kind) {
	case RECORD_CALL:
		return take_stream_call(p, c);
	case RECORD_BAD:
		return take_bad_row(from, p, s, c);
	case RECORD_ROUNDS:
		return take_rounds(p, (struct rank_dir *)s->dir);
	}
	return false;
}

static bool end_early(struct call_source *from, struct calls *s, struct rank_in *r)
{
	from->broken = true;
	r->ended = true;
	if (!s->wrong)
		s->wrong = tool_strdup(
			"the process that read these files ended too early; the rest of its files "
			"was not read");
	s->unreadable++;
	return false;
}

bool call_source_next(struct call_source *from, struct calls *s, struct call *out)
{
	struct rank_in *r = &from->rank[s->rank];
	char kind;

	while (!r->ended) {
		struct piece *p = r->first;

		if (!p) {
			if (!read_stream_block(from))
				return end_early(from, s, r);
			continue;
		}
		s->bytes_done = p->done;
		if (p->at == SIZE_MAX) {
			finish_rank(s, p);
			r->ended = true;
			break;
		}
		if (p->at == p->n) {
			r->first = p->next;
			if (!r->first)
				r->last = NULL;
			free(p);
			continue;
		}
		if (!take_piece_bytes(p, &kind, 1) || !take_record(from, p, kind, s, &r->now))
			return end_early(from, s, r);
		if (kind == RECORD_CALL) {
			*out = translate_call(from, &r->now);
			return true;
		}
	}
	return false;
}
