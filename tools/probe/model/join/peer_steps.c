/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/join/peer_steps.h"

#include <string.h>

#include "base/hash.h"
#include "tools/lib/each.h"
#include "tools/lib/intern.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/join/walk.h"

/* maximum number of operations and messages whose steps are stored */
#define SHARED_MOST (1u << 20)
#define STEPS_MOST (1u << 22) /* maximum number of steps of a rank */

struct shared_call {
	struct table_key key; /* a: communicator */
	uint64_t step;
};

/*
 * Sets *b to a key that both sides of a call have in common. Returns false if no other rank shares
 * the call.
 */
static bool key_of_shared(const struct call *c, uint64_t *b)
{
	const char *op = intern_get_name(c->op);
	bool send = strcmp(op, "send") == 0, recv = strcmp(op, "recv") == 0;
	int64_t from = send ? c->comm_rank : c->peer, to = send ? c->peer : c->comm_rank;

	if (!c->comm || c->comm_seq == NO_NUMBER || c->bits & (CALL_LOCAL | CALL_NESTED))
		return false;
	*b = (uint64_t)c->comm_seq;
	if (!(c->bits & CALL_P2P))
		return true;
	if ((!send && !recv) || c->peer == NO_NUMBER || c->comm_rank == NO_NUMBER)
		return false;
	/* The key of a message differs from the number of any collective. */
	*b = hash_u64(hash_u64(hash_u64(hash_u64(1, (uint64_t)from), (uint64_t)to),
			      c->tag == NO_NUMBER ? 0 : (uint64_t)c->tag),
		     *b) |
	     1ull << 63;
	return true;
}

static void keep_shared_steps(struct table *t, const struct rank_dir *d, const struct overlay *o)
{
	const struct walk_call *c;
	struct walk w;
	uint64_t b;

	walk_calls_of_rank(&w, d, o);
	while ((c = walk_next(&w))) {
		struct shared_call *s =
			key_of_shared(&c->call, &b) ? table_get(t, c->call.comm, b) : NULL;

		/*
		 * The latest step: if ranks run ahead of each other, that of the rank that arrived
		 * last.
		 */
		if (s && c->call.step > s->step)
			s->step = c->call.step;
	}
	walk_close(&w);
}

/*
 * Numbers all calls of a rank. A call that no other rank shares belongs to the step of the previous
 * call.
 */
static void follow_shared_steps(struct rank_dir *d, const struct table *t, const struct overlay *o)
{
	const struct walk_call *c;
	struct round_end *end = NULL, before = {0};
	unsigned n = 0, cap = 0;
	struct walk w;
	uint64_t b;

	walk_calls_of_rank(&w, d, o);
	while ((c = walk_next(&w))) {
		const struct shared_call *s =
			key_of_shared(&c->call, &b) ? table_find(t, c->call.comm, b) : NULL;

		while (s && n < s->step && n < STEPS_MOST) {
			TOOL_GROW(end, n, cap);
			end[n++] = before;
		}
		before = (struct round_end){c->call.start, c->call.seq};
	}
	walk_close(&w);
	d->round = end;
	d->nround = n;
	d->peers_steps = true;
}

static uint64_t bytes_with_steps(const struct folders *f, const struct overlay *const *overlay)
{
	uint64_t all = 0;
	bool any = false;

	for (unsigned i = 0; i < f->n; i++) {
		struct calls s;

		if (!meta_has_steps(&f->dir[i].meta)) {
			any = true;
			continue;
		}
		calls_open(&s, &f->dir[i], i, overlay[i]);
		all += calls_get_bytes(&s);
		calls_close(&s);
	}
	return any ? all : 0;
}

struct steps_of_ranks {
	struct folders *folders;
	const struct overlay *const *overlay;
	const struct table *shared;
	const bool *want;
};

static void follow_steps_of(void *arg, unsigned i)
{
	struct steps_of_ranks *s = arg;
	struct rank_dir *d = &s->folders->dir[i];

	if (!meta_has_steps(&d->meta) && (!s->want || s->want[i]))
		follow_shared_steps(d, s->shared, s->overlay[i]);
}

void number_by_peers(
	struct folders *f, const struct overlay *const *overlay, const struct numbering *how)
{
	uint64_t bytes = bytes_with_steps(f, overlay);
	struct table t;

	if (!bytes || bytes > how->most)
		return;
	table_init(&t, sizeof(struct shared_call), SHARED_MOST);
	for (unsigned i = 0; i < f->n; i++)
		if (meta_has_steps(&f->dir[i].meta))
			keep_shared_steps(&t, &f->dir[i], overlay[i]);
	handle_each_in_threads(f->n, how->threads, follow_steps_of,
		&(struct steps_of_ranks){f, overlay, &t, how->want});
	table_free(&t);
}
