/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weight of a violated invariant. An invariant is a property of the values at one call site that has held
 * so far: they are new in each step, not zero, in a range, or equal on some ranks. The thresholds of
 * evidence are in this file; which values are evidence at all is decided in telling.c.
 */
#ifndef PROBE_TOOLS_EVIDENCE_H
#define PROBE_TOOLS_EVIDENCE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The false-alarm budget of a run for each kind of invariant. It limits the number of invariants that would
 * break by chance in a run without a fault: 0.5 / (confirmations + 1) for each that has as many
 * confirmations as the broken one, or more. A rank is accused if the sum is below ACCUSE_MAX. With 0.075, one
 * invariant needs 6 confirmations (0.5 / 7), and 10 invariants need 66 each (10 * 0.5 / 67).
 */
#define ACCUSE_MAX 0.075
/* A note also names a rank. At most one of two healthy runs may have a note by chance. */
#define NOTE_MAX 0.5

/*
 * The width (logarithm) of a range of which one value is known: a factor of two is normal for any
 * value.
 */
#define LEVEL_WIDTH 0.6931471805599453

/*
 * Maximum number of confirmations that one tensor can add: 4,096 different numbers are proof in any
 * run.
 */
#define NUMBERS_MAX 4096

/*
 * The weight of a single number, relative to a tensor. It may be a measurement (a time, a count),
 * and measurements have long tails.
 */
#define LONE_NUMBER 0.5

enum weight { WEIGHT_NONE, WEIGHT_NOTE, WEIGHT_BAD };

/*
 * Returns the probability that an invariant that held `kept` times breaks the next time. Estimator of
 * Krichevsky and Trofimov (1981), for an invariant that never broke.
 */
static inline double chance_of_break(double kept)
{
	return 0.5 / (kept + 1);
}

/*
 * Returns the factor for the chances of breaks of call sites that have the habits of one program: their common
 * distribution, Beta(a, 1), is estimated from all of them. 2 a, at most 1. tests: sum of log(1 + confirmations) of all
 * call sites; broken: how many of them broke.
 */
static inline double compute_share_of_breaks(double tests, unsigned broken)
{
	return fmin(1, 2 * (broken + 1) / (tests + 1));
}

/*
 * Returns the probability of a value that is z widths above n earlier ones: the predictive (Lomax)
 * distribution of an exponential distribution whose width was estimated from n values.
 */
static inline double chance_of_distance(double z, double n)
{
	return pow(1 + z / n, -n);
}

/* Relative error of a ratio of two floats, and a margin. */
#define SHAPE_ERROR 1e-5f

/* The direction in which the values at a call site change. */
struct trend {
	float sum, reach; /* of the latest tensor: sum of the elements, largest absolute value */
	/* Direction of the last change: -1, 0 or 1. shape_way: of sum / reach, the last one that was not 0. */
	int8_t sum_way, reach_way, shape_way;
	bool seen, moved; /* seen: there is a value. moved: the directions are known. */
};

static inline int8_t find_shape_way(const struct trend *t, float sum, float reach)
{
	float now = sum * t->reach, before = t->sum * reach;
	float error = SHAPE_ERROR * (fabsf(now) + fabsf(before));

	return (int8_t)((now > before + error) - (now < before - error));
}

/*
 * Adds the next value. Returns true if the value could not be predicted, so that the buffer was
 * filled with data. A schedule, a counter or a decay continues in the direction of its last change, and so
 * does the ratio of its numbers: each rank can compute it by itself. The first two values return false: a
 * constant or the first step of a schedule is equal everywhere.
 */
static inline bool add_to_trend(struct trend *t, double sum, double reach)
{
	int8_t sum_way = (int8_t)(((float)sum > t->sum) - ((float)sum < t->sum));
	int8_t reach_way = (int8_t)(((float)reach > t->reach) - ((float)reach < t->reach));
	int8_t shape_way = t->seen ? find_shape_way(t, (float)sum, (float)reach) : 0;
	bool news = t->moved && (sum_way != t->sum_way || reach_way != t->reach_way ||
					shape_way * t->shape_way < 0);

	*t = (struct trend){(float)sum, (float)reach, sum_way, reach_way,
		shape_way ? shape_way : t->shape_way, true, t->seen};
	return news;
}

/*
 * Returns the weight of a break of an invariant. expected: number of such breaks by chance in the whole
 * run.
 */
static inline enum weight weigh_evidence(double expected)
{
	return expected <= ACCUSE_MAX ? WEIGHT_BAD
	       : expected <= NOTE_MAX ? WEIGHT_NOTE
				      : WEIGHT_NONE;
}

#endif
