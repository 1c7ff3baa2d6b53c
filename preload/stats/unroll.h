/* SPDX-License-Identifier: Apache-2.0 */
/* Unrolls loops over the registers that form one vector; each compiler has its own pragma. */
#ifndef PROBE_STATS_UNROLL_H
#define PROBE_STATS_UNROLL_H

#define INLINE static inline __attribute__((always_inline))

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#endif
