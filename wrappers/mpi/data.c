/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that move data and report more than their arguments: the status of a receive tells what arrived, non-blocking and
 * persistent calls return a request, and matched receives name a message instead of a communicator.
 */
#include <pthread.h>
#include <string.h>

#include "call/recorder.h"
#include "wrappers/mpi/mpi.h"

/*
 * Messages found by a matched probe and not received yet, with their communicators. 64 are
 * enough, because a program holds few of them at a time; a message that does not fit is received
 * without communicator and number. The lock is a leaf; a forked child initialises it again, and
 * drops the messages, which are its parent's.
 */
#define MESSAGES 64

static struct message {
	uint64_t handle;
	struct comm *comm; /* held: it may be freed before the message is received */
	int32_t source, tag;
} messages[MESSAGES];
static pthread_mutex_t messages_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Keeps a message until it is received. An older one with the same handle was received by a call
 * that was not seen, and is replaced.
 */
static void keep_probed_message(const struct message *new)
{
	struct message *place = NULL;
	struct comm *old = NULL;

	pthread_mutex_lock(&messages_lock);
	for (int i = 0; i < MESSAGES; i++)
		if (messages[i].handle == new->handle) {
			place = &messages[i];
			break;
		} else if (!place && !messages[i].handle) {
			place = &messages[i];
		}
	if (place) {
		if (new->comm)
			comm_add_user(new->comm);
		old = place->handle ? place->comm : NULL;
		*place = *new;
	}
	pthread_mutex_unlock(&messages_lock);
	if (old)
		comm_remove_user(old);
}

void mpi_match_leave(struct call *c)
{
	const union arg *flag = call_get_arg(c, ROLE_FLAG), *m = call_get_arg(c, ROLE_MESSAGE),
			*st = call_get_arg(c, ROLE_STATUS);
	const union arg *comm = call_get_arg(c, ROLE_COMM);

	if (!c->ok || !mpi_is_ready() || (flag && !*(const int *)flag->cp) || !m || !m->cp)
		return;

	struct message new = {.handle = mpi_handle_at(m->cp, 0),
		.comm = mpi_find_comm(comm->u),
		.source = JOURNAL_NONE,
		.tag = JOURNAL_NONE};

	if (new.handle == (uint64_t)mpi.constant[CONST_MPI_MESSAGE_NO_PROC])
		return;
	if (st && !mpi_status_ignored(st->cp)) {
		new.source = mpi_get_status_int(st->cp, CONST_STATUS_SOURCE);
		new.tag = mpi_get_status_int(st->cp, CONST_STATUS_TAG);
	}
	keep_probed_message(&new);
}

void mpi_data_forked(void)
{
	pthread_mutex_init(&messages_lock, NULL);
	memset(messages, 0, sizeof(messages));
}

/* The reference to the communicator passes to the caller. */
static bool remove_probed_message(uint64_t handle, struct message *out)
{
	bool found = false;

	pthread_mutex_lock(&messages_lock);
	for (int i = 0; i < MESSAGES && !found; i++)
		if (messages[i].handle == handle && handle) {
			*out = messages[i];
			messages[i].handle = 0;
			found = true;
		}
	pthread_mutex_unlock(&messages_lock);
	return found;
}

static void set_own_status(struct call *c, union arg *st)
{
	struct thread *t = mpi_status_ignored(st->cp) && c->rec ? c->t : NULL;
	void *mem = t ? thread_get_scratch(t, MPI_STATUS_MAX) : NULL;

	if (mem)
		st->p = mem;
}

/*
 * Fills source, tag and number of a message from the result of its probe. Without them the status
 * of the receive gives these values.
 */
static void set_message_of_probe(struct operation *w, const struct message *msg)
{
	struct buffer *v = &w->out[0];

	v->peer = msg->source >= 0 ? msg->source : JOURNAL_NONE;
	v->tag = msg->tag >= 0 ? msg->tag : JOURNAL_NONE;
	if (msg->comm && !w->unnumbered && v->peer != JOURNAL_NONE && v->tag != JOURNAL_NONE)
		v->comm_seq = comm_get_next_p2p(msg->comm, false, v->peer, v->tag);
}

/* The time in the probes right before a blocking receive was a wait for its message. */
static void record_probe_wait(struct call *c)
{
	if (c->rec && c->op.nout && call_get_arg(c, ROLE_STATUS))
		c->rec->wait = c->t->probed;
	c->t->probed = 0;
}

void mpi_data_handle_enter(struct call *c)
{
	union arg *st = call_get_arg(c, ROLE_STATUS);
	const union arg *m = call_get_arg(c, ROLE_MESSAGE);
	struct message msg;

	c->note.p[0] = NULL;
	if (c->t && c->t->probed)
		record_probe_wait(c);
	if (st)
		set_own_status(c, st);
	if (!m || !m->cp || !remove_probed_message(mpi_handle_at(m->cp, 0), &msg))
		return;
	c->op.comm = c->note.p[0] = msg.comm;
	if (c->op.nout)
		set_message_of_probe(&c->op, &msg);
	if (c->rec && msg.comm) {
		/* The record was opened before the message's communicator was known. */
		c->rec->comm = msg.comm->id;
		c->rec->comm_rank = msg.comm->rank;
		c->rec->comm_size = msg.comm->size;
		comm_write_row(msg.comm, c->t);
	}
}

static void register_request(struct call *c, uint64_t h, bool receive)
{
	uint64_t status[MPI_STATUS_MAX / 8], end;

	/*
	 * The program fills in the parts of a partitioned send after the start, so they are
	 * measured when it is complete.
	 */
	if (spec_is_partitioned(c->api->spec) && c->op.nin)
		c->op.in[0].nostats = 1;
	if (!mpi_request_handle_new(c, h, &end)) {
		async_started(c, h, receive);
		return;
	}
	if (receive && c->rec && mpi_request_is_complete(h, status))
		mpi_received(&c->op, status);
	async_record_complete(c, end);
}

static void handle_completed_data_call(struct call *c)
{
	const union arg *req = call_get_arg(c, ROLE_REQUEST), *st = call_get_arg(c, ROLE_STATUS);
	bool receive = !c->api->spec->kind->collective && c->op.nout;

	if (c->api->spec->at[ROLE_WIN]) {
		mpi_window_handle_data(c);
		receive = false;
	}
	/* All parts of a partitioned receive arrive, whatever the status says. */
	receive &= !spec_is_partitioned(c->api->spec);
	if (c->api->spec->completion == DONE_END) {
		if (c->op.comm)
			async_started(c, mpi_get_split_key(c->op.comm), false);
	} else if (req) {
		if (req->cp)
			register_request(c, mpi_handle_at(req->cp, 0), receive);
	} else if (c->api->spec->at[ROLE_WIN]) {
		if (c->op.nout && c->rec && st && !mpi_status_ignored(st->cp))
			mpi_set_received_count(&c->op.out[0], st->cp);
	} else if (receive && c->rec && st && !mpi_status_ignored(st->cp)) {
		mpi_received(&c->op, st->cp);
	}
}

void mpi_data_handle_leave(struct call *c)
{
	if (c->ok)
		handle_completed_data_call(c);
	/* Pending requests have their own references to the communicator. */
	if (c->note.p[0])
		comm_remove_user(c->note.p[0]);
}
