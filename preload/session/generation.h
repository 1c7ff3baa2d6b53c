/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration in use: never changed once it is published, behind one pointer. A call loads the pointer once, at
 * its entry, and finishes by what it found.
 *
 * A new configuration is prepared beside it (life/reconfigure.c) and takes effect at the end of a step: the pointer is set,
 * and all that was decided by the old one is decided anew, for its number differs. Old ones are kept, for a call may be on
 * its way by them: at most GENERATIONS_MAX in a process, then changes are refused.
 *
 * Pausing must be cheap, for programs pause and resume in each step: each generation is a pair, the same but for `paused`,
 * and pausing sets the pointer to the twin. The number stays: nothing is decided anew. It is not the word of enabled.h,
 * because communicators are followed and calls are numbered while a rank pauses, or its numbers would not join the others'.
 */
#ifndef PROBE_SESSION_GENERATION_H
#define PROBE_SESSION_GENERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define GENERATIONS_MAX 64

struct generation {
	struct config cfg;
	struct wraplist *list;
	uint32_t number; /* of the pair: 0 the one that the process started with */
	bool paused;
	const struct generation *twin;
};

struct generation_pair {
	struct generation running, resting;
};

/* The first: all zero until session_configure() has read it. */
extern struct generation_pair generation_first __attribute__((visibility("hidden")));
extern _Atomic(const struct generation *) generation_current __attribute__((visibility("hidden")));

static inline const struct generation *generation_now(void)
{
	return atomic_load_explicit(&generation_current, memory_order_acquire);
}

static inline const struct config *config_now(void)
{
	return &generation_now()->cfg;
}

static inline struct wraplist *list_now(void)
{
	return generation_now()->list;
}

/* Takes effect at once. Any thread, and signal handlers. */
void generation_pause(bool on);

/* Makes the pair what it is by its `running`, whose cfg and list are set. */
void generation_pair_up(struct generation_pair *p, uint32_t number);

/*
 * Takes the pair, which must last: it is the configuration from the end of the step on. A later one that comes before that
 * takes its place. -ENOSPC: there have been GENERATIONS_MAX already (said in a line); the old one stays.
 */
int generation_propose(struct generation_pair *p);

/*
 * The same for so many steps: then the one that was in use before is again. A pair that was in use before may be given again
 * and keeps its number. Of several that overlap the last one holds.
 */
int generation_propose_for(struct generation_pair *p, uint32_t steps);

/* The pair that is in use but for what lasts some steps only. */
const struct generation_pair *generation_base(void);

/* Pauses at once, until so many further steps have ended. */
void generation_pause_for(uint32_t steps);

/* At the end of a step. True: another one is in use from here on. */
bool generation_apply(void);

/* In a forked child, where the thread that held the lock may not exist. */
void generation_forked(void);

#endif
