/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the steps of a program that marks none: the period of its sequence of calls. A call is a
 * token. Calls of the same operation, communicator, count and dtype have equal tokens.
 *
 * A period is accepted when the last calls are the same sequence three times, and at least
 * PERIOD_CALLS calls long. (A loop over layers also repeats, but the calls after the loop end it.)
 * From then on each call is compared with the pattern. Single calls that do not fit (an occasional
 * logging all-reduce) are skipped. After more of them (an evaluation), the rest of the round is
 * still expected. Only if none of it comes, and another period does, the new period replaces the
 * old one. A longer period that includes the skipped calls also replaces a very short one. A round
 * begins where the repetition began, after the calls that the program made once at its start.
 * PERIOD_KEPT calls are stored.
 *
 * Not thread-safe: the caller must lock.
 */
#ifndef PROBE_TOOLS_LIB_PERIOD_H
#define PROBE_TOOLS_LIB_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

#define PERIOD_KEPT 4096u /* a power of two */
#define PERIOD_MAX (PERIOD_KEPT / 4) /* maximum number of calls in a period */
#define PERIOD_CALLS 48u

struct period {
	uint64_t token[PERIOD_KEPT]; /* a ring buffer */
	uint64_t sum[PERIOD_KEPT]; /* polynomial hash of all tokens up to this one */
	uint64_t power[PERIOD_MAX + 1]; /* powers of the polynomial's base */
	uint64_t n; /* tokens so far */
	/* the current pattern */
	uint32_t length; /* calls in a round; 0: no pattern */
	uint32_t at; /* number of calls of the current round so far */
	uint64_t first; /* number of the token from which the calls repeat */
	uint32_t extra; /* calls of the current round that did not fit */
	/*
	 * Numbers of completed rounds, of calls in them, of skipped calls, of patterns that no
	 * longer held.
	 */
	uint64_t rounds, fitted, extras, breaks;
	uint64_t settled; /* number of the token after the last complete round */
	uint64_t pattern[PERIOD_MAX];
};

void period_init(struct period *p);

/* Adds a call. Returns true if it is the last call of a round. */
bool period_add_call(struct period *p, uint64_t token);

/*
 * Returns the share of calls that fit, 0 to 1, reduced for each pattern that no longer held. 0
 * while there is no pattern.
 */
double period_get_confidence(const struct period *p);

#endif
