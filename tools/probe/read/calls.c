/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/read/calls.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/probe/intern.h"
#include "tools/probe/tool.h"

static const char *const column_name[COLUMNS] = {
	"step",
	"seq",
	"lib",
	"api",
	"op",
	"comm",
	"comm_seq",
	"rank",
	"size",
	"redop",
	"root",
	"peer",
	"io",
	"index",
	"dtype",
	"shape",
	"count",
	"bytes",
	"min",
	"max",
	"mean",
	"norm",
	"nans",
	"infs",
	"start_ns",
	"dur_ns",
	"thread",
	"stack_id",
	"flags",
	"parent",
	"name",
	"tag",
	"wait_ns",
};

/* ---- the files ---- */

/* calls_<a>-<b>[.<k>].csv[.gz] */
static bool parse_name(const char *name, struct calls_file *f, bool *gz)
{
	unsigned long long a, b, part = 0;
	int n = 0;

	if (sscanf(name, "calls_%llu-%llu%n", &a, &b, &n) < 2)
		return false;
	name += n;
	n = 0;
	if (sscanf(name, ".%llu%n", &part, &n) == 1)
		name += n;
	*gz = strcmp(name, ".csv.gz") == 0;
	f->first = a;
	f->last = b;
	f->part = part;
	return *gz || strcmp(name, ".csv") == 0;
}

static int by_block(const void *x, const void *y)
{
	const struct calls_file *a = x, *b = y;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->overlay != b->overlay)
		return a->overlay ? 1 : -1;
	return a->part != b->part ? (a->part < b->part ? -1 : 1) : strcmp(a->path, b->path);
}

static void list_files(struct calls *s, const char *dir, const struct overlay *o, bool overlay)
{
	DIR *d = opendir(dir);
	struct stat st;

	for (struct dirent *e; d && (e = readdir(d));) {
		struct calls_file f = {.overlay = overlay, .limit = UINT64_MAX};
		bool gz;
		char plain[256];

		if (!parse_name(e->d_name, &f, &gz) || fstatat(dirfd(d), e->d_name, &st, 0) < 0)
			continue;
		/* Being compressed, or compressed with the original kept: one of the two. */
		snprintf(plain, sizeof(plain), "%.*s", (int)strlen(e->d_name) - 3, e->d_name);
		if (gz && faccessat(dirfd(d), plain, 0, 0) == 0)
			continue;
		f.bytes = (uint64_t)st.st_size;
		if (o && !overlay && !gz)
			f.limit = overlay_limit(o, e->d_name);
		if (f.limit < f.bytes)
			f.bytes = f.limit;
		f.path = tool_format("%s/%s", dir, e->d_name);
		TOOL_GROW(s->file, s->nfile, s->cap_file);
		s->file[s->nfile++] = f;
	}
	if (d)
		closedir(d);
}

void calls_open(struct calls *s, const struct rank_dir *dir, uint32_t rank, const struct overlay *o)
{
	*s = (struct calls){.dir = dir, .rank = rank, .step_hi = UINT64_MAX, .buffer = 1 << 18};
	list_files(s, dir->path, o, false);
	if (o && o->path)
		list_files(s, o->path, o, true);
	if (s->nfile)
		qsort(s->file, s->nfile, sizeof(*s->file), by_block);
}

void calls_close(struct calls *s)
{
	if (s->reading)
		csv_close(&s->csv);
	for (unsigned i = 0; i < s->nfile; i++)
		free(s->file[i].path);
	free(s->file);
	free(s->wrong);
	*s = (struct calls){0};
}

static bool wanted(const struct calls *s, const struct calls_file *f)
{
	return f->first <= s->step_hi && f->last >= s->step_lo;
}

uint64_t calls_bytes(const struct calls *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->nfile; i++)
		sum += wanted(s, &s->file[i]) ? s->file[i].bytes : 0;
	return sum;
}

uint64_t calls_done(const struct calls *s)
{
	return s->bytes_done + (s->reading ? s->csv.src.at : 0);
}

/* Without these a row says nothing. */
static bool usable(struct calls *s)
{
	static const enum column needed[] = {COL_STEP, COL_SEQ, COL_API, COL_OP, COL_START};

	for (int i = 0; i < COLUMNS; i++)
		s->column[i] = csv_column(&s->csv, column_name[i]);
	for (unsigned i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (s->column[needed[i]] < 0) {
			s->lacking = column_name[needed[i]];
			return false;
		}
	return true;
}

static void end_file(struct calls *s)
{
	s->rows += s->csv.rows;
	s->damaged += s->csv.damaged;
	/* While the process is writing the end of its last file may be half a line: nothing is lost then. */
	if (s->csv.truncated && (s->dir->state != RANK_RUNNING || s->csv.src.gz))
		s->truncated++;
	if (s->csv.err) {
		s->unreadable++;
		if (!s->wrong)
			s->wrong =
				tool_format("%s: %s", s->file[s->at].path, strerror(-s->csv.err));
	}
	s->bytes_done += s->file[s->at].bytes;
	csv_close(&s->csv);
	s->reading = false;
	s->at++;
}

/* Opens the next file that can be read. */
static bool begin_file(struct calls *s)
{
	for (; s->at < s->nfile; s->at++) {
		const struct calls_file *f = &s->file[s->at];
		int err;

		if (!wanted(s, f))
			continue;
		err = csv_open(&s->csv, f->path, f->limit, s->keep_open, s->buffer);
		s->lacking = NULL;
		if (!err && usable(s)) {
			s->reading = true;
			return true;
		}
		csv_close(&s->csv);
		s->bytes_done += f->bytes;
		if (err == -ENODATA)
			continue; /* just begun */
		s->unreadable++;
		if (!s->wrong)
			s->wrong = s->lacking ? tool_format(
							"%s: has no column %s", f->path, s->lacking)
					      : tool_format("%s: %s", f->path,
							err == -EINVAL ? "no calls file"
								       : strerror(-err));
	}
	return false;
}

/* ---- rows ---- */

static uint64_t number(const struct calls *s, enum column c)
{
	uint64_t v;

	return csv_u64(calls_column(s, c), &v) ? v : 0;
}

static int64_t number_or_none(const struct calls *s, enum column c)
{
	int64_t v;

	return csv_i64(calls_column(s, c), &v) ? v : NO_NUMBER;
}

static uint32_t name(const struct calls *s, enum column c)
{
	const struct csv_text *t = calls_column(s, c);

	return intern(t->s, t->n);
}

/* 16 hex digits; any other text as a hash of it, so that equal ones stay equal. */
static uint64_t comm_id(const struct csv_text *t)
{
	uint64_t v = 0, h = UINT64_C(0xcbf29ce484222325);
	bool hex = t->n <= 16;

	for (size_t i = 0; i < t->n; i++) {
		unsigned char c = (unsigned char)t->s[i];
		unsigned d = c >= '0' && c <= '9' ? c - 48u : c >= 'a' && c <= 'f' ? c - 87u : 16;

		hex &= d < 16;
		v = v << 4 | (d & 15);
		h = (h ^ c) * UINT64_C(0x100000001b3);
	}
	return hex ? v : h;
}

static void flags(struct call *c, const struct csv_text *t)
{
	for (size_t i = 0, k; i < t->n; i = k + 1) {
		const char *p = t->s + i, *end = memchr(p, ';', t->n - i);
		struct csv_text word = {p, end ? (size_t)(end - p) : t->n - i};

		k = i + word.n;
		if (csv_is(&word, "open"))
			c->bits |= CALL_OPEN;
		else if (csv_is(&word, "async"))
			c->bits |= CALL_ASYNC;
		else if (csv_is(&word, "localcomm"))
			c->bits |= CALL_LOCAL;
		else if (word.n > 6 && memcmp(word.s, "error:", 6) == 0) {
			struct csv_text code = {word.s + 6, word.n - 6};

			c->bits |= CALL_ERROR;
			if (!csv_i64(&code, &c->error))
				c->error = 0;
		}
	}
}

/* The first row of a call. False: its numbers are none. */
static bool begin_call(const struct calls *s, struct call *c, uint64_t step, uint64_t seq)
{
	const struct csv_text *t = calls_column(s, COL_FLAGS);
	uint64_t v;

	*c = (struct call){.rank = s->rank, .step = step, .seq = seq};
	if (!csv_u64(calls_column(s, COL_START), &c->start))
		return false;
	c->lib = name(s, COL_LIB);
	c->api = name(s, COL_API);
	c->op = name(s, COL_OP);
	c->redop = name(s, COL_REDOP);
	c->dtype = name(s, COL_DTYPE);
	c->comm = comm_id(calls_column(s, COL_COMM));
	c->comm_seq = number_or_none(s, COL_COMM_SEQ);
	c->comm_rank = number_or_none(s, COL_RANK);
	c->size = number_or_none(s, COL_SIZE);
	c->root = number_or_none(s, COL_ROOT);
	c->peer = number_or_none(s, COL_PEER);
	c->tag = number_or_none(s, COL_TAG);
	c->count = number(s, COL_COUNT);
	c->thread = (uint32_t)number(s, COL_THREAD);
	c->stack = (uint32_t)number(s, COL_STACK);
	if (t->n)
		flags(c, t);
	if (!csv_u64(calls_column(s, COL_DUR), &c->dur))
		c->bits |= CALL_OPEN;
	if (calls_column(s, COL_PARENT)->n)
		c->bits |= CALL_NESTED;
	if (c->peer != NO_NUMBER || c->tag != NO_NUMBER)
		c->bits |= CALL_P2P;
	if (csv_u64(calls_column(s, COL_WAIT), &v)) {
		c->wait = v;
		c->bits |= CALL_WAITED;
	}
	return true;
}

static void add_row(struct calls *s, struct call *c)
{
	const struct csv_text *io = calls_column(s, COL_IO), *n = calls_column(s, COL_NANS);
	const struct csv_text *i = calls_column(s, COL_INFS);
	uint64_t nans = 0, infs = 0, bytes;

	c->rows++;
	if (io->n && csv_u64(calls_column(s, COL_BYTES), &bytes)) {
		if (io->s[0] == 'i')
			c->in_bytes += bytes;
		else
			c->out_bytes += bytes;
	}
	if ((n->n == 1 && n->s[0] == '0' && i->n == 1 && i->s[0] == '0') || (!n->n && !i->n))
		return;
	csv_u64(n, &nans);
	csv_u64(i, &infs);
	if ((nans || infs) && s->bad)
		s->bad(s->bad_arg, s, c, nans, infs);
}

/* Step and seq of the present row; false: damaged. */
static bool row_key(struct calls *s, uint64_t *step, uint64_t *seq)
{
	return csv_u64(calls_column(s, COL_STEP), step) && csv_u64(calls_column(s, COL_SEQ), seq);
}

bool calls_next(struct calls *s, struct call *out)
{
	uint64_t step, seq;
	bool have = false;

	for (;;) {
		if (!s->reading) {
			if (!begin_file(s))
				return have;
			s->ahead = false;
		}
		if (!s->ahead && !csv_next(&s->csv)) {
			end_file(s);
			/* The rows of one call may go on in the next part of the same block, never further. */
			if (have && (s->at >= s->nfile ||
					    s->file[s->at].first != s->file[s->at - 1].first))
				return true;
			continue;
		}
		s->ahead = false;
		if (!row_key(s, &step, &seq)) {
			s->csv.rows--;
			s->csv.damaged++;
			continue;
		}
		if (step < s->step_lo || step > s->step_hi)
			continue;
		if (have && seq != out->seq) {
			s->ahead = true;
			return true;
		}
		if (!have) {
			if (!begin_call(s, out, step, seq)) {
				s->csv.rows--;
				s->csv.damaged++;
				continue;
			}
			have = true;
		}
		add_row(s, out);
	}
}
