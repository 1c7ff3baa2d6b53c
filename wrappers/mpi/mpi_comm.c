/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators of MPI: registered when they are made, from local queries only. Members are distinguished by their rank in
 * MPI_COMM_WORLD.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/private_stack.h"
#include "call/caller.h"
#include "life/life.h"
#include "wrappers/layout_facts.h"
#include "wrappers/mpi/mpi.h"

/*
 * Writes the world ranks of n members of the communicator's (remote) group to out. Returns false
 * if some are not in MPI_COMM_WORLD (spawned or connected processes).
 */
static bool read_group_members(mpi_handle comm, bool remote, int32_t *out, int n)
{
	uint64_t group = 0;
	int (*get)(mpi_handle, void *) = remote ? mpi.f.comm_remote_group : mpi.f.comm_group;
	int *ranks = malloc((size_t)n * sizeof(*ranks));
	bool ok = ranks && mpi.world_group && get(comm, &group) == 0;

	if (ok) {
		for (int i = 0; i < n; i++)
			ranks[i] = i;
		ok = mpi.f.group_translate_ranks(
			     mpi_get_clean_handle(group), n, ranks, mpi.world_group, out) == 0;
		mpi.f.group_free(&group);
		for (int i = 0; ok && i < n; i++)
			ok = out[i] != (int)mpi.constant[CONST_MPI_UNDEFINED];
	}
	free(ranks);
	return ok;
}

/* Reads how many neighbours this rank has on the new communicator. */
static void read_neighbours(struct comm *c, const char *how, const struct comm *parent)
{
	int n = 0, in = 0, out = 0, weighted = 0;

	if (strncmp(how, "cart", 4) == 0 && mpi.f.cartdim_get(c->handle, &n) == 0) {
		c->indegree = c->outdegree = 2 * n;
	} else if (strcmp(how, "graph") == 0 &&
		   mpi.f.graph_neighbors_count(c->handle, c->rank, &n) == 0) {
		c->indegree = c->outdegree = n;
	} else if (strcmp(how, "dist_graph") == 0 &&
		   mpi.f.dist_graph_neighbors_count(c->handle, &in, &out, &weighted) == 0) {
		c->indegree = in;
		c->outdegree = out;
	} else if (strcmp(how, "dup") == 0 && parent) {
		/* A duplicate has its parent's topology. */
		c->indegree = parent->indegree;
		c->outdegree = parent->outdegree;
	}
}

/*
 * Registers a communicator. parent: NULL if there is none, or if it is not known. tag: tag,
 * colour or a hash of them.
 */
static struct comm *register_mpi_comm(
	uint64_t handle, const struct comm *parent, const char *how, int64_t tag)
{
	mpi_handle h = (mpi_handle)handle;
	int rank, size, inter = 0, remote = 0;

	if (get_layout_state(LAYOUT_MPI_HANDLES) == LAYOUT_FAILED || mpi.f.comm_rank(h, &rank) ||
		mpi.f.comm_size(h, &size) || mpi.f.comm_test_inter(h, &inter) ||
		(inter && mpi.f.comm_remote_size(h, &remote)))
		return NULL;
	if (rank < 0 || rank >= size || remote < 0) {
		session_record_layout_fact(LAYOUT_MPI_HANDLES, false);
		return NULL;
	}

	struct comm *c = comm_alloc((uint32_t)(size + remote));

	if (!c)
		return NULL;
	c->lib = &adapter_mpi;
	c->handle = handle;
	c->kind = how;
	c->rank = rank;
	c->size = size;
	c->remote = remote;
	c->parent = parent ? parent->id : 0;

	bool known = read_group_members(h, false, c->world, size) &&
		     (!inter || read_group_members(h, true, c->world + size, remote));

	if (known) {
		int32_t low[2] = {INT32_MAX, INT32_MAX};

		for (int i = 0; i < size + remote; i++)
			if (c->world[i] < low[i >= size])
				low[i >= size] = c->world[i];
		c->first = low[0] <= low[1];
		c->id = comm_compute_id(c->parent, how, tag, c->world, (uint32_t)size,
			c->world + size, (uint32_t)remote);
	} else {
		/* No members are known: the id must be one that no other communicator can get. */
		c->nworld = 0;
		c->flags |= CF_LOCALCOMM;
		c->id = comm_compute_id(handle, how, (int64_t)comm_get_serial(), NULL, 0, NULL, 0);
	}
	read_neighbours(c, how, parent);
	comm_register(c);
	return comm_find(&adapter_mpi, handle);
}

void mpi_comm_predefined(void)
{
	uint64_t world = (uint64_t)mpi.constant[CONST_MPI_COMM_WORLD], group = 0;
	struct comm *c;
	int flag = 0;

	mpi.world_size = 0;
	/* A program that only uses sessions has neither MPI_COMM_WORLD nor MPI_COMM_SELF. */
	if (mpi.f.initialized(&flag) || !flag || mpi.f.finalized(&flag) || flag)
		return;
	mpi_handle_session_end();
	if (mpi.f.comm_group((mpi_handle)world, &group) == 0)
		mpi.world_group = (mpi_handle)mpi_get_clean_handle(group);
	c = register_mpi_comm(world, NULL, "world", 0);
	session_record_layout_fact(LAYOUT_MPI_HANDLES, c != NULL);
	if (c) {
		strcpy(c->name, "MPI_COMM_WORLD");
		mpi.world_size = c->size;
	}
	c = register_mpi_comm((uint64_t)mpi.constant[CONST_MPI_COMM_SELF], NULL, "self", 0);
	if (c)
		strcpy(c->name, "MPI_COMM_SELF");
}

/*
 * Without MPI_COMM_WORLD the processes are numbered by their set "mpi://WORLD". libprobe gets its
 * own group for this set, because the program frees its own. In a program that never uses that
 * set, each rank's communicators are known only to itself.
 */
void mpi_set_session_group(const struct call *c)
{
	int (*from_pset)(mpi_handle, const char *, void *) =
		(int (*)(mpi_handle, const char *, void *))(uintptr_t)c->real;
	const char *name = call_get_arg(c, ROLE_NAME)->cp;
	int rank, size;
	uint64_t group = 0;

	if (!name || strcasecmp(name, "mpi://WORLD") != 0 || !mpi_load() || mpi.world_group ||
		from_pset((mpi_handle)c->v[0].u, name, &group) != 0)
		return;
	mpi.world_group = (mpi_handle)mpi_get_clean_handle(group);
	mpi.group_of_session = true;
	if (mpi.f.group_rank && mpi.f.group_rank(mpi.world_group, &rank) == 0 && rank >= 0 &&
		mpi.f.group_size(mpi.world_group, &size) == 0)
		session_set_rank(rank, size);
}

void mpi_handle_session_end(void)
{
	uint64_t group = mpi.world_group;

	/* Any session will do: each has the same set. */
	if (!mpi.group_of_session)
		return;
	mpi.group_of_session = false;
	mpi.world_group = 0;
	mpi.f.group_free(&group);
}

struct met {
	uint64_t handle;
	struct comm *comm;
};

static void register_unknown_comm(void *arg)
{
	struct met *m = arg;

	/*
	 * The call that made this communicator was not seen. Its members are known, but not how
	 * it was made, so communicators with equal members may be confused.
	 */
	m->comm = register_mpi_comm(m->handle, NULL, "unknown", 0);
	if (m->comm)
		m->comm->flags |= CF_GUESSED;
}

__attribute__((noinline)) static struct comm *register_unseen_comm(uint64_t h)
{
	struct met m = {h, NULL};

	if (h != (uint64_t)mpi.constant[CONST_MPI_COMM_NULL] && h)
		private_stack_call(register_unknown_comm, &m);
	return m.comm;
}

struct comm *mpi_find_comm(uint64_t handle)
{
	uint64_t h = mpi_get_clean_handle(handle);
	struct comm *c = comm_find(&adapter_mpi, h);

	return __builtin_expect(c != NULL, 1) ? c : register_unseen_comm(h);
}

/*
 * Colour or tag as a number; a string tag by its hash. The tag of an intercommunicator is not
 * used: only its leaders know it.
 */
static int64_t get_comm_tag(const struct call *c)
{
	const union arg *color = call_get_arg(c, ROLE_COLOR), *tag = call_get_arg(c, ROLE_NEWTAG);

	if (color)
		return (int32_t)color->i;
	if (!tag || strcmp(c->api->spec->how, "intercomm") == 0)
		return 0;
	if (c->api->spec->args[c->api->spec->at[ROLE_NEWTAG] - 1].ctype != CT_P)
		return (int32_t)tag->i;

	uint64_t h = 0;

	for (const char *s = tag->cp; s && *s; s++)
		h = h * 31 + (unsigned char)*s;
	return (int64_t)h;
}

/*
 * True for communicators made by MPI itself, which live until MPI ends: freeing them is an error,
 * and they stay in use.
 */
static bool is_predefined_comm(uint64_t handle)
{
	return handle == (uint64_t)mpi.constant[CONST_MPI_COMM_WORLD] ||
	       handle == (uint64_t)mpi.constant[CONST_MPI_COMM_SELF];
}

static bool is_made_by(const struct call *c, const char *const *how)
{
	for (; *how; how++)
		if (strcmp(c->api->spec->how, *how) == 0)
			return true;
	return false;
}

/*
 * Marks where this thread is blocked until all members of the communicator have come. The members
 * of a group are not known here. MPIX_Comm_shrink() does not wait for dead members.
 */
static void start_making_wait(struct call *c)
{
	static const char *const at_once[] = {"parent", NULL};
	static const char *const by_some[] = {"create_group", "shrink", NULL};
	/* In these calls a rank may also wait for ranks outside its communicator. */
	static const char *const with_others[] = {"intercomm", "spawn", "accept", "connect", NULL};
	const union arg *comm = call_get_arg(c, ROLE_COMM);
	struct comm *m;

	if (!mpi_is_ready() || thread_inside()->depth || c->api->spec->completion == DONE_REQUEST ||
		is_made_by(c, at_once))
		return;
	m = comm ? mpi_find_comm(comm->u) : NULL;
	if (m && m->size + m->remote < 2) {
		if (!is_made_by(c, with_others))
			return;
		m = NULL;
	}
	async_wait_for_members(c, is_made_by(c, by_some) ? NULL : m);
}

void mpi_comm_handle_enter(struct call *c)
{
	const union arg *p;
	uint64_t handle;

	switch (c->api->spec->task) {
	case TASK_COMM_NEW:
		c->note.u[0] = comm_get_serial();
		start_making_wait(c);
		break;
	case TASK_COMM_END:
		p = call_get_arg(c, ROLE_COMMP);
		if (!p || !p->cp || !mpi_is_ready())
			break;
		handle = mpi_handle_at(p->cp, 0);
		if (!is_predefined_comm(handle))
			call_set_ending_comm(c, &adapter_mpi, handle);
		break;
	case TASK_COMM_NAME:
		break;
	}
}

static void add_new_mpi_comm(
	const struct comm *parent, const void *at, const char *how, int64_t tag, uint64_t since)
{
	uint64_t h = mpi_handle_at(at, 0);
	const struct comm *known;

	if (h == (uint64_t)mpi.constant[CONST_MPI_COMM_NULL] || !h)
		return;
	/* Added by a call inside this one, or returned before (MPI_Comm_get_parent). */
	known = comm_find(&adapter_mpi, h);
	if (known && (known->serial > since || strcmp(how, "parent") == 0))
		return;
	register_mpi_comm(h, parent, how, tag);
}

void mpi_comm_arrived(const struct comm *parent, const void *at, const char *how)
{
	add_new_mpi_comm(parent, at, how, 0, UINT64_MAX - 1);
}

static void set_comm_inner(const struct call *c, const struct comm *parent, const void *at)
{
	struct comm *m = comm_find(&adapter_mpi, mpi_handle_at(at, 0));

	if (m && m != parent && !m->inner)
		m->inner = (parent && parent->inner) || caller_is_recorded(c);
}

void mpi_comm_handle_leave(struct call *c)
{
	const union arg *comm = call_get_arg(c, ROLE_COMM), *at = call_get_arg(c, ROLE_NEWCOMM);
	const struct api_spec *s = c->api->spec;
	struct comm *parent = NULL, *named;

	/* A communicator from a group is made without MPI_Init, in a session. */
	if (!c->ok || !(mpi_is_ready() || (s->task == TASK_COMM_NEW && mpi_load())))
		return;
	if (s->task == TASK_COMM_NAME) {
		named = comm ? mpi_find_comm(comm->u) : NULL;
		if (named && call_get_arg(c, ROLE_NAME)->cp) {
			strncpy(named->name, call_get_arg(c, ROLE_NAME)->cp,
				sizeof(named->name) - 1);
			named->name[sizeof(named->name) - 1] = 0;
		}
		return;
	}
	if (s->task != TASK_COMM_NEW || !at || !at->cp)
		return;
	/* The groups of an intercommunicator come from different communicators, and only the leaders know the bridge. */
	if (comm && strcmp(s->how, "intercomm"))
		parent = mpi_find_comm(comm->u);
	if (s->completion == DONE_REQUEST) {
		const union arg *req = call_get_arg(c, ROLE_REQUEST);
		uint64_t h = req && req->cp ? mpi_handle_at(req->cp, 0) : 0, end;

		if (h && mpi_request_handle_new(c, h, &end))
			mpi_comm_arrived(parent, at->cp, s->how);
		else if (h)
			async_add_new_comm(c, h, parent, at->p);
		return;
	}
	add_new_mpi_comm(parent, at->cp, s->how, get_comm_tag(c), c->note.u[0]);
	set_comm_inner(c, parent, at->cp);
}
