/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of tensors against zlib's CRC-32, or a plain loop, over a plain copy of their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <zlib.h>

#include <cmocka.h>

#include "call/data/view.h"
#include "buffer_helper.h"
#include "measure_helper.h"
#include "stats_reference.h"

#define EPS 1e-8

static uint64_t seed = 1;

static uint32_t sum_of(const struct buffer *v, enum stats_checksum kind)
{
	struct stats_fenv env;
	struct stats s;
	uint32_t sum = 0;

	stats_fenv_set(&env);
	assert_true(buffer_measure_sum(v, EPS, kind, &s, &sum));
	stats_fenv_reset(&env);
	assert_int_equal(s.n, v->count);
	return sum;
}

static uint32_t xor_of(const void *data, size_t n)
{
	const unsigned char *p = data;
	uint32_t x = 0;

	for (size_t i = 0; i < n; i++)
		x ^= (uint32_t)p[i] << i % 4 * 8;
	return x;
}

static void check(const struct buffer *v, const void *plain, size_t n)
{
	assert_int_equal(sum_of(v, CHECKSUM_CRC32), crc32(0, plain, (uInt)n));
	assert_int_equal(sum_of(v, CHECKSUM_XOR), xor_of(plain, n));
}

static struct buffer contiguous(const void *p, uint64_t n, unsigned dt)
{
	return (struct buffer){.base = p,
		.count = n,
		.bytes = n * get_dtype_info(dt)->size,
		.dtype = (uint8_t)dt,
		.layout = BUFFER_CONTIG};
}

static void test_lengths_and_offsets(void **state)
{
	unsigned char data[600 + 64];

	(void)state;
	fill_tensor(DT_UINT8, data, sizeof(data), FILL_BITS, &seed);
	for (size_t n = 1; n <= 600; n++) {
		for (size_t offset = 0; offset < 64; offset += 1 + n % 5) {
			struct buffer v = contiguous(data + offset, n, DT_UINT8);

			check(&v, data + offset, n);
		}
	}
}

static void test_across_blocks(void **state)
{
	static unsigned char data[100003 * 8];

	(void)state;
	for (unsigned dt = DT_BOOL; dt <= DT_FLOAT64; dt++) {
		size_t n = 100003 - dt;
		struct buffer v = contiguous(data, n, dt);

		fill_tensor(dt, data, n, FILL_USUAL, &seed);
		check(&v, data, n * get_dtype_info(dt)->size);
	}
}

/* Short segments are gathered, long ones measured where they lie: the order must stay that of the view. */
static void test_segments(void **state)
{
	static float data[20000], plain[20000];
	int32_t counts[40], displs[40];
	size_t n = 0, at = 0;
	struct buffer v;

	(void)state;
	fill_tensor(DT_FLOAT32, data, 20000, FILL_USUAL, &seed);
	for (unsigned i = 0; i < 40; i++) {
		counts[i] = (int32_t)(i % 3 ? random_bits(&seed) % 50 : 300);
		displs[i] = (int32_t)at;
		memcpy(plain + n, data + at, 4 * (size_t)counts[i]);
		n += (size_t)counts[i];
		at += (size_t)counts[i] + random_bits(&seed) % 10;
	}
	v = (struct buffer){.base = data,
		.count = n,
		.dtype = DT_FLOAT32,
		.layout = BUFFER_SEGMENTS,
		.width = 4,
		.n = 40,
		.unit = 4,
		.counts = counts,
		.displs = displs};
	check(&v, plain, 4 * n);
}

/* Bytes in long segments, which are measured where they lie, begin anywhere within a word of the sum. */
static void test_segments_of_bytes(void **state)
{
	static unsigned char data[40000], plain[40000];
	int32_t counts[30], displs[30];
	size_t n = 0, at = 0;
	struct buffer v;

	(void)state;
	fill_tensor(DT_UINT8, data, 40000, FILL_BITS, &seed);
	for (unsigned i = 0; i < 30; i++) {
		counts[i] =
			(int32_t)(i % 2 ? 600 + random_bits(&seed) % 300 : random_bits(&seed) % 9);
		displs[i] = (int32_t)at;
		memcpy(plain + n, data + at, (size_t)counts[i]);
		n += (size_t)counts[i];
		at += (size_t)counts[i] + random_bits(&seed) % 10;
	}
	v = (struct buffer){.base = data,
		.count = n,
		.dtype = DT_UINT8,
		.layout = BUFFER_SEGMENTS,
		.width = 4,
		.n = 30,
		.unit = 1,
		.counts = counts,
		.displs = displs};
	check(&v, plain, n);
}

static void test_strided(void **state)
{
	static float data[20000], plain[10000];
	int64_t sizes[] = {50, 100}, strides[] = {200, 2};
	struct buffer v = make_tensor(data, DT_FLOAT32, 2, sizes, strides);

	(void)state;
	fill_tensor(DT_FLOAT32, data, 20000, FILL_USUAL, &seed);
	for (size_t i = 0; i < 5000; i++)
		plain[i] = data[i / 100 * 200 + i % 100 * 2];
	check(&v, plain, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths_and_offsets),
		cmocka_unit_test(test_across_blocks),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_segments_of_bytes),
		cmocka_unit_test(test_strided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
