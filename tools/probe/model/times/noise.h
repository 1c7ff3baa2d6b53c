/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one test of all findings on time: how often does chance alone, as it was measured in this run, make what one rank or link shows? A
 * rank is compared with what all the others did, in all steps. Delays of a busy machine have no usual size, so their tail is fitted, and
 * they come in groups, so the tendency to do so is counted.
 */
#ifndef PROBE_TOOLS_TIMES_NOISE_H
#define PROBE_TOOLS_TIMES_NOISE_H

/*
 * Expected false alarms in a healthy run, over all ranks, steps and links, for each of the five readings (slow, jitter, stall, link,
 * straggler): one of 50 healthy runs has any of them by chance; where delays last for
 * several steps, of which few were seen, one of 25 (test_noise).
 */
#define FALSE_ALARMS 0.004
#define HABIT_TIMES 3 /* separate events: two are a coincidence, whatever their size */
#define MATTERS_NS 8e6 /* a shorter delay costs less than what it takes to look for its cause */

/* Durations, ns. */
struct noise {
	double *sorted; /* ascending */
	double *logs; /* the sum of the logarithms of sorted[i] and all after it */
	unsigned n;
};

/* Takes over the n values, malloc'd. */
void noise_init(struct noise *s, double *values, unsigned n);
void noise_free(struct noise *s);

/*
 * The probability that one healthy value exceeds x: never less than the share of `all` without `own` (NULL: none) that does; above these by
 * a Pareto tail. It is fitted to the largest quarter, from `*usual` on, and predictive: few values give a heavy tail. 1: too few values.
 */
double chance_of_excess(const struct noise *all, const struct noise *own, double x, double *usual);

/* The probability of n or more independent events where that number is expected. */
double chance_of_events(double expected, unsigned n);

/*
 * The probability that at least k of n values are long after a first one, if `again` is the probability that a long one follows a long
 * one; an upper bound.
 */
double chance_of_run(double again, unsigned k, unsigned n);

/* The probability that a long value follows a long one, if `following` of `longs` did. In none: a quarter, as by chance. */
double chance_of_following(double following, double longs);

/* The quantile of n values, which it sorts; 0 if there is none. */
double quantile_of(double *v, unsigned n, double q);

#endif
