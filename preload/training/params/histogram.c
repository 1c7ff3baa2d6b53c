/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/histogram.h"

#include <string.h>

#include "config/rooms/tensorboard.h"
#include "terms/dtype.h"
#include "config/summary_steps.h"
#include "session/state.h"
#include "training/params/derive.h"
#include "training/params/metric.h"

#define BLOCK 256

bool histogram_is_due(uint32_t step)
{
	const struct config *cfg = get_config();

	return *get_tensorboard_keys(cfg)->summary_dir && config_summary_has(cfg, step);
}

/* Smallest and largest finite element. */
struct spread {
	double least, most, sum, squares;
	uint64_t n;
};

struct bins {
	double least, per_width; /* smallest element; bins per unit */
	unsigned n;
	double *count;
};

typedef void block_fn(void *arg, const double *v, unsigned n);

struct blocks {
	block_fn *fn;
	void *arg;
};

static void add_blocks(void *arg, const void *p, uint64_t count, enum dtype dt, const void *next)
{
	const struct blocks *b = arg;
	const unsigned char *at = p;
	size_t size = get_dtype_info(dt)->size;
	double v[BLOCK];

	(void)next;
	for (unsigned n; count; count -= n, at += n * size) {
		n = count < BLOCK ? (unsigned)count : BLOCK;
		derive_load(v, at, n, (uint8_t)dt);
		b->fn(b->arg, v, n);
	}
}

static bool is_finite(double v)
{
	return v - v == 0;
}

static void update_range(void *arg, const double *v, unsigned n)
{
	struct spread *s = arg;
	double sum = 0, squares = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!is_finite(v[i]))
			continue;
		if (!s->n || v[i] < s->least)
			s->least = v[i];
		if (!s->n || v[i] > s->most)
			s->most = v[i];
		sum += v[i];
		squares += v[i] * v[i];
		s->n++;
	}
	s->sum += sum;
	s->squares += squares;
}

static void add_block_to_bins(void *arg, const double *v, unsigned n)
{
	const struct bins *b = arg;

	for (unsigned i = 0; i < n; i++) {
		double at = (v[i] - b->least) * b->per_width;

		/* The largest element belongs to the last bin. NaN belongs to no bin. */
		if (is_finite(v[i]) && at >= 0)
			b->count[at < b->n ? (unsigned)at : b->n - 1]++;
	}
}

/* Returns the number of bins, as calc_histogram_bins() in mindspore/ccsrc/utils/summary. */
static unsigned compute_bin_count(uint64_t n)
{
	return n <= 5 ? 2 : n <= 10 ? 3 : n <= 880 ? (unsigned)(n / 10 + 1) : HISTOGRAM_BINS_MAX;
}

/* Returns false if the tensor cannot be read, or has no finite element. */
static bool compute_histogram(const struct buffer *b, double *values, uint16_t *n)
{
	struct spread s = {0};
	struct blocks look = {update_range, &s};
	struct bins bins;

	if (b->nostats || !b->base || get_dtype_info(b->dtype)->cls != DTC_FLOAT ||
		get_dtype_info(b->dtype)->component != b->dtype ||
		!buffer_read_pieces(b, false, add_blocks, &look) || !s.n)
		return false;
	bins = (struct bins){s.least, 0, compute_bin_count(s.n), values + HISTOGRAM_HEAD};
	if (s.most > s.least)
		bins.per_width = bins.n / (s.most - s.least);
	/* The range is too small to be divided: all elements are in the first bin. */
	if (!is_finite(bins.per_width))
		bins.per_width = 0;
	memset(bins.count, 0, bins.n * sizeof(*bins.count));
	look = (struct blocks){add_block_to_bins, &bins};
	if (!buffer_read_pieces(b, false, add_blocks, &look))
		return false;
	values[HISTOGRAM_LEAST] = s.least;
	values[HISTOGRAM_MOST] = s.most;
	values[HISTOGRAM_SUM] = s.sum;
	values[HISTOGRAM_SQUARES] = s.squares;
	*n = (uint16_t)(HISTOGRAM_HEAD + bins.n);
	return true;
}

void histogram_write(const struct train_value *param_value, unsigned index, const struct buffer *b)
{
	double values[HISTOGRAM_VALUES_MAX];
	struct train_value v = *param_value;
	struct stats_fenv fenv;
	bool filled;

	if (!histogram_has_target(v.name, index))
		return;
	stats_fenv_set(&fenv);
	filled = compute_histogram(b, values, &v.nvalue);
	stats_fenv_reset(&fenv);
	if (!filled)
		return;
	v.kind = TK_HISTOGRAM;
	v.dtype = b->dtype;
	v.count = b->count;
	v.ndim = b->ndim <= JOURNAL_KIND_DIMS ? b->ndim : 0;
	v.dims = b->counts;
	v.value = values;
	train_kind_write(&v);
}
