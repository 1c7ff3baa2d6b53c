/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration in use: never changed once it is published, and reached through one pointer.
 * A call loads the pointer once, at its entry, and uses this configuration until it returns.
 *
 * A new configuration is prepared separately (life/reconfigure.c) and takes effect at the end of
 * a step, the current one or an agreed one: the pointer is set, and everything decided with the
 * old configuration is decided again, because the number differs. Old configurations are kept,
 * because calls may still use them: at most GENERATIONS_MAX in a process; further changes are
 * refused.
 *
 * Pausing must be cheap, because programs pause and resume in each step. So each generation is a
 * pair that differs only in `paused`, and pausing sets the pointer to the twin. The number stays
 * the same, so nothing is decided again. Pausing does not use the word of enabled.h, because
 * communicators are followed and calls are numbered while a rank pauses; otherwise its numbers
 * would not match the other ranks'.
 */
#ifndef PROBE_SESSION_GENERATION_H
#define PROBE_SESSION_GENERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/rooms/room.h"

#define GENERATIONS_MAX 256
#define GENERATIONS_AHEAD 9 /* maximum number of pairs that wait for their steps */

struct generation {
	const struct config *cfg; /* the same in its twin */
	struct wraplist *list;
	uint32_t number; /* number of the pair; 0: the one at process start */
	bool paused;
	uint32_t asked; /* first step to be recorded with it; 0: the next step */
	char by[12]; /* what requested the change, for meta.json; "": process start */
	uint64_t change; /* hash of the last change of ctl.yaml in it; 0: none */
	const struct generation *twin;
};

struct generation_pair; /* session/generation_pair.h */

/* The first generation: all zero until session_configure() has read it. */
extern struct generation_pair generation_first __attribute__((visibility("hidden")));
extern _Atomic(const struct generation *) generation_current __attribute__((visibility("hidden")));

static inline const struct generation *get_generation(void)
{
	return atomic_load_explicit(&generation_current, memory_order_acquire);
}

static inline const struct config *get_config(void)
{
	return get_generation()->cfg;
}

/* The generation that the process started with. */
const struct generation *get_first_generation(void);

/*
 * The functions of key armable, as a list: they may be switched on later. NULL: none. Set once,
 * with the first configuration.
 */
extern struct wraplist *generation_armable __attribute__((visibility("hidden")));

static inline struct wraplist *get_wraplist(void)
{
	return get_generation()->list;
}

/* Pauses or resumes recording at once. May be called by any thread, and in signal handlers. */
void generation_pause(bool on);

/* Makes the pair's twin from its `running`, whose cfg and list are set. */
void generation_init_pair(struct generation_pair *p, uint32_t number);

/*
 * Schedules n pairs (at most GENERATIONS_AHEAD), malloc'd, ordered by `asked`. Each is used from
 * step `asked` on. Pairs scheduled earlier that are not in use yet are dropped. Returns 0, or
 * -ENOSPC if the process has had GENERATIONS_MAX already (reported): then nothing changes, and
 * the caller keeps the pairs.
 */
int generation_propose(struct generation_pair *const p[], unsigned n);

/*
 * Uses pair p from the next step on for `steps` steps, then returns to the pair that was in use
 * before. Called again before that, it replaces p and restarts the count; the pair to return to
 * stays the same. p may be a pair that was in use before: it keeps its number. It must stay
 * valid. If a pair of generation_propose() becomes due, that one is used from then on, and
 * nothing is returned to.
 */
int generation_propose_for(struct generation_pair *p, uint32_t steps);

/* Returns the pair in use; during generation_propose_for(), the pair that will be returned to. */
const struct generation_pair *generation_get_base(void);

/* Pauses at once, for the rest of the current step and `steps` further steps. */
void generation_pause_for(uint32_t steps);

/*
 * Like generation_propose(), for one pair to be used from the next step on. Pairs that wait for
 * their steps stay scheduled.
 */
int generation_propose_next(struct generation_pair *p);

/*
 * Called at the end of the step before `next`. Returns true if another configuration is in use
 * from now on.
 */
bool generation_apply(uint32_t next);

/*
 * Uses p at once, in the middle of step `now`. Takes over p. Returns 0, or -ENOSPC as
 * generation_propose() (p is freed).
 */
int generation_apply_now(struct generation_pair *p, uint32_t now);

/* Frees a pair that is not in use. */
void generation_free(struct generation_pair *p);

/* Call in a forked child: the thread that held the lock may not exist there. */
void generation_forked(void);

#endif
