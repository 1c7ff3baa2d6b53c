/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the steps of a program that marks none: the period of its sequence of calls. A call is a token, equal for calls of the
 * same operation, communicator, count and dtype.
 *
 * A period is accepted when the last calls are the same sequence three times, and at least PERIOD_CALLS calls long (a loop over
 * layers repeats as well, but the calls after it end it). From then on calls are compared with the pattern; a few that do not
 * fit (an occasional logging all-reduce) are skipped. If there are more of them (an evaluation), the rest of the round is still
 * expected; only if none of it comes and another period does, the latter is followed. A longer period that includes such calls
 * replaces a very short one. A round begins where the repetition began, after calls that the program made once at its start.
 * Memory is bounded: PERIOD_KEPT calls are kept.
 *
 * Not thread-safe: the caller has a lock.
 */
#ifndef PROBE_TOOLS_LIB_PERIOD_H
#define PROBE_TOOLS_LIB_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

#define PERIOD_KEPT 4096u /* a power of two */
#define PERIOD_MAX (PERIOD_KEPT / 4) /* calls in a period */
#define PERIOD_CALLS 48u

struct period {
	uint64_t token[PERIOD_KEPT]; /* ring */
	uint64_t sum[PERIOD_KEPT]; /* polynomial hash of all tokens up to this one */
	uint64_t power[PERIOD_MAX + 1]; /* of the polynomial's base */
	uint64_t n; /* tokens so far */
	/* the pattern that is followed */
	uint32_t length; /* 0: none */
	uint32_t at; /* calls of the current round so far */
	uint64_t first; /* number of the token from which on the calls repeat */
	uint32_t extra; /* calls of this round that do not fit */
	/* Completed rounds, calls in them, calls skipped, patterns given up. */
	uint64_t rounds, fitted, extras, breaks;
	uint64_t settled; /* number of the token after the last completed round */
	uint64_t pattern[PERIOD_MAX];
};

void period_init(struct period *p);

/* Adds a call. True: it is the last one of a round. */
bool period_call(struct period *p, uint64_t token);

/* From 0 to 1: the share of calls that fit, reduced for patterns that were given up. 0 while there is no pattern. */
double period_confidence(const struct period *p);

#endif
