/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL and the libraries with its interface: communicators, and what the numbers of its enums mean. Groups and streams
 * are the core's (call/stream.c).
 *
 * A communicator starts from a unique id that all its ranks were given, so the hash of that id is its number. Of a
 * part of one all members know the parent, the colour, and how often the parent was split before. Its rank and size
 * may be asked for only when it is complete, which nobody tells us: that is when the program first uses it.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "call/call.h"
#include "call/comm.h"
#include "entry/sibling.h"
#include "nccl_gen.h"
#include "session.h"

#define ID_BYTES 128

typedef int query_fn(void *comm, int *out);

static const char *label(const void *real)
{
	char file[16];

	return strncmp(sibling_file(real, file, sizeof(file)), "librccl", 7) ? "nccl" : "rccl";
}

/* ---- communicators ---- */

/* Rank and size of a communicator that the program uses now. False: it cannot be asked. */
static bool complete(struct comm *c)
{
	query_fn *count = (query_fn *)sibling_symbol(c->from, "ncclCommCount");
	query_fn *rank = (query_fn *)sibling_symbol(c->from, "ncclCommUserRank");
	int n, r;

	if (!count || !rank || count((void *)c->handle, &n) || rank((void *)c->handle, &r))
		return false;
	/* Threads that come here together write the same. */
	__atomic_store_n(&c->rank, r, __ATOMIC_RELAXED);
	__atomic_store_n(&c->size, n, __ATOMIC_RELEASE);
	return true;
}

static struct comm *new_comm(uint64_t handle, const void *from, const char *how, uint64_t id)
{
	struct comm *c = comm_alloc(0);

	if (!c)
		return NULL;
	c->lib = &lib_nccl;
	c->label = label(from);
	c->from = from;
	c->handle = handle;
	c->kind = how;
	c->id = id ? id : 1;
	c->rank = c->size = -1;
	return c;
}

/* Nobody else can arrive at this number. */
static uint64_t local_id(uint64_t handle)
{
	return comm_make_id(handle, "nccl", (int64_t)comm_serial(), NULL, 0, NULL, 0);
}

static struct comm *comm(uint64_t handle)
{
	struct comm *c = handle ? comm_find(&lib_nccl, handle) : NULL;

	if (!c && handle)
		c = comm_arrived(&lib_nccl, handle);
	if (c && __atomic_load_n(&c->size, __ATOMIC_ACQUIRE) <= 0 && !complete(c))
		return NULL;
	if (c || !handle)
		return c;
	/* Made in a way that was not seen. */
	c = new_comm(handle, NULL, "unknown", local_id(handle));
	if (!c)
		return NULL;
	c->flags |= CF_LOCALCOMM;
	if (!complete(c)) {
		comm_release(c);
		return NULL;
	}
	comm_publish(c);
	return comm_find(&lib_nccl, handle);
}

static uint64_t unique_id(const struct call *c)
{
	const union arg *id = call_arg(c, ROLE_ID), *n = call_arg(c, ROLE_NITEMS);
	uint64_t h = hash_str(0, "nccl"), word;

	for (int64_t i = 0; i < ID_BYTES / 8 * (n ? n->i : 1); i++) {
		memcpy(&word, (const char *)id->cp + 8 * i, 8);
		h = hash_u64(h, word);
	}
	return h;
}

/* The number of what comes of a communicator. 0: its members cannot agree on one. */
static uint64_t child_id(const struct call *c, const struct comm *parent)
{
	const union arg *color = call_arg(c, ROLE_COLOR), *list = call_arg(c, ROLE_ITEMS),
			*n = call_arg(c, ROLE_NITEMS);
	uint64_t h = parent ? hash_str(parent->id, c->api->spec->how) : 0;

	/* Ranks that are added know the new id only, most of the old ones the parent only. */
	if (!parent || strcmp(c->api->spec->how, "grow") == 0)
		return 0;
	h = hash_u64(h, color ? (uint32_t)color->i : 0);
	for (int64_t i = 0; list && list->cp && i < n->i; i++)
		h = hash_u64(h, (uint32_t)((const int *)list->cp)[i]);
	return hash_u64(h, c->note.u[0]);
}

static void say_version(const void *from)
{
	int (*get)(int *) = (int (*)(int *))sibling_symbol(from, "ncclGetVersion");
	static atomic_flag said = ATOMIC_FLAG_INIT;
	char text[32];
	int v;

	if (!get || atomic_flag_test_and_set(&said) || get(&v))
		return;
	snprintf(text, sizeof(text), "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	session_library(label(from), text);
}

/* The communicators of all devices that one thread drives: it stands for no rank of the job. */
static void learn_all(const struct call *c, const uint64_t *handles, int n)
{
	uint64_t id = local_id(handles[0]);

	for (int i = 0; i < n; i++) {
		struct comm *m = new_comm(handles[i], c->real, "init_all", id);

		if (!m)
			return;
		m->flags |= CF_LOCALCOMM;
		m->rank = i;
		m->size = n;
		comm_publish(m);
	}
}

static void learn(struct call *c)
{
	const char *how = c->api->spec->how;
	const union arg *at = call_arg(c, ROLE_NEWCOMM), *size = call_arg(c, ROLE_NRANKS),
			*rank = call_arg(c, ROLE_RANK), *from = call_arg(c, ROLE_COMM),
			*color = call_arg(c, ROLE_COLOR);
	const void *real = c->real;
	struct comm *parent = from && from->u ? comm_find(&lib_nccl, from->u) : NULL, *m;
	uint64_t handle, id;

	if (!c->ok || !at->cp || (color && (int32_t)color->i < 0))
		return;
	handle = *(const uint64_t *)at->cp;
	say_version(real);
	if (strcmp(how, "init_all") == 0) {
		learn_all(c, at->cp, (int)size->i);
		return;
	}
	id = from ? child_id(c, parent) : unique_id(c);
	m = new_comm(handle, real, how, id ? id : local_id(handle));
	if (!m)
		return;
	if (!id)
		m->flags |= CF_LOCALCOMM;
	m->parent = parent ? parent->id : 0;
	if (size && rank && (int32_t)rank->i >= 0) {
		m->rank = (int32_t)rank->i;
		m->size = (int32_t)size->i;
		if (!from)
			session_rank_guess(m->rank, m->size);
	}
	if (session.rank_guessed && session.world_rank == m->rank && !from)
		m->flags |= CF_GUESSED;
	/* In a group, or without blocking, the parts of a communicator are there later. */
	if (handle)
		comm_publish(m);
	else
		comm_expect(m, at->cp);
}

static void enter(struct call *c)
{
	const union arg *from = call_arg(c, ROLE_COMM);
	struct comm *m = from ? comm_find(&lib_nccl, from->u) : NULL;

	switch (c->api->spec->task) {
	case TASK_COMM_NEW:
		/* Of a split every rank of the parent takes part, also one that will not be in any part. */
		if (m)
			c->note.u[0] = atomic_fetch_add(
				call_arg(c, ROLE_COLOR) ? &m->splits : &m->others, 1);
		break;
	case TASK_COMM_END:
		/* Before the real call: behind it another thread may be given the same handle anew. */
		comm_drop(&lib_nccl, from->u);
		break;
	}
}

static void leave(struct call *c, int64_t ret)
{
	(void)ret;
	if (c->api->spec->task == TASK_COMM_NEW)
		learn(c);
	else if (c->api->spec->task == TASK_GROUP_END)
		comm_arrived(&lib_nccl, 0);
}

/* ---- values ---- */

static uint8_t value(const struct spec_value *row, size_t n, uint64_t v, uint8_t other)
{
	for (; n; n--, row++)
		if (row->value == (int32_t)v)
			return row->to;
	return other;
}

static void dtype(uint64_t v, struct dtype_desc *d)
{
	d->dtype = value(nccl_dtypes, sizeof(nccl_dtypes) / sizeof(*nccl_dtypes), v, DT_OTHER);
	d->size = dtype_info(d->dtype)->size;
	d->extent = (int64_t)d->size;
}

static enum redop redop(uint64_t v)
{
	return value(nccl_redops, sizeof(nccl_redops) / sizeof(*nccl_redops), v, REDOP_USER);
}

const struct lib lib_nccl = {
	LIB_NCCL_SPEC,
	.label = label,
	.comm = comm,
	.dtype = dtype,
	.redop = redop,
	.enter = enter,
	.leave = leave,
};
