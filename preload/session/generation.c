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

int generation_propose(struct generation_pair *p)
{
	int err = 0;

	pthread_mutex_lock(&change_lock);
	if (last_number + 1 < GENERATIONS_MAX) {
		generation_pair_up(p, ++last_number);
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

bool generation_apply(void)
{
	struct generation_pair *p;

	if (__builtin_expect(!atomic_load_explicit(&proposed, memory_order_relaxed), 1))
		return false;
	pthread_mutex_lock(&change_lock);
	p = atomic_exchange(&proposed, NULL);
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
