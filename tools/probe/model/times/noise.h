/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only test of all timing findings: how often would chance alone, as measured in this run, cause what one rank or link
 * shows? A rank is compared with all other ranks, in all steps. Delays of a busy machine have no usual size, so their tail is
 * fitted; and they come in groups, so this tendency is measured too.
 */
#ifndef PROBE_TOOLS_TIMES_NOISE_H
#define PROBE_TOOLS_TIMES_NOISE_H

/*
 * Expected false alarms in a healthy run, over all ranks, steps and links, for each of the five readings (slow, jitter, stall,
 * link, straggler): one of 50 healthy runs has any of them by chance; if delays last for several steps, of which few were seen,
 * one of 25 (test_noise).
 */
#define FALSE_ALARMS 0.004
#define HABIT_TIMES 3 /* separate events: two are a coincidence, whatever their size */
#define MATTERS_NS 8e6 /* a shorter delay costs less than looking for its cause */

/* Durations, ns. */
struct noise {
	double *sorted; /* ascending */
	double *logs; /* the sum of the logarithms of sorted[i] and all later elements */
	unsigned n;
};

/* Takes ownership of the n values, malloc'd. */
void noise_init(struct noise *s, double *values, unsigned n);
void noise_free(struct noise *s);

/*
 * The probability that one healthy value exceeds x: never less than the share of `all` without `own` (NULL: none) that exceeds
 * it; beyond these values from a Pareto tail. The tail is fitted to the largest quarter, from `*usual` on, and is predictive:
 * few values give a heavy tail. 1: too few values.
 */
double chance_of_excess(const struct noise *all, const struct noise *own, double x, double *usual);

/* The probability of n or more independent events where that number is expected. */
double chance_of_events(double expected, unsigned n);

/*
 * The probability that at least k of n values are long after a first long one, if `again` is the probability that a long value
 * follows a long one; an upper bound.
 */
double chance_of_run(double again, unsigned k, unsigned n);

/*
 * The probability that a long value follows a long one, estimated from `following` of `longs`. If longs is 0: a quarter, as by
 * chance.
 */
double chance_of_following(double following, double longs);

/* The quantile of n values, which it sorts; 0 if there is none. */
double quantile_of(double *v, unsigned n, double q);

#endif
