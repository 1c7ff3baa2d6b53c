/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/parallel/ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/tool.h"
#include "tools/probe/model/parallel/turns.h"
#include "journal/columns.h"

/* A row with bad values, with the arguments of calls_bad_fn. */
struct bad_copy {
	struct bad_copy *next;
	unsigned before; /* index of the call of the batch that follows the row */
	struct call call;
	uint64_t nans, infs;
	struct {
		uint32_t at, n; /* position and length in text */
	} field[COLUMNS];
	char text[];
};

struct batch {
	struct call *call;
	struct bad_copy *bad, **last_bad;
	unsigned n, at;
	uint64_t done; /* position in the rank's files after the last call, in bytes */
	bool ended; /* the files have ended, not only the batch */
};

enum fill_state { FILL_READY, FILL_WAITING, FILL_BEGUN };

struct rank_ahead {
	struct calls *calls;
	struct batch of[2], *now, *other; /* other: the batch that is being filled, or is full */
	enum fill_state state; /* state of `other` */
	/* Position in the queue; link: the pointer to this element. */
	struct rank_ahead *next, **link;
	uint64_t done;
};

struct ahead {
	struct rank_ahead *rank;
	unsigned nrank, size; /* size: calls in a batch */
	ahead_fn *next;
	void *arg;
	struct calls *rows; /* a reader through which copies of bad rows are passed on */
	calls_bad_fn *bad; /* the function that gets the bad rows */
	void *bad_arg;
	pthread_mutex_t lock;
	pthread_cond_t work, filled;
	struct rank_ahead *first, **end; /* ranks whose batches have to be filled */
	unsigned queued, enough; /* enough: the number for which waking a thread is worthwhile */
	bool quit;
	pthread_t *thread;
	unsigned nthread;
};

/* ---- filling ---- */

/* A calls_bad_fn: stores the row for the thread that gets the next call. */
static void keep_bad_row(
	void *arg, struct calls *s, const struct call *c, uint64_t nans, uint64_t infs)
{
	struct batch *b = arg;
	struct bad_copy *k;
	size_t bytes = 0;

	for (int i = 0; i < COLUMNS; i++)
		bytes += calls_get_column(s, (enum column)i)->n;
	k = tool_alloc(sizeof(*k) + bytes);
	k->before = b->n;
	k->call = *c;
	k->nans = nans;
	k->infs = infs;
	bytes = 0;
	for (int i = 0; i < COLUMNS; i++) {
		const struct csv_text *t = calls_get_column(s, (enum column)i);

		k->field[i].at = (uint32_t)bytes;
		k->field[i].n = (uint32_t)t->n;
		memcpy(k->text + bytes, t->s, t->n);
		bytes += t->n;
	}
	*b->last_bad = k;
	b->last_bad = &k->next;
}

static void fill_batch(const struct ahead *a, struct rank_ahead *r)
{
	struct batch *b = r->other;

	b->n = b->at = 0;
	b->bad = NULL;
	b->last_bad = &b->bad;
	r->calls->bad = keep_bad_row;
	r->calls->bad_arg = b;
	while (b->n < a->size && !b->ended) {
		if (a->next(a->arg, r->calls->rank, &b->call[b->n]))
			b->n++;
		else
			b->ended = true;
	}
	b->done = calls_get_bytes_read(r->calls);
}

/* ---- the queue; the lock is held ---- */

static void enqueue_rank(struct ahead *a, struct rank_ahead *r)
{
	r->state = FILL_WAITING;
	r->next = NULL;
	r->link = a->end;
	*a->end = r;
	a->end = &r->next;
	if (++a->queued >= a->enough)
		pthread_cond_signal(&a->work);
}

static void dequeue_rank(struct ahead *a, struct rank_ahead *r)
{
	r->state = FILL_BEGUN;
	*r->link = r->next;
	*(r->next ? &r->next->link : &a->end) = r->link;
	a->queued--;
}

/* Fills the other batch of a queued rank. Releases the lock while it does. */
static void fill_rank(struct ahead *a, struct rank_ahead *r)
{
	dequeue_rank(a, r);
	pthread_mutex_unlock(&a->lock);
	fill_batch(a, r);
	pthread_mutex_lock(&a->lock);
	r->state = FILL_READY;
}

static void *fill_batches(void *arg)
{
	struct ahead *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->quit) {
		if (!a->first) {
			pthread_cond_wait(&a->work, &a->lock);
			continue;
		}
		fill_rank(a, a->first);
		pthread_cond_signal(&a->filled);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- taking ---- */

/* Replaces the empty batch by the full one, and queues the empty one. */
static void swap_batches(struct ahead *a, struct rank_ahead *r)
{
	struct batch *used = r->now;

	pthread_mutex_lock(&a->lock);
	/*
	 * While another thread fills this batch, the next one in the queue is filled here.
	 * Otherwise the joining thread would sleep whenever it is faster than the readers.
	 */
	while (r->state != FILL_READY)
		if (r->state == FILL_WAITING || a->first)
			fill_rank(a, r->state == FILL_WAITING ? r : a->first);
		else
			pthread_cond_wait(&a->filled, &a->lock);
	r->now = r->other;
	r->other = used;
	if (!r->now->ended)
		enqueue_rank(a, r);
	pthread_mutex_unlock(&a->lock);
}

static void pass_bad_rows(struct ahead *a, struct batch *b)
{
	for (struct bad_copy *k; (k = b->bad) && k->before == b->at; free(k)) {
		b->bad = k->next;
		for (int i = 0; i < COLUMNS; i++)
			a->rows->csv.field[i] =
				(struct csv_text){k->text + k->field[i].at, k->field[i].n};
		if (a->bad)
			a->bad(a->bad_arg, a->rows, &k->call, k->nans, k->infs);
	}
}

bool ahead_next(struct ahead *a, uint32_t rank, struct call *out)
{
	struct rank_ahead *r = &a->rank[rank];

	while (r->now->at == r->now->n) {
		r->done = r->now->done;
		if (r->now->ended)
			return false;
		swap_batches(a, r);
	}
	pass_bad_rows(a, r->now);
	*out = r->now->call[r->now->at++];
	return true;
}

uint64_t ahead_done(const struct ahead *a, uint32_t rank)
{
	return a->rank[rank].done;
}

/* ---- start and end ---- */

struct ahead *ahead_begin(
	struct calls *const *reader, unsigned n, ahead_fn *next, void *arg, unsigned threads)
{
	struct ahead *a = tool_alloc(sizeof(*a));

	a->next = next;
	a->arg = arg;
	a->nrank = n;
	a->size = turns_choose_length(n) / 2;
	a->enough = n / 8 > 16 ? 16 : n / 8 + 1;
	a->end = &a->first;
	a->rank = tool_alloc((n + 1) * sizeof(*a->rank));
	a->rows = tool_alloc(sizeof(*a->rows));
	a->bad = n ? reader[0]->bad : NULL;
	a->bad_arg = n ? reader[0]->bad_arg : NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	pthread_cond_init(&a->filled, NULL);
	for (unsigned i = 0; i < n; i++) {
		struct rank_ahead *r = &a->rank[i];

		r->calls = reader[i];
		for (unsigned k = 0; k < 2; k++)
			r->of[k].call = tool_alloc(a->size * sizeof(*r->of[k].call));
		r->now = &r->of[0];
		r->other = &r->of[1];
		enqueue_rank(a, r);
	}
	a->thread = tool_alloc((threads + 1) * sizeof(*a->thread));
	while (a->nthread < threads &&
		pthread_create(&a->thread[a->nthread], NULL, fill_batches, a) == 0)
		a->nthread++;
	return a;
}

static void free_batch(struct batch *b)
{
	for (struct bad_copy *k; (k = b->bad); free(k))
		b->bad = k->next;
	free(b->call);
}

void ahead_end(struct ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->quit = true;
	pthread_cond_broadcast(&a->work);
	pthread_mutex_unlock(&a->lock);
	for (unsigned i = 0; i < a->nthread; i++)
		pthread_join(a->thread[i], NULL);
	for (unsigned i = 0; i < a->nrank; i++) {
		free_batch(&a->rank[i].of[0]);
		free_batch(&a->rank[i].of[1]);
	}
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->work);
	pthread_cond_destroy(&a->filled);
	free(a->rank);
	free(a->rows);
	free(a->thread);
	free(a);
}
