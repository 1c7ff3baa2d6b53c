/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every variant of the statistics that this CPU can run: against the long double reference, and bit for bit against
 * the scalar one. A variant that it cannot run is skipped and named.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stats/kernel.h"
#include "stats_reference.h"

#define EPS 1e-8

#ifdef SLOW_CPU /* an emulated one, with long double in software */
#define ROUNDS(n) ((n) / 4)
#ifndef STRIDE
#define STRIDE 9 /* every offset comes, not with every length */
#endif
#else
#define ROUNDS(n) (n)
#define STRIDE 1
#endif

/* One more: the variant that STATS_AVX512 is where the CPU lacks VNNI. */
#define AVX512_PLAIN STATS_ISAS

static const char *const isa_name[STATS_ISAS + 1] = {
	"auto", "scalar", "avx2", "avx512", "neon", "avx512 without VNNI"};
static uint64_t seed = 1;

static const struct stats_kernels *variant_of(enum stats_isa isa)
{
#if defined(__x86_64__)
	if (isa == AVX512_PLAIN)
		return stats_get_variant(STATS_AVX512) ? &stats_avx512 : NULL;
#endif
	return stats_get_variant(isa);
}

static void measure(
	enum stats_isa isa, unsigned dt, const void *p, uint64_t n, double eps, struct stats *out)
{
	static const struct stats_kernels *variant[STATS_ISAS + 1];
	struct stats_fenv env;
	struct stats_acc a;

	/* Asked once: CPUID takes microseconds in a virtual machine. */
	if (!variant[isa])
		variant[isa] = variant_of(isa);
	assert_non_null(variant[isa]);
	stats_fenv_set(&env);
	stats_begin(&a, dt, eps);
	a.kernel = stats_kernel_of(variant[isa], dt);
	stats_add(&a, p, n);
	stats_end(&a, out);
	stats_fenv_reset(&env);
}

/* The element at p: the reference, the scalar variant and the one under test. */
static void check(enum stats_isa isa, unsigned dt, const void *p, uint64_t n, double eps)
{
	struct stats scalar, got;
	struct reference want;
	const char *wrong;

	measure(isa, dt, p, n, eps, &got);
	ref_measure(dt, p, n, eps, &want);
	wrong = ref_compare(dt, &got, &want);
	if (wrong)
		fail_msg("%s: %s (n %llu, eps %g)", isa_name[isa], wrong, (unsigned long long)n,
			eps);
	measure(STATS_SCALAR, dt, p, n, eps, &scalar);
	if (memcmp(&got, &scalar, sizeof(got)))
		fail_msg("%s and scalar differ for %s, n %llu, eps %g: mean %a %a norm %a %a",
			isa_name[isa], get_dtype_info(dt)->name, (unsigned long long)n, eps,
			got.mean, scalar.mean, got.norm, scalar.norm);
}

static enum stats_isa under_test(void **state)
{
	enum stats_isa isa = *(const enum stats_isa *)*state;

	if (!variant_of(isa)) {
		print_message("# this CPU has no %s\n", isa_name[isa]);
		skip();
	}
	return isa;
}

/* The figures must not depend on where the tensor begins: the reference is computed once for all offsets. */
static void test_every_length_and_offset(void **state)
{
	enum stats_isa isa = under_test(state);
	static _Alignas(64) unsigned char at[64 + 257 * 16], data[257 * 16];

	for (unsigned dt = 1; dt < DT_COUNT; dt++) {
		for (unsigned round = 0; round < 258 + ROUNDS(258); round++) {
			size_t n = round % 258, bytes = n * get_dtype_info(dt)->size;
			struct stats want, got;

			fill_tensor(dt, data, n, round % FILL_PATTERNS, &seed);
			check(isa, dt, data, n, EPS);
			measure(STATS_SCALAR, dt, data, n, EPS, &want);
			for (size_t offset = round % STRIDE; offset < 64; offset += STRIDE) {
				memset(at, 0xa5, sizeof(at));
				memcpy(at + offset, data, bytes);
				measure(isa, dt, at + offset, n, EPS, &got);
				if (memcmp(&got, &want, sizeof(got)))
					fail_msg("%s: %s, n %zu, offset %zu", isa_name[isa],
						get_dtype_info(dt)->name, n, offset);
			}
		}
	}
}

/* The tensor is the whole heap object, so that the address sanitizer sees any byte read too many. */
static void test_no_byte_outside(void **state)
{
	enum stats_isa isa = under_test(state);
	struct stats s;

	for (unsigned dt = 1; dt < DT_COUNT; dt++) {
		for (size_t n = 1; n <= 257; n++) {
			size_t bytes = n * get_dtype_info(dt)->size;
			unsigned char *p = malloc(bytes);

			assert_non_null(p);
			fill_tensor(dt, p, n, n % FILL_PATTERNS, &seed);
			measure(isa, dt, p, n, EPS, &s);
			free(p);
		}
	}
}

#define LONGEST (2 * STATS_BYTES + 31)

static void test_patterns_across_blocks(void **state)
{
	static const size_t length[] = {511, 512, 513, 1000, 2047, 2049, STATS_BLOCK - 1,
		STATS_BLOCK, STATS_BLOCK + 1, STATS_BLOCK + 15, STATS_BLOCK + 64,
		2 * STATS_BLOCK - 1, 2 * STATS_BLOCK + 31, STATS_BYTES - 1, STATS_BYTES + 1,
		LONGEST};
	enum stats_isa isa = under_test(state);
	unsigned char *p = malloc((size_t)LONGEST * 16);

	assert_non_null(p);
	for (unsigned dt = 1; dt < DT_COUNT; dt++) {
		for (size_t i = 0; i < sizeof(length) / sizeof(*length); i++) {
			for (unsigned pattern = (i + dt) % ((STRIDE + 2) / 3);
				pattern < FILL_PATTERNS; pattern += (STRIDE + 2) / 3) {
				fill_tensor(dt, p, length[i], pattern, &seed);
				check(isa, dt, p, length[i], EPS);
			}
		}
	}
	free(p);
}

/* One odd element among ordinary ones, wherever it is in a register, a step or a block. */
static void test_one_special_element(void **state)
{
	enum stats_isa isa = under_test(state);
	unsigned char p[(STATS_BLOCK + 200) * 8];

	for (unsigned dt = DT_INT8; dt <= DT_FLOAT64; dt++) {
		size_t size = get_dtype_info(dt)->size, n = STATS_BLOCK + random_bits(&seed) % 200;

		fill_tensor(dt, p, n, FILL_USUAL, &seed);
		for (unsigned i = 0; i < ROUNDS(400); i++) {
			size_t at = i < 128 ? i : n - 1 - random_bits(&seed) % 256;
			unsigned char keep[8];

			memcpy(keep, p + at * size, size);
			fill_tensor(dt, p + at * size, 1, i & 1 ? FILL_EXTREME : FILL_HUGE, &seed);
			check(isa, dt, p, n, EPS);
			memcpy(p + at * size, keep, size);
		}
	}
}

/* Floats of one sign: then the one nearest to zero is an extreme, at any position. */
static void test_one_sign(void **state)
{
	enum stats_isa isa = under_test(state);
	unsigned char p[257 * 8];

	for (unsigned dt = DT_FLOAT8_E4M3FN; dt <= DT_FLOAT64; dt++) {
		size_t size = get_dtype_info(dt)->size;

		for (size_t n = 1; n <= 257; n++) {
			for (unsigned round = 0; round < 4 + ROUNDS(4); round++) {
				size_t at = random_bits(&seed) % (round & 2 && n > 16 ? 16 : n);
				unsigned char sign = round & 1 ? 0x80 : 0;

				fill_tensor(dt, p, n, FILL_USUAL, &seed);
				for (size_t i = 0; i < n; i++)
					p[i * size + size - 1] =
						(p[i * size + size - 1] & 0x7f) | sign;
				memset(p + (n - 1 - at) * size, 0, size);
				p[(n - 1 - at) * size] = 1;
				p[(n - at) * size - 1] |= sign;
				check(isa, dt, p, n, EPS);
			}
		}
	}
}

/* Each bit pattern of the small types, in as many elements as make it take the fast path. */
static void test_all_small_floats(void **state)
{
	static const uint8_t types[] = {DT_FLOAT8_E4M3FN, DT_FLOAT8_E5M2, DT_BFLOAT16, DT_FLOAT16};
	enum stats_isa isa = under_test(state);

	for (unsigned t = 0; t < sizeof(types); t++) {
		unsigned size = get_dtype_info(types[t])->size;

		for (uint32_t bits = 0; bits < (size == 1 ? 256 : 65536); bits++) {
			long double want = decode_float(float_format(types[t]), bits);
			unsigned char p[64 * 2];
			struct stats s, scalar;

			for (unsigned i = 0; i < 64; i++)
				memcpy(p + i * size, &bits, size);
			measure(isa, types[t], p, 64, EPS, &s);
			measure(STATS_SCALAR, types[t], p, 64, EPS, &scalar);
			if (isnan(want) ? s.nans != 64 || !isnan(s.min.f)
					: s.min.f != want || s.max.f != want ||
						  memcmp(&s, &scalar, sizeof(s)))
				fail_msg("%s 0x%x is %g instead of %Lg",
					get_dtype_info(types[t])->name, bits, s.min.f, want);
		}
	}
}

/* Thresholds at, just below and just above an element of the tensor; and whatever else is a number. */
static void test_thresholds(void **state)
{
	enum stats_isa isa = under_test(state);
	unsigned char p[300 * 16];

	for (unsigned dt = 1; dt < DT_COUNT; dt++) {
		for (unsigned round = 0; round < ROUNDS(1000); round++) {
			double eps;

			fill_tensor(dt, p, 300, round % FILL_PATTERNS, &seed);
			eps = (double)fabsl(decode(get_dtype_info(dt)->component, p + 16));
			if (isnan(eps))
				continue;
			if (round % 3 == 1)
				eps = nextafter(eps, 0);
			else if (round % 3 == 2)
				eps = nextafter(eps, INFINITY);
			check(isa, dt, p, 64 + round % 200, eps);
		}
		check(isa, dt, p, 300, 0);
		check(isa, dt, p, 300, 0x1p-1074);
		check(isa, dt, p, 300, 0x1p63);
		check(isa, dt, p, 300, 0x1p64);
		check(isa, dt, p, 300, DBL_MAX);
		check(isa, dt, p, 300, INFINITY);
	}
}

static void test_selection(void **state)
{
	int any = 0;

	(void)state;
	assert_int_equal(stats_select(STATS_SCALAR), 0);
	assert_string_equal(stats_selected(), "scalar");
	for (enum stats_isa isa = STATS_AVX2; isa < STATS_ISAS; isa++) {
		int rc = stats_select(isa);

		assert_true(rc == 0 || rc == -ENOTSUP);
		if (rc == 0)
			assert_string_equal(stats_selected(), isa_name[isa]);
		any |= rc == 0;
	}
	assert_int_equal(stats_select(STATS_AUTO), 0);
	assert_int_equal(any, strcmp(stats_selected(), "scalar") != 0);
#if defined(__x86_64__)
	assert_int_equal(stats_select(STATS_AVX2),
		__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 0 : -ENOTSUP);
	assert_int_equal(stats_select(STATS_AVX512),
		__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
				__builtin_cpu_supports("avx512bw")
			? 0
			: -ENOTSUP);
	assert_int_equal(stats_select(STATS_NEON), -ENOTSUP);
#elif defined(__aarch64__)
	assert_int_equal(stats_select(STATS_NEON), 0);
	assert_int_equal(stats_select(STATS_AVX2), -ENOTSUP);
#endif
	assert_int_equal(stats_select(STATS_AUTO), 0);
}

static void test_absent(void **state)
{
	under_test(state);
}

#define OF(isa, i)                                                                             \
	{isa ": every length at every offset", test_every_length_and_offset, NULL, NULL,       \
		&isas[i]},                                                                     \
		{isa ": no byte outside is read", test_no_byte_outside, NULL, NULL, &isas[i]}, \
		{isa ": patterns across blocks", test_patterns_across_blocks, NULL, NULL,      \
			&isas[i]},                                                             \
		{isa ": one special element", test_one_special_element, NULL, NULL, &isas[i]}, \
		{isa ": one sign", test_one_sign, NULL, NULL, &isas[i]},                       \
		{isa ": all small floats", test_all_small_floats, NULL, NULL, &isas[i]},       \
	{                                                                                      \
		isa ": thresholds", test_thresholds, NULL, NULL, &isas[i]                      \
	}

int main(void)
{
	static enum stats_isa isas[] = {STATS_AVX2, STATS_AVX512, STATS_NEON, AVX512_PLAIN};
	static const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		OF("avx2", 0),
		OF("avx512", 1),
		OF("avx512 without VNNI", 3),
		{"neon", test_absent, NULL, NULL, &isas[2]},
#else
		{"avx2", test_absent, NULL, NULL, &isas[0]},
		{"avx512", test_absent, NULL, NULL, &isas[1]},
		OF("neon", 2),
#endif
		cmocka_unit_test(test_selection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
