/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: which calls a Wait or Test completed, and what their statuses say. Handles are copied before the real call,
 * which replaces them by MPI_REQUEST_NULL; where the program ignores statuses our own are passed, for they tell how
 * much a receive brought.
 */
#include <string.h>

#include "call/thread.h"
#include "wrappers/mpi/mpi.h"

static union arg *role(const struct call *c, enum role r)
{
	int i = c->api->spec->at[r];

	return i ? &c->v[i - 1] : NULL;
}

/* What enter() leaves for leave(). */
enum { NOTE_N, NOTE_HANDLES, NOTE_STATUS, NOTE_OWN };

/* The status argument of the call as the real function got it. */
static union arg *status_arg(const struct call *c)
{
	union arg *a = role(c, ROLE_STATUS);

	return a ? a : role(c, ROLE_STATUSES);
}

static uint64_t nrequests(const struct call *c)
{
	const union arg *n = role(c, ROLE_NREQ);

	return !n ? 1 : n->i > 0 ? (uint64_t)n->i : 0;
}

/* Array of handles of the call, in the program's memory. */
static const void *request_array(const struct call *c)
{
	const union arg *a = role(c, ROLE_REQUESTS);

	if (!a)
		a = role(c, ROLE_REQUEST);
	return a ? a->cp : NULL;
}

static void enter_completion(struct call *c)
{
	uint64_t n = nrequests(c);
	union arg *st = status_arg(c);
	const void *array = request_array(c);
	struct thread *t;

	c->note.u[NOTE_N] = 0;
	/* Nothing under way that we know of: the usual case of a program whose calls are not listed. */
	if (!pending_count() || !n || !array || !(t = thread_get()))
		return;

	bool own = st && mpi_status_ignored(st->cp);
	uint64_t each = sizeof(uint64_t) + (own ? MPI_STATUS_MAX : 0);

	if (n > SIZE_MAX / each)
		return;

	char *mem = thread_scratch(t, n * each);

	if (!mem)
		return;

	uint64_t *handles = (uint64_t *)mem;

	for (uint64_t i = 0; i < n; i++)
		handles[i] = mpi_handle_at(array, i);
	c->note.u[NOTE_N] = n;
	c->note.p[NOTE_HANDLES] = handles;
	c->note.u[NOTE_OWN] = own;
	if (own) {
		c->note.p[NOTE_STATUS] = st->p;
		st->p = mem + n * sizeof(uint64_t);
	}
	if (c->api->spec->task == TASK_WAIT)
		async_wait_begin(c);
}

struct completed {
	const void *status; /* NULL: none */
};

static void fill(struct pending *p, void *arg)
{
	const struct completed *d = arg;

	if (p->newcomm)
		mpi_comm_arrived(p->what.comm, p->newcomm, p->api->spec->how);
	else if (p->receive && d->status)
		mpi_received(&p->what, d->status);
}

static void one_done(struct call *c, uint64_t handle, const void *status, int32_t error, bool keep)
{
	struct completed d = {.status = status};
	uint32_t flags = error ? CF_ERROR : 0;
	uint64_t end = call_ended(c);
	int cancelled = 0;

	if (handle == (uint64_t)mpi.constant[CONST_MPI_REQUEST_NULL])
		return;
	if (!error && status && mpi.f.test_cancelled(status, &cancelled) == 0 && cancelled)
		flags |= CF_CANCELLED;
	async_done(c, handle, end, end - c->start, flags, error, fill, &d, keep);
}

static const void *status_at(const struct call *c, uint64_t i)
{
	const union arg *st = status_arg(c);

	return st && !mpi_status_ignored(st->cp)
		       ? (const char *)st->cp + i * (uint64_t)mpi.constant[CONST_STATUS_SIZE]
		       : NULL;
}

/* After a call that failed: requests whose handle the library took away are over all the same. */
static void failed(struct call *c, int64_t ret)
{
	const uint64_t *handles = c->note.p[NOTE_HANDLES];
	const void *array = request_array(c);
	bool each = role(c, ROLE_STATUSES) != NULL;

	for (uint64_t i = 0; i < c->note.u[NOTE_N]; i++) {
		const void *st = each ? status_at(c, i) : NULL;
		int32_t error = st ? mpi_status_int(st, CONST_STATUS_ERROR) : (int32_t)ret;

		if (mpi_handle_at(array, i) != handles[i])
			one_done(c, handles[i], error ? NULL : st, error, false);
	}
}

static void leave_completion(struct call *c, int64_t ret)
{
	const struct api_spec *s = c->api->spec;
	const uint64_t *handles = c->note.p[NOTE_HANDLES];
	uint64_t n = c->note.u[NOTE_N];
	const union arg *flag = role(c, ROLE_FLAG), *index = role(c, ROLE_INDEX);

	if (!n)
		return;
	if (s->task == TASK_WAIT)
		async_wait_end(c);
	if (!c->ok) {
		failed(c, ret);
		return;
	}
	if (flag && flag->cp && !*(const int *)flag->cp)
		return;
	switch (s->sub) {
	case SUB_ONE:
		one_done(c, handles[0], status_at(c, 0), 0, false);
		break;
	case SUB_ALL:
		for (uint64_t i = 0; i < n; i++)
			one_done(c, handles[i], status_at(c, i), 0, false);
		break;
	case SUB_ANY:
		if (*(const int *)index->cp >= 0 && (uint64_t) * (const int *)index->cp < n)
			one_done(c, handles[*(const int *)index->cp], status_at(c, 0), 0, false);
		break;
	case SUB_SOME: {
		const int *done = role(c, ROLE_OUTCOUNT)->cp, *which = role(c, ROLE_INDICES)->cp;

		for (int i = 0; i < *done; i++)
			if (which[i] >= 0 && (uint64_t)which[i] < n)
				one_done(c, handles[which[i]], status_at(c, (uint64_t)i), 0, false);
		break;
	}
	}
}

/* ---- starting persistent requests ---- */

static void enter_start(struct call *c)
{
	uint64_t n = nrequests(c);
	const void *array = request_array(c);
	struct thread *t;

	c->note.u[NOTE_N] = 0;
	if (!pending_count() || !array || !n)
		return;
	t = async_ready() ? thread_get() : NULL;

	struct async_start *s = t && n < SIZE_MAX / sizeof(*s) ? thread_scratch(t, n * sizeof(*s))
							       : NULL,
			   one;

	if (!s) {
		/* Not recorded, but counted. */
		for (uint64_t i = 0; i < n; i++)
			async_restart(c, mpi_handle_at(array, i), &one);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		async_restart(c, mpi_handle_at(array, i), &s[i]);
	c->note.u[NOTE_N] = n;
	c->note.p[NOTE_HANDLES] = s;
}

static void leave_start(struct call *c, int64_t ret)
{
	struct async_start *s = c->note.p[NOTE_HANDLES];

	for (uint64_t i = 0; i < c->note.u[NOTE_N]; i++)
		async_restarted(&s[i], c->ok, ret);
}

/* ---- one request, without completing it ---- */

static void mark_cancelled(struct pending *p, void *arg)
{
	(void)arg;
	p->cancel = true;
}

static void enter_request(struct call *c)
{
	const union arg *a = role(c, ROLE_REQUEST);
	union arg *st = role(c, ROLE_STATUS);
	struct thread *t;

	c->note.u[NOTE_N] = 0;
	if (!a || !pending_count() || !(t = thread_get()))
		return;
	/* MPI_Request_get_status takes the handle itself, the others a pointer to it. */
	if (c->api->spec->sub == SUB_LOOK)
		c->note.u[NOTE_HANDLES] = mpi_clean(a->u);
	else if (a->cp)
		c->note.u[NOTE_HANDLES] = mpi_handle_at(a->cp, 0);
	else
		return;
	c->note.u[NOTE_N] = 1;
	if (st && mpi_status_ignored(st->cp)) {
		void *mem = thread_scratch(t, MPI_STATUS_MAX);

		if (mem)
			st->p = mem;
	}
}

static void leave_request(struct call *c)
{
	const union arg *flag = role(c, ROLE_FLAG);
	uint64_t h = c->note.u[NOTE_HANDLES];

	if (!c->note.u[NOTE_N] || !c->ok)
		return;
	switch (c->api->spec->sub) {
	case SUB_FREE:
		async_freed(c, h, c->end);
		break;
	case SUB_CANCEL:
		pending_change(h, PENDING_STARTED, mark_cancelled, NULL);
		break;
	case SUB_LOOK:
		if (*(const int *)flag->cp)
			one_done(c, h, status_at(c, 0), 0, true);
		break;
	}
}

void mpi_request_enter(struct call *c)
{
	if (c->api->spec->task == TASK_START)
		enter_start(c);
	else if (c->api->spec->task == TASK_REQUEST)
		enter_request(c);
	else
		enter_completion(c);
}

void mpi_request_leave(struct call *c, int64_t ret)
{
	if (c->api->spec->task == TASK_START)
		leave_start(c, ret);
	else if (c->api->spec->task == TASK_REQUEST)
		leave_request(c);
	else
		leave_completion(c, ret);
}
