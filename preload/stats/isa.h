/* SPDX-License-Identifier: Apache-2.0 */
/* The variants of the statistics, as the key stats_isa names them. */
#ifndef PROBE_STATS_ISA_H
#define PROBE_STATS_ISA_H

enum stats_isa { STATS_AUTO, STATS_SCALAR, STATS_AVX2, STATS_AVX512, STATS_NEON, STATS_ISAS };

#endif
