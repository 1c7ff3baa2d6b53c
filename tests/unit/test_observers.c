/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor observer beside statistics and checksum: it adds up the bytes that it sees, each with its place in the order, and
 * puts the sum where the row has its tag. Compared with plain loops over the memory.
 */
#include "session_helper.h"

#include <zlib.h>

#include "call/pending.h"
#include "call/record.h"
#include "call/step.h"
#include "session/generation_pair.h"
#include "stats/stats.h"

static const struct adapter lib = {.name = "mpi"};
static const struct kind kind_send = {.name = "send", .op = "send"};
static const struct api_spec spec = {.symbol = "MPI_Send", .lib = &lib, .kind = &kind_send};
static struct api f_send = {.spec = &spec, .word = API_LISTED};
static struct api f_other = {.spec = &spec, .word = API_LISTED};

/* ---- the observer ---- */

struct toy_state {
	uint64_t sum, bytes;
};

static struct {
	uint64_t reach;
	const struct api *row;
	uint32_t step;
	unsigned asked, pieces, ended, parts; /* parts: tensors that it did not see all of */
	uint64_t bytes;
} toy;

static uint64_t add_byte(uint64_t sum, unsigned char b)
{
	return sum * 31 + b;
}

static uint64_t toy_reach(const struct config *cfg)
{
	(void)cfg;
	return toy.reach;
}

static bool start_toy(void *state, struct tensor_look *look)
{
	toy.asked++;
	if (look->row != toy.row || look->step != toy.step)
		return false;
	*(struct toy_state *)state = (struct toy_state){0};
	return true;
}

static void toy_piece(void *state, const void *p, uint64_t count, enum dtype dt, const void *next)
{
	struct toy_state *s = state;
	const unsigned char *b = p;

	(void)next;
	assert_true(count > 0);
	toy.pieces++;
	for (uint64_t i = 0; i < count * get_dtype_info(dt)->size; i++, s->bytes++)
		s->sum = add_byte(s->sum, b[i]);
}

static void toy_end(void *state, struct journal_tensor *record, bool whole)
{
	const struct toy_state *s = state;

	toy.ended++;
	toy.parts += !whole;
	if (!whole)
		return;
	toy.bytes = s->bytes;
	record->tag = (int32_t)(s->sum & INT32_MAX);
}

static const struct tensor_observer toy_observer = {
	.reach = toy_reach,
	.in_order = true,
	.start = start_toy,
	.piece = toy_piece,
	.end = toy_end,
};

const struct tensor_observer *const tensor_observers[] = {
	&statistics_observer, &checksum_observer, &toy_observer, NULL};

/* ---- calls ---- */

static float data[20000];
static unsigned char plain[sizeof(data)];
static size_t nplain;

static int on(void **state)
{
	(void)state;
	session_on(1 << 20);
	memset(&toy, 0, sizeof(toy));
	toy.reach = UINT64_MAX;
	toy.row = &f_send;
	generation_first.cfg.checksum = CHECKSUM_CRC32;
	tensor_watch_update(&generation_first.cfg);
	for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++)
		data[i] = (float)(i * i % 977) - 400;
	nplain = 0;
	return 0;
}

static int off(void **state)
{
	(void)state;
	session_over();
	f_send.dict = f_other.dict = 0;
	atomic_store(&step_state.now, 0);
	return 0;
}

static void pick(size_t at, size_t n)
{
	memcpy(plain + nplain, data + at, n * sizeof(*data));
	nplain += n * sizeof(*data);
}

static int32_t sum_of_plain(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < nplain; i++)
		sum = add_byte(sum, plain[i]);
	return (int32_t)(sum & INT32_MAX);
}

static struct operation operation_of(struct buffer v)
{
	struct operation w = {.root = JOURNAL_NONE, .peer = JOURNAL_NONE, .tag = JOURNAL_NONE};

	v.dtype = DT_FLOAT32;
	v.host = 1;
	v.comm_seq = JOURNAL_NONE64;
	v.peer = v.tag = JOURNAL_NONE;
	v.ndim = JOURNAL_NDIM_NONE;
	v.bytes = v.count * sizeof(*data);
	v.io = IO_IN;
	w.in[w.nin++] = v;
	v.io = IO_OUT;
	w.out[w.nout++] = v;
	return w;
}

/* Its input's row and its output's, good until the next drain. */
static void record_call(struct api *f, struct operation *w, const struct journal_tensor *t[2])
{
	struct journal_call *r = record_open(thread_get(), f, w, JOURNAL_NONE64, 0, 0);

	assert_non_null(r);
	record_close(r, w, clock_ticks(), false, 0);
	t[0] = journal_get_first_tensor(&r->e);
	t[1] = journal_get_next_tensor(&r->e, t[0]);
	assert_non_null(t[1]);
}

static struct buffer contiguous(void)
{
	pick(3, 5000);
	return (struct buffer){.base = data + 3, .count = 5000};
}

/* Runs that are shown where they lie, and short ones that are gathered, in turn. */
static struct buffer segments(void)
{
	static int32_t counts[40], displs[40];
	struct buffer v = {.base = data,
		.layout = BUFFER_SEGMENTS,
		.n = 40,
		.width = 4,
		.unit = 4,
		.counts = counts,
		.displs = displs};

	for (int i = 0; i < 40; i++) {
		counts[i] = i % 3 == 0 ? 700 : i % 7;
		displs[i] = (37 * i % 40) * 480;
		pick((size_t)displs[i], (size_t)counts[i]);
		v.count += (uint64_t)counts[i];
	}
	return v;
}

static struct buffer strided(int64_t row, int64_t step)
{
	static int64_t sizes[2], strides[2];

	sizes[0] = 9;
	sizes[1] = row;
	strides[0] = 2000;
	strides[1] = step;
	for (size_t i = 0; i < 9; i++)
		for (int64_t k = 0; k < row; k++)
			pick(i * 2000 + (size_t)(k * step), 1);
	return (struct buffer){.base = data,
		.layout = BUFFER_STRIDED,
		.count = (uint64_t)(9 * row),
		.n = 2,
		.counts = sizes,
		.displs = strides};
}

static void check_seen(struct buffer v)
{
	struct operation w = operation_of(v);
	const struct journal_tensor *t[2];

	record_call(&f_send, &w, t);
	assert_int_equal(toy.bytes, nplain);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(t[i]->tag, sum_of_plain());
		assert_int_equal(t[i]->stats.n, v.count);
		assert_int_equal(t[i]->flags, TF_CRC);
		assert_int_equal(t[i]->crc, crc32(0, plain, (uInt)nplain));
	}
	assert_int_equal(toy.ended, 2);
	assert_int_equal(toy.parts, 0);
}

static void test_contiguous(void **state)
{
	(void)state;
	check_seen(contiguous());
	assert_int_equal(toy.pieces, 2);
}

static void test_segments(void **state)
{
	(void)state;
	check_seen(segments());
}

static void test_long_rows(void **state)
{
	(void)state;
	check_seen(strided(700, 1));
}

static void test_short_steps(void **state)
{
	(void)state;
	check_seen(strided(500, 3));
}

/* The figures are those of statistics alone. */
static void test_same_figures(void **state)
{
	const struct journal_tensor *t[2];
	struct operation w = operation_of(segments());
	struct stats with;

	(void)state;
	record_call(&f_send, &w, t);
	with = t[0]->stats;
	toy.reach = 0;
	tensor_watch_update(&generation_first.cfg);
	record_call(&f_send, &w, t);
	assert_int_equal(toy.asked, 2);
	assert_memory_equal(&with, &t[0]->stats, sizeof(with));
	assert_int_equal(t[0]->tag, JOURNAL_NONE);
}

static void test_wanted(void **state)
{
	const struct journal_tensor *t[2];
	struct operation w = operation_of(contiguous());

	(void)state;
	record_call(&f_other, &w, t);
	assert_int_equal(toy.asked, 2);
	assert_int_equal(toy.pieces + toy.ended, 0);
	assert_int_equal(t[0]->tag, JOURNAL_NONE);
	assert_int_equal(t[0]->stats.n, 5000);
	toy.step = 1;
	record_call(&f_send, &w, t);
	assert_int_equal(toy.pieces + toy.ended, 0);
	atomic_store(&step_state.now, 1);
	record_call(&f_send, &w, t);
	assert_int_equal(toy.pieces, 2);
}

/* Each by itself: its limit is not the other's, and a row without statistics says so. */
static void test_without_statistics(void **state)
{
	const struct journal_tensor *t[2];
	struct operation w = operation_of(contiguous());

	(void)state;
	for (int i = 0; i < 2; i++) {
		generation_first.cfg.statistics = i;
		generation_first.cfg.max_bytes = i * 4096;
		tensor_watch_update(&generation_first.cfg);
		record_call(&f_send, &w, t);
		assert_int_equal(t[0]->tag, sum_of_plain());
		assert_int_equal(t[0]->stats.n, 0);
		assert_int_equal(t[0]->flags, TF_NOSTATS);
	}
	toy.reach = 0;
	generation_first.cfg.statistics = false;
	tensor_watch_update(&generation_first.cfg);
	assert_int_equal(tensor_watch.reach, 0);
	assert_false(tensor_is_watched(&w.in[0]));
	toy.reach = 4096;
	tensor_watch_update(&generation_first.cfg);
	assert_false(tensor_is_watched(&w.in[0]));
	w.in[0].bytes = 4096;
	assert_true(tensor_is_watched(&w.in[0]));
	w.in[0].nostats = 1;
	assert_false(tensor_is_watched(&w.in[0]));
}

/* A segment that cannot exist: what was seen of the others is void. */
static void test_part(void **state)
{
	const struct journal_tensor *t[2];
	struct buffer v = segments();
	int64_t counts[2] = {700, 1}, displs[2];
	struct operation w;

	(void)state;
	displs[0] = (int64_t)(uintptr_t)data;
	displs[1] = 0;
	v.base = NULL;
	v.n = 2;
	v.width = 8;
	v.unit = 1;
	v.counts = counts;
	v.displs = displs;
	v.count = 701;
	w = operation_of(v);
	record_call(&f_send, &w, t);
	assert_int_equal(toy.parts, 2);
	assert_int_equal(t[0]->tag, JOURNAL_NONE);
	assert_int_equal(t[0]->stats.n, 0);
	assert_int_equal(t[0]->crc, 0);
}

/* An asynchronous call belongs to the step of its entry; of a device's buffer the copy is shown. */
static void test_async_copy(void **state)
{
	struct operation w = operation_of(contiguous());
	struct journal_call *r;
	struct pending p;
	struct table t;
	char want[16];

	(void)state;
	dict_api(&session.journal, 1, "MPI_Send");
	w.in[0].nostats = w.out[0].nostats = 1;
	r = record_open(thread_get(), &f_send, &w, JOURNAL_NONE64, 0, 0);
	assert_non_null(r);
	assert_int_equal(toy.asked, 0);
	p = (struct pending){.seq = r->seq, .api = &f_send, .op = w};
	record_async(r, &w, 0);
	atomic_store(&step_state.now, 1);
	p.op.in[0].snapshot = p.op.out[0].snapshot = 1;
	p.op.in[0].nostats = p.op.out[0].nostats = 0;
	p.op.in[0].base = p.op.out[0].base = plain;
	memset(data, 0, sizeof(data));
	write_end_record(thread_get(), &p, clock_ticks(), 0, 0);
	assert_int_equal(toy.ended, 2);
	t = session_rows(false);
	assert_int_equal(t.n, 2);
	snprintf(want, sizeof(want), "%d", sum_of_plain());
	for (int i = 0; i < 2; i++)
		assert_string_equal(t.row[i].field[34], want);
	free_test_table(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_contiguous, on, off),
		cmocka_unit_test_setup_teardown(test_segments, on, off),
		cmocka_unit_test_setup_teardown(test_long_rows, on, off),
		cmocka_unit_test_setup_teardown(test_short_steps, on, off),
		cmocka_unit_test_setup_teardown(test_same_figures, on, off),
		cmocka_unit_test_setup_teardown(test_wanted, on, off),
		cmocka_unit_test_setup_teardown(test_without_statistics, on, off),
		cmocka_unit_test_setup_teardown(test_part, on, off),
		cmocka_unit_test_setup_teardown(test_async_copy, on, off),
	};

	return cmocka_run_group_tests_name("observers", tests, NULL, NULL);
}
