/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows and files of MPI. Each is in the table of communicators, with its members and its own
 * number, so that calls on it are matched between ranks like collectives on a communicator.
 *
 * Data read by a one-sided call is in its buffer when the window is synchronised for its target.
 * Until then the call is asynchronous, with a key made from window and target. Pending calls of a
 * window are counted, so that a synchronisation without any does not search for them.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "wrappers/mpi/mpi.h"

/* MPI_File is a pointer in every implementation, MPI_Win a handle like others. */
struct comm *mpi_find_window(uint64_t handle)
{
	struct comm *c = comm_find(&adapter_mpi, handle);

	return c || mpi_get_clean_handle(handle) == handle
		       ? c
		       : comm_find(&adapter_mpi, mpi_get_clean_handle(handle));
}

bool mpi_is_file(const struct api_spec *s)
{
	return strncmp(s->symbol, "MPI_File", 8) == 0 || strncmp(s->symbol, "PMPI_File", 9) == 0;
}

static uint64_t window_handle_at(const struct call *c, const void *at)
{
	return mpi_is_file(c->api->spec) ? *(const uint64_t *)at : mpi_handle_at(at, 0);
}

void mpi_window_handle_enter(struct call *c)
{
	const union arg *comm = call_get_arg(c, ROLE_COMM), *end = call_get_arg(c, ROLE_WINP);
	struct comm *parent;

	if (!mpi_is_ready())
		return;
	if (c->api->spec->task == TASK_WIN_END) {
		/*
		 * MPI_File_delete() has no handle; it is watched only so that its inner calls do
		 * not count as the program's.
		 */
		if (end && end->cp)
			call_set_ending_comm(c, &adapter_mpi, window_handle_at(c, end->cp));
		return;
	}
	/*
	 * All members make a window or file, so the number made before from a communicator is the
	 * same on all of them.
	 */
	parent = comm ? mpi_find_comm(comm->u) : NULL;
	c->note.u[0] = parent ? atomic_fetch_add(&parent->others, 1) : 0;
}

static void set_file_name(struct comm *w, const char *path)
{
	const char *last = path ? strrchr(path, '/') : NULL;

	snprintf(w->name, sizeof(w->name), "%s", last ? last + 1 : path ? path : "");
}

void mpi_window_handle_leave(struct call *c)
{
	const union arg *comm = call_get_arg(c, ROLE_COMM), *at = call_get_arg(c, ROLE_NEWWIN),
			*name = call_get_arg(c, ROLE_NAME);
	const char *how = c->api->spec->how;
	struct comm *parent, *w;
	uint64_t handle;

	if (!c->ok || !mpi_is_ready() || !comm || !at || !at->cp)
		return;
	parent = mpi_find_comm(comm->u);
	handle = window_handle_at(c, at->cp);
	if (!parent || !handle)
		return;
	w = comm_alloc(parent->nworld);
	if (!w)
		return;
	w->lib = &adapter_mpi;
	w->handle = handle;
	w->kind = how;
	w->rank = parent->rank;
	w->size = parent->size;
	w->flags = parent->flags;
	w->parent = parent->id;
	w->first = parent->first;
	w->indegree = w->outdegree = -1;
	memcpy(w->world, parent->world, parent->nworld * sizeof(*w->world));
	w->id = comm_compute_id(
		parent->id, how, (int64_t)c->note.u[0], w->world, parent->nworld, NULL, 0);
	if (name)
		set_file_name(w, name->cp);
	comm_register(w);
}

/* ---- reads ---- */

static uint64_t compute_reading_key(const struct comm *w, int32_t peer)
{
	/*
	 * Bit 63 keeps these keys apart from requests of any library, which are addresses of user
	 * space, or 32-bit numbers.
	 */
	return hash_u64(w->id, (uint32_t)peer) | UINT64_C(1) << 63;
}

/*
 * The key of a split collective on a file, of which at most one is pending (MPI 4.1, 14.4.5). -1
 * is not a target of any window.
 */
uint64_t mpi_get_split_key(const struct comm *file)
{
	return compute_reading_key(file, -1);
}

static void close_reading(struct call *c, struct comm *w, int32_t peer)
{
	while (atomic_load_explicit(&w->reading, memory_order_relaxed) &&
		async_record_done_by_key(
			c, compute_reading_key(w, peer), c->start, c->end, 0, 0, 0, NULL, NULL))
		atomic_fetch_sub_explicit(&w->reading, 1, memory_order_relaxed);
}

static void close_all_reading(struct call *c, struct comm *w)
{
	for (int32_t i = 0; i < w->size && atomic_load_explicit(&w->reading, memory_order_relaxed);
		i++)
		close_reading(c, w, i);
}

/*
 * True if `op` completes reads of this rank; false for locks, and for the functions of a target
 * (post, wait).
 */
static bool is_reading_completed(const char *op)
{
	return strcmp(op, "win_fence") == 0 || strcmp(op, "win_unlock") == 0 ||
	       strcmp(op, "win_flush") == 0 || strcmp(op, "win_complete") == 0;
}

void mpi_window_handle_data(struct call *c)
{
	const struct api_spec *s = c->api->spec;
	struct comm *w = c->op.comm;

	if (!w || mpi_is_file(c->api->spec))
		return;
	if (c->op.nout) {
		if (s->at[ROLE_REQUEST] || !c->rec || c->op.peer < 0)
			return;
		async_started(c, compute_reading_key(w, c->op.peer), false);
		if (c->async)
			atomic_fetch_add_explicit(&w->reading, 1, memory_order_relaxed);
		return;
	}
	if (!atomic_load_explicit(&w->reading, memory_order_relaxed) || s->kind->nin ||
		!is_reading_completed(s->kind->op))
		return;
	if (c->op.peer >= 0)
		close_reading(c, w, c->op.peer);
	else
		close_all_reading(c, w);
}
