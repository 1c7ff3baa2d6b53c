/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checksums of the elements while their block is in the cache.
 *
 * CRC-32 of zlib, gzip and PNG (polynomial 0x04c11db7, bits reflected). Uses zlib's own function, or folding if the CPU
 * has carry-less multiplication: 64 bytes are replaced by a value that leaves the same remainder 64 bytes later, so
 * that only the last 16 bytes go through zlib's tables.
 */
#include <stdatomic.h>
#include <string.h>
#include <zlib.h>

#include "stats/kernel.h"

static uint32_t compute_crc_by_zlib(uint32_t crc, const void *p, size_t n)
{
	return (uint32_t)crc32_z(crc, p, n);
}

static uint32_t compute_crc_by_table(uint32_t crc, const void *p, size_t n, uint64_t before)
{
	(void)before;
	return compute_crc_by_zlib(crc, p, n);
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define CLMUL static inline __attribute__((target("pclmul,sse4.1")))

/* Returns x times x^bits, with the two powers in k, plus y. */
CLMUL __m128i fold(__m128i x, __m128i k, __m128i y)
{
	__m128i low = _mm_clmulepi64_si128(x, k, 0x00), high = _mm_clmulepi64_si128(x, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), y);
}

CLMUL __m128i load_at(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

__attribute__((target("pclmul,sse4.1"))) static uint32_t compute_crc_by_clmul(
	uint32_t crc, const void *data, size_t n, uint64_t before)
{
	/* x^(512+32), x^(512-32) and x^(128+32), x^(128-32) modulo the polynomial, reflected and shifted by one. */
	const __m128i far = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
	const __m128i near = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
	const unsigned char *p = data;
	unsigned char last[16];
	__m128i x[4];

	(void)before;
	if (n < 128)
		return compute_crc_by_zlib(crc, p, n);
	for (int i = 0; i < 4; i++)
		x[i] = load_at(p + 16 * i);
	x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)~crc));
	for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
		x[0] = fold(x[0], far, load_at(p));
		x[1] = fold(x[1], far, load_at(p + 16));
		x[2] = fold(x[2], far, load_at(p + 32));
		x[3] = fold(x[3], far, load_at(p + 48));
	}
	for (int i = 1; i < 4; i++)
		x[i] = fold(x[i - 1], near, x[i]);
	for (; n >= 16; p += 16, n -= 16)
		x[3] = fold(x[3], near, load_at(p));
	_mm_storeu_si128((__m128i *)last, x[3]);
	/* zlib inverts at both ends: with this start value the remainder is 0. */
	return compute_crc_by_zlib(compute_crc_by_zlib(UINT32_MAX, last, sizeof(last)), p, n);
}

static int has_clmul(void)
{
	uint32_t a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_PCLMUL && c & bit_SSE4_1;
}

#else
#define compute_crc_by_clmul compute_crc_by_table
#define has_clmul() 0
#endif

/*
 * XOR of n bytes with 0 or more registers of this type. Four registers alternate, because a
 * single one would wait for its own result.
 */
#define XOR_LOOP(name, register_of, attribute)                             \
	attribute static uint64_t name(const unsigned char *p, size_t n)   \
	{                                                                  \
		register_of a = {0}, b = {0}, c = {0}, d = {0};            \
		const register_of *v = (const register_of *)p;             \
		uint64_t x = 0;                                            \
                                                                           \
		for (; n >= 4 * sizeof(*v); v += 4, n -= 4 * sizeof(*v)) { \
			a ^= v[0];                                         \
			b ^= v[1];                                         \
			c ^= v[2];                                         \
			d ^= v[3];                                         \
		}                                                          \
		for (; n >= sizeof(*v); v++, n -= sizeof(*v))              \
			a ^= v[0];                                         \
		a ^= b ^ c ^ d;                                            \
		for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)      \
			x ^= a[i];                                         \
		return x;                                                  \
	}

typedef uint64_t words_16 __attribute__((vector_size(16), aligned(1), may_alias));
XOR_LOOP(xor_of_16, words_16, )

#if defined(__x86_64__)
typedef uint64_t words_32 __attribute__((vector_size(32), aligned(1), may_alias));
XOR_LOOP(xor_of_32, words_32, __attribute__((target("avx2"))))
#else
typedef words_16 words_32;
#define xor_of_32 xor_of_16
#endif

#define IN_REGISTERS (sizeof(words_32) - 1)

static uint32_t xor_with(uint64_t (*loop)(const unsigned char *p, size_t n), uint32_t sum,
	const unsigned char *p, size_t n, uint64_t before)
{
	uint64_t x = loop(p, n & ~IN_REGISTERS);
	uint32_t last, all = (uint32_t)(x ^ x >> 32);
	unsigned turn = before % 4 * 8;

	p += n & ~IN_REGISTERS;
	n &= IN_REGISTERS;
	for (; n >= 4; p += 4, n -= 4) {
		memcpy(&last, p, 4);
		all ^= last;
	}
	if (n) {
		last = 0;
		memcpy(&last, p, n);
		all ^= last;
	}
	/* Rotates the result if the bytes before ended within a word. */
	return sum ^ (turn ? all << turn | all >> (32 - turn) : all);
}

static uint32_t by_xor(uint32_t sum, const void *p, size_t n, uint64_t before)
{
	return xor_with(xor_of_16, sum, p, n, before);
}

static uint32_t by_wide_xor(uint32_t sum, const void *p, size_t n, uint64_t before)
{
	return xor_with(xor_of_32, sum, p, n, before);
}

/* Detected once; a race is harmless, because either answer is right. */
static stats_checksum_fn *xor_fn(void)
{
	static _Atomic int known; /* 1: 16 bytes at once, 2: 32 */
	int how = atomic_load_explicit(&known, memory_order_relaxed);

	if (!how) {
		how = stats_get_variant(STATS_AVX2) ? 2 : 1;
		atomic_store_explicit(&known, how, memory_order_relaxed);
	}
	return how == 2 ? by_wide_xor : by_xor;
}

static stats_checksum_fn *crc32_fn(void)
{
	static _Atomic int known; /* 1: by table, 2: by carry-less multiplication */
	int how = atomic_load_explicit(&known, memory_order_relaxed);

	if (!how) {
		how = has_clmul() ? 2 : 1;
		atomic_store_explicit(&known, how, memory_order_relaxed);
	}
	return how == 2 ? compute_crc_by_clmul : compute_crc_by_table;
}

static stats_checksum_fn *checksum_fn(enum stats_checksum kind)
{
	return kind == CHECKSUM_XOR ? xor_fn() : kind == CHECKSUM_CRC32 ? crc32_fn() : NULL;
}

void stats_with_checksum(struct stats_acc *a, enum stats_checksum kind)
{
	a->checksum = 0;
	a->add_to_checksum = checksum_fn(kind);
}

uint32_t stats_checksum_of(enum stats_checksum kind, const void *p, size_t n)
{
	return checksum_fn(kind)(0, p, n, 0);
}

uint32_t stats_checksum_join(stats_checksum_fn *kind, uint32_t sum, uint32_t next, uint64_t n)
{
	return kind == by_xor || kind == by_wide_xor
		       ? sum ^ next
		       : (uint32_t)crc32_combine(sum, next, (z_off_t)n);
}
