/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a program that gives no sign of them: the period of its sequence of calls. A call is a token, equal for calls of
 * the same operation, communicator, count and dtype.
 *
 * A period is believed when the last calls are the same sequence three times over, and at least PERIOD_CALLS calls long
 * (a loop over layers repeats itself as well, but what follows it breaks it off). From then on calls are followed along
 * the pattern; a few that do not fit in (a logging all-reduce now and then) are passed over. Where there are more of them
 * (an evaluation) the rest of the round is waited for all the same; only if none of it comes and another period does, that
 * one is followed. A longer period in which such calls have their place takes the place of a very short one. A round begins where the
 * repetition began, behind what the program called once at its start. All of it is bounded: PERIOD_KEPT calls are
 * remembered.
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
	uint32_t at; /* calls of the present round that have come */
	uint64_t first; /* number of the token from which on the calls repeat themselves */
	uint32_t extra; /* calls of this round that do not fit in */
	/* Rounds that were finished, calls in them, calls passed over, patterns given up. */
	uint64_t rounds, fitted, extras, breaks;
	uint64_t settled; /* number of the token behind the last finished round */
	uint64_t pattern[PERIOD_MAX];
};

void period_init(struct period *p);

/* One more call. True: it is the last one of a round. */
bool period_call(struct period *p, uint64_t token);

/* From 0 to 1: the share of calls that fitted in, less patterns that were given up. 0 while none is followed. */
double period_confidence(const struct period *p);

#endif
