/* SPDX-License-Identifier: Apache-2.0 */
#include "session/generation.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "session/state.h"

struct generation_pair generation_first = {
	.running.twin = &generation_first.resting,
	.resting = {.paused = true, .twin = &generation_first.running},
};

_Atomic(const struct generation *) generation_current = &generation_first.running;

struct wraplist *generation_armable;

/* Those to come, by step; changed and looked at under change_lock. */
static struct generation_pair *ahead[GENERATIONS_AHEAD];
static unsigned nahead;
/* The step of the first of them: a step's end costs one load where there is none. */
static _Atomic uint32_t due = UINT32_MAX;
static uint32_t last_number;

/* Held while pairs are proposed, and while one is put in place. */
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

void generation_free(struct generation_pair *p)
{
	if (!p)
		return;
	wraplist_free(p->running.list);
	config_free(&p->running.cfg);
	free(p);
}

/* Under change_lock. */
static void set_due_step(void)
{
	atomic_store(&due, nahead ? ahead[0]->running.asked : UINT32_MAX);
}

/* Under change_lock: p[n] are those to come; what was is put into old[]. Returns how many. -ENOSPC: no more numbers. */
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
		"the configuration was changed %d times in this process, which is all that "
		"it keeps: the last one stays in use; restart the program to change it",
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
	/* Those that go on waiting are not to be freed. */
	for (int i = 0, k = nold; nold > 0 && i < k; i++)
		if (old[i]->running.asked)
			old[i] = NULL;
	pthread_mutex_unlock(&change_lock);
	return free_replaced(old, nold);
}

/* Under change_lock: the last one whose step has come; those before it are left out. */
static struct generation_pair *take_due_pair(uint32_t next)
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

/* Under change_lock. */
static void use_pair(struct generation_pair *p, uint32_t step)
{
	struct config *c = &p->running.cfg;

	/* collect_times counts from here on. */
	c->in_force_from = step;
	if (c->dynamic_monitor)
		c->start_step = step;
	generation_pair_up(p, ++last_number);
	point_at(generation_now(), &p->running, false);
	/* Behind the pointer: who decides of a row meanwhile looks at it again when that is done. */
	session_hooks.config_changed(step);
}

bool generation_apply(uint32_t next)
{
	struct generation_pair *p;

	if (__builtin_expect(next < atomic_load_explicit(&due, memory_order_relaxed), 1))
		return false;
	pthread_mutex_lock(&change_lock);
	p = take_due_pair(next);
	if (p)
		use_pair(p, next);
	pthread_mutex_unlock(&change_lock);
	return p != NULL;
}

int generation_apply_now(struct generation_pair *p, uint32_t now)
{
	bool room;

	pthread_mutex_lock(&change_lock);
	room = last_number + 1 < GENERATIONS_MAX;
	if (room)
		use_pair(p, now);
	pthread_mutex_unlock(&change_lock);
	if (room)
		return 0;
	generation_free(p);
	return free_replaced(NULL, -ENOSPC);
}

void generation_forked(void)
{
	pthread_mutex_init(&change_lock, NULL);
	/* Another thread may have been changing it. */
	nahead = 0;
	set_due_step();
}
