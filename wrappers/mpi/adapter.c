/* SPDX-License-Identifier: Apache-2.0 */
/* MPI's adapter: when MPI may be called, and which file handles which call. */
#include "api/enabled.h"
#include "call/step.h"
#include "elf/loaded/elfsym.h"
#include "life/last_words.h"
#include "life/life.h"
#include "resolve/real.h"
#include "entry/stubs/hook_jump.h"
#include "session/state.h"
#include "base/thread.h"
#include "wrappers/mpi/mpi.h"
#include "writer/writer.h"

static int get_peer(int64_t value)
{
	int32_t v = (int32_t)value;

	return v == mpi.constant[CONST_MPI_PROC_NULL]	 ? PEER_NULL
	       : v == mpi.constant[CONST_MPI_ANY_SOURCE] ? PEER_ANY
							 : v;
}

static enum root_is get_root_role(const struct comm *c, int64_t value, int *rank)
{
	int32_t v = (int32_t)value;

	if (!c || !c->remote) {
		*rank = v;
		return c && v == c->rank ? ROOT_ME : ROOT_OTHER;
	}
	if (v == mpi.constant[CONST_MPI_ROOT]) {
		*rank = c->rank;
		return ROOT_ME;
	}
	if (v == mpi.constant[CONST_MPI_PROC_NULL]) {
		*rank = JOURNAL_NONE;
		return ROOT_IDLE;
	}
	*rank = v;
	return ROOT_OTHER;
}

static void mpi_started(void)
{
	int rank, size;
	uint64_t world;

	if (!mpi_load())
		return;
	/* A session was started before MPI_Init, and MPI_COMM_WORLD exists only from now on. */
	if (!mpi.world_size)
		mpi_comm_predefined();
	world = (uint64_t)mpi.constant[CONST_MPI_COMM_WORLD];
	if (mpi.f.comm_rank((mpi_handle)world, &rank) == 0 &&
		mpi.f.comm_size((mpi_handle)world, &size) == 0)
		session_set_rank(rank, size);
}

static void handle_finalize(void)
{
	record_finalized();
	if (session_is_on())
		write_last_words();
	/* Writes recorded data while MPI still works; libprobe does not call MPI afterwards. */
	session_flush();
	if (atomic_exchange(&mpi.state, MPI_OVER) == MPI_ACTIVE && mpi.world_group) {
		uint64_t g = mpi.world_group;

		mpi.f.group_free(&g);
	}
}

/* A blocking probe is treated like a Wait. */
static void handle_probe_begin(struct call *c)
{
	const struct comm *comm;
	int64_t tag = call_get_arg(c, ROLE_TAG)->i;
	int peer = get_peer(call_get_arg(c, ROLE_PEER)->i);

	if (call_get_arg(c, ROLE_FLAG) || peer == PEER_NULL || !mpi_is_ready())
		return;
	comm = mpi_find_comm(call_get_arg(c, ROLE_COMM)->u);
	async_wait_for_message(c, comm && comm->remote ? NULL : comm,
		peer < 0 ? JOURNAL_NONE : peer, tag < 0 ? JOURNAL_NONE : (int32_t)tag);
}

/* A probe has no row of its own: its time goes to the receive that follows. */
static void handle_probe_return(struct call *c)
{
	async_wait_end(c);
	if (c->t && c->t == thread_inside()->recorder && !call_get_arg(c, ROLE_FLAG))
		c->t->probed += c->end - c->start;
}

static void handle_mpi_begin(struct call *c)
{
	switch (c->api->spec->task) {
	case TASK_DATA:
		mpi_data_handle_enter(c);
		break;
	case TASK_WAIT:
	case TASK_TEST:
	case TASK_START:
	case TASK_REQUEST:
		mpi_request_handle_enter(c);
		break;
	case TASK_PROBE:
	case TASK_MATCH:
		handle_probe_begin(c);
		break;
	case TASK_COMM_NEW:
	case TASK_COMM_END:
		mpi_comm_handle_enter(c);
		break;
	case TASK_WIN_NEW:
	case TASK_WIN_END:
		mpi_window_handle_enter(c);
		break;
	case TASK_FINALIZE:
		if (c->api->spec->nargs)
			mpi_handle_session_end();
		else
			handle_finalize();
		break;
	case TASK_ABORT:
		record_abort(c->api->spec->symbol, (int)c->v[c->api->spec->nargs - 1].i, 0);
		session_end();
		break;
	}
}

static void handle_mpi_return(struct call *c, int64_t ret)
{
	switch (c->api->spec->task) {
	case TASK_DATA:
		mpi_data_handle_leave(c);
		break;
	case TASK_WAIT:
	case TASK_TEST:
	case TASK_START:
	case TASK_REQUEST:
		mpi_request_handle_leave(c, ret);
		break;
	case TASK_COMM_NEW:
		async_wait_end(c);
		mpi_comm_handle_leave(c);
		break;
	case TASK_COMM_NAME:
		mpi_comm_handle_leave(c);
		break;
	case TASK_WIN_NEW:
		mpi_window_handle_leave(c);
		break;
	case TASK_PROBE:
		handle_probe_return(c);
		break;
	case TASK_MATCH:
		handle_probe_return(c);
		mpi_match_leave(c);
		break;
	case TASK_INIT:
		if (c->ok && call_get_arg(c, ROLE_NAME))
			mpi_set_session_group(c);
		else if (c->ok)
			mpi_started();
		break;
	}
}

static void (*const mpi_fork_handlers[])(void) = {mpi_data_forked, NULL};

const struct adapter adapter_mpi = {
	LIB_MPI_SPEC,
	.ready = mpi_is_ready,
	.comm = mpi_find_comm,
	.window = mpi_find_window,
	.dtype = mpi_find_dtype,
	.redop = mpi_find_redop,
	.reads_nothing = mpi_is_no_op,
	.in_place = &mpi.constant[CONST_MPI_IN_PLACE],
	.peer = get_peer,
	.root = get_root_role,
	.handle_at = mpi_handle_at,
	.enter = handle_mpi_begin,
	.leave = handle_mpi_return,
	.fork_handlers = mpi_fork_handlers,
};

/* MPI_Pcontrol has variable arguments, so it is observed and jumped to (pcontrol.S). */

struct tail mpi_handle_pcontrol(int level);
struct tail mpi_handle_ppcontrol(int level);

static void handle_pcontrol(int level)
{
	thread_state.busy++;
	if (recording_enabled() && session_configure()) {
		if (level == 2)
			step_end(STEP_PCONTROL);
		else if (level == 0 || level == 1)
			generation_pause(level == 0);
	}
	thread_state.busy--;
}

/*
 * A tool between libprobe and MPI may call PMPI_Pcontrol from its MPI_Pcontrol; that inner call
 * must not count as a second mark.
 */
static THREAD_OWN int goes_on;

struct tail mpi_handle_pcontrol(int level)
{
	struct provider outer, inner;
	bool tool = elfsym_find_after_us("MPI_Pcontrol", &outer, 1) &&
		    elfsym_find_after_us("PMPI_Pcontrol", &inner, 1) && outer.lo != inner.lo;

	handle_pcontrol(level);
	own(goes_on) = tool;
	return (struct tail){.target = real_find_symbol("MPI_Pcontrol")};
}

struct tail mpi_handle_ppcontrol(int level)
{
	if (!own(goes_on))
		handle_pcontrol(level);
	own(goes_on) = 0;
	return (struct tail){.target = real_find_symbol("PMPI_Pcontrol")};
}
