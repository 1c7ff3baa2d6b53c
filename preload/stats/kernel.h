/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a CPU variant (scalar, AVX2, AVX-512, NEON) consists of: one kernel per dtype. A kernel looks at one block and
 * returns its partial results; stats.c cuts tensors into blocks and combines the partials, the same for all variants.
 *
 * Why blocks. Inside a block plain double sums are good enough: lane j of STATS_LANES adds up the elements j,
 * j + STATS_LANES, ... that is at most STATS_BLOCK / STATS_LANES = 252 additions, and the lanes are folded in 4 more,
 * so a block's sum is off by no more than 257 * 2^-53 = 2.9e-14 of its sum of |x|, its sum of squares by 2.9e-14 of
 * itself. Between blocks an error must not grow with the length of the tensor: they are combined with error-free
 * transformations (sum.h), which adds at most 2^-103 per block: 2^-63 for 2^40 elements, even if each comes as a piece
 * of its own. Together that is far inside the 1e-12 which stats.h promises. The block also stays in the first-level
 * cache, so that a kernel may walk it again when it turns out to hold NaN, Inf or extreme values and still reads main
 * memory once.
 *
 * All variants use the same lanes, fold them in the same order and round every product (no FMA where the product is
 * not exact), and so give the same bits: two ranks on different CPUs agree to the last digit.
 */
#ifndef PROBE_STATS_KERNEL_H
#define PROBE_STATS_KERNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "stats/stats.h"

#define STATS_BLOCK 4032 /* elements of one real dtype a kernel gets at most */
#define STATS_BYTES \
	(4 * STATS_BLOCK) /* the same of bool and 8-bit integers, whose sums are exact at any length */
#define STATS_LANES 16

/*
 * Squares of float64 may overflow or underflow. A block of which the largest finite |x| is above STATS_MID_MAX is
 * summed after scaling by 2^-600, one where it is below STATS_MID_MIN (but not 0) is squared after scaling by 2^600.
 * Within each range 2^40 squares do not overflow, and what underflows is far too small to count against the largest.
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
	union stats_value min, max; /* of the elements that are not NaN; +Inf and -Inf if all are */
	struct stats_sum sum,
		sq; /* of the finite elements; sum.lo need not be smaller than hi, sq.lo is 0 */
};

/*
 * Measures n elements at p: 1 to STATS_BLOCK (STATS_BYTES), any alignment. Runs in the default floating-point environment. `ahead`:
 * as many bytes from there on will be wanted soon, and may be fetched into the cache; any address will do.
 */
typedef void stats_kernel(const void *p, size_t n, const void *ahead, const struct stats_eps *eps,
	struct stats_block *b);

/* A variant. */
struct stats_kernels {
	const char *name;
	/* By real dtype. NULL for DT_OTHER and the complex ones; also where a variant has none of its own (stats_kernel_of()). */
	stats_kernel *block[DT_COUNT];
};

extern const struct stats_kernels stats_scalar;

/* The variant's kernel of a dtype, complex ones' of their components. Types that few use have the scalar one in all variants. */
static inline stats_kernel *stats_kernel_of(const struct stats_kernels *k, enum dtype dt)
{
	unsigned real = dtype_info(dt)->component == DT_OTHER ? dt : dtype_info(dt)->component;

	return k->block[real] ? k->block[real] : stats_scalar.block[real];
}

/*
 * 1 to STATS_LANES elements of the commonest types, to the same figures, on 1 KiB of stack. False: of another type, or NaN,
 * Inf or extreme values are among them; *b means nothing then. Of floats eps->f is looked at, of integers both.
 */
bool stats_scalar_tiny(
	const void *p, size_t n, enum dtype dt, const struct stats_eps *eps, struct stats_block *b);

extern const struct stats_kernels stats_avx2, stats_avx512, stats_avx512_vnni; /* x86-64 */
extern const struct stats_kernels stats_neon; /* aarch64 */

/* Adds what a kernel returned. Blocks in the order of their elements: then the last bits are always the same. */
void stats_combine(struct stats_acc *a, const struct stats_block *b);

/*
 * Measures n bytes of elements at p with the help of other threads (threads.h), to the same figures and checksum.
 * Returns false, with nothing done, if they are too few or the helpers are at work for another thread.
 */
typedef bool stats_share_fn(struct stats_acc *a, const void *p, uint64_t n, uint64_t before);

/* NULL while there are no helpers. */
extern _Atomic(stats_share_fn *) stats_share;

/*
 * The checksum of what two sums of the same kind stand for together: `next` is that of the n bytes behind the first,
 * computed with what came before them as `before`.
 */
uint32_t stats_checksum_join(stats_checksum_fn *kind, uint32_t sum, uint32_t next, uint64_t n);

/* The variant, or NULL if this CPU (or system) cannot run it. STATS_AUTO: the fastest that it can. */
const struct stats_kernels *stats_variant(enum stats_isa isa);

#endif
