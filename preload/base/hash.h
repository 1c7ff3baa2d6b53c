/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 64-bit hash whose value is part of the output (communicator ids), so it must never change. Each word is mixed with
 * the finaliser of SplitMix64 (Steele, Lea, Flood 2014); strings are first hashed byte by byte with FNV-1a.
 */
#ifndef PROBE_BASE_HASH_H
#define PROBE_BASE_HASH_H

#include <stdint.h>

static inline uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static inline uint64_t hash_u64(uint64_t h, uint64_t v)
{
	return hash_mix(h * UINT64_C(0x9e3779b97f4a7c15) + v + UINT64_C(0x632be59bd9b4e019));
}

static inline uint64_t hash_str(uint64_t h, const char *s)
{
	uint64_t f = UINT64_C(0xcbf29ce484222325);

	while (*s)
		f = (f ^ (unsigned char)*s++) * UINT64_C(0x100000001b3);
	return hash_u64(h, f);
}

/*
 * Makes an id from a hash, to be written as 16 hex digits. The first digit is one of a b c d f,
 * so that readers which guess types do not read the id as a number. (Some would read
 * 12e4567890123456 as +inf, so that two ids become one; e is excluded because it marks an
 * exponent.) The other 60 bits are those of the hash. The id is never 0, equal on all ranks, and
 * hash_to_id() of an id is the id itself.
 */
static inline uint64_t hash_to_id(uint64_t h)
{
	/* Index: the hash's own first digit. */
	static const uint8_t first[16] = {
		10, 11, 12, 13, 15, 10, 11, 12, 13, 15, 10, 11, 12, 13, 15, 15};

	return h << 4 >> 4 | (uint64_t)first[h >> 60] << 60;
}

#endif
