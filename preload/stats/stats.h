/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of one tensor in one pass over host memory.
 *
 * A tensor may consist of several pieces (v-forms, strides): begin, add each piece, end. Nothing here allocates,
 * locks, raises a floating-point exception or depends on the rounding mode, FTZ/DAZ bits or unmasked traps of the
 * calling thread: callers bracket the three calls with stats_fenv_set() and stats_fenv_reset().
 *
 * What is computed (docs/reference/output-format.md): min, max, mean and norm are those of the elements that are not NaN; the
 * divisor of the mean is their number; Inf counts as IEEE arithmetic says (so the mean of +Inf and -Inf is NaN).
 * zeros counts |x| < eps, nans and infs count NaN and +-Inf; all three over all elements. A complex tensor is
 * measured as 2 * n real components. Exactness: counts, min and max exact; |mean error| <= 1e-12 * mean(|x|);
 * norm relative error <= 1e-12, also where sums or squares of the values overflow or underflow in the type itself.
 * Zeros have no sign: a min, max, mean or norm of 0 is +0. A NaN is positive.
 */
#ifndef PROBE_STATS_STATS_H
#define PROBE_STATS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "terms/dtype.h"
#include "base/isa.h"

/* min and max of a tensor: get_dtype_info(dtype)->cls selects the valid member. */
union stats_value {
	double f;
	int64_t i;
	uint64_t u;
};

static inline double stats_value_as_double(unsigned cls, union stats_value v)
{
	if (cls == DTC_FLOAT)
		return v.f;
	return cls == DTC_SIGNED ? (double)v.i : (double)v.u;
}

struct stats {
	uint64_t n; /* number of real components; 0: the other fields are undefined */
	uint64_t zeros; /* |x| < eps */
	uint64_t nans;
	uint64_t infs;
	union stats_value min, max; /* NaN if every element is NaN */
	double mean; /* NaN if every element is NaN */
	double norm; /* L2; NaN if every element is NaN */
};

/*
 * Running totals, private to preload/stats. The sums of finite values are stored as an
 * unevaluated pair hi + lo (double-double), in several ranges so that neither overflow nor
 * underflow loses them: `big` contains sums times 2^-600, `small` the squares of elements times
 * 2^600 (kernel.h).
 */
struct stats_sum {
	double hi, lo;
};

/*
 * The limit for `zeros`. Element x counts if |x| < f; integers: |x| <= u, the largest integer
 * below f (undefined if f is 0); floats up to float32: if the bits of |x| are below u.
 */
struct stats_eps {
	double f;
	uint64_t u;
};

struct stats_block;

/* Continues checksum `sum` with n bytes at p. before: the number of bytes already in `sum`. */
typedef uint32_t stats_checksum_fn(uint32_t sum, const void *p, size_t n, uint64_t before);

struct stats_acc {
	uint64_t n, zeros, nans, pinfs, ninfs;
	union stats_value min, max;
	struct stats_sum sum, sum_big; /* of x; of x * 2^-600 */
	struct stats_sum sq, sq_big, sq_small; /* of x^2; of (x * 2^-600)^2; of (x * 2^600)^2 */
	struct stats_eps eps;
	void (*kernel)(const void *p, size_t n, const void *ahead, const struct stats_eps *eps,
		struct stats_block *b);
	stats_checksum_fn *add_to_checksum; /* NULL: no checksum */
	uint32_t checksum; /* of the bytes added */
	uint8_t cls; /* enum dtype_class */
	uint8_t size; /* bytes of one real component; 1 if a byte contains two */
	uint8_t packed; /* number of real components in `size` bytes, minus 1 */
	uint8_t parts; /* real components of one element: 2 for complex types, 0 after a failed stats_begin() */
};

/*
 * A thread's floating-point environment: control bits and sticky flags (x86-64: MXCSR; aarch64:
 * FPCR and FPSR).
 */
struct stats_fenv {
	uint64_t word[2];
};

void stats_fenv_set(struct stats_fenv *save);
void stats_fenv_reset(const struct stats_fenv *save);

/*
 * Selects the variant from the next stats_begin() on; default: STATS_AUTO. Returns 0, or -ENOTSUP if this CPU cannot
 * run it; then STATS_AUTO is used.
 */
int stats_select(enum stats_isa isa);

/* Name of the selected variant: scalar, avx2, avx512, neon. */
const char *stats_selected(void);

/*
 * Begins a tensor of type dt. eps: threshold of `zeros`, 0 or more. Returns 0, or -ENOTSUP for
 * DT_OTHER; then the tensor stays empty, whatever is added.
 */
int stats_begin(struct stats_acc *a, enum dtype dt, double eps);

/*
 * Call right after stats_begin(): a->checksum will be the checksum of the elements' bytes in the
 * order of addition.
 */
void stats_with_checksum(struct stats_acc *a, enum stats_checksum kind);

/* Returns the checksum of n contiguous bytes. kind: not off or auto. */
uint32_t stats_checksum_of(enum stats_checksum kind, const void *p, size_t n);

/* Adds n elements (not bytes) at p, of any alignment; p is not read when n is 0. */
void stats_add(struct stats_acc *a, const void *p, uint64_t n);

/*
 * Like stats_add(), for a tensor of many pieces. next: the piece that will be added about
 * STATS_FAR bytes of elements later (the next piece, if pieces are longer), or NULL; it is not
 * read, only prefetched.
 */
void stats_add_piece(struct stats_acc *a, const void *p, uint64_t n, const void *next);

/*
 * Prefetch distance in bytes. The CPUs' own prefetchers use a shorter distance, because they do
 * not know that all of the memory will be read. Measured with float64 in AVX-512 on a Zen 4, in
 * percent of the rate of plain reading: 67 % at 1 KiB, 76 % at 2, 81 % at 4, 89 % at 8, 91 % at
 * 12, not better beyond.
 */
#define STATS_FAR 12288

/*
 * Computes the same results in one call for contiguous elements, at most STATS_FEW: for few
 * elements, most of the cost of stats_begin() to stats_end() is in running totals that only long
 * tensors need. Returns false, without a result, for more elements, complex types, or if an
 * element is NaN, Inf or extreme.
 */
#define STATS_FEW 1024
bool stats_measure_few(const void *p, uint64_t n, enum dtype dt, double eps, struct stats *out);

/*
 * Like stats_measure_few(), for up to STATS_TINY elements of the most common types, on 1 KiB of
 * stack; the other functions need up to 5 KiB.
 */
#define STATS_TINY 16
bool stats_measure_tiny(const void *p, uint64_t n, enum dtype dt, double eps, struct stats *out);

/* Ends the tensor and computes the results. */
void stats_end(const struct stats_acc *a, struct stats *out);

#endif
