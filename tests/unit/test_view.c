/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload/call/data/view.c: views are measured like a contiguous tensor of the same elements, picked one by one here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>
#include "call/data/buffer_check.h"
#include "call/data/view.h"
#include "measure_helper.h"
#include "stats_reference.h"

#define EPS 1e-8

static uint64_t seed = 7;

static uint64_t below(uint64_t n)
{
	return random_bits(&seed) % n;
}

/* A tensor of `room` elements in memory, and the elements of the view under test, in any order. */
struct pool {
	unsigned dt;
	size_t size, room, picked;
	unsigned char *data, *pick;
};

static void pool_make(struct pool *p, unsigned dt, size_t room, size_t most)
{
	p->dt = dt;
	p->size = get_dtype_info(dt)->size;
	p->room = room;
	p->picked = 0;
	p->data = malloc(room * p->size);
	p->pick = malloc(most * p->size + 1);
	assert_non_null(p->data);
	assert_non_null(p->pick);
	fill_tensor(dt, p->data, room, below(FILL_PATTERNS), &seed);
}

static void pool_pick(struct pool *p, int64_t at)
{
	assert_in_range(at, 0, p->room - 1);
	memcpy(p->pick + p->picked++ * p->size, p->data + (size_t)at * p->size, p->size);
}

static void pool_end(struct pool *p, struct buffer *v)
{
	struct stats_fenv env;
	struct reference want;
	struct stats got;
	const char *wrong;

	v->dtype = (uint8_t)p->dt;
	v->count = p->picked;
	v->bytes = p->picked * p->size;
	stats_fenv_set(&env);
	buffer_measure(v, EPS, &got);
	stats_fenv_reset(&env);
	ref_measure(p->dt, p->pick, p->picked, EPS, &want);
	wrong = ref_compare(p->dt, &got, &want);
	if (wrong)
		fail_msg("%s", wrong);
	free(p->data);
	free(p->pick);
}

static void test_contiguous(void **state)
{
	(void)state;
	for (unsigned dt = 1; dt < DT_COUNT; dt++) {
		for (size_t n = 0; n < 40; n++) {
			struct buffer v = {.layout = BUFFER_CONTIG};
			struct pool p;

			pool_make(&p, dt, 40, n);
			for (size_t i = 0; i < n; i++)
				pool_pick(&p, (int64_t)(i + 40 - n));
			v.base = p.data + (40 - n) * p.size;
			pool_end(&p, &v);
		}
	}
}

/* Any order, gaps, overlaps, counts of zero and below, all widths, displacements in elements and in bytes. */
static void test_segments(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		unsigned longest = below(8) ? 30 : 3000, n = (unsigned)below(12);
		int64_t counts[12], displs[12], from = (int64_t)below(500);
		int32_t counts4[12], displs4[12];
		int in_bytes = (int)below(2), narrow = (int)below(2), same = (int)below(2);
		int narrow_displs = same ? narrow : (int)below(2);
		struct buffer v = {.layout = BUFFER_SEGMENTS,
			.n = n,
			.width = narrow ? 4 : 8,
			.dwidth = same		  ? 0
				  : narrow_displs ? 4
						  : 8};
		struct pool p;

		pool_make(&p, 1 + (unsigned)below(DT_COUNT - 1), 4000, 12 * 3000);
		for (unsigned i = 0; i < n; i++) {
			int64_t at = (int64_t)below(1000);

			counts[i] = (int64_t)below(longest) - (int64_t)below(longest) / 4;
			displs[i] = (at - from) * (in_bytes ? (int64_t)p.size : 1);
			counts4[i] = (int32_t)counts[i];
			displs4[i] = (int32_t)displs[i];
			for (int64_t j = 0; j < counts[i]; j++)
				pool_pick(&p, at + j);
		}
		v.base = p.data + (size_t)from * p.size; /* displacements go both ways */
		v.unit = in_bytes ? 1 : (int64_t)p.size;
		v.counts = narrow ? (void *)counts4 : (void *)counts;
		v.displs = narrow_displs ? (void *)displs4 : (void *)displs;
		pool_end(&p, &v);
	}
}

/* Absolute displacements from MPI_BOTTOM, which is NULL in most implementations. */
static void test_segments_from_null(void **state)
{
	int64_t counts[2] = {3, 100}, displs[2];
	struct buffer v = {.layout = BUFFER_SEGMENTS, .n = 2, .width = 8, .unit = 1};
	struct pool p;

	(void)state;
	pool_make(&p, DT_FLOAT32, 200, 103);
	for (int64_t i = 0; i < 3; i++)
		pool_pick(&p, i + 150);
	for (int64_t i = 0; i < 100; i++)
		pool_pick(&p, i);
	displs[0] = (int64_t)(p.data + 150 * p.size);
	displs[1] = (int64_t)p.data;
	v.counts = counts;
	v.displs = displs;
	pool_end(&p, &v);
}

static void pick_strided(struct pool *p, const struct buffer *v, unsigned dim, int64_t at)
{
	const int64_t *sizes = v->counts, *strides = v->displs;

	if (dim == v->n) {
		pool_pick(p, at);
		return;
	}
	for (int64_t i = 0; i < sizes[dim]; i++)
		pick_strided(p, v, dim + 1, at + i * strides[dim]);
}

static void check_strided(unsigned dt, unsigned n, const int64_t *sizes, const int64_t *strides)
{
	struct buffer v = {.layout = BUFFER_STRIDED, .n = n, .counts = sizes, .displs = strides};
	int64_t low = 0, high = 0;
	size_t total = 1;
	struct pool p;

	for (unsigned i = 0; i < n; i++) {
		total *= sizes[i] > 0 ? (size_t)sizes[i] : 0;
		*(strides[i] < 0 ? &low : &high) += (sizes[i] - 1) * strides[i];
	}
	if (!total) {
		low = 0;
		high = 0;
	}
	pool_make(&p, dt, (size_t)(high - low + 1), total);
	pick_strided(&p, &v, 0, -low);
	v.base = p.data - low * (int64_t)p.size;
	pool_end(&p, &v);
}

static void test_strided_known(void **state)
{
	static const struct {
		unsigned n;
		int64_t sizes[4], strides[4];
	} known[] = {
		{0, {0}, {0}},
		{1, {1000}, {1}},
		{1, {1000}, {-1}},
		{1, {1000}, {2}}, /* every other one */
		{1, {1001}, {2}},
		{1, {9}, {2}},
		{1, {1000}, {3}},
		{1, {700}, {0}},
		{2, {30, 40}, {40, 1}}, /* contiguous */
		{2, {40, 30}, {1, 40}}, /* transposed */
		{2, {30, 40}, {50, 1}}, /* rows with a gap */
		{2, {3, 400}, {500, 1}}, /* long rows with a gap */
		{2, {30, 40}, {-40, -1}}, /* flipped */
		{2, {30, 40}, {0, 1}}, /* expanded */
		{2, {40, 30}, {1, 0}},
		{2, {40, 30}, {1, 1}}, /* sliding window */
		{3, {7, 1, 9}, {9, 12345, 1}}, /* a stride that means nothing */
		{3, {5, 0, 9}, {9, 1, 1}}, /* empty */
		{3, {5, -1, 9}, {9, 1, 1}},
		{4, {2, 3, 4, 5}, {60, 1, 15, 3}}, /* channels last */
		{4, {2, 3, 4, 5}, {0, -1, 15, 0}},
	};

	(void)state;
	for (unsigned dt = 1; dt < DT_COUNT; dt++)
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			check_strided(dt, known[i].n, known[i].sizes, known[i].strides);
}

static void test_strided_random(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		int64_t sizes[16], strides[16];
		unsigned n = (unsigned)below(17), dense = (unsigned)below(2);
		int64_t total = 1, next = 1;

		for (unsigned i = n; i--;) {
			sizes[i] = (int64_t)below(n > 5 ? 3 : 14) + !!below(20);
			if (total * sizes[i] > 20000)
				sizes[i] = 1;
			total *= sizes[i];
			strides[i] = dense ? next : (int64_t)below(40) - 12;
			if (dense && !below(6))
				strides[i] = -strides[i];
			next *= sizes[i] ? sizes[i] : 1;
		}
		for (unsigned i = n; i-- > 1;) { /* permute */
			unsigned j = (unsigned)below(i + 1);
			int64_t size = sizes[i], stride = strides[i];

			sizes[i] = sizes[j], strides[i] = strides[j];
			sizes[j] = size, strides[j] = stride;
		}
		check_strided(1 + (unsigned)below(DT_COUNT - 1), n, sizes, strides);
	}
}

static void test_not_measured(void **state)
{
	int64_t counts[20], displs[20], data[4] = {1, 2, 3, 4};
	struct buffer contig = {.base = data, .count = 4, .bytes = 32, .dtype = DT_INT64};
	struct buffer segments = {.base = data,
		.dtype = DT_INT64,
		.layout = BUFFER_SEGMENTS,
		.n = 2,
		.width = 8,
		.unit = 8,
		.counts = counts,
		.displs = displs};
	struct buffer strided = {.base = data,
		.dtype = DT_INT64,
		.layout = BUFFER_STRIDED,
		.n = 17,
		.counts = counts,
		.displs = displs};
	struct buffer v;
	struct stats s;

#define NOT_MEASURED(view, change)           \
	do {                                 \
		v = (view);                  \
		memset(&s, 0xff, sizeof(s)); \
		change;                      \
		buffer_measure(&v, EPS, &s); \
		assert_int_equal(s.n, 0);    \
	} while (0)

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		counts[i] = 1;
		displs[i] = 0;
	}
	NOT_MEASURED(contig, v.nostats = 1);
	NOT_MEASURED(contig, v.dtype = DT_OTHER);
	NOT_MEASURED(contig, v.base = NULL);
	NOT_MEASURED(contig, v.count = 0);
	NOT_MEASURED(segments, v.n = 0);
	NOT_MEASURED(segments, v.counts = NULL);
	NOT_MEASURED(segments, v.displs = NULL);
	NOT_MEASURED(segments, v.base = NULL);
	NOT_MEASURED(segments, v.dtype = DT_OTHER);
	NOT_MEASURED(strided, v.base = NULL);
	buffer_measure(&strided, EPS, &s); /* 17 dimensions, of one element each */
	assert_int_equal(s.n, 1);
	for (unsigned i = 0; i < 17; i++)
		counts[i] = 2;
	NOT_MEASURED(strided, (void)0);
}

static struct buffer span(const void *base, uint64_t bytes)
{
	return (struct buffer){.base = base, .count = bytes, .bytes = bytes, .dtype = DT_UINT8};
}

static void test_overlap(void **state)
{
	unsigned char mem[400];
	int32_t counts[] = {3, 0, 2}, displs[] = {20, -1000, 5};
	int64_t sizes[] = {4, 5}, strides[] = {-10, 2}, none[] = {4, 0};
	struct buffer segments = {.base = mem + 100,
		.layout = BUFFER_SEGMENTS,
		.dtype = DT_INT32,
		.n = 3,
		.width = 4,
		.unit = 4,
		.counts = counts,
		.displs = displs}; /* bytes 120 to 192 */
	struct buffer strided = {.base = mem + 200,
		.layout = BUFFER_STRIDED,
		.dtype = DT_INT16,
		.n = 2,
		.counts = sizes,
		.displs = strides}; /* bytes 140 to 218 */
	struct buffer derived = {.base = mem, .count = 5, .bytes = 50, .dtype = DT_OTHER};
	struct {
		struct buffer v;
		unsigned from, to;
	} views[] = {
		{segments, 120, 192},
		{strided, 140, 218},
		{derived, 0, 50},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		for (unsigned at = 0; at < 300; at++) {
			for (unsigned len = 0; len < 90; len++) {
				struct buffer s = span(mem + at, len);
				int want = len && at < views[i].to && at + len > views[i].from;

				assert_int_equal(!!is_buffer_overlap(&s, &views[i].v), want);
				assert_int_equal(!!is_buffer_overlap(&views[i].v, &s), want);
			}
		}
	}
	assert_true(is_buffer_overlap(&segments, &strided));
	assert_false(is_buffer_overlap(&segments, &derived));
	strided.counts = none;
	assert_false(is_buffer_overlap(&strided, &segments));
	/* A derived type in segments: its extent is the unit, its size only known from the view. */
	segments.dtype = DT_OTHER;
	segments.count = 5;
	segments.bytes = 10;
	assert_true(is_buffer_overlap(&segments, &(struct buffer){.base = mem + 191, .bytes = 1}));
	assert_false(is_buffer_overlap(&segments, &(struct buffer){.base = mem + 192, .bytes = 1}));
}

/* Whether a buffer's memory can be read is asked for its last byte, too. */
static void buffers_are_believed_to_their_last_byte(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(
		NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + page, (size_t)page, PROT_NONE), 0);
	for (uint64_t bytes = 1; bytes <= 6; bytes++) {
		struct buffer v = {.base = p + page - 4,
			.count = bytes,
			.bytes = bytes,
			.unit = 1,
			.dtype = DT_INT8};

		assert_int_equal(is_buffer_readable_now(&v), bytes <= 4);
		check_buffers(&v, 1);
		assert_int_equal(v.nostats, bytes > 4);
	}
	munmap(p, 2 * (size_t)page);
}

/* As a device finds them: dimensions that contain each element of the segments once, and nothing else. */
static void segments_are_dimensions_or_refused(void **state)
{
	static const struct {
		int32_t n, counts[4], displs[4], dims; /* dims 0: refused */
	} cases[] = {
		{3, {2, 3, 1}, {0, 2, 5}, 1},
		{3, {2, 0, 1}, {0, 90, 2}, 1},
		{4, {3, 3, 3, 3}, {0, 5, 10, 15}, 2},
		{3, {2, 0, 2}, {4, 0, 9}, 2},
		{1, {4}, {7}, 1},
		{3, {3, 3, 3}, {0, 5, 11}, 0},
		{2, {3, 2}, {0, 5}, 0},
		{2, {3, 3}, {5, 0}, 0}, /* backwards */
		{2, {3, 3}, {0, 2}, 0}, /* one above the other */
		{2, {0, 0}, {0, 2}, 0},
	};
	float data[128];

	(void)state;
	for (unsigned k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		struct buffer v = {.base = data,
			.dtype = DT_FLOAT32,
			.layout = BUFFER_SEGMENTS,
			.width = 4,
			.n = (uint32_t)cases[k].n,
			.unit = 4,
			.counts = cases[k].counts,
			.displs = cases[k].displs};
		unsigned char want[128] = {0}, got[128] = {0};
		struct buffer_walk w;

		assert_int_equal(buffer_compute_segment_walk(&v, &w), cases[k].dims != 0);
		if (!cases[k].dims)
			continue;
		assert_int_equal(w.n, cases[k].dims);
		for (int32_t i = 0; i < cases[k].n; i++)
			for (int32_t j = 0; j < cases[k].counts[i]; j++)
				want[cases[k].displs[i] + j]++;
		for (uint64_t i = 0; i < (w.n > 1 ? w.size[1] : 1); i++)
			for (uint64_t j = 0; j < w.size[0]; j++)
				got[(w.base + (w.n > 1 ? i * w.stride_bytes[1] : 0) +
					    j * w.stride_bytes[0] - (uintptr_t)data) /
					4]++;
		assert_memory_equal(want, got, sizeof(want));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contiguous),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_segments_from_null),
		cmocka_unit_test(test_strided_known),
		cmocka_unit_test(test_strided_random),
		cmocka_unit_test(test_not_measured),
		cmocka_unit_test(segments_are_dimensions_or_refused),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(buffers_are_believed_to_their_last_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
