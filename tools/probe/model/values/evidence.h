/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weight of a broken habit. A habit is a hypothesis about the values at one place that has held so far: new in each step,
 * not zero, in a range, equal on some ranks. All numeric thresholds of these rules are in this file.
 */
#ifndef PROBE_TOOLS_EVIDENCE_H
#define PROBE_TOOLS_EVIDENCE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The false-alarm budget of a run, for each kind of habit: the expected number of habits that break by chance as this one did.
 * An accusation must stay below the first bound. With 0.075, 6 confirmations of a single habit suffice to accuse (0.5 / 7), and
 * for 10 habits 66 confirmations of each.
 */
#define ACCUSE_MAX 0.075
/* A note names a rank, too: at most one of two healthy runs may have one by chance. */
#define NOTE_MAX 0.5

/* A factor of two is within the range of any value: the width, as a logarithm, of a range of which one value is known. */
#define LEVEL_WIDTH 0.6931471805599453

/* The most confirmations of equality that one tensor can add: 4,096 different numbers are proof in any run. */
#define NUMBERS_MAX 4096

/* Minimum number of elements for which a repetition cannot come from a clipped or rounded number: at least a hundred bits. */
#define TELLING_COUNT 16

/* Half of the usual evidence: a single number may be a measurement (a time, a count), and such numbers have long tails. */
#define LONE_NUMBER 0.5

enum weight { WEIGHT_NONE, WEIGHT_NOTE, WEIGHT_BAD };

/* The probability that a habit that held this often breaks next: Krichevsky and Trofimov (1981), no break seen. */
static inline double chance_of_break(double kept)
{
	return 0.5 / (kept + 1);
}

/*
 * The probability of a distance of z widths above n earlier values: the predictive (Lomax) distribution of an exponential
 * distribution whose width is estimated from only n values.
 */
static inline double chance_of_distance(double z, double n)
{
	return pow(1 + z / n, -n);
}

/* The direction in which the values of a place change. */
struct trend {
	float sum, reach; /* of the latest tensor; reach: largest absolute value */
	int8_t sum_way, reach_way; /* -1, 0, 1: the direction of the last change */
	bool seen, moved; /* there is a value; sum_way is known */
};

/*
 * Adds a new value. Returns true if it could not be predicted: then the buffer was filled with data. A schedule, a counter or a
 * decay continues in the direction of its last change, and each rank can compute it by itself. The first two values prove
 * nothing: constants and the first step of a schedule are equal everywhere.
 */
static inline bool add_to_trend(struct trend *t, double sum, double reach)
{
	int8_t sum_way = (int8_t)(((float)sum > t->sum) - ((float)sum < t->sum));
	int8_t reach_way = (int8_t)(((float)reach > t->reach) - ((float)reach < t->reach));
	bool news = t->moved && (sum_way != t->sum_way || reach_way != t->reach_way);

	*t = (struct trend){(float)sum, (float)reach, sum_way, reach_way, true, t->seen};
	return news;
}

/* expected: number of such breaks by chance in the whole run. */
static inline enum weight weigh_evidence(double expected)
{
	return expected <= ACCUSE_MAX ? WEIGHT_BAD
	       : expected <= NOTE_MAX ? WEIGHT_NOTE
				      : WEIGHT_NONE;
}

#endif
