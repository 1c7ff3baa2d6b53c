/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/parallel/relay.h"

#include <pthread.h>
#include <stdlib.h>

#include "tools/lib/tool.h"

#define GROUPS 8u

struct relay {
	relay_fn *fn;
	void *arg;
	bool threaded, ended;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t passed, taken;
	uint64_t npassed, ndone; /* numbers of groups since the start */
	struct call_group {
		struct call call[RELAY_CALLS];
		unsigned n;
	} group[GROUPS];
};

static void *take_groups(void *arg)
{
	struct relay *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->ended || r->ndone < r->npassed) {
		const struct call_group *g = &r->group[r->ndone % GROUPS];

		if (r->ndone == r->npassed) {
			pthread_cond_wait(&r->passed, &r->lock);
			continue;
		}
		pthread_mutex_unlock(&r->lock);
		r->fn(r->arg, g->call, g->n);
		pthread_mutex_lock(&r->lock);
		/* Wakes the thread that waits for memory when half of the groups are free. */
		if (++r->ndone + GROUPS / 2 == r->npassed)
			pthread_cond_signal(&r->taken);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

struct relay *relay_begin(relay_fn *fn, void *arg, bool threaded)
{
	struct relay *r = tool_alloc(sizeof(*r));

	r->fn = fn;
	r->arg = arg;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->passed, NULL);
	pthread_cond_init(&r->taken, NULL);
	r->threaded = threaded && pthread_create(&r->thread, NULL, take_groups, r) == 0;
	return r;
}

struct call *relay_get_space(struct relay *r)
{
	if (r->threaded) {
		pthread_mutex_lock(&r->lock);
		if (r->npassed - r->ndone == GROUPS)
			while (r->npassed - r->ndone > GROUPS / 2)
				pthread_cond_wait(&r->taken, &r->lock);
		pthread_mutex_unlock(&r->lock);
	}
	return r->group[r->npassed % GROUPS].call;
}

void relay_pass(struct relay *r, unsigned n)
{
	struct call_group *g = &r->group[r->npassed % GROUPS];

	g->n = n;
	if (!r->threaded) {
		r->fn(r->arg, g->call, n);
		return;
	}
	pthread_mutex_lock(&r->lock);
	if (r->npassed++ == r->ndone)
		pthread_cond_signal(&r->passed);
	pthread_mutex_unlock(&r->lock);
}

void relay_end(struct relay *r)
{
	if (r->threaded) {
		pthread_mutex_lock(&r->lock);
		r->ended = true;
		pthread_cond_signal(&r->passed);
		pthread_mutex_unlock(&r->lock);
		pthread_join(r->thread, NULL);
	}
	pthread_cond_destroy(&r->passed);
	pthread_cond_destroy(&r->taken);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
