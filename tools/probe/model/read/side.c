/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/side.h"

static inline uint64_t update_side_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

bool has_telling_digits(const struct csv_text *t)
{
	unsigned n = 0;

	if (t->n < SIDE_TELLING_DIGITS)
		return false;
	for (size_t i = 0; i < t->n && t->s[i] != 'e' && n < SIDE_TELLING_DIGITS; i++)
		n += t->s[i] >= '0' && t->s[i] <= '9' && (n || t->s[i] != '0');
	return n == SIDE_TELLING_DIGITS;
}

uint64_t compute_text_key(const struct csv_text *t, double v)
{
	int64_t i;
	uint64_t u;

	if (__builtin_expect(fabs(v) < DOUBLE_INTEGERS, 1))
		return compute_double_key(v);
	if (csv_parse_i64(t, &i))
		return (uint64_t)i;
	return csv_parse_u64(t, &u) ? u : compute_double_key(v);
}

uint64_t compute_wide_key(double v)
{
	/* From 10^17 on, a number with 17 digits needs an exponent. */
	if (__builtin_expect(fabs(v) < DOUBLE_INTEGERS || !(fabs(v) < 1e17), 1))
		return compute_double_key(v);
	return (uint64_t)(int64_t)v;
}

void add_to_side(struct side *d, const struct side_row *r)
{
	uint64_t h = d->count ? d->digest : UINT64_C(0xcbf29ce484222325);

	d->rows++;
	d->bad |= r->nans || r->infs;
	if (d->blind || !r->count)
		return;
	if (!r->measured) {
		d->blind = true;
		d->digest = 0;
		return;
	}
	h = update_side_hash(h, r->min_key);
	h = update_side_hash(h, r->max_key);
	h = update_side_hash(h, compute_double_key(r->mean));
	h = update_side_hash(h, compute_double_key(r->norm));
	if (__builtin_expect(r->zeros_key | r->nans | r->infs | r->checksum_key, 0)) {
		h = update_side_hash(h, r->zeros_key);
		h = update_side_hash(h, r->nans ^ r->infs << 32 ^ r->infs >> 32);
		h = update_side_hash(h, r->checksum_key);
	}
	d->digest = (h ^ r->count) * UINT64_C(0x100000001b3);
	d->digest += !d->digest;
	d->least = d->count && d->least < r->min ? d->least : r->min;
	d->most = d->count && d->most > r->max ? d->most : r->max;
	d->telling = d->telling || r->telling;
	d->sum += r->mean * (double)(r->count > r->nans ? r->count - r->nans : 0);
	d->squares += r->norm * r->norm;
	d->count += r->count;
}
