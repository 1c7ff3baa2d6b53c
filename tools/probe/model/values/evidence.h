/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a broken habit of a program says. A habit is a hypothesis about the values of one place that was kept so far: new in each
 * step, not zero, in a range, equal on some ranks. Every figure of judgement of these rules is in this file.
 */
#ifndef PROBE_TOOLS_EVIDENCE_H
#define PROBE_TOOLS_EVIDENCE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The false-alarm budget of a run, for each kind of habit: habits that are expected to break by themselves as this one did. An accusation
 * must stay below the first bound. 0.075 lets 6 confirmations of one habit accuse (0.5 / 7), and of 10 habits 66 of each.
 */
#define ACCUSE_MAX 0.075
/* A note names a rank, too: of two healthy runs at most one may have one by chance. */
#define NOTE_MAX 0.5

/* Twice as large is within the range of any value: the width of a range of which one value is known, as a logarithm. */
#define LEVEL_WIDTH 0.6931471805599453

/* Numbers that one tensor can add to the confirmations of equality: 4,096 different ones are proof in any run. */
#define NUMBERS_MAX 4096

/* Elements of a tensor whose repetition is not the doing of a clipped or rounded number: a hundred bits at the least. */
#define TELLING_COUNT 16

/* Half the width of evidence: a lone number may be measured (a time, a count), and those have long tails. */
#define LONE_NUMBER 0.5

enum weight { WEIGHT_NONE, WEIGHT_NOTE, WEIGHT_BAD };

/* The chance that a habit that was kept that often breaks next: Krichevsky and Trofimov (1981), no break seen. */
static inline double chance_of_break(double kept)
{
	return 0.5 / (kept + 1);
}

/*
 * The chance of a distance of z widths above n earlier ones: the predictive (Lomax) distribution of an exponential one whose width is
 * known from n values only.
 */
static inline double chance_of_distance(double z, double n)
{
	return pow(1 + z / n, -n);
}

/* Where the values of a place are going. */
struct trend {
	float sum, reach; /* of the latest tensor; reach: largest absolute value */
	int8_t sum_way, reach_way; /* -1, 0, 1: how they changed last */
	bool seen, moved; /* there is a value; sum_way is known */
};

/*
 * Adds a new value. Returns true if it could not be foreseen: it says that the buffer was filled with data. A schedule, a counter or a
 * decay goes on in the direction of its last change, and each rank can have it by itself. Nor do the first two values tell anything:
 * constants and the first step of a schedule are everywhere the same.
 */
static inline bool add_to_trend(struct trend *t, double sum, double reach)
{
	int8_t sum_way = (int8_t)(((float)sum > t->sum) - ((float)sum < t->sum));
	int8_t reach_way = (int8_t)(((float)reach > t->reach) - ((float)reach < t->reach));
	bool news = t->moved && (sum_way != t->sum_way || reach_way != t->reach_way);

	*t = (struct trend){(float)sum, (float)reach, sum_way, reach_way, true, t->seen};
	return news;
}

/* expected: breaks like this one by themselves in the whole run. */
static inline enum weight weigh_evidence(double expected)
{
	return expected <= ACCUSE_MAX ? WEIGHT_BAD
	       : expected <= NOTE_MAX ? WEIGHT_NOTE
				      : WEIGHT_NONE;
}

#endif
