/* SPDX-License-Identifier: Apache-2.0 */
/* What the keys of the statistics choose from: stats_isa and checksum. */
#ifndef PROBE_BASE_ISA_H
#define PROBE_BASE_ISA_H

enum stats_isa { STATS_AUTO, STATS_SCALAR, STATS_AVX2, STATS_AVX512, STATS_NEON, STATS_ISAS };

/*
 * The one number that stands for all bytes of a tensor, in the order in which its elements are added. CRC-32: that of
 * zlib. XOR: of the bytes as 32-bit little-endian words, a last word that is cut off filled up with zeros; several times
 * as fast, and blind to words that change places. AUTO: XOR of what all ranks must get alike.
 */
enum stats_checksum { CHECKSUM_OFF, CHECKSUM_CRC32, CHECKSUM_XOR, CHECKSUM_AUTO };

#endif
