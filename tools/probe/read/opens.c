/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/read/opens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "journal/inspect.h"
#include "tools/probe/intern.h"
#include "tools/probe/tool.h"

#define OPENS_MAX 1000000u

void opens_init(struct opens *o)
{
	*o = (struct opens){.now = clock_ns(CLOCK_REALTIME)};
}

void opens_free(struct opens *o)
{
	free(o->call);
}

/* The moment up to which an open call of that process is known to have gone on. */
static uint64_t until(const struct opens *o, const struct rank_dir *dir)
{
	if (dir->state == RANK_RUNNING)
		return o->now;
	return dir->alive_ns > dir->last_ns ? dir->alive_ns : dir->last_ns;
}

static void add(struct opens *o, const struct rank_dir *dir, struct open_call *c)
{
	uint64_t end = until(o, dir);

	if (o->n == OPENS_MAX) {
		o->full = true;
		return;
	}
	c->age = end > c->call.start ? end - c->call.start : 0;
	/* A process that ended while a thread was inside a call was torn out of it (MPI_Abort, a launcher that gave up). */
	c->ended_ok = dir->state == RANK_FINISHED && c->call.bits & CALL_ASYNC;
	TOOL_GROW(o->call, o->n, o->cap);
	o->call[o->n++] = *c;
}

void opens_row(struct opens *o, const struct rank_dir *dir, const struct call *c)
{
	struct open_call now = {.call = *c};

	add(o, dir, &now);
}

struct look {
	struct opens *o;
	const struct rank_dir *dir;
	uint32_t rank;
	bool calls;
};

static int64_t or_none(int64_t v, bool none)
{
	return none ? NO_NUMBER : v;
}

static void seen(void *arg, const struct inspect_call *c)
{
	struct look *l = arg;
	struct open_call now = {.waiting = c->waiting};

	if (!c->waiting && !l->calls)
		return;
	now.call = (struct call){
		.rank = l->rank,
		.lib = intern(c->lib, strlen(c->lib)),
		.api = intern(c->api, strlen(c->api)),
		.op = intern(c->op, strlen(c->op)),
		.bits = CALL_OPEN | (c->async ? CALL_ASYNC : 0),
		.stack = c->stack,
		.thread = c->tid,
		.step = c->step,
		.seq = c->seq,
		.comm = c->comm,
		.comm_seq = or_none(c->comm_seq, c->comm_seq == JOURNAL_NONE64),
		.comm_rank = or_none(c->rank, c->rank < 0),
		.size = or_none(c->size, c->size < 0),
		.root = or_none(c->root, c->root == JOURNAL_NONE),
		.peer = or_none(c->peer, c->peer == JOURNAL_NONE),
		.tag = or_none(c->tag, c->tag == JOURNAL_NONE),
		.start = c->start_ns,
	};
	if (now.call.peer != NO_NUMBER || now.call.tag != NO_NUMBER)
		now.call.bits |= CALL_P2P;
	if (c->flags & CF_LOCALCOMM)
		now.call.bits |= CALL_LOCAL;
	add(l->o, l->dir, &now);
}

char *opens_journal(struct opens *o, const struct rank_dir *dir, uint32_t rank, bool calls)
{
	struct look l = {.o = o, .dir = dir, .rank = rank, .calls = calls};
	struct journal j;
	int err;

	if (!dir->journal)
		return NULL;
	err = journal_open(&j, AT_FDCWD, dir->journal, true);
	if (err == -EPROTO)
		return tool_strdup("the journal is one of another version of libprobe: open calls "
				   "are not shown");
	/* It may have ended a moment ago, or be about to begin. */
	if (err == -ENOENT || err == -ENODATA)
		return NULL;
	if (err)
		return tool_format("the journal: %s: open calls are not shown",
			err == -EINVAL ? "damaged" : strerror(-err));
	inspect_open(&j, seen, &l);
	journal_close(&j);
	return NULL;
}

static int by_rank(const void *x, const void *y)
{
	const struct open_call *a = x, *b = y;

	if (a->call.rank != b->call.rank)
		return a->call.rank < b->call.rank ? -1 : 1;
	if (a->call.start != b->call.start)
		return a->call.start < b->call.start ? -1 : 1;
	return a->call.seq < b->call.seq ? -1 : a->call.seq > b->call.seq;
}

void opens_sort(struct opens *o)
{
	if (o->n)
		qsort(o->call, o->n, sizeof(*o->call), by_rank);
}
