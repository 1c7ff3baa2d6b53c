/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CPU variant (scalar, AVX2, AVX-512, NEON) consists of one kernel per dtype. A kernel measures one block and returns
 * its partial results. stats.c cuts tensors into blocks and combines the partial results, in the same way for all
 * variants.
 *
 * Why blocks. Inside a block plain double sums are accurate enough: lane j of STATS_LANES adds up the elements j, j +
 * STATS_LANES, ... That is at most STATS_BLOCK / STATS_LANES = 252 additions, and the lanes are folded in 4 more. So a
 * block's sum is off by at most 257 * 2^-53 = 2.9e-14 of its sum of |x|, its sum of squares by 2.9e-14 of itself.
 * Between blocks an error must not grow with the length of the tensor. They are combined with error-free
 * transformations (sum.h), which add at most 2^-103 per block: 2^-63 for 2^40 elements, even if each is a piece of its
 * own. Together that is far inside the 1e-12 promised by stats.h. The block also stays in the first-level cache. If it
 * turns out to hold NaN, Inf or extreme values, a kernel may read it again, and main memory is still read once.
 *
 * All variants use the same lanes, fold them in the same order and round every product (no FMA unless the product is
 * exact). So they return the same bits: two ranks on different CPUs agree to the last digit.
 */
#ifndef PROBE_STATS_KERNEL_H
#define PROBE_STATS_KERNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "stats/stats.h"

#define STATS_BLOCK 4032 /* maximum number of elements of a real dtype per kernel call */
/* for bool and 8-bit integers, whose sums are exact at any length */
#define STATS_BYTES (4 * STATS_BLOCK)
#define STATS_LANES 16

/*
 * Squares of float64 may overflow or underflow. If the largest finite |x| of a block is above STATS_MID_MAX, it is
 * summed after scaling by 2^-600. If it is below STATS_MID_MIN (but not 0), it is squared after scaling by 2^600.
 * Within each range 2^40 squares do not overflow, and squares that underflow are negligible against the largest.
 */
enum stats_range {
	STATS_MID, /* sum of x, squares of x */
	STATS_BIG, /* sum of x * 2^-600, squares of those */
	STATS_SMALL, /* sum of x, squares of x * 2^600 */
};
#define STATS_MID_MAX 0x1p480
#define STATS_MID_MIN 0x1p-450
#define STATS_DOWN 0x1p-600
#define STATS_UP 0x1p600

struct stats_block {
	uint32_t zeros, nans, pinfs, ninfs;
	uint32_t range; /* enum stats_range of sum and sq */
	/* of the elements that are not NaN; if all are NaN: +Inf and -Inf */
	union stats_value min, max;
	/* of the finite elements; |sum.lo| may exceed |sum.hi|, sq.lo is 0 */
	struct stats_sum sum, sq;
};

/*
 * Measures n elements at p: 1 to STATS_BLOCK (STATS_BYTES), any alignment. Call it in the default
 * floating-point environment. ahead: an equal number of bytes from this address on will be needed
 * soon, and may be prefetched; any address is allowed.
 */
typedef void stats_kernel(const void *p, size_t n, const void *ahead, const struct stats_eps *eps,
	struct stats_block *b);

/* A variant: the kernels for one instruction set. */
struct stats_kernels {
	const char *name;
	/*
	 * Index: real dtype. NULL for DT_OTHER, for complex types, and if the variant has no
	 * kernel of its own (stats_kernel_of()).
	 */
	stats_kernel *block[DT_COUNT];
};

extern const struct stats_kernels stats_scalar;

/*
 * Returns the variant's kernel for a dtype; for a complex dtype that of its components. Rarely
 * used types have the scalar kernel in all variants.
 */
static inline stats_kernel *stats_kernel_of(const struct stats_kernels *k, enum dtype dt)
{
	unsigned real =
		get_dtype_info(dt)->component == DT_OTHER ? dt : get_dtype_info(dt)->component;

	return k->block[real] ? k->block[real] : stats_scalar.block[real];
}

/*
 * Measures 1 to STATS_LANES elements of the most common types, with the same results, on 1 KiB of
 * stack. Floats use eps->f, integers both members. Returns false, with *b undefined, for another
 * type, or if an element is NaN, Inf or extreme.
 */
bool stats_scalar_tiny(
	const void *p, size_t n, enum dtype dt, const struct stats_eps *eps, struct stats_block *b);

extern const struct stats_kernels stats_avx2, stats_avx512, stats_avx512_vnni; /* x86-64 */
extern const struct stats_kernels stats_neon; /* aarch64 */

/* Adds the result of a kernel. Add blocks in the order of their elements, so that the last bits are always the same. */
void stats_combine(struct stats_acc *a, const struct stats_block *b);

/*
 * Measures n bytes of elements at p with helper threads (threads.h), with the same results and
 * checksum. Returns false, having done nothing, if there are too few bytes or the helpers work
 * for another thread.
 */
typedef bool stats_share_fn(struct stats_acc *a, const void *p, uint64_t n, uint64_t before);

/* NULL if there are no helpers. */
extern _Atomic(stats_share_fn *) stats_share;

/*
 * Joins two sums of the same kind. `next` is the sum of the n bytes after the first part, computed with the length of
 * that part as `before`.
 */
uint32_t stats_checksum_join(stats_checksum_fn *kind, uint32_t sum, uint32_t next, uint64_t n);

/*
 * Returns the kernels of a variant, or NULL if this CPU (or system) cannot run them. STATS_AUTO:
 * the fastest variant that it can run.
 */
const struct stats_kernels *stats_get_variant(enum stats_isa isa);

#endif
