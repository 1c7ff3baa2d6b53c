/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/experts.h"

#include <string.h>

#include "journal/layout.h"
#include "stats/convert.h"
#include "stats/exp_log.h"
#include "stats/sum.h"
#include "terms/dtype.h"
#include "training/params/elements.h"

/* ---- elements ---- */

/* Adjacent elements, seen as rows of the last dimension. */
struct rows {
	const unsigned char *at;
	element_load_fn *load;
	uint64_t nrow, n;
	size_t size;
};

static bool is_adjacent(const struct buffer *b)
{
	const int64_t *size = b->counts, *stride = b->displs;
	int64_t want = 1;

	if (b->layout != BUFFER_STRIDED)
		return b->layout == BUFFER_CONTIG;
	for (unsigned i = b->ndim; i-- > 0;) {
		if (size[i] > 1 && stride[i] != want)
			return false;
		want *= size[i];
	}
	return true;
}

static bool find_rows(const struct buffer *b, struct rows *r)
{
	const int64_t *dims = b->counts;

	r->load = find_element_loader(b->dtype);
	if (!r->load || b->nostats || !b->base || !b->count || b->ndim == JOURNAL_NDIM_NONE ||
		!b->ndim || !is_adjacent(b) || dims[b->ndim - 1] <= 0)
		return false;
	r->at = b->base;
	r->n = (uint64_t)dims[b->ndim - 1];
	r->nrow = b->count / r->n;
	r->size = get_dtype_info(b->dtype)->size;
	return r->nrow * r->n == b->count;
}

static bool is_float_buffer(const struct buffer *b)
{
	return get_dtype_info(b->dtype)->cls == DTC_FLOAT;
}

/* ---- the weight ---- */

static double get_router_weight(const struct rows *r, bool by_row, uint64_t expert, uint64_t i)
{
	uint64_t at = by_row ? expert * r->n + i : i * r->n + expert;

	return r->load(r->at + at * r->size);
}

bool compute_router_similarity(const struct buffer *w, double *similarity)
{
	double inverse[EXPERTS_MAX], own = 0, all = 0;
	uint64_t experts, width;
	struct rows r;
	bool by_row;

	if (w->ndim != 2 || !is_float_buffer(w) || !find_rows(w, &r))
		return false;
	by_row = r.nrow < r.n;
	experts = by_row ? r.nrow : r.n;
	width = by_row ? r.n : r.nrow;
	if (experts < 2 || experts > EXPERTS_MAX)
		return false;
	for (uint64_t e = 0; e < experts; e++) {
		double squares = 0, norm;

		for (uint64_t i = 0; i < width; i++) {
			double v = get_router_weight(&r, by_row, e, i);

			squares += v * v;
		}
		norm = stats_sqrt(squares);
		inverse[e] = 1 / (norm < 1e-12 ? 1e-12 : norm);
		own += squares * inverse[e] * inverse[e];
	}
	/*
	 * The square of a sum is the sum of the squares, plus twice the sum of the products of
	 * pairs.
	 */
	for (uint64_t i = 0; i < width; i++) {
		double sum = 0;

		for (uint64_t e = 0; e < experts; e++)
			sum += get_router_weight(&r, by_row, e, i) * inverse[e];
		all += sum * sum;
	}
	*similarity = (all - own) / ((double)experts * ((double)experts - 1));
	return true;
}

/* ---- logits ---- */

static double compute_row_entropy(const struct rows *r, uint64_t row)
{
	const unsigned char *at = r->at + row * r->n * r->size;
	double most = -__builtin_inf(), z = 0, sum = 0;

	for (uint64_t i = 0; i < r->n; i++) {
		double v = r->load(at + i * r->size);

		if (__builtin_isnan(v))
			return 0;
		most = v > most ? v : most;
	}
	if (__builtin_isinf(most))
		return 0;
	for (uint64_t i = 0; i < r->n; i++) {
		double x = r->load(at + i * r->size) - most, e = stats_exp(x);

		z += e;
		sum += e > 0 ? e * x : 0;
	}
	return stats_log(z) - sum / z;
}

bool compute_expert_entropy(const struct buffer *logits, double *entropy)
{
	double sum = 0;
	struct rows r;

	if (logits->ndim < 2 || !is_float_buffer(logits) || !find_rows(logits, &r))
		return false;
	for (uint64_t i = 0; i < r.nrow; i++)
		sum += compute_row_entropy(&r, i);
	*entropy = sum / (double)r.nrow;
	return true;
}

/* ---- tokens ---- */

bool compute_index_counts(const struct buffer *indices, struct expert_counts *c)
{
	struct rows r;

	if ((indices->dtype != DT_INT64 && indices->dtype != DT_INT32) || !c->n ||
		c->n > EXPERTS_MAX || !find_rows(indices, &r))
		return false;
	memset(c->at, 0, c->n * sizeof(*c->at));
	for (uint64_t i = 0; i < indices->count; i++) {
		double e = r.load(r.at + i * r.size);

		if (e >= 0 && e < c->n)
			c->at[(uint32_t)e]++;
	}
	return true;
}

bool compute_mask_counts(const struct buffer *mask, struct expert_counts *c)
{
	struct rows r;

	if (mask->dtype != DT_BOOL || mask->ndim < 2 || !find_rows(mask, &r) || r.n > EXPERTS_MAX)
		return false;
	c->n = (uint32_t)r.n;
	memset(c->at, 0, c->n * sizeof(*c->at));
	for (uint64_t i = 0; i < r.nrow; i++)
		for (uint64_t e = 0; e < r.n; e++)
			c->at[e] += r.at[i * r.n + e] != 0;
	return true;
}

bool compute_top_counts(const struct buffer *logits, uint32_t k, struct expert_counts *c)
{
	struct rows r;

	if (logits->ndim < 2 || !is_float_buffer(logits) || !k || k > TOP_MAX ||
		!find_rows(logits, &r) || r.n > EXPERTS_MAX || k > r.n)
		return false;
	c->n = (uint32_t)r.n;
	memset(c->at, 0, c->n * sizeof(*c->at));
	for (uint64_t i = 0; i < r.nrow; i++) {
		double value[TOP_MAX];
		uint32_t expert[TOP_MAX], have = 0;

		for (uint32_t e = 0; e < c->n; e++) {
			double v = r.load(r.at + (i * r.n + e) * r.size);
			uint32_t at = have;

			while (at && v > value[at - 1])
				at--;
			if (at >= k)
				continue;
			have += have < k;
			for (uint32_t m = have - 1; m > at; m--) {
				value[m] = value[m - 1];
				expert[m] = expert[m - 1];
			}
			value[at] = v;
			expert[at] = e;
		}
		for (uint32_t m = 0; m < have; m++)
			c->at[expert[m]]++;
	}
	return true;
}

bool read_expert_counts(const struct buffer *counts, struct expert_counts *c)
{
	struct rows r;

	if (counts->ndim != 1 || !find_rows(counts, &r) || r.n > EXPERTS_MAX)
		return false;
	c->n = (uint32_t)r.n;
	for (uint32_t i = 0; i < c->n; i++)
		c->at[i] = r.load(r.at + i * r.size);
	return true;
}

bool compute_expert_balance(
	const struct expert_counts *c, double capacity_factor, struct expert_balance *b)
{
	double all = 0, squares = 0, entropy = 0, n = c->n;

	*b = (struct expert_balance){.utilization_min = __builtin_inf()};
	for (uint32_t i = 0; i < c->n; i++)
		all += c->at[i];
	if (!(all > 0))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		double f = c->at[i] / all, over = f - capacity_factor / n, off = c->at[i] - all / n;

		b->drop_rate += over > 0 ? over : 0;
		b->utilization_min = f * n < b->utilization_min ? f * n : b->utilization_min;
		b->utilization_max = f * n > b->utilization_max ? f * n : b->utilization_max;
		b->dead_share += c->at[i] > 0 ? 0 : 1 / n;
		squares += off * off;
		entropy -= f > 0 ? f * stats_log(f) : 0;
	}
	b->cv = c->n > 1 ? stats_sqrt(squares / (n - 1)) / (all / n) : 0;
	b->diversity = stats_exp(entropy) / n;
	return true;
}
