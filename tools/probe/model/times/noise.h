/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test that all timing findings share: how often would chance alone, as measured in this run,
 * cause what one rank or link shows? A rank is compared with all other ranks, in all steps. The
 * delays of a busy host have no usual size, so the tail of their distribution is fitted. They also
 * come in groups, so the probability that one follows another is measured.
 */
#ifndef PROBE_TOOLS_TIMES_NOISE_H
#define PROBE_TOOLS_TIMES_NOISE_H

/*
 * Expected number of false alarms in a healthy run, over all ranks, steps and links, for each of
 * the five readings (slow, jitter, stall, link, straggler). One of 50 healthy runs has any of them
 * by chance. If delays last for several steps and few were seen, it is one of 25 (test_noise).
 */
#define FALSE_ALARMS 0.004
/* minimum number of separate events: two may be a coincidence, whatever their size */
#define HABIT_TIMES 3
#define MATTERS_NS 8e6 /* ns; the search for a shorter delay's cause costs more than the delay */

/* Durations, ns. */
struct noise {
	double *sorted; /* ascending */
	double *logs; /* logs[i]: the sum of the logarithms of sorted[i] and all later elements */
	unsigned n;
};

/* Initialises s with n durations. `values` must be malloc'd and then belongs to s. */
void noise_init(struct noise *s, double *values, unsigned n);
void noise_free(struct noise *s);

/*
 * Returns the probability that one healthy duration exceeds x. It is at least the share of the
 * durations in `all` but not in `own` (may be NULL) that exceed x. Above these durations it comes
 * from a Pareto tail, fitted to the largest quarter of them. *usual: the value at which this
 * quarter begins. The fit is predictive: few durations give a heavy tail. Returns 1 if there are
 * too few.
 */
double chance_of_excess(const struct noise *all, const struct noise *own, double x, double *usual);

/* Returns the probability of n or more independent events if `expected` events are expected. */
double chance_of_events(double expected, unsigned n);

/*
 * Returns an upper bound of the probability that at least k of n values are long, after a first
 * long one. again: the probability that a long value follows a long one.
 */
double chance_of_run(double again, unsigned k, unsigned n);

/*
 * Estimates the probability that a long value follows a long one, from `longs` long values,
 * `following` of which follow another one. If longs is 0, the estimate is a quarter.
 */
double chance_of_following(double following, double longs);

/* Returns the quantile q (0..1) of n values, or 0 if n is 0. Sorts v. */
double quantile_of(double *v, unsigned n, double q);

#endif
