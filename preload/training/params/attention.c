/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/attention.h"

#include "stats/exp_log.h"
#include "stats/stats.h"
#include "stats/sum.h"
#include "terms/dtype.h"
#include "training/params/elements.h"

#define NONE (-__builtin_inf())

static bool start_heads(struct max_logits *m, uint64_t heads)
{
	if (!heads || heads > ATTENTION_HEADS_MAX)
		return false;
	m->heads = (uint32_t)heads;
	for (uint32_t h = 0; h < m->heads; h++)
		m->at[h].upper = m->at[h].lower = NONE;
	return true;
}

/* Sets *bound to the larger of both; a NaN is kept. */
static void update_bound(double *bound, double v)
{
	if (v > *bound || __builtin_isnan(v))
		*bound = v;
}

/* ---- the input of softmax ---- */

static void add_logits_piece(
	void *acc, const void *p, uint64_t count, enum dtype dt, const void *next)
{
	(void)dt;
	stats_add_piece(acc, p, count, next);
}

/* Measures the logits of one head and sequence: `count` elements from address `at` on. */
static bool measure_head(
	const struct buffer *logits, const unsigned char *at, uint64_t count, struct stats *s)
{
	const int64_t *size = logits->counts, *stride = logits->displs;
	struct buffer one = *logits;
	struct stats_acc acc;

	one.base = at;
	one.count = count;
	one.bytes = count * get_dtype_info(logits->dtype)->size;
	one.ndim = 2;
	one.n = 2;
	one.counts = size + logits->ndim - 2;
	one.displs = stride + logits->ndim - 2;
	if (stats_begin(&acc, (enum dtype)one.dtype, 0) ||
		!buffer_read_pieces(&one, false, add_logits_piece, &acc))
		return false;
	stats_end(&acc, s);
	return true;
}

bool compute_max_logits(const struct buffer *logits, uint32_t heads, struct max_logits *m)
{
	struct element_view v;
	uint64_t outer, all_heads;
	struct stats s;

	if (get_dtype_info(logits->dtype)->cls != DTC_FLOAT || logits->layout != BUFFER_STRIDED ||
		!read_element_view(logits, &v) || (v.ndim != 4 && (v.ndim != 3 || !heads)))
		return false;
	all_heads = v.ndim == 4 ? v.size[1] : heads;
	outer = v.ndim == 4 ? v.size[0] * v.size[1] : v.size[0];
	if (outer % all_heads || !start_heads(m, all_heads))
		return false;
	for (uint64_t i = 0; i < outer; i++) {
		uint64_t h = i % all_heads;
		int64_t at = v.ndim == 4
				     ? (int64_t)(i / all_heads) * v.step[0] + (int64_t)h * v.step[1]
				     : (int64_t)i * v.step[0];

		if (!measure_head(logits, v.at + at, logits->count / outer, &s))
			return false;
		update_bound(&m->at[h].upper, s.nans ? __builtin_nan("") : s.max.f);
	}
	for (uint32_t h = 0; h < m->heads; h++)
		m->at[h].lower = m->at[h].upper;
	return true;
}

bool read_max_logits(const struct buffer *values, struct max_logits *m)
{
	const unsigned char *at = values->base;
	struct element_view v;

	if (get_dtype_info(values->dtype)->cls != DTC_FLOAT || !read_element_view(values, &v) ||
		v.ndim > 1 || !start_heads(m, values->count))
		return false;
	for (uint32_t h = 0; h < m->heads; h++)
		m->at[h].upper = m->at[h].lower = v.load(at + (v.ndim ? h * v.step[0] : 0));
	return true;
}

/* ---- logsumexp ---- */

static bool read_mask(const struct buffer *mask, struct element_view *v)
{
	return (get_dtype_info(mask->dtype)->cls == DTC_FLOAT || mask->dtype == DT_BOOL) &&
	       read_element_view(mask, v) && (v->ndim == 2 || v->ndim == 4);
}

/* Returns the offset of index i in dimension `dim` of a mask; 0 if the mask has size 1 there, as it is broadcast. */
static int64_t get_mask_offset(const struct element_view *v, unsigned dim, uint64_t i)
{
	return v->size[dim] == 1 ? 0 : (int64_t)i * v->step[dim];
}

static uint64_t compute_key_count(const struct element_view *v, bool is_bool, uint64_t keys,
	uint64_t b, uint64_t h, uint64_t row)
{
	unsigned last = v->ndim - 1;
	const unsigned char *at = v->at + get_mask_offset(v, last - 1, row);
	uint64_t n = 0;

	if (v->ndim == 4)
		at += get_mask_offset(v, 0, b) + get_mask_offset(v, 1, h);
	for (uint64_t k = 0; k < keys; k++) {
		double x = v->load(at + get_mask_offset(v, last, k));

		n += is_bool ? x != 0 : !(x == NONE);
	}
	return n;
}

static bool is_mask_of(const struct element_view *m, const struct element_view *lse, uint64_t keys)
{
	unsigned last = m->ndim - 1;

	return (m->size[last] == keys || m->size[last] == 1) &&
	       (m->size[last - 1] == lse->size[2] || m->size[last - 1] == 1) &&
	       (m->ndim == 2 || ((m->size[0] == lse->size[0] || m->size[0] == 1) &&
					(m->size[1] == lse->size[1] || m->size[1] == 1)));
}

bool compute_lse_bounds(
	const struct buffer *lse, const struct attention_mask *mask, struct max_logits *m)
{
	struct element_view v, k = {.ndim = 0};
	bool each, is_bool = mask->mask && mask->mask->dtype == DT_BOOL;

	if (get_dtype_info(lse->dtype)->cls != DTC_FLOAT || !read_element_view(lse, &v) ||
		v.ndim != 3 || !mask->keys || !start_heads(m, v.size[1]))
		return false;
	if (mask->mask && (!read_mask(mask->mask, &k) || !is_mask_of(&k, &v, mask->keys)))
		return false;
	each = k.ndim == 4 && (k.size[0] > 1 || k.size[1] > 1);
	for (uint64_t row = 0; row < v.size[2]; row++) {
		uint64_t seen = mask->causal && row + 1 < mask->keys ? row + 1 : mask->keys, n = 0;

		for (uint64_t i = 0; i < v.size[0] * v.size[1]; i++) {
			uint64_t b = i / v.size[1], h = i % v.size[1];
			double x = v.load(v.at + (int64_t)b * v.step[0] + (int64_t)h * v.step[1] +
					  (int64_t)row * v.step[2]);

			if (!i || each)
				n = k.ndim ? compute_key_count(&k, is_bool, seen, b, h, row) : seen;
			if (!n)
				continue;
			update_bound(&m->at[h].upper, x);
			update_bound(&m->at[h].lower, x - stats_log((double)n));
		}
	}
	return true;
}

/* ---- entropy ---- */

#define BLOCK_ROWS 16

/* The softmax of a row, key by key: the largest logit yet, and sums over e^(x - most). */
struct softmax_row {
	double most, z, sum; /* sum: of e^(x - most) (x - most) */
};

static void add_key(struct softmax_row *r, double x)
{
	double e;

	if (x == NONE)
		return;
	if (x > r->most) {
		double shift = r->most - x;

		e = r->z > 0 ? stats_exp(shift) : 0;
		r->sum = r->z > 0 ? (r->sum + r->z * shift) * e : 0;
		r->z = r->z * e + 1;
		r->most = x;
		return;
	}
	e = stats_exp(x - r->most);
	r->z += e;
	r->sum += e > 0 ? e * (x - r->most) : e;
}

/* -sum p ln p; NaN: a logit is NaN or Inf, or all are -Inf, as in the peer. */
static double compute_logit_row_entropy(const struct softmax_row *r)
{
	if (!(r->z > 0) || r->most > 0x1.fffffep127)
		return __builtin_nan("");
	return stats_log(r->z) - r->sum / r->z;
}

static double compute_dot_product(const double *a, const double *b, uint64_t n)
{
	double s[4] = {0};
	uint64_t i = 0;

	for (; i + 4 <= n; i += 4) {
		s[0] += a[i] * b[i];
		s[1] += a[i + 1] * b[i + 1];
		s[2] += a[i + 2] * b[i + 2];
		s[3] += a[i + 3] * b[i + 3];
	}
	for (; i < n; i++)
		s[0] += a[i] * b[i];
	return (s[0] + s[1]) + (s[2] + s[3]);
}

static void load_token(
	const struct element_view *v, uint64_t row, double factor, double to[ATTENTION_WIDTH_MAX])
{
	const unsigned char *at = v->at + (int64_t)row * v->step[v->ndim - 2];

	for (uint64_t i = 0; i < v->size[v->ndim - 1]; i++, at += v->step[v->ndim - 1])
		to[i] = factor * v->load(at);
}

struct row_sample {
	uint64_t rows, total;
};

static uint64_t get_sample_row(const struct row_sample *s, uint64_t i)
{
	return s->rows == s->total ? i : (2 * i + 1) * s->total / (2 * s->rows);
}

static void add_row_spread(const struct softmax_row *r, struct attention_spread *out)
{
	double entropy = compute_logit_row_entropy(r);

	out->entropy += entropy;
	out->softmax_max += entropy == entropy ? 1 / r->z : entropy;
}

static struct row_sample get_row_sample(
	uint64_t total, uint64_t rows_max, struct attention_spread *s)
{
	struct row_sample sample = {
		.rows = rows_max && rows_max < total ? rows_max : total, .total = total};

	*s = (struct attention_spread){.rows = sample.rows, .rows_total = total};
	return sample;
}

static void compute_spread_result(struct attention_spread *s)
{
	s->entropy /= (double)s->rows;
	s->softmax_max /= (double)s->rows;
}

/* Adds n rows of the sample, from number `first` on. */
static void add_rows(const struct element_view *q, const struct element_view *k,
	const struct row_sample *sample, uint64_t first, unsigned n, struct attention_spread *out)
{
	double query[BLOCK_ROWS][ATTENTION_WIDTH_MAX], key[ATTENTION_WIDTH_MAX];
	struct softmax_row row[BLOCK_ROWS];
	uint64_t at[BLOCK_ROWS], width = q->size[q->ndim - 1];

	for (unsigned r = 0; r < n; r++) {
		at[r] = get_sample_row(sample, first + r);
		load_token(q, at[r], 1 / stats_sqrt((double)width), query[r]);
		row[r] = (struct softmax_row){.most = NONE};
	}
	for (uint64_t j = 0; j <= at[n - 1]; j++) {
		load_token(k, j, 1, key);
		for (unsigned r = 0; r < n; r++)
			if (at[r] >= j)
				add_key(&row[r], compute_dot_product(query[r], key, width));
	}
	for (unsigned r = 0; r < n; r++)
		add_row_spread(&row[r], out);
}

bool compute_attention_spread(const struct buffer *q, const struct buffer *k, uint64_t rows_max,
	struct attention_spread *s)
{
	struct element_view a, b;
	struct row_sample sample;

	if (get_dtype_info(q->dtype)->cls != DTC_FLOAT ||
		get_dtype_info(k->dtype)->cls != DTC_FLOAT || !read_element_view(q, &a) ||
		!read_element_view(k, &b) || a.ndim != b.ndim || a.ndim < 3 ||
		a.size[a.ndim - 1] != b.size[b.ndim - 1] ||
		a.size[a.ndim - 1] > ATTENTION_WIDTH_MAX ||
		a.size[a.ndim - 2] != b.size[b.ndim - 2])
		return false;
	sample = get_row_sample(a.size[a.ndim - 2], rows_max, s);
	for (uint64_t i = 0; i < sample.rows; i += BLOCK_ROWS) {
		uint64_t left = sample.rows - i;

		add_rows(&a, &b, &sample, i, left < BLOCK_ROWS ? (unsigned)left : BLOCK_ROWS, s);
	}
	compute_spread_result(s);
	return true;
}

bool compute_logits_spread(
	const struct buffer *logits, uint64_t rows_max, struct attention_spread *s)
{
	struct element_view v;
	struct row_sample sample;

	if (get_dtype_info(logits->dtype)->cls != DTC_FLOAT || !read_element_view(logits, &v) ||
		v.ndim != 4 || !logits->count)
		return false;
	sample = get_row_sample(v.size[2], rows_max, s);
	for (uint64_t i = 0; i < sample.rows; i++) {
		const unsigned char *at = v.at + (int64_t)get_sample_row(&sample, i) * v.step[2];
		struct softmax_row row = {.most = NONE};

		for (uint64_t k = 0; k < v.size[3]; k++, at += v.step[3])
			add_key(&row, v.load(at));
		add_row_spread(&row, s);
	}
	compute_spread_result(s);
	return true;
}
