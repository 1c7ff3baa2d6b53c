/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration in use: never changed once it is published, behind one pointer. A call loads the pointer once, at
 * its entry, and finishes by what it found.
 *
 * A new configuration is prepared beside it (life/reconfigure.c) and takes effect at the end of a step, the next one or one
 * that was agreed on: the pointer is set, and all that was decided by the old one is decided again, for its number differs.
 * Old ones are kept, for a call may be on its way by them: at most GENERATIONS_MAX in a process, then changes are refused.
 *
 * Pausing must be cheap, for programs pause and resume in each step: each generation is a pair, the same but for `paused`,
 * and pausing sets the pointer to the twin. The number stays: nothing is decided again. It is not the word of enabled.h,
 * because communicators are followed and calls are numbered while a rank pauses, or its numbers would not join the others'.
 */
#ifndef PROBE_SESSION_GENERATION_H
#define PROBE_SESSION_GENERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/rooms/room.h"

#define GENERATIONS_MAX 256
#define GENERATIONS_AHEAD 9 /* that wait for their step */

struct generation {
	const struct config *cfg; /* its twin has the same */
	struct wraplist *list;
	uint32_t number; /* of the pair: 0 the one that the process started with */
	bool paused;
	uint32_t
		asked; /* first step that was to be recorded by it; 0: the next one, whichever that is */
	char by[12]; /* what asked for it, for meta.json; "" the start */
	uint64_t change; /* of ctl.yaml's changes the one that is in it, by its hash; 0: none */
	const struct generation *twin;
};

struct generation_pair; /* session/generation_pair.h */

/* The first: all zero until session_configure() has read it. */
extern struct generation_pair generation_first __attribute__((visibility("hidden")));
extern _Atomic(const struct generation *) generation_current __attribute__((visibility("hidden")));

static inline const struct generation *generation_now(void)
{
	return atomic_load_explicit(&generation_current, memory_order_acquire);
}

static inline const struct config *config_now(void)
{
	return generation_now()->cfg;
}

/* The one that the process started with. */
const struct generation *get_first_generation(void);

/* What key armable names, as a list: it may be switched on later. NULL: nothing. Set once, with the first configuration. */
extern struct wraplist *generation_armable __attribute__((visibility("hidden")));

static inline struct wraplist *list_now(void)
{
	return generation_now()->list;
}

/* Takes effect at once. Any thread, and signal handlers. */
void generation_pause(bool on);

/* Makes the pair what it is by its `running`, whose list is set, and its cfg. */
void generation_pair_up(struct generation_pair *p, uint32_t number);

/*
 * Takes n pairs (at most GENERATIONS_AHEAD), malloc'd, ordered by `asked`: the configurations from the end of the step before
 * that on. What was proposed earlier and is not in use yet is forgotten. -ENOSPC: there have been GENERATIONS_MAX already
 * (said in a line); the old one stays, and the pairs are the caller's still.
 */
int generation_propose(struct generation_pair *const p[], unsigned n);

/*
 * Takes that one for so many steps: then the one that was in use before is again. A pair that was in use before may be given again
 * and keeps its number; it must last. Of several that overlap the last one holds. One that is proposed by generation_propose()
 * ends it.
 */
int generation_propose_for(struct generation_pair *p, uint32_t steps);

/* The pair that is in use but for what lasts some steps only. */
const struct generation_pair *generation_base(void);

/* Pauses at once, until so many further steps have ended. */
void generation_pause_for(uint32_t steps);

/* The same for one that is to hold from the next step on; those that wait for their step still do. */
int generation_propose_next(struct generation_pair *p);

/* At the end of the step before `next`. True: another one is in use from here on. */
bool generation_apply(uint32_t next);

/* At once, in the middle of the step `now`; the pair is not the caller's any more. -ENOSPC as above. */
int generation_apply_now(struct generation_pair *p, uint32_t now);

/* Of a pair that is not in use. */
void generation_free(struct generation_pair *p);

/* In a forked child, where the thread that held the lock may not exist. */
void generation_forked(void);

#endif
