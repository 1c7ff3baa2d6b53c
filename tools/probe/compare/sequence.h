/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs the elements of two sequences, each of which may lack elements of the other. It finds the
 * longest common subsequence (Myers 1986, "An O(ND) difference algorithm", in linear space) by a
 * key. Elements between two pairs that have no partner are tried again with the key of the next,
 * weaker level.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_SEQUENCE_H
#define PROBE_TOOLS_PROBE_COMPARE_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#define NO_PARTNER UINT32_MAX
#define SEQUENCE_LEVELS 4

/*
 * Pairs two sequences of n and m elements by their keys, from the strongest level to the weakest.
 * Key 0 matches nothing. Keys of the strongest level count only if they are unique in both. Sets
 * partner[i], for each element i of a, to the index of its partner in b, ascending, or to
 * NO_PARTNER. Sequences with little in common are matched less carefully, so that the time stays
 * below the square of their length. Frees the keys.
 */
void match_keys(uint64_t *a[SEQUENCE_LEVELS], uint32_t n, uint64_t *b[SEQUENCE_LEVELS], uint32_t m,
	uint32_t *partner);

#endif
