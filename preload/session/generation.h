/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration in use: never changed once it is published, and reached through one pointer. A call loads the pointer once, at
 * its entry, and uses that configuration until it returns.
 *
 * A new configuration is prepared separately (life/reconfigure.c) and takes effect at the end of a step, the next one
 * or an agreed one: the pointer is set, and everything decided with the old one is decided again, because its number
 * differs. Old configurations are kept, because calls may still use them: at most GENERATIONS_MAX in a process, then
 * changes are refused.
 *
 * Pausing must be cheap, because programs pause and resume in each step. So each generation is a pair that differs only
 * in `paused`, and pausing sets the pointer to the twin. The number stays the same: nothing is decided again. Pausing
 * does not use the word of enabled.h, because communicators are followed and calls are numbered while a rank pauses;
 * otherwise its numbers would not match the other ranks'.
 */
#ifndef PROBE_SESSION_GENERATION_H
#define PROBE_SESSION_GENERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/rooms/room.h"

#define GENERATIONS_MAX 256
#define GENERATIONS_AHEAD 9 /* that wait for their steps */

struct generation {
	const struct config *cfg; /* its twin has the same */
	struct wraplist *list;
	uint32_t number; /* of the pair; 0: the one at process start */
	bool paused;
	uint32_t asked; /* first step to be recorded with it; 0: the next one, whichever that is */
	char by[12]; /* what requested it, for meta.json; "": the start */
	uint64_t change; /* hash of the change of ctl.yaml that it includes; 0: none */
	const struct generation *twin;
};

struct generation_pair; /* session/generation_pair.h */

/* The first one: all zero until session_configure() has read it. */
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

/*
 * The functions named by key armable, as a list: they may be switched on later. NULL: none. Set once, with the first
 * configuration.
 */
extern struct wraplist *generation_armable __attribute__((visibility("hidden")));

static inline struct wraplist *list_now(void)
{
	return generation_now()->list;
}

/* Takes effect at once. Any thread, and signal handlers. */
void generation_pause(bool on);

/* Completes the pair from its `running`, whose cfg and list are set. */
void generation_pair_up(struct generation_pair *p, uint32_t number);

/*
 * Takes n pairs (at most GENERATIONS_AHEAD), malloc'd, ordered by `asked`. Each is used from the end of the step before
 * `asked` on. Earlier proposals that are not in use yet are dropped. Returns 0, or -ENOSPC: there have been
 * GENERATIONS_MAX already (reported in a line); the old one stays, and the caller keeps the pairs.
 */
int generation_propose(struct generation_pair *const p[], unsigned n);

/*
 * Uses that pair for `steps` steps, then the previous one again. A pair that was in use before may be given again and
 * keeps its number; it must stay valid. If several overlap, the last one counts. One proposed by generation_propose()
 * ends it.
 */
int generation_propose_for(struct generation_pair *p, uint32_t steps);

/* The pair in use, ignoring those that last only some steps. */
const struct generation_pair *generation_base(void);

/* Pauses at once, until `steps` further steps have ended. */
void generation_pause_for(uint32_t steps);

/* The same for a pair to be used from the next step on; pending ones stay pending. */
int generation_propose_next(struct generation_pair *p);

/* Called at the end of the step before `next`. True: another configuration is in use from here on. */
bool generation_apply(uint32_t next);

/* Takes effect at once, in the middle of step `now`; the pair passes to this module. -ENOSPC as above. */
int generation_apply_now(struct generation_pair *p, uint32_t now);

/* Frees a pair that is not in use. */
void generation_free(struct generation_pair *p);

/* Call in a forked child, where the thread that held the lock may not exist. */
void generation_forked(void);

#endif
