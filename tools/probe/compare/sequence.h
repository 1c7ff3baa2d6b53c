/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs the elements of two sequences that may lack elements of each other: the longest common subsequence (Myers 1986, "An
 * O(ND) difference algorithm", in linear space), by keys that get weaker level by level. Elements that one level leaves
 * unpaired between two pairs are tried again with the next level's keys.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_SEQUENCE_H
#define PROBE_TOOLS_PROBE_COMPARE_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#define NO_PARTNER UINT32_MAX
#define SEQUENCE_LEVELS 4

struct sequence {
	const uint64_t *key
		[SEQUENCE_LEVELS]; /* from the strongest level to the weakest; key 0 matches nothing */
	uint32_t n;
};

/*
 * partner: for each element of a, the index in b; a's length; ascending. Sequences with little in common are matched less
 * carefully, so that the time stays below the square of their length.
 */
void align_sequences(
	const struct sequence *a, const struct sequence *b, unsigned levels, uint32_t *partner);

/* Keys that occur more than once in either sequence become 0. */
void keep_unique_keys(uint64_t *a, uint32_t n, uint64_t *b, uint32_t m);

#endif
