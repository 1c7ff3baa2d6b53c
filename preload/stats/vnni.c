/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AVX-512 variant compiled again for CPUs that have VNNI too: sums of squares of 8-bit integers take a fourth of
 * the operations. Compiled with its own flags.
 */
#define AVX512_TABLE stats_avx512_vnni

#include "stats/avx512.c"
