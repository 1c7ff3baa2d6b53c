/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 64-bit hash whose value is part of the output (communicator ids), so it must never change: each word is mixed
 * with the finaliser of SplitMix64 (Steele, Lea, Flood 2014), strings byte by byte as FNV-1a first.
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
 * A hash as the id of something: never 0, and of its 16 hex digits at least one is a letter in such a place that no reader
 * takes the id for a number (12345678e0123456 is one). Equal on all ranks, as what it is made of.
 */
static inline uint64_t hash_to_id(uint64_t h)
{
	for (;;) {
		unsigned letters = 0, exponents = 0;

		for (unsigned i = 0; i < 16; i++) {
			unsigned digit = (unsigned)(h >> 4 * i) & 15;

			letters += digit > 9;
			exponents += digit == 14 && i > 0 && i < 15;
		}
		if (letters > 1 || (letters == 1 && !exponents))
			return h;
		h = hash_u64(h, 1);
	}
}

#endif
