/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/ccl/ccl.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "call/stream.h"
#include "call/stream_values.h"
#include "elf/loaded/object_of.h"
#include "life/life.h"
#include "session/state.h"

/* ---- communicators ---- */

/*
 * Queries rank and size of a communicator that the program uses now. Returns false if they cannot
 * be queried.
 */
static bool read_rank_and_size(
	struct comm *c, uint64_t argument, const struct query *rank_of, const struct query *size_of)
{
	void *size = sibling_find_symbol(c->from, size_of->function);
	void *rank = sibling_find_symbol(c->from, rank_of->function);
	int64_t n, r, code;

	if (!size || !rank)
		return false;
	n = query_read_number(size_of, size, argument, &code);
	if (code || n <= 0 || n > INT32_MAX)
		return false;
	r = query_read_number(rank_of, rank, argument, &code);
	if (code || r < 0 || r >= n)
		return false;
	/* Several threads may store here at once: they store equal values. */
	__atomic_store_n(&c->rank, (int32_t)r, __ATOMIC_RELAXED);
	__atomic_store_n(&c->size, (int32_t)n, __ATOMIC_RELEASE);
	return true;
}

static struct comm *add_ccl_comm(const struct ccl_library *l, uint64_t handle, const void *from,
	const char *how, uint64_t id)
{
	struct comm *c = comm_alloc(0);

	if (!c)
		return NULL;
	c->lib = l->lib;
	c->label = l->lib->label ? l->lib->label(from) : NULL;
	c->from = from;
	c->handle = handle;
	c->kind = how;
	c->id = hash_to_id(id);
	c->rank = c->size = -1;
	return c;
}

/* No other communicator can get this number. */
static uint64_t compute_local_id(const struct ccl_library *l, uint64_t handle)
{
	return comm_compute_id(handle, l->lib->name, (int64_t)comm_get_serial(), NULL, 0, NULL, 0);
}

struct comm *ccl_find_comm(const struct ccl_library *l, uint64_t handle)
{
	return ccl_find_comm_by_argument(l, handle, handle);
}

struct comm *ccl_find_comm_by_argument(
	const struct ccl_library *l, uint64_t handle, uint64_t argument)
{
	struct comm *c = handle ? comm_find(l->lib, handle) : NULL;

	if (!c && handle)
		c = comm_arrived(l->lib, handle);
	if (c && __atomic_load_n(&c->size, __ATOMIC_ACQUIRE) <= 0 &&
		!read_rank_and_size(c, argument, &l->rank, &l->size))
		return NULL;
	if (c || !handle)
		return c;
	/* The call that made this communicator was not seen. */
	c = add_ccl_comm(l, handle, NULL, "unknown", compute_local_id(l, handle));
	if (!c)
		return NULL;
	c->flags |= CF_LOCALCOMM;
	if (!read_rank_and_size(c, argument, &l->rank, &l->size)) {
		comm_remove_user(c);
		return NULL;
	}
	comm_register(c);
	return comm_find(l->lib, handle);
}

struct comm *ccl_find_group(const struct ccl_library *l, const void *real, const char *name,
	const struct query *rank, const struct query *size)
{
	uint64_t h = name ? hash_str(hash_str(0, l->lib->name), name) : 0;
	struct comm *c = h ? comm_find(l->lib, h) : NULL;

	if (c || !h)
		return c;
	c = add_ccl_comm(l, h, real, "group", h);
	if (!c)
		return NULL;
	snprintf(c->name, sizeof(c->name), "%s", name);
	if (!read_rank_and_size(c, (uint64_t)(uintptr_t)name, rank, size)) {
		comm_remove_user(c);
		return NULL;
	}
	comm_register(c);
	return comm_find(l->lib, h);
}

/*
 * Hash of the unique id, of several ids in a row, or of the file that replaces it. Returns 0 if
 * the call has none.
 */
static uint64_t compute_unique_id_hash(const struct ccl_library *l, const struct call *c)
{
	const union arg *id = call_get_arg(c, ROLE_ID), *n = call_get_arg(c, ROLE_NITEMS);
	uint64_t h = hash_str(0, l->lib->name), word, left;
	const union arg *file = call_get_arg(c, ROLE_NAME);
	const char *p = id ? id->cp : NULL;

	if (!p)
		return file && file->cp ? hash_str(h, file->cp) : 0;
	for (left = l->id_bytes * (uint64_t)(n ? n->i : 1); left; left -= left < 8 ? left : 8) {
		word = 0;
		memcpy(&word, p, left < 8 ? left : 8);
		h = hash_u64(h, word);
		p += 8;
	}
	return h;
}

static bool numbered_by_parent(const struct ccl_library *l, const char *how)
{
	for (const char *const *p = l->parent; *p; p++)
		if (strcmp(*p, how) == 0)
			return true;
	return false;
}

/*
 * True if the call's colour is a number that the program chose to be unique, instead of the
 * colour of one part of many.
 */
static bool color_is_wide(const struct call *c)
{
	int i = c->api->spec->at[ROLE_COLOR];

	return i && c->api->spec->args[i - 1].ctype == CT_U64;
}

/* The number of a communicator made from another one; 0 if its members cannot agree on one. */
static uint64_t compute_child_hash(
	const struct ccl_library *l, const struct call *c, const struct comm *parent)
{
	const union arg *color = call_get_arg(c, ROLE_COLOR), *list = call_get_arg(c, ROLE_ITEMS),
			*n = call_get_arg(c, ROLE_NITEMS);
	const char *how = c->api->spec->how;
	uint64_t h = parent ? hash_str(parent->id, how) : 0;

	if (!parent || !numbered_by_parent(l, how))
		return 0;
	h = hash_u64(h, !color ? 0 : color_is_wide(c) ? color->u : (uint32_t)color->i);
	for (int64_t i = 0; list && list->cp && n && i < n->i; i++)
		h = hash_u64(h, (uint32_t)((const int *)list->cp)[i]);
	return hash_u64(h, c->note.u[0]);
}

/*
 * Registers the communicators of all devices driven by one thread, none of which represents a
 * rank of the job.
 */
static void register_all_ccl_comms(
	const struct ccl_library *l, const struct call *c, const uint64_t *handles, int n)
{
	uint64_t id = n > 0 ? compute_local_id(l, handles[0]) : 0;

	for (int i = 0; i < n; i++) {
		struct comm *m = add_ccl_comm(l, handles[i], c->real, c->api->spec->how, id);

		if (!m)
			return;
		m->flags |= CF_LOCALCOMM;
		m->rank = i;
		m->size = n;
		comm_register(m);
	}
}

/* Handle of the communicator passed to the call, by value or by pointer; 0 if there is none. */
static uint64_t get_parent_handle(const struct call *c)
{
	const union arg *comm = call_get_arg(c, ROLE_COMM), *at = call_get_arg(c, ROLE_COMMP);

	return comm ? comm->u : at && at->cp ? *(const uint64_t *)at->cp : 0;
}

static void register_ccl_comm(const struct ccl_library *l, struct call *c)
{
	const char *how = c->api->spec->how;
	const union arg *at = call_get_arg(c, ROLE_NEWCOMM), *size = call_get_arg(c, ROLE_NRANKS),
			*rank = call_get_arg(c, ROLE_RANK), *color = call_get_arg(c, ROLE_COLOR),
			*list = call_get_arg(c, ROLE_ITEMS);
	uint64_t from = get_parent_handle(c), handle, id;
	struct comm *parent = from ? comm_find(l->lib, from) : NULL, *m;

	if (!c->ok || !at || !at->cp)
		return;
	/* This rank is no member of the new communicator. */
	if (color && (color_is_wide(c) ? list && !list->cp : (int32_t)color->i < 0))
		return;
	handle = *(const uint64_t *)at->cp;
	/*
	 * The call has neither an id nor a parent: the new communicators, in an array, are all of
	 * this process.
	 */
	if (!from && !call_get_arg(c, ROLE_ID) && !call_get_arg(c, ROLE_NAME)) {
		register_all_ccl_comms(l, c, at->cp, size ? (int)size->i : 0);
		return;
	}
	id = from ? compute_child_hash(l, c, parent) : compute_unique_id_hash(l, c);
	m = add_ccl_comm(l, handle, c->real, how, id ? id : compute_local_id(l, handle));
	if (!m)
		return;
	if (!id)
		m->flags |= CF_LOCALCOMM;
	m->parent = parent ? parent->id : 0;
	if (size && rank && (int32_t)rank->i >= 0) {
		m->rank = (int32_t)rank->i;
		m->size = (int32_t)size->i;
		if (!from)
			session_set_guessed_rank(m->rank, m->size);
	}
	if (session.rank_guessed && session.world_rank == m->rank && !from)
		m->flags |= CF_GUESSED;
	/* In a group, or without blocking, the new communicators become available later. */
	if (handle)
		comm_register(m);
	else
		comm_register_expected(m, at->cp);
}

/* ---- windows ---- */

struct comm *ccl_find_window(const struct ccl_library *l, uint64_t handle, uint64_t comm)
{
	if (!handle || (!comm_find(l->lib, handle) && !comm_arrived(l->lib, handle)))
		return NULL;
	return ccl_find_comm_by_argument(l, handle, comm);
}

/*
 * Before the call: all members make a window, in the same order, so the number of earlier splits
 * and windows of the communicator is the same on all ranks and serves to number it.
 */
static void register_ccl_window(const struct ccl_library *l, const struct call *c, int64_t ret)
{
	const union arg *at = call_get_arg(c, ROLE_NEWWIN);
	const char *how = c->api->spec->how;
	uint64_t from = get_parent_handle(c), handle;
	struct comm *parent = from ? comm_find(l->lib, from) : NULL, *w;
	bool later = stream_in_group(c) || (l->lib->in_progress && ret == l->lib->in_progress);

	if (!c->ok || !at || !at->cp)
		return;
	handle = *(const uint64_t *)at->cp;
	/* The library returns success with a NULL handle if the hardware has no windows. */
	if (!handle && !later)
		return;
	w = add_ccl_comm(l, handle, c->real, how,
		parent ? hash_u64(hash_str(parent->id, how), c->note.u[0])
		       : compute_local_id(l, handle));
	if (!w)
		return;
	w->flags = parent ? parent->flags : CF_LOCALCOMM;
	w->parent = parent ? parent->id : 0;
	if (parent && __atomic_load_n(&parent->size, __ATOMIC_ACQUIRE) > 0) {
		w->rank = parent->rank;
		w->size = parent->size;
	}
	if (handle) {
		comm_register(w);
		return;
	}
	w->perhaps = true;
	comm_register_expected(w, at->cp);
}

/* ---- calls ---- */

static void set_ending_window(const struct ccl_library *l, struct call *c)
{
	const union arg *win = call_get_arg(c, ROLE_WIN), *at = call_get_arg(c, ROLE_WINP);
	uint64_t handle = win ? win->u : at && at->cp ? *(const uint64_t *)at->cp : 0;

	if (handle)
		call_set_ending_comm(c, l->lib, handle);
}

void ccl_handle_enter(const struct ccl_library *l, struct call *c)
{
	uint64_t from = get_parent_handle(c);
	struct comm *m = from ? comm_find(l->lib, from) : NULL;

	switch (c->api->spec->task) {
	case TASK_COMM_NEW:
		stream_init_device();
		/* All ranks of the parent take part in a split, even those that will not be in any part. */
		if (m)
			c->note.u[0] = atomic_fetch_add(
				call_get_arg(c, ROLE_COLOR) ? &m->splits : &m->others, 1);
		break;
	case TASK_COMM_END:
		if (from)
			call_set_ending_comm(c, l->lib, from);
		break;
	case TASK_WIN_NEW:
		if (m)
			c->note.u[0] = atomic_fetch_add(&m->splits, 1);
		break;
	case TASK_WIN_END:
		set_ending_window(l, c);
		break;
	}
}

void ccl_handle_leave(const struct ccl_library *l, struct call *c, int64_t ret)
{
	if (c->api->spec->task == TASK_COMM_NEW) {
		stream_init_device();
		register_ccl_comm(l, c);
	} else if (c->api->spec->task == TASK_WIN_NEW)
		register_ccl_window(l, c, ret);
	else if (c->api->spec->task == TASK_GROUP_END)
		comm_arrived(l->lib, 0);
}
