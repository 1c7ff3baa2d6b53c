/* SPDX-License-Identifier: Apache-2.0 */
#include "session/generation.h"

#include <errno.h>
#include <pthread.h>

#include "base/log.h"
#include "session/state.h"

struct generation_pair generation_first = {
	.running.twin = &generation_first.resting,
	.resting = {.paused = true, .twin = &generation_first.running},
};

_Atomic(const struct generation *) generation_current = &generation_first.running;

static _Atomic(struct generation_pair *) proposed;
static uint32_t last_number;

/* What a step's end has to do besides: 0 in a run without alerts. */
static _Atomic uint32_t pause_left;
static _Atomic uint32_t lasts_left; /* of the pair in use */
static uint32_t proposed_steps; /* under the lock, as what follows */
static struct generation_pair *before_it; /* in place again when lasts_left is 0; NULL: none */

/* Held while a pair is numbered, and while one is put in place. */
static pthread_mutex_t change_lock = PTHREAD_MUTEX_INITIALIZER;

/* As `on` says, of the pair of *now; publishes it. */
static void point_at(const struct generation *now, const struct generation *running, bool on)
{
	const struct generation *next;

	do {
		next = running ? running : now;
		next = next->paused == (running ? now->paused : on) ? next : next->twin;
	} while (now != next && !atomic_compare_exchange_weak(&generation_current, &now, next));
}

void generation_pause(bool on)
{
	point_at(generation_now(), NULL, on);
}

void generation_pair_up(struct generation_pair *p, uint32_t number)
{
	p->running.number = number;
	p->running.paused = false;
	p->running.twin = &p->resting;
	p->resting = p->running;
	p->resting.paused = true;
	p->resting.twin = &p->running;
}

static struct generation_pair *pair_of_generation(const struct generation *g)
{
	/* The running one is the pair's first member. */
	return (struct generation_pair *)(g->paused ? g->twin : g);
}

const struct generation_pair *generation_base(void)
{
	struct generation_pair *p;

	pthread_mutex_lock(&change_lock);
	p = before_it ? before_it : pair_of_generation(generation_now());
	pthread_mutex_unlock(&change_lock);
	return p;
}

int generation_propose(struct generation_pair *p)
{
	return generation_propose_for(p, 0);
}

void generation_pause_for(uint32_t steps)
{
	atomic_store(&pause_left, steps + 1);
	generation_pause(true);
}

int generation_propose_for(struct generation_pair *p, uint32_t steps)
{
	int err = 0;

	pthread_mutex_lock(&change_lock);
	if (p->running.number || last_number + 1 < GENERATIONS_MAX) {
		if (!p->running.number)
			generation_pair_up(p, ++last_number);
		proposed_steps = steps;
		atomic_store(&proposed, p);
	} else {
		err = -ENOSPC;
	}
	pthread_mutex_unlock(&change_lock);
	if (err)
		log_loss(LOSS_CONFIG,
			"the configuration was changed %d times in this process, which is all that "
			"it keeps: the last one stays in use; restart the program to change it",
			GENERATIONS_MAX - 1);
	return err;
}

static void end_pause(void)
{
	uint32_t left = atomic_load(&pause_left);

	while (left && !atomic_compare_exchange_weak(&pause_left, &left, left - 1))
		;
	if (left == 1)
		generation_pause(false);
}

/* Under the lock. NULL: the one in use goes on. */
static struct generation_pair *choose_next(void)
{
	struct generation_pair *p = atomic_exchange(&proposed, NULL), *now;
	uint32_t left = atomic_load(&lasts_left);

	if (p) {
		now = pair_of_generation(generation_now());
		before_it = !proposed_steps ? NULL : before_it ? before_it : now;
		atomic_store(&lasts_left, proposed_steps);
		return p == now ? NULL : p;
	}
	if (left)
		atomic_store(&lasts_left, left - 1);
	if (left == 1) {
		p = before_it;
		before_it = NULL;
	}
	return p;
}

bool generation_apply(void)
{
	struct generation_pair *p;

	if (__builtin_expect(!atomic_load_explicit(&proposed, memory_order_relaxed) &&
				     !atomic_load_explicit(&lasts_left, memory_order_relaxed) &&
				     !atomic_load_explicit(&pause_left, memory_order_relaxed),
		    1))
		return false;
	end_pause();
	pthread_mutex_lock(&change_lock);
	p = choose_next();
	if (p) {
		point_at(generation_now(), &p->running, false);
		/* Behind the pointer: who decides of a row meanwhile looks at it again when that is done. */
		session_hooks.config_changed();
	}
	pthread_mutex_unlock(&change_lock);
	return p != NULL;
}

void generation_forked(void)
{
	pthread_mutex_init(&change_lock, NULL);
}
