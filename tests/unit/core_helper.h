/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the journal and the sink share: a rank's folder in a temporary place, records written the way a
 * thread of the job writes them, and a reader of the CSV files that owes nothing to the code that wrote them.
 */
#ifndef TESTS_UNIT_CORE_HELPER_H
#define TESTS_UNIT_CORE_HELPER_H

#include "tmp_helper.h"

#include "journal/columns.h"
#include "writer/drain.h"
#include "journal/journal.h"
#include "sink/calls_csv.h"
#include "sink/sink.h"

#define NO_WAKE (&(bool){false})

/* ---- a rank's folder ---- */

struct rank {
	char dir[64];
	int dirfd;
	struct journal j;
	struct sink sink;
	struct drain drain;
};

/* The head of a journal as a session fills it in, with a clock whose ticks are nanoseconds since the epoch. */
static inline void fill_test_head(struct journal_head *h)
{
	h->clock = h->clock_last = (struct clock_base){.ns_per_tick = 1.0};
	h->block_steps = 100;
	h->rank = 0;
	h->world_size = 1;
	h->owner.pid = getpid();
	strcpy(h->owner.host, "testhost");
	strcpy(h->owner.boot_id, "test-boot");
}

static inline void rank_make(struct rank *r, size_t bytes)
{
	*r = (struct rank){.dirfd = -1};
	make_tmp(r->dir, sizeof(r->dir));
	r->dirfd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(r->dirfd >= 0);
	assert_int_equal(journal_create(&r->j, r->dirfd, "journal.bin", bytes), 0);
	fill_test_head(r->j.head);
}

static inline void rank_sink(struct rank *r)
{
	assert_int_equal(sink_open(&r->sink, &r->j, r->dirfd, NULL, FORMAT_BIT(CSV)), 0);
	assert_int_equal(files_reset_to_commit(&r->sink.files), 0);
	assert_int_equal(drain_open(&r->drain, &r->j, &r->sink), 0);
}

static inline void rank_unsink(struct rank *r)
{
	drain_close(&r->drain);
	sink_close(&r->sink);
}

static inline void rank_drop(struct rank *r)
{
	if (r->drain.j)
		rank_unsink(r);
	journal_close(&r->j);
	close(r->dirfd);
	remove_tree(r->dir);
}

/* Does what `probe recover` does to a folder: another process than the writer drains the remaining records. */
static inline int recover(const char *dir)
{
	struct rank r = {.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	int err = journal_open(&r.j, r.dirfd, "journal.bin", false);

	if (!err) {
		rank_sink(&r);
		err = drain_all(&r.drain, false);
		if (!err)
			err = drain_all(&r.drain, true);
		rank_unsink(&r);
		journal_close(&r.j);
	}
	close(r.dirfd);
	return err;
}

/* ---- records, as a thread of the job writes them ---- */

static inline void dict_api(struct journal *j, uint16_t id, const char *symbol)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "mpi%c%s%call_reduce", 0, symbol, 0);

	assert_int_equal(journal_dict_add(j, DICT_API, id, text, (size_t)n + 1), 0);
}

static inline void put_test_tensor(
	struct journal_tensor *t, uint8_t io, uint16_t index, uint64_t count)
{
	*t = (struct journal_tensor){.count = count,
		.bytes = 4 * count,
		.comm_seq = JOURNAL_NONE64,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.index = index,
		.dtype = DT_FLOAT32,
		.io = io,
		.flags = TF_NOSTATS,
		.ndim = JOURNAL_NDIM_NONE};
}

/* Enters a call with nin inputs and room for nout outputs. NULL: the journal is full. */
static inline struct journal_call *enter_call(
	struct chain *c, uint64_t seq, uint32_t step, unsigned nin, unsigned nout)
{
	uint32_t bytes = (uint32_t)(sizeof(struct journal_call) +
				    (nin + nout) * sizeof(struct journal_tensor));
	struct journal_call *r = chain_reserve(c, bytes, NO_WAKE);

	if (!r)
		return NULL;
	*r = (struct journal_call){.e = {.bytes = bytes, .type = JE_CALL, .n = (uint16_t)nin},
		.seq = seq,
		.start = 1000 + seq,
		.comm_seq = JOURNAL_NONE64,
		.comm_rank = -1,
		.comm_size = -1,
		.step = step,
		.micro_step = UINT32_MAX,
		.root = JOURNAL_NONE,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.api = 1};
	for (unsigned i = 0; i < nin; i++)
		put_test_tensor((struct journal_tensor *)(r + 1) + i, IO_IN, (uint16_t)i, seq);
	atomic_store_explicit(&r->e.state, JCS_OPEN, memory_order_relaxed);
	chain_publish(c, bytes);
	return r;
}

static inline void leave_call(struct journal_call *r, unsigned nout)
{
	for (unsigned i = 0; i < nout; i++)
		put_test_tensor(
			(struct journal_tensor *)(r + 1) + r->e.n + i, IO_OUT, (uint16_t)i, r->seq);
	r->end = r->start + 5;
	r->e.n = (uint16_t)(r->e.n + nout);
	atomic_store_explicit(&r->e.state, JCS_CLOSED, memory_order_release);
}

static inline void leave_async(struct journal_call *r)
{
	r->flags |= CF_ASYNC;
	atomic_store_explicit(&r->e.state, JCS_ASYNC, memory_order_release);
}

static inline bool end_test_call(struct chain *c, uint64_t seq, unsigned nout)
{
	uint32_t bytes =
		(uint32_t)(sizeof(struct journal_end) + nout * sizeof(struct journal_tensor));
	struct journal_end *e = chain_reserve_end(c, bytes, NO_WAKE);

	if (!e)
		return false;
	*e = (struct journal_end){.e = {.bytes = bytes, .type = JE_END, .n = (uint16_t)nout},
		.seq = seq,
		.end = 2000 + seq,
		.comm_seq = JOURNAL_NONE64,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE};
	for (unsigned i = 0; i < nout; i++)
		put_test_tensor((struct journal_tensor *)(e + 1) + i, IO_OUT, (uint16_t)i, seq);
	chain_publish(c, bytes);
	return true;
}

/* ---- reading the files back ---- */

struct csv_row {
	char *file;
	char *field[COLUMNS];
};

struct table {
	struct csv_row *row;
	size_t n, cap;
	unsigned files;
	char *bad; /* what is wrong with the files, NULL: nothing */
};

#define TABLE_BAD(t, ...)                                              \
	do {                                                           \
		if (!(t)->bad && asprintf(&(t)->bad, __VA_ARGS__) < 0) \
			(t)->bad = strdup("no memory");                \
	} while (0)

/* Lines without quotes only: the records above need none. */
static inline void table_line(struct table *t, const char *file, char *line)
{
	struct csv_row r = {.file = strdup(file)};
	unsigned n = 0;

	for (char *p = line, *next; p; p = next, n++) {
		next = strchr(p, ',');
		if (next)
			*next++ = 0;
		if (n < COLUMNS)
			r.field[n] = strdup(p);
	}
	if (n != COLUMNS)
		TABLE_BAD(t, "%s: a line has %u fields: %s...", file, n, r.field[0]);
	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 256;
		t->row = realloc(t->row, t->cap * sizeof(*t->row));
		assert_non_null(t->row);
	}
	for (; n < COLUMNS; n++)
		r.field[n] = strdup("");
	t->row[t->n++] = r;
}

static inline char *read_test_file(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char *text = NULL;

	*bytes = 0;
	if (fd >= 0 && fstat(fd, &st) == 0) {
		text = malloc((size_t)st.st_size + 1);
		assert_non_null(text);
		assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
		text[st.st_size] = 0;
		*bytes = (size_t)st.st_size;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

static inline void table_file(struct table *t, const char *dir, const char *name)
{
	char path[512];
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);

	char *text = read_test_file(path, &n);

	t->files++;
	if (!n)
		TABLE_BAD(t, "%s is empty", name);
	else if (strlen(text) != n)
		TABLE_BAD(t, "%s holds a NUL byte", name);
	else if (text[n - 1] != '\n')
		TABLE_BAD(t, "%s ends in the middle of a line", name);
	else if (strncmp(text, ROW_HEADER, strlen(ROW_HEADER)))
		TABLE_BAD(t, "%s does not begin with the header", name);
	else
		for (char *p = text + strlen(ROW_HEADER), *next; *p; p = next) {
			next = strchr(p, '\n') + 1;
			next[-1] = 0;
			table_line(t, name, p);
		}
	free(text);
}

static inline struct table read_test_table(const char *dir)
{
	struct table t = {0};
	DIR *d = opendir(dir);

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		if (strncmp(e->d_name, "calls_", 6) == 0)
			table_file(&t, dir, e->d_name);
	closedir(d);
	return t;
}

static inline void free_test_table(struct table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->row[i].file);
		for (int k = 0; k < COLUMNS; k++)
			free(t->row[i].field[k]);
	}
	free(t->row);
	free(t->bad);
	*t = (struct table){0};
}

/* Rows of that call and io ("" for a row without a tensor; NULL: any). */
static inline unsigned rows_of_file(const struct table *t, uint64_t seq, const char *io)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += strtoull(t->row[i].field[COL_seq], NULL, 10) == seq &&
		     (!io || strcmp(t->row[i].field[COL_io], io) == 0);
	return n;
}

#define assert_sound(t)                           \
	do {                                      \
		if ((t)->bad)                     \
			fail_msg("%s", (t)->bad); \
	} while (0)

static inline unsigned count_files(const char *dir, const char *prefix)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	for (struct dirent *e; d && (e = readdir(d));)
		n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
	if (d)
		closedir(d);
	return n;
}

#endif
