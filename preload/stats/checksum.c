/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checksums of the elements while their block is in the cache.
 *
 * CRC-32 of zlib, gzip and PNG (polynomial 0x04c11db7, bits reflected): zlib's own, or where the CPU multiplies without carries, folding: 64 bytes are replaced by what leaves the
 * same remainder 64 bytes further on, so that only the last 16 go through zlib's tables.
 */
#include <stdatomic.h>
#include <string.h>
#include <zlib.h>

#include "stats/kernel.h"

static uint32_t table(uint32_t crc, const void *p, size_t n)
{
	return (uint32_t)crc32_z(crc, p, n);
}

static uint32_t by_table(uint32_t crc, const void *p, size_t n, uint64_t before)
{
	(void)before;
	return table(crc, p, n);
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define CLMUL static inline __attribute__((target("pclmul,sse4.1")))

/* x times x^bits of the two powers in k, plus y. */
CLMUL __m128i fold(__m128i x, __m128i k, __m128i y)
{
	__m128i low = _mm_clmulepi64_si128(x, k, 0x00), high = _mm_clmulepi64_si128(x, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), y);
}

CLMUL __m128i load_at(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

__attribute__((target("pclmul,sse4.1"))) static uint32_t by_clmul(
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
		return table(crc, p, n);
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
	/* zlib inverts at both ends: from this value on it begins with a remainder of 0. */
	return table(table(UINT32_MAX, last, sizeof(last)), p, n);
}

static int has_clmul(void)
{
	uint32_t a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_PCLMUL && c & bit_SSE4_1;
}

#else
#define by_clmul by_table
#define has_clmul() 0
#endif

typedef uint64_t words __attribute__((vector_size(16), aligned(1), may_alias));

static uint32_t by_xor(uint32_t sum, const void *data, size_t n, uint64_t before)
{
	const unsigned char *p = data;
	words w[4] = {{0}};
	uint64_t x;
	uint32_t last, all;
	unsigned turn = before % 4 * 8;

	for (; n >= 64; p += 64, n -= 64)
		for (int i = 0; i < 4; i++)
			w[i] ^= ((const words *)p)[i];
	w[0] ^= w[1] ^ w[2] ^ w[3];
	x = w[0][0] ^ w[0][1];
	all = (uint32_t)(x ^ x >> 32);
	for (; n; p += n < 4 ? n : 4, n -= n < 4 ? n : 4) {
		last = 0;
		memcpy(&last, p, n < 4 ? n : 4);
		all ^= last;
	}
	/* What was added before may have ended within a word. */
	return sum ^ (turn ? all << turn | all >> (32 - turn) : all);
}

static stats_checksum_fn *crc32_fn(void)
{
	static _Atomic int known; /* 1: by table, 2: by multiplication */
	int how = atomic_load_explicit(&known, memory_order_relaxed);

	if (!how) {
		how = has_clmul() ? 2 : 1;
		atomic_store_explicit(&known, how, memory_order_relaxed);
	}
	return how == 2 ? by_clmul : by_table;
}

static stats_checksum_fn *checksum_fn(enum stats_checksum kind)
{
	return kind == CHECKSUM_XOR ? by_xor : kind == CHECKSUM_CRC32 ? crc32_fn() : NULL;
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
	return kind == by_xor ? sum ^ next : (uint32_t)crc32_combine(sum, next, (z_off_t)n);
}
