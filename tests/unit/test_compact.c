/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of compact files: what is read of them is the text that rows_format() makes of the same records, whatever they hold. */
#include "core_helper.h"

#include <math.h>

#include "formats/compact/block.h"
#include "formats/compact/compact_layout.h"
#include "journal/columns.h"
#include "tools/lib/files/csv.h"
#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/compact_read.h"

#define TENSORS 6

static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static uint64_t draw_below(uint64_t n)
{
	return draw() % n;
}

static bool draw_rarely(void)
{
	return !draw_below(8);
}

/* Any of a type's numbers, the odd ones as often as the others. */
static double draw_double(void)
{
	static const double odd[] = {0.0, -0.0, 1.0, -1.0, 0.5, 1e300, -1e-300, 5e-324, 0x1p-149,
		INFINITY, -INFINITY, NAN, 999999999.5, 0.9999999995, 123456789.5, 1e22, 1e23,
		3.4028234663852886e38};
	union stats_value v = {.u = draw()};

	switch (draw_below(5)) {
	case 0:
		return odd[draw_below(sizeof(odd) / sizeof(*odd))];
	case 1:
		return (double)(float)(((double)draw_below(2000000) - 1e6) / 977.0);
	case 2:
		return (double)(int64_t)draw_below(1000) / 8;
	case 3:
		return isnan(v.f) ? NAN : v.f;
	default:
		return ((double)draw_below(1u << 30) - 5e8) * 1.37e-7;
	}
}

struct drawn {
	struct {
		struct journal_call c;
		struct journal_tensor awaited;
	} call;
	struct journal_end end;
	struct {
		struct journal_tensor t;
		uint64_t dim[80];
	} tensor[TENSORS];
	const struct journal_tensor *at[TENSORS];
	const char *name[TENSORS];
	struct record r;
};

static const struct clock_base clock_of_test = {
	.tick = 12345, .real_ns = UINT64_C(1700000000123456789), .ns_per_tick = 0.4761904761};

static void draw_statistics(struct journal_tensor *t)
{
	const struct dtype_info *d = get_dtype_info(t->dtype);

	t->stats.n =
		draw_rarely() ? 1 + draw_below(50) : compact_compute_components(t->dtype, t->count);
	t->stats.zeros = draw_rarely() && t->stats.n ? draw_below(t->stats.n) : 0;
	t->stats.nans = draw_rarely() ? draw_below(1000) : 0;
	t->stats.infs = draw_rarely() ? draw() : 0;
	t->stats.min.u = draw_below(2) ? draw() : draw_below(3);
	t->stats.max.i = draw_below(2) ? -(int64_t)draw_below(1u << 20) : (int64_t)draw();
	if (!compact_has_integers(d)) {
		t->stats.min.f = draw_double();
		t->stats.max.f = draw_double();
	}
	t->stats.mean = draw_double();
	t->stats.norm = draw_below(3) ? draw_double() : t->stats.mean;
}

static void draw_tensor(struct journal_tensor *t, uint64_t *dim)
{
	put_test_tensor(t, (uint8_t)draw_below(2), (uint16_t)draw_below(3), draw_below(5) * 7);
	t->dtype = (uint8_t)draw_below(DT_COUNT);
	t->flags = draw_below(2) ? TF_NOSTATS : 0;
	t->bytes = draw_rarely() ? draw() : t->count * 4;
	t->ndim = draw_below(2) ? JOURNAL_NDIM_NONE : (uint8_t)draw_below(draw_rarely() ? 80 : 4);
	for (unsigned i = 0; t->ndim != JOURNAL_NDIM_NONE && i < t->ndim; i++)
		dim[i] = draw_rarely() ? draw() : 3;
	if (draw_below(3))
		draw_statistics(t);
	if (draw_rarely()) {
		t->flags |= TF_CRC;
		t->crc = (uint32_t)draw();
	}
	if (draw_rarely()) {
		t->comm_seq = (int64_t)draw_below(100);
		t->peer = (int32_t)draw_below(9);
		t->tag = draw_below(2) ? JOURNAL_NONE : (int32_t)draw_below(9);
	}
}

static int32_t draw_or_none(void)
{
	return draw_below(2) ? JOURNAL_NONE : (int32_t)draw();
}

static void draw_record(struct drawn *d, uint64_t seq)
{
	static const struct row_api apis[] = {{"mpi", "MPI_Allreduce", "all_reduce"},
		{"custom", "a,b\"c\n=", "op\\x41\xff\xc3\xa9"}, {"", "", ""},
		{"aten", "aten::add", "=add"}};
	static const char *const names[] = {
		"", "", "layers.0.weight", "bucket3", "=a,\"b\"\xfe\n", "\xc3\xa9t\xc3\xa9"};
	struct journal_call *c = &d->call.c;
	unsigned api = (unsigned)draw_below(4);

	memset(d, 0, sizeof(*d));
	*c = (struct journal_call){.e.bytes = sizeof(*c),
		.seq = draw_rarely() ? draw() >> 1 : seq,
		.start = draw_rarely() ? draw() >> 8 : seq * 1000,
		.comm = draw_below(3) * UINT64_C(0xa123456789abcdef),
		.comm_seq = draw_below(3) ? JOURNAL_NONE64 : (int64_t)draw_below(50),
		.comm_rank = (int32_t)draw_below(3) - 1,
		.comm_size = (int32_t)draw_below(3) - 1,
		.step = (uint32_t)(seq / 50 + draw_below(2)),
		.micro_step = draw_rarely() ? (uint32_t)draw_below(4) : UINT32_MAX,
		.root = draw_below(4) ? JOURNAL_NONE : (int32_t)draw_below(3),
		.peer = draw_or_none(),
		.tag = draw_or_none(),
		.error = (int32_t)draw(),
		.flags = draw_rarely() ? (uint32_t)draw() & ~(uint32_t)CF_OPEN : 0,
		.stack = (uint32_t)draw_below(4),
		.tid = 4000 + (uint32_t)draw_below(2),
		.api = (uint16_t)(api + 1),
		.redop = (uint8_t)draw_below(3),
		.phase = (uint8_t)draw_below(PHASES),
		.parent = draw_rarely() ? draw() >> 1 : 0,
		.wait = draw_rarely() ? (draw_below(2) ? JOURNAL_NO_WAIT : draw_below(10000)) : 0};
	c->end = draw_rarely() ? 0 : c->start + draw_below(100000);
	d->end = (struct journal_end){.end = c->end + draw_below(1000),
		.comm_seq = draw_below(2) ? JOURNAL_NONE64 : (int64_t)draw_below(9),
		.peer = draw_or_none(),
		.tag = draw_or_none(),
		.device_ns = draw_rarely() ? draw_below(100000) : 0,
		.flags = draw_rarely() ? CF_CANCELLED : 0};
	d->r = (struct record){.api = apis[api],
		.clock = &clock_of_test,
		.call = c,
		.open = draw_rarely(),
		.n = (unsigned)draw_below(TENSORS + 1),
		.tensor = d->at,
		.name = d->name};
	d->r.end = !d->r.open && draw_below(2) ? &d->end : NULL;
	if (d->r.open && !d->r.n && draw_below(2)) {
		d->call.awaited.dtype = DT_FLOAT32;
		d->call.awaited.count = draw_below(100);
		c->e.bytes += sizeof(d->call.awaited);
	}
	for (unsigned i = 0; i < d->r.n; i++) {
		draw_tensor(&d->tensor[i].t, d->tensor[i].dim);
		d->at[i] = &d->tensor[i].t;
		d->name[i] = names[draw_below(sizeof(names) / sizeof(*names))];
	}
}

static void write_test_block(int fd, struct compact_block *b)
{
	size_t n = compact_block_measure(b);
	unsigned char *p = malloc(n);

	assert_non_null(p);
	compact_block_write(b, p);
	assert_int_equal(write(fd, p, n), n);
	free(p);
}

static void rows_are_those_of_the_csv_file(void **unused)
{
	struct compact_block *b = compact_block_open();
	struct compact_reader *r = compact_reader_open();
	struct drawn *all = malloc(3000 * sizeof(*all));
	char dir[64], path[128], *want = malloc(TENSORS * ROW_MAX);
	unsigned n = 3000, rows, written = 0;
	struct source s;
	const char *text;
	size_t len;
	int fd;

	(void)unused;
	make_tmp(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/calls_0-99.compact", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0666);
	for (unsigned i = 0; i < n; i++) {
		draw_record(&all[i], i + 1);
		/* Blocks of all sizes; some with dictionaries of their own. */
		if (compact_block_add(b, &all[i].r) || !draw_below(200)) {
			bool given = compact_block_get_calls(b) != i - written;

			write_test_block(fd, b);
			written = i + given;
			compact_block_reset(b, !draw_below(3));
			if (!given)
				assert_int_equal(compact_block_add(b, &all[i].r), 0);
		}
	}
	write_test_block(fd, b);
	close(fd);
	assert_int_equal(source_open(&s, path, UINT64_MAX, true), 0);
	for (unsigned i = 0; i < n; i++) {
		size_t m = rows_format(want, &all[i].r, NULL);

		assert_int_equal(compact_read_call(r, &s, &text, &len, &rows), 1);
		want[m] = 0;
		if (len != m || memcmp(text, want, m)) {
			size_t at = 0;

			while (at < len && at < m && text[at] == want[at])
				at++;
			at -= at < 60 ? at : 60;
			fail_msg("call %u: ...%.120s is not ...%.120s", i, text + at, want + at);
		}
		assert_int_equal(rows, all[i].r.n ? all[i].r.n : 1);
	}
	assert_int_equal(compact_read_call(r, &s, &text, &len, &rows), 0);
	assert_int_equal(s.damaged, 0);
	assert_false(s.truncated);
	source_close(&s);
	compact_reader_free(r);
	compact_block_free(b);
	free(all);
	free(want);
	remove_tree(dir);
}

/* Sets a call with one tensor, whose four numbers are `value`. */
static void make_one_row(struct drawn *d, unsigned i, const double value[4])
{
	struct journal_tensor *t = &d->tensor[0].t;

	memset(d, 0, sizeof(*d));
	d->call.c = (struct journal_call){.e.bytes = sizeof(d->call.c),
		.seq = i + 1,
		.start = 1000 * i,
		.end = 1000 * i + 500,
		.comm_seq = i,
		.micro_step = UINT32_MAX,
		.root = JOURNAL_NONE,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.tid = 4000,
		.api = 1};
	put_test_tensor(t, IO_IN, 0, 12);
	t->dtype = DT_FLOAT32;
	t->flags = 0;
	t->ndim = JOURNAL_NDIM_NONE;
	t->stats = (struct stats){
		.n = 12, .min.f = value[0], .max.f = value[1], .mean = value[2], .norm = value[3]};
	d->at[0] = t;
	d->name[0] = "";
	d->r = (struct record){.api = {"mpi", "MPI_Allreduce", "all_reduce"},
		.clock = &clock_of_test,
		.call = &d->call.c,
		.n = 1,
		.tensor = d->at,
		.name = d->name};
}

/* Each of min, max, mean and norm changes alone: the other three are those of the row before. */
static void a_number_that_changes_alone_is_kept(void **unused)
{
	enum { CALLS = 24 };
	struct compact_block *b = compact_block_open();
	struct compact_reader *r = compact_reader_open();
	static struct drawn all[CALLS];
	double value[4] = {-1, 2, 0.5, 3};
	char dir[64], path[128], want[TENSORS * ROW_MAX];
	unsigned rows;
	struct source s;
	const char *text;
	size_t len;
	int fd;

	(void)unused;
	make_tmp(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/calls_0-99.compact", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0666);
	for (unsigned i = 0; i < CALLS; i++) {
		value[i % 4] += 0.25;
		make_one_row(&all[i], i, value);
		assert_int_equal(compact_block_add(b, &all[i].r), 0);
	}
	write_test_block(fd, b);
	close(fd);
	assert_int_equal(source_open(&s, path, UINT64_MAX, true), 0);
	for (unsigned i = 0; i < CALLS; i++) {
		want[rows_format(want, &all[i].r, NULL)] = 0;
		assert_int_equal(compact_read_call(r, &s, &text, &len, &rows), 1);
		assert_int_equal(len, strlen(want));
		assert_memory_equal(text, want, len);
	}
	source_close(&s);
	compact_reader_free(r);
	compact_block_free(b);
	remove_tree(dir);
}

/* Two blocks, the second with the dictionaries of the first, and a third with its own. */
static uint64_t write_three_blocks(const char *path, uint64_t ends[3])
{
	struct compact_block *b = compact_block_open();
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	static struct drawn d;

	for (unsigned k = 0; k < 3; k++) {
		for (unsigned i = 0; i < 100; i++) {
			draw_record(&d, 100 * k + i + 1);
			assert_int_equal(compact_block_add(b, &d.r), 0);
		}
		write_test_block(fd, b);
		ends[k] = (uint64_t)lseek(fd, 0, SEEK_CUR);
		compact_block_reset(b, k == 1);
	}
	close(fd);
	compact_block_free(b);
	return ends[2];
}

static unsigned count_calls(const char *path, struct source *s)
{
	struct compact_reader *r = compact_reader_open();
	const char *text;
	unsigned rows, n = 0;
	size_t len;

	assert_int_equal(source_open(s, path, UINT64_MAX, true), 0);
	while (compact_read_call(r, s, &text, &len, &rows) > 0)
		n++;
	compact_reader_free(r);
	return n;
}

static void torn_end_costs_the_last_block_only(void **unused)
{
	char dir[64], path[128];
	uint64_t ends[3];
	struct source s;

	(void)unused;
	make_tmp(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/calls_0-99.compact", dir);
	write_three_blocks(path, ends);
	for (unsigned i = 0; i < 40; i++) {
		uint64_t at = ends[1] + 1 + (ends[2] - ends[1] - 1) * (39 - i) / 40;

		assert_int_equal(truncate(path, (off_t)at), 0);
		assert_int_equal(count_calls(path, &s), 200);
		assert_true(s.truncated);
		source_close(&s);
	}
	remove_tree(dir);
}

static void damaged_block_costs_what_needs_it(void **unused)
{
	char dir[64], path[128], byte;
	uint64_t ends[3];
	struct source s;

	(void)unused;
	make_tmp(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/calls_0-99.compact", dir);
	for (unsigned i = 0; i < 60; i++) {
		write_three_blocks(path, ends);

		int fd = open(path, O_RDWR);
		off_t at = (off_t)(COMPACT_HEAD + (ends[0] - COMPACT_HEAD) * i / 60);

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte = (char)(byte ^ (1 << i % 8));
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		/* The second needs the dictionaries of the first; the third has its own. */
		assert_int_equal(count_calls(path, &s), 100);
		assert_int_equal(s.damaged, 200);
		source_close(&s);
	}
	remove_tree(dir);
}

struct bad_rows {
	uint64_t n, nans, infs, text;
};

static void add_bad_row(
	void *arg, struct calls *s, const struct call *c, uint64_t nans, uint64_t infs)
{
	struct bad_rows *b = arg;

	b->n++;
	b->nans += nans;
	b->infs += infs * c->rows;
	for (unsigned i = 0; i < COLUMNS; i++)
		for (size_t k = 0; k < calls_get_column(s, i)->n; k++)
			b->text = b->text * 31 + (unsigned char)calls_get_column(s, i)->s[k];
}

static void open_test_calls(struct calls *s, struct rank_dir *dir, char *path, struct bad_rows *bad)
{
	*dir = (struct rank_dir){.path = path, .state = RANK_FINISHED};
	calls_open(s, dir, 0, NULL);
	assert_int_equal(s->nfile, 1);
	s->bad = add_bad_row;
	s->bad_arg = bad;
}

static bool is_equal_double(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool is_equal_side(const struct side *a, const struct side *b)
{
	return a->digest == b->digest && a->count == b->count && is_equal_double(a->sum, b->sum) &&
	       is_equal_double(a->squares, b->squares) && is_equal_double(a->least, b->least) &&
	       is_equal_double(a->most, b->most) && a->rows == b->rows && a->blind == b->blind &&
	       a->bad == b->bad && a->telling == b->telling;
}

#define EQUAL(member)                                                                          \
	if (a.member != b.member)                                                              \
	fail_msg("call %u: " #member " %lld of numbers, %lld of text", n, (long long)a.member, \
		(long long)b.member)

/* Reads both folders to their end. Returns the number of calls. */
static unsigned compare_calls(char *numbers, char *text, bool times_only)
{
	struct bad_rows bad[2] = {0};
	struct rank_dir dir[2];
	struct calls s[2];
	struct call a, b;
	unsigned n = 0;

	open_test_calls(&s[0], &dir[0], numbers, &bad[0]);
	open_test_calls(&s[1], &dir[1], text, &bad[1]);
	s[0].times_only = s[1].times_only = times_only;
	for (;; n++) {
		bool more = calls_read_next(&s[0], &a);

		assert_int_equal(more, calls_read_next(&s[1], &b));
		if (!more)
			break;
		EQUAL(step);
		EQUAL(seq);
		EQUAL(lib);
		EQUAL(api);
		EQUAL(op);
		EQUAL(redop);
		EQUAL(dtype);
		EQUAL(phase);
		EQUAL(bits);
		EQUAL(rows);
		EQUAL(stack);
		EQUAL(thread);
		EQUAL(pass);
		EQUAL(comm);
		EQUAL(comm_seq);
		EQUAL(comm_rank);
		EQUAL(size);
		EQUAL(root);
		EQUAL(peer);
		EQUAL(tag);
		EQUAL(source);
		EQUAL(source_seq);
		EQUAL(source_tag);
		EQUAL(error);
		EQUAL(start);
		EQUAL(dur);
		EQUAL(wait);
		EQUAL(device);
		EQUAL(count);
		EQUAL(in_bytes);
		EQUAL(out_bytes);
		EQUAL(blind);
		EQUAL(in.digest);
		EQUAL(out.digest);
		EQUAL(in.telling);
		EQUAL(out.telling);
		assert_true(is_equal_side(&a.in, &b.in));
		assert_true(is_equal_side(&a.out, &b.out));
	}
	EQUAL(rows);
	assert_int_equal(s[0].rows, s[1].rows);
	assert_int_equal(s[0].damaged + s[1].damaged, 0);
	assert_memory_equal(&bad[0], &bad[1], sizeof(bad[0]));
	assert_true(times_only || bad[0].n);
	calls_close(&s[0]);
	calls_close(&s[1]);
	return n;
}

static void numbers_are_those_of_the_text(void **unused)
{
	struct compact_block *b = compact_block_open();
	char dir[64], numbers[80], text[80], path[128], *rows = malloc(TENSORS * ROW_MAX);
	static struct drawn d;
	FILE *csv;
	int fd;

	(void)unused;
	make_tmp(dir, sizeof(dir));
	snprintf(numbers, sizeof(numbers), "%s/numbers", dir);
	snprintf(text, sizeof(text), "%s/text", dir);
	assert_int_equal(mkdir(numbers, 0777) | mkdir(text, 0777), 0);
	snprintf(path, sizeof(path), "%s/calls_0-99.compact", numbers);
	fd = open(path, O_WRONLY | O_CREAT, 0666);
	snprintf(path, sizeof(path), "%s/calls_0-99.csv", text);
	csv = fopen(path, "w");
	assert_non_null(csv);
	fputs(ROW_HEADER, csv);
	for (unsigned i = 0; i < 6000; i++) {
		/* Calls that come again, so that sites are known; few of them like those before. */
		if (!i || draw_below(3))
			draw_record(&d, i + 1);
		d.call.c.seq = i + 1;
		if (compact_block_add(b, &d.r)) {
			write_test_block(fd, b);
			compact_block_reset(b, !draw_below(3));
			assert_int_equal(compact_block_add(b, &d.r), 0);
		}
		fwrite(rows, 1, rows_format(rows, &d.r, NULL), csv);
	}
	write_test_block(fd, b);
	close(fd);
	assert_int_equal(fclose(csv), 0);
	assert_int_equal(compare_calls(numbers, text, false), 6000);
	assert_int_equal(compare_calls(numbers, text, true), 6000);
	compact_block_free(b);
	free(rows);
	remove_tree(dir);
}

/* A solver: each site is called a few times, with numbers that never come again. */
static void many_sites_take_few_bytes(void **unused)
{
	enum { SITES_OF_SOLVER = 100000, ROUNDS = 3 };
	struct compact_block *b = compact_block_open();
	static struct drawn d;
	uint64_t bytes = 0, n = 0;

	(void)unused;
	for (unsigned i = 0; i < SITES_OF_SOLVER * ROUNDS; i++) {
		struct journal_call *c = &d.call.c;

		*c = (struct journal_call){.seq = i + 1,
			.start = UINT64_C(40000) * i + draw_below(20000),
			.comm = 1,
			.comm_seq = i,
			.comm_size = 2,
			.step = i / SITES_OF_SOLVER,
			.micro_step = UINT32_MAX,
			.root = JOURNAL_NONE,
			.peer = JOURNAL_NONE,
			.tag = JOURNAL_NONE,
			.stack = 1 + i % SITES_OF_SOLVER,
			.tid = 77,
			.api = 1};
		c->end = c->start + draw_below(10000);
		d.r = (struct record){.api = {"mpi", "MPI_Allreduce", "all_reduce"},
			.clock = &clock_of_test,
			.call = c,
			.n = 2,
			.tensor = d.at,
			.name = d.name};
		for (unsigned k = 0; k < 2; k++) {
			struct journal_tensor *t = &d.tensor[k].t;

			put_test_tensor(t, (uint8_t)k, 0, 8 + i % 7);
			t->stats = (struct stats){.n = t->count,
				.min.f = (double)((float)draw_below(1u << 24) / -977),
				.max.f = (double)((float)draw_below(1u << 24) / 977),
				.mean = (double)draw_below(1u << 30) * 1.37e-7,
				.norm = (double)draw_below(1u << 30) * 1.37e-5};
			d.at[k] = t;
			d.name[k] = "";
		}
		if (compact_block_add(b, &d.r)) {
			bytes += compact_block_measure(b);
			compact_block_reset(b, compact_block_is_crowded(b));
			assert_int_equal(compact_block_add(b, &d.r), 0);
		}
		n++;
	}
	bytes += compact_block_measure(b);
	print_message("%.1f bytes a call of %u sites\n", (double)bytes / (double)n,
		(unsigned)SITES_OF_SOLVER);
	assert_true(bytes <= 60 * n);
	compact_block_free(b);
}

static void read_all_numbers(char *dir)
{
	struct bad_rows bad = {0};
	struct rank_dir of;
	struct calls s;
	struct call c;

	open_test_calls(&s, &of, dir, &bad);
	while (calls_read_next(&s, &c))
		assert_true(c.rows > 0);
	calls_close(&s);
}

/* With a right checksum: what the numbers say may still be anything. */
static void numbers_out_of_range_harm_nothing(void **unused)
{
	char dir[64], other[80], path[128];
	uint64_t ends[3], n;
	unsigned char *p;
	struct source s;

	(void)unused;
	make_tmp(dir, sizeof(dir));
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(mkdir(other, 0777), 0);
	snprintf(path, sizeof(path), "%s/calls_0-99.compact", dir);
	n = write_three_blocks(path, ends);
	p = malloc(n);
	for (unsigned i = 0; i < 3000; i++) {
		int fd = open(path, O_RDWR);
		unsigned changes = 1 + (unsigned)draw_below(4);

		assert_int_equal(pread(fd, p, n, 0), n);
		while (changes--)
			p[COMPACT_AT_CALLS + draw_below(ends[0] - COMPACT_AT_CALLS)] =
				(unsigned char)draw();
		compact_write_u32(
			p + COMPACT_AT_SUM, stats_checksum_of(CHECKSUM_CRC32, p + COMPACT_SUM_FROM,
						    ends[0] - COMPACT_SUM_FROM));
		snprintf(path, sizeof(path), "%s/calls_0-99.compact", other);
		int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

		assert_int_equal(write(to, p, n), n);
		close(to);
		close(fd);
		assert_true(count_calls(path, &s) >= 100);
		source_close(&s);
		read_all_numbers(other);
		snprintf(path, sizeof(path), "%s/calls_0-99.compact", dir);
	}
	free(p);
	remove_tree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_those_of_the_csv_file),
		cmocka_unit_test(a_number_that_changes_alone_is_kept),
		cmocka_unit_test(numbers_are_those_of_the_text),
		cmocka_unit_test(many_sites_take_few_bytes),
		cmocka_unit_test(torn_end_costs_the_last_block_only),
		cmocka_unit_test(damaged_block_costs_what_needs_it),
		cmocka_unit_test(numbers_out_of_range_harm_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
