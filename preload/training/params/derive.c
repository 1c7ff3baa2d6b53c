/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/derive.h"

#include <string.h>

#include "terms/dtype.h"
#include "stats/convert.h"
#include "stats/stats.h"
#include "stats/sum.h"

#define BLOCK 256 /* elements converted at once */

/*
 * Returns the address of a tensor's elements if they fill a contiguous piece of memory, else
 * NULL.
 */
static const unsigned char *get_dense_memory(const struct buffer *b, unsigned size)
{
	uintptr_t lo, hi;

	if (b->nostats || !b->base || !b->count || !size || !buffer_get_bounds(b, &lo, &hi))
		return NULL;
	return hi - lo == b->count * size ? (const unsigned char *)lo : NULL;
}

/*
 * True if both tensors have their elements in the same order. Dimensions of one element may have
 * any stride.
 */
static bool has_same_order(const struct buffer *a, const struct buffer *b)
{
	const int64_t *size = a->counts, *other = b->counts, *from = a->displs, *to = b->displs;

	if (a->layout != b->layout || a->n != b->n || a->count != b->count)
		return false;
	if (a->layout == BUFFER_CONTIG)
		return true;
	if (a->layout != BUFFER_STRIDED)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (size[i] != other[i] || (size[i] > 1 && from[i] != to[i]))
			return false;
	return true;
}

/* Iterates over both tensors, element by element in the same order. */
struct both {
	const unsigned char *at[2];
	uint8_t dtype[2], size[2];
	uint64_t left;
};

static bool open_both(struct both *k, const struct buffer *a, const struct buffer *b)
{
	const struct buffer *of[2] = {a, b};

	if (!has_same_order(a, b))
		return false;
	for (int i = 0; i < 2; i++) {
		const struct dtype_info *d = get_dtype_info(of[i]->dtype);

		k->dtype[i] = of[i]->dtype;
		k->size[i] = d->size;
		k->at[i] = d->cls == DTC_FLOAT && d->component == of[i]->dtype
				   ? get_dense_memory(of[i], d->size)
				   : NULL;
		if (!k->at[i])
			return false;
	}
	k->left = a->count;
	return true;
}

void derive_load(double *to, const unsigned char *p, unsigned n, uint8_t dtype)
{
	switch (dtype) {
	case DT_FLOAT32:
		for (unsigned i = 0; i < n; i++) {
			float f;

			memcpy(&f, p + 4 * i, 4);
			to[i] = (double)f;
		}
		break;
	case DT_FLOAT64:
		memcpy(to, p, 8 * (size_t)n);
		break;
	case DT_BFLOAT16:
		for (unsigned i = 0; i < n; i++) {
			uint32_t bits = (uint32_t)load_u16(p + 2 * i) << 16;
			float f;

			memcpy(&f, &bits, 4);
			to[i] = (double)f;
		}
		break;
	case DT_FLOAT16:
		for (unsigned i = 0; i < n; i++)
			to[i] = load_f16(p + 2 * i);
		break;
	case DT_FLOAT8_E5M2:
		for (unsigned i = 0; i < n; i++)
			to[i] = load_e5m2(p + i);
		break;
	case DT_FLOAT8_E8M0FNU:
		for (unsigned i = 0; i < n; i++)
			to[i] = load_e8m0fnu(p + i);
		break;
	case DT_FLOAT8_E4M3FNUZ:
		for (unsigned i = 0; i < n; i++)
			to[i] = load_e4m3fnuz(p + i);
		break;
	case DT_FLOAT8_E5M2FNUZ:
		for (unsigned i = 0; i < n; i++)
			to[i] = load_e5m2fnuz(p + i);
		break;
	default:
		for (unsigned i = 0; i < n; i++)
			to[i] = load_e4m3fn(p + i);
	}
}

/* Loads the next elements into a[] and b[] and returns their number; 0 after the last. */
static unsigned read_next_block(struct both *k, double *a, double *b)
{
	unsigned n = k->left < BLOCK ? (unsigned)k->left : BLOCK;

	derive_load(a, k->at[0], n, k->dtype[0]);
	derive_load(b, k->at[1], n, k->dtype[1]);
	k->at[0] += (size_t)n * k->size[0];
	k->at[1] += (size_t)n * k->size[1];
	k->left -= n;
	return n;
}

static int get_sign(double v)
{
	return (v > 0) - (v < 0);
}

bool derive_compute_sign_agreement(const struct buffer *a, const struct buffer *b, double *out)
{
	double x[BLOCK], y[BLOCK];
	struct stats_fenv fenv;
	struct both k;
	int64_t sum = 0;

	if (!open_both(&k, a, b))
		return false;
	stats_fenv_set(&fenv);
	for (unsigned n; (n = read_next_block(&k, x, y));) {
		int block = 0;

		for (unsigned i = 0; i < n; i++)
			block += get_sign(x[i]) * get_sign(y[i]);
		sum += block;
	}
	*out = ((double)sum / (double)a->count + 1) / 2;
	stats_fenv_reset(&fenv);
	return true;
}

/* independent sums, so that the compiler can use the vector unit of every machine */
#define LANES 8

bool derive_compute_squares(const struct buffer *b, double *sum)
{
	const struct dtype_info *d = get_dtype_info(b->dtype);
	const unsigned char *at = d->cls == DTC_FLOAT && d->component == b->dtype
					  ? get_dense_memory(b, d->size)
					  : NULL;
	double x[BLOCK], lane[LANES] = {0};
	struct stats_fenv fenv;

	if (!at)
		return false;
	stats_fenv_set(&fenv);
	for (uint64_t left = b->count; left;) {
		unsigned n = left < BLOCK ? (unsigned)left : BLOCK;

		derive_load(x, at, n, b->dtype);
		memset(x + n, 0, (BLOCK - n) * sizeof(*x));
		for (unsigned i = 0; i < BLOCK; i += LANES)
			for (unsigned k = 0; k < LANES; k++)
				lane[k] += x[i + k] * x[i + k];
		at += (size_t)n * d->size;
		left -= n;
	}
	*sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
	       ((lane[4] + lane[5]) + (lane[6] + lane[7]));
	stats_fenv_reset(&fenv);
	return true;
}

static double compute_power(double base, double n)
{
	double p = 1;

	/* n is the number of a step, so that it is an integer. */
	for (uint64_t k = n > 0 && n < 1e15 ? (uint64_t)n : 0; k; k >>= 1, base *= base)
		if (k & 1)
			p *= base;
	return p;
}

static void add_to_bins(double *bins, double v)
{
	unsigned i;

	/* also skips NaN */
	if (!(v >= -1 && v <= 1))
		return;
	i = (unsigned)((v + 1) / 2 * KIND_BINS_EACH);
	bins[i < KIND_BINS_EACH ? i : KIND_BINS_EACH - 1]++;
}

bool derive_adam_update(const struct adam *a, const struct buffer *exp_avg,
	const struct buffer *exp_avg_sq, double bins[KIND_VALUES_MAX], double *norm)
{
	double m[BLOCK], v[BLOCK], sum = 0, of_m, of_v;
	struct stats_fenv fenv;
	struct both k;

	if (!(a->step >= 1) || !open_both(&k, exp_avg, exp_avg_sq))
		return false;
	stats_fenv_set(&fenv);
	of_m = 1 - compute_power(a->beta1, a->step);
	of_v = 1 - compute_power(a->beta2, a->step);
	if (bins)
		memset(bins, 0, KIND_VALUES_MAX * sizeof(*bins));
	for (unsigned n; (n = read_next_block(&k, m, v));) {
		double block = 0;

		for (unsigned i = 0; i < n; i++) {
			double root = stats_sqrt(v[i] / of_v),
			       update = m[i] / of_m / (root + a->eps);

			block += update * update;
			if (bins) {
				add_to_bins(bins, update);
				add_to_bins(bins + KIND_BINS_EACH, m[i] / of_m / root);
			}
		}
		sum += block;
	}
	*norm = stats_sqrt(sum);
	stats_fenv_reset(&fenv);
	return true;
}
