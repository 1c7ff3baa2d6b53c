/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/times/noise.h"

#include <math.h>
#include <stdlib.h>

#include "tools/lib/tool.h"
#include "tools/probe/model/values/evidence.h"

#define TAIL 0.25 /* share of the values to which the tail is fitted */
#define VALUES_MIN 8 /* in total, and in each further tail */
#define CLOCK_NS 1e3 /* ns; shorter times are within the clock's resolution */

static int by_duration(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

double quantile_of(double *v, unsigned n, double q)
{
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_duration);
	return v[(unsigned)(q * (n - 1) + 0.5)];
}

void noise_init(struct noise *s, double *values, unsigned n)
{
	*s = (struct noise){values, tool_alloc((n + 1) * sizeof(*s->logs)), n};
	if (n)
		qsort(values, n, sizeof(*values), by_duration);
	s->logs[n] = 0;
	for (unsigned i = n; i-- > 0;)
		s->logs[i] = s->logs[i + 1] + log(fmax(values[i], CLOCK_NS));
}

void noise_free(struct noise *s)
{
	free(s->sorted);
	free(s->logs);
}

/* Returns the index of the first value above x. */
static unsigned find_above(const struct noise *s, double x)
{
	unsigned low = 0, high = s->n;

	while (low < high) {
		unsigned at = low + (high - low) / 2;

		if (s->sorted[at] > x)
			high = at;
		else
			low = at + 1;
	}
	return low;
}

static unsigned count_above(const struct noise *all, const struct noise *own, double x)
{
	return all->n - find_above(all, x) - (own ? own->n - find_above(own, x) : 0);
}

/* Returns the smallest value that at most `share` of the other ranks' values exceed. */
static double find_level(const struct noise *all, const struct noise *own, double share)
{
	unsigned low = 0, high = all->n - 1;

	while (low < high) {
		unsigned at = low + (high - low) / 2;

		if (count_above(all, own, all->sorted[at]) <= share)
			high = at;
		else
			low = at + 1;
	}
	return all->sorted[low];
}

/* Returns the probability by the tail that is fitted to the values above `from`. */
static double chance_by_tail(
	const struct noise *all, const struct noise *own, double x, double from, double share)
{
	unsigned n = all->n - (own ? own->n : 0), k = count_above(all, own, from);
	double sum;

	if (x <= from)
		return 1;
	sum = all->logs[find_above(all, from)] - (own ? own->logs[find_above(own, from)] : 0) -
	      k * log(from);
	/* A factor of two is normal for any value, even if all are equal. */
	sum = fmax(sum, 0) + LEVEL_WIDTH;
	/* Values equal to the level also belong to the tail. */
	if (count_above(all, own, nextafter(from, 0)) > share * n)
		k = (unsigned)fmax(k, share * n);
	return (k + 1.0) / (n + 1) * pow(1 + log(x / from) / sum, -(double)(k + 1));
}

double chance_of_excess(const struct noise *all, const struct noise *own, double x, double *usual)
{
	unsigned n = all->n - (own ? own->n : 0), tails = 1;
	double chance;

	*usual = 0;
	if (n < VALUES_MIN)
		return 1;
	/* With two ranks, the faster one has no excess: these zeros are not durations. */
	*usual = fmax(find_level(all, own, TAIL * n),
		find_level(all, own, count_above(all, own, CLOCK_NS) / 2.0));
	*usual = fmax(*usual, CLOCK_NS);
	chance = chance_by_tail(all, own, x, *usual, TAIL);
	/* Rare delays of another kind have a separate tail. */
	for (double share = TAIL / 4; share * n >= VALUES_MIN; share /= 4, tails++)
		chance = fmin(
			chance, chance_by_tail(all, own, x,
					fmax(find_level(all, own, share * n), CLOCK_NS), share));
	return fmax((double)count_above(all, own, x) / n, fmin(1, tails * chance));
}

double chance_of_events(double expected, unsigned n)
{
	double term = exp(-expected), below = 0;

	for (unsigned i = 0; i < n; i++, term *= expected / i)
		below += term;
	/*
	 * If the difference from 1 is too small for its digits, the first remaining term is used,
	 * which is an upper bound.
	 */
	return below < 1 - 1e-9 ? 1 - below : term / fmax(1 - expected / (n + 1), 0.5);
}

double chance_of_run(double again, unsigned k, unsigned n)
{
	double ways = lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);

	return k ? fmin(1, exp(ways + k * log(again))) : 1;
}

double chance_of_following(double following, double longs)
{
	return (following + 1) / (longs + 1 / TAIL);
}
