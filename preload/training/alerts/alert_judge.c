/* SPDX-License-Identifier: Apache-2.0 */
#include "training/alerts/alert_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EMA_BETA 0.99

static bool check_turbulence(const struct alert_rule *r, struct alert_series *s,
	const struct alert_value *v, double *history)
{
	double x = fabs(v->x), average = s->n ? s->mean : x;
	bool speaks;

	if (v->nan || isnan(x))
		return false;
	*history = average;
	speaks = s->n >= r->warmup && average > 0 &&
		 ((r->direction != ALERT_DOWN && x > average * (1 + r->threshold)) ||
			 (r->direction != ALERT_UP && x < average * (1 - r->threshold)));
	if (isfinite(x)) {
		s->mean = EMA_BETA * average + (1 - EMA_BETA) * x;
		s->n++;
	}
	return speaks;
}

static bool check_stuck(
	const struct alert_rule *r, struct alert_series *s, const struct alert_value *v)
{
	bool same = s->n && memcmp(&v->x, &s->last, sizeof(v->x)) == 0;

	s->last = v->x;
	s->n += s->n < UINT32_MAX;
	s->same = same ? (uint16_t)(s->same + (s->same < UINT16_MAX)) : 0;
	return (double)s->same + 1 >= r->threshold;
}

static bool check_zero(struct alert_series *s, const struct alert_value *v)
{
	bool was = s->n != 0;

	if (!v->zero)
		s->n = 1;
	return v->zero && was;
}

static int compare_recent_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool check_slow_ranks(const struct alert_rule *r, struct alert_series *s,
	const struct alert_value *v, double *history)
{
	double sorted[ALERT_RECENT];
	uint32_t n = s->n < ALERT_RECENT ? s->n : ALERT_RECENT;
	bool speaks = false;

	if (!isfinite(v->x))
		return false;
	if (!s->recent)
		s->recent = calloc(ALERT_RECENT, sizeof(double));
	if (!s->recent)
		return false;
	if (n) {
		memcpy(sorted, s->recent, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), compare_recent_values);
		*history = sorted[n / 2];
		speaks = s->n >= r->warmup && v->x > *history * (1 + r->threshold);
	}
	s->recent[s->n % ALERT_RECENT] = v->x;
	/* n is set back before it wraps around, at the same position in the ring. */
	s->n = s->n + 1 < UINT32_MAX / 2 ? s->n + 1 : ALERT_RECENT + (s->n + 1) % ALERT_RECENT;
	return speaks;
}

bool alert_check_value(const struct alert_rule *r, struct alert_series *s,
	const struct alert_value *v, double *history)
{
	*history = NAN;
	switch ((enum alert_rule_word)r->rule) {
	case ALERT_TURBULENCE:
		return check_turbulence(r, s, v, history);
	case ALERT_NAN:
		return v->nan || isnan(v->x) || (r->has_threshold && fabs(v->x) > r->threshold);
	case ALERT_SPIKE:
		return !(v->x < r->threshold) || !isfinite(v->x) || v->nan || v->inf;
	case ALERT_INF:
		return v->inf || isinf(v->x);
	case ALERT_STUCK:
		return check_stuck(r, s, v);
	case ALERT_ZERO:
		return check_zero(s, v);
	case ALERT_SLOW:
		return check_slow_ranks(r, s, v, history);
	case ALERT_RULE_WORDS:
		break;
	}
	return false;
}
