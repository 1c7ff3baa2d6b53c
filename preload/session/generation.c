/* SPDX-License-Identifier: Apache-2.0 */
#include "session/generation.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "session/generation_pair.h"
#include "session/state.h"

struct generation_pair generation_first = {
	.running = {.cfg = &generation_first.cfg, .twin = &generation_first.resting},
	.resting = {.cfg = &generation_first.cfg,
		.paused = true,
		.twin = &generation_first.running},
};

_Atomic(const struct generation *) generation_current = &generation_first.running;

struct wraplist *generation_armable;

/* Pairs that wait for their steps, in order; read and changed under change_lock. */
static struct generation_pair *ahead[GENERATIONS_AHEAD];
static unsigned nahead;
/* The step of the first pair that waits. If none waits, the end of a step costs only this load. */
static _Atomic uint32_t due = UINT32_MAX;
static uint32_t last_number;

/* Other work at the end of a step; all 0 in a run without alerts. */
static _Atomic uint32_t pause_left;
static _Atomic uint32_t lasts_left; /* steps left for the pair of generation_propose_for() in use */
/* pair that will be used for lasting_steps steps */
static _Atomic(struct generation_pair *) lasting;
static uint32_t lasting_steps; /* this and before_it: under the lock */
static struct generation_pair *before_it; /* pair to return to when lasts_left is 0; NULL: none */

/* Held while pairs are proposed, and while a pair comes into use. */
static pthread_mutex_t change_lock = PTHREAD_MUTEX_INITIALIZER;

const struct generation *get_first_generation(void)
{
	return &generation_first.running;
}

/* Publishes the paused or the running member of *now's pair, according to `on`. */
static void set_current(const struct generation *now, const struct generation *running, bool on)
{
	const struct generation *next;

	do {
		next = running ? running : now;
		next = next->paused == (running ? now->paused : on) ? next : next->twin;
	} while (now != next && !atomic_compare_exchange_weak(&generation_current, &now, next));
}

void generation_pause(bool on)
{
	set_current(get_generation(), NULL, on);
}

void generation_init_pair(struct generation_pair *p, uint32_t number)
{
	p->running.cfg = &p->cfg;
	p->running.number = number;
	p->running.paused = false;
	p->running.twin = &p->resting;
	p->resting = p->running;
	p->resting.paused = true;
	p->resting.twin = &p->running;
}

void generation_free(struct generation_pair *p)
{
	if (!p)
		return;
	wraplist_free(p->running.list);
	config_free(&p->cfg);
	free(p);
}

/* Called under change_lock. */
static void set_due_step(void)
{
	atomic_store(&due, nahead ? ahead[0]->running.asked : UINT32_MAX);
}

/*
 * Called under change_lock: makes p[n] the pairs that wait, and moves the previous ones to old[].
 * Returns the number of these, or -ENOSPC if there are no more numbers.
 */
static int replace_ahead(
	struct generation_pair *const p[], unsigned n, struct generation_pair *old[])
{
	int nold = (int)nahead;

	if (last_number + n >= GENERATIONS_MAX)
		return -ENOSPC;
	memcpy(old, ahead, nahead * sizeof(*old));
	memcpy(ahead, p, n * sizeof(*p));
	nahead = n;
	set_due_step();
	return nold;
}

static int free_replaced(struct generation_pair *const old[], int n)
{
	for (int i = 0; i < n; i++)
		generation_free(old[i]);
	if (n >= 0)
		return 0;
	log_loss(LOSS_CONFIG,
		"the configuration was changed %d times in this process, which is the "
		"limit: the last one stays in use; restart the program to change it",
		GENERATIONS_MAX - 1);
	return n;
}

int generation_propose(struct generation_pair *const p[], unsigned n)
{
	struct generation_pair *old[GENERATIONS_AHEAD];
	int nold;

	pthread_mutex_lock(&change_lock);
	nold = replace_ahead(p, n, old);
	pthread_mutex_unlock(&change_lock);
	return free_replaced(old, nold);
}

int generation_propose_next(struct generation_pair *p)
{
	struct generation_pair *all[GENERATIONS_AHEAD + 1], *old[GENERATIONS_AHEAD];
	unsigned n = 0;
	int nold;

	pthread_mutex_lock(&change_lock);
	all[n++] = p;
	for (unsigned i = 0; i < nahead; i++)
		if (ahead[i]->running.asked && n < GENERATIONS_AHEAD)
			all[n++] = ahead[i];
	nold = replace_ahead(all, n, old);
	/* Pairs that continue to wait must not be freed. */
	for (int i = 0, k = nold; nold > 0 && i < k; i++)
		if (old[i]->running.asked)
			old[i] = NULL;
	pthread_mutex_unlock(&change_lock);
	return free_replaced(old, nold);
}

static struct generation_pair *get_pair(const struct generation *g)
{
	/* `running` is the pair's first member. */
	return (struct generation_pair *)(g->paused ? g->twin : g);
}

const struct generation_pair *generation_get_base(void)
{
	struct generation_pair *p;

	pthread_mutex_lock(&change_lock);
	p = before_it ? before_it : get_pair(get_generation());
	pthread_mutex_unlock(&change_lock);
	return p;
}

void generation_pause_for(uint32_t steps)
{
	atomic_store(&pause_left, steps + 1);
	generation_pause(true);
}

int generation_propose_for(struct generation_pair *p, uint32_t steps)
{
	bool found;

	pthread_mutex_lock(&change_lock);
	found = p->running.number || last_number + 1 < GENERATIONS_MAX;
	if (found) {
		lasting_steps = steps;
		atomic_store(&lasting, p);
	}
	pthread_mutex_unlock(&change_lock);
	return found ? 0 : free_replaced(NULL, -ENOSPC);
}

static void count_pause_down(void)
{
	uint32_t left = atomic_load(&pause_left);

	while (left && !atomic_compare_exchange_weak(&pause_left, &left, left - 1))
		;
	if (left == 1)
		generation_pause(false);
}

/*
 * Called under change_lock: returns the pair of generation_propose_for(), or the pair to return
 * to. Returns NULL if nothing changes.
 */
static struct generation_pair *find_lasting_pair(void)
{
	struct generation_pair *p = atomic_exchange(&lasting, NULL), *now;
	uint32_t left = atomic_load(&lasts_left);

	if (p) {
		now = get_pair(get_generation());
		before_it = before_it ? before_it : now;
		atomic_store(&lasts_left, lasting_steps);
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

/*
 * Called under change_lock: returns the last waiting pair whose step has been reached; earlier
 * ones are skipped.
 */
static struct generation_pair *remove_due_pairs(uint32_t next)
{
	struct generation_pair *p = NULL;
	unsigned n = 0;

	while (n < nahead && ahead[n]->running.asked <= next) {
		generation_free(p);
		p = ahead[n++];
	}
	nahead -= n;
	memmove(ahead, ahead + n, nahead * sizeof(*ahead));
	set_due_step();
	return p;
}

/* Called under change_lock: from now on the pair in use stays until another is proposed. */
static void stop_lasting(void)
{
	atomic_store(&lasting, NULL);
	atomic_store(&lasts_left, 0);
	before_it = NULL;
}

/* Called under change_lock. */
static void start_pair(struct generation_pair *p, uint32_t step)
{
	struct config *c = &p->cfg;

	/* A pair that was in use before is not changed. */
	if (!p->running.number && p != &generation_first) {
		/* collect_times counts from this step on. */
		c->in_force_from = step;
		if (c->dynamic_monitor)
			c->start_step = step;
		generation_init_pair(p, ++last_number);
	}
	set_current(get_generation(), &p->running, false);
	/* After the pointer is set: a thread that decides on a row meanwhile checks it again afterwards. */
	session_hooks.config_changed(step);
}

bool generation_apply(uint32_t next)
{
	struct generation_pair *p;

	if (__builtin_expect(next < atomic_load_explicit(&due, memory_order_relaxed) &&
				     !atomic_load_explicit(&lasting, memory_order_relaxed) &&
				     !atomic_load_explicit(&lasts_left, memory_order_relaxed) &&
				     !atomic_load_explicit(&pause_left, memory_order_relaxed),
		    1))
		return false;
	count_pause_down();
	pthread_mutex_lock(&change_lock);
	p = remove_due_pairs(next);
	if (p)
		stop_lasting();
	else
		p = find_lasting_pair();
	if (p)
		start_pair(p, next);
	pthread_mutex_unlock(&change_lock);
	return p != NULL;
}

int generation_apply_now(struct generation_pair *p, uint32_t now)
{
	bool found;

	pthread_mutex_lock(&change_lock);
	found = last_number + 1 < GENERATIONS_MAX;
	if (found) {
		stop_lasting();
		start_pair(p, now);
	}
	pthread_mutex_unlock(&change_lock);
	if (found)
		return 0;
	generation_free(p);
	return free_replaced(NULL, -ENOSPC);
}

void generation_forked(void)
{
	pthread_mutex_init(&change_lock, NULL);
	/* Another thread may have been changing the list. */
	nahead = 0;
	set_due_step();
}
