/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the keys stats_isa and checksum. */
#ifndef PROBE_BASE_ISA_H
#define PROBE_BASE_ISA_H

enum stats_isa { STATS_AUTO, STATS_SCALAR, STATS_AVX2, STATS_AVX512, STATS_NEON, STATS_ISAS };

/*
 * The checksum of all bytes of a tensor, in element order. CRC-32: as in zlib. XOR: of the bytes
 * as 32-bit little-endian words, the last word padded with zeros. XOR is several times as fast,
 * but does not detect words in a different order. AUTO: XOR, for data that must be equal on all
 * ranks.
 */
enum stats_checksum { CHECKSUM_OFF, CHECKSUM_CRC32, CHECKSUM_XOR, CHECKSUM_AUTO };

#endif
