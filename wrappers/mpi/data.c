/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that move data and have more to say than their arguments: receives tell by their status what arrived,
 * non-blocking and persistent calls give back a request, matched receives name a message instead of a communicator.
 */
#include <pthread.h>
#include <string.h>

#include "call/thread.h"
#include "wrappers/mpi/mpi.h"

static union arg *role(const struct call *c, enum role r)
{
	int i = c->api->spec->at[r];

	return i ? &c->v[i - 1] : NULL;
}

/*
 * Messages found by a matched probe and not received yet: whose they are. A short list, since a program holds few of
 * them at a time; further ones are received without communicator and number. The lock is a leaf; a forked child makes
 * it anew, and forgets the messages, which are its parent's.
 */
#define MESSAGES 64

static struct message {
	uint64_t handle;
	struct comm *comm; /* held: it may be freed before the message is received */
	int32_t source, tag;
} messages[MESSAGES];
static pthread_mutex_t messages_lock = PTHREAD_MUTEX_INITIALIZER;

void mpi_match_leave(struct call *c)
{
	const union arg *flag = role(c, ROLE_FLAG), *m = role(c, ROLE_MESSAGE),
			*st = role(c, ROLE_STATUS);
	const union arg *comm = role(c, ROLE_COMM);

	if (!c->ok || !mpi_ready() || (flag && !*(const int *)flag->cp) || !m || !m->cp)
		return;

	struct message new = {.handle = mpi_handle_at(m->cp, 0),
		.comm = mpi_comm(comm->u),
		.source = JOURNAL_NONE,
		.tag = JOURNAL_NONE};

	if (new.handle == (uint64_t)mpi.constant[CONST_MPI_MESSAGE_NO_PROC])
		return;
	if (st && !mpi_status_ignored(st->cp)) {
		new.source = mpi_status_int(st->cp, CONST_STATUS_SOURCE);
		new.tag = mpi_status_int(st->cp, CONST_STATUS_TAG);
	}
	pthread_mutex_lock(&messages_lock);
	for (int i = 0; i < MESSAGES; i++)
		if (!messages[i].handle) {
			if (new.comm)
				comm_hold(new.comm);
			messages[i] = new;
			break;
		}
	pthread_mutex_unlock(&messages_lock);
}

void mpi_data_forked(void)
{
	pthread_mutex_init(&messages_lock, NULL);
	memset(messages, 0, sizeof(messages));
}

/* What holds the communicator is the caller's then. */
static bool take_message(uint64_t handle, struct message *out)
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

static void own_status(struct call *c, union arg *st)
{
	struct thread *t = mpi_status_ignored(st->cp) && c->rec ? c->t : NULL;
	void *mem = t ? thread_scratch(t, MPI_STATUS_MAX) : NULL;

	if (mem)
		st->p = mem;
}

void mpi_data_enter(struct call *c)
{
	union arg *st = role(c, ROLE_STATUS);
	const union arg *m = role(c, ROLE_MESSAGE);
	struct message msg;

	c->note.p[0] = NULL;
	if (st)
		own_status(c, st);
	if (!m || !m->cp || !take_message(mpi_handle_at(m->cp, 0), &msg))
		return;
	c->what.comm = c->note.p[0] = msg.comm;
	if (c->what.nout) {
		c->what.out[0].peer = msg.source >= 0 ? msg.source : JOURNAL_NONE;
		c->what.out[0].tag = msg.tag >= 0 ? msg.tag : JOURNAL_NONE;
	}
	if (c->rec && msg.comm) {
		/* The record was opened without knowing it. */
		c->rec->comm = msg.comm->id;
		c->rec->comm_rank = msg.comm->rank;
		c->rec->comm_size = msg.comm->size;
		comm_announce(msg.comm, c->t);
	}
}

static void completed(struct call *c)
{
	const union arg *req = role(c, ROLE_REQUEST), *st = role(c, ROLE_STATUS);
	bool receive = !c->api->spec->kind->collective && c->what.nout;

	if (req) {
		if (req->cp)
			async_started(c, mpi_handle_at(req->cp, 0), receive);
	} else if (receive && c->rec && st && !mpi_status_ignored(st->cp)) {
		mpi_received(&c->what, st->cp);
	}
}

void mpi_data_leave(struct call *c)
{
	if (c->ok)
		completed(c);
	/* What was given to others holds it by itself. */
	if (c->note.p[0])
		comm_release(c->note.p[0]);
}
