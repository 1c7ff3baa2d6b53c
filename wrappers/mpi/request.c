/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: which calls a Wait or Test completed, and the content of their statuses. Handles are copied before the real call,
 * which replaces them by MPI_REQUEST_NULL. If the program ignores statuses, libprobe's own are passed, because they tell how
 * much a receive received.
 */
#include <string.h>

#include "call/recorder.h"
#include "life/life.h"
#include "wrappers/layout_facts.h"
#include "wrappers/mpi/mpi.h"

/* Data of a completing call, passed from enter() to leave(). */
static struct async_claims *get_call_claims(struct call *c)
{
	return (struct async_claims *)&c->note;
}

_Static_assert(sizeof(struct async_claims) <= sizeof(((struct call *)0)->note.completion.noted) &&
		       MPI_STATUS_MAX <= sizeof(((struct call *)0)->note.completion.status),
	"");

/* The status argument of the call as the real function got it. */
static union arg *get_status_argument(const struct call *c)
{
	union arg *a = call_get_arg(c, ROLE_STATUS);

	return a ? a : call_get_arg(c, ROLE_STATUSES);
}

static uint64_t get_request_count(const struct call *c)
{
	const union arg *n = call_get_arg(c, ROLE_NREQ);

	return !n ? 1 : n->i > 0 ? (uint64_t)n->i : 0;
}

/* Array of handles of the call, in the program's memory; NULL if it has none. */
static const void *get_request_array(const struct call *c)
{
	const union arg *a = call_get_arg(c, ROLE_REQUESTS);

	if (!a)
		a = call_get_arg(c, ROLE_REQUEST);
	return a ? a->cp : NULL;
}

/*
 * True unless the handle is null or one of those for requests that are complete when made, which
 * have no entry (a persistent request may have such a handle, too).
 */
static bool is_claimable(uint64_t handle)
{
	return handle != (uint64_t)mpi.constant[CONST_MPI_REQUEST_NULL] &&
	       !mpi_is_request_done(handle);
}

/* Memory for n statuses; NULL if there is not enough. */
static void *get_call_statuses(struct call *c, struct thread *t, uint64_t n)
{
	if (n == 1)
		return c->note.completion.status;
	return n > SIZE_MAX / MPI_STATUS_MAX ? NULL : thread_get_scratch(t, n * MPI_STATUS_MAX);
}

static inline uint64_t wide_handle_at(const void *array, uint64_t i)
{
	return ((const uint64_t *)array)[i];
}

static inline uint64_t narrow_handle_at(const void *array, uint64_t i)
{
	return ((const uint32_t *)array)[i];
}

static inline uint64_t key_of_handle(uint64_t handle)
{
	return is_claimable(handle) ? handle : 0;
}

static bool start_claims_of_requests(
	struct call *c, struct thread *t, const void *array, uint64_t n)
{
	struct async_claims *a = get_call_claims(c);

	if (!async_open_claims(a, t, n))
		return false;
	if (mpi.handle_size == 4)
		async_claim_each(a, array, narrow_handle_at, key_of_handle);
	else
		async_claim_each(a, array, wide_handle_at, key_of_handle);
	return true;
}

/*
 * Claims the call in progress on `file`, or if file is NULL, the request in an array with one
 * handle.
 */
static bool start_claim_of_request(
	struct call *c, struct thread *t, const void *array, const struct comm *file)
{
	uint64_t h = file ? mpi_get_split_key(file) : mpi_handle_at(array, 0);

	if (!is_claimable(h))
		return false;
	async_claim_one(get_call_claims(c), t, h);
	return true;
}

static void handle_completion_enter(struct call *c)
{
	uint64_t n = get_request_count(c);
	union arg *st = get_status_argument(c);
	const void *array = get_request_array(c);
	const struct comm *file =
		c->api->spec->sub == SUB_END ? mpi_find_window(call_get_arg(c, ROLE_WIN)->u) : NULL;
	bool own = st && mpi_status_ignored(st->cp);
	struct thread *t;
	void *statuses;

	get_call_claims(c)->thread = NULL;
	/* No known request is pending: the usual case of a program whose calls are not listed. */
	if (!pending_get_count() || !n || (!array && !file) || !(t = thread_get()))
		return;
	statuses = own ? get_call_statuses(c, t, n) : NULL;
	if ((own && !statuses) || !(n == 1 ? start_claim_of_request(c, t, array, file)
					   : start_claims_of_requests(c, t, array, n)))
		return;
	if (own)
		st->p = statuses;
	if (c->api->spec->task == TASK_WAIT)
		async_wait_begin(c);
}

struct completed {
	const void *status; /* NULL: the call has no status */
};

/*
 * Measures data sent in parts: the send is complete by now, and the program may not have changed
 * the data since.
 */
static void measure_sent_parts(struct operation *w)
{
	struct buffer *v = &w->in[0];

	if (!w->nin || v->dtype == DT_OTHER)
		return;
	v->nostats = 0;
	v->snapshot = BUFFER_AT_END;
}

static void fill_completed(struct pending *p, void *arg)
{
	const struct completed *d = arg;

	if (!p->newcomm && spec_is_partitioned(p->api->spec))
		measure_sent_parts(&p->op);
	if (p->newcomm)
		mpi_comm_arrived(p->op.comm, p->newcomm, p->api->spec->how);
	else if (p->receive && d->status)
		mpi_received(&p->op, d->status);
	else if (p->op.nout && d->status && mpi_is_file(p->api->spec))
		/* less than requested at the end of the file */
		mpi_set_received_count(&p->op.out[0], d->status);
}

static void handle_completed_request(
	struct call *c, struct pending_claim *claim, const void *status, int32_t error, bool keep)
{
	struct completed d = {.status = status};
	uint32_t flags = error ? CF_ERROR : 0;
	int cancelled = 0;
	uint64_t end;

	if (!claim->entry)
		return;
	end = call_ended(c);
	if (!error && status && mpi.f.test_cancelled(status, &cancelled) == 0 && cancelled)
		flags |= CF_CANCELLED;
	async_record_done(c, claim, end, end - c->start, flags, error, fill_completed, &d, keep);
}

static const void *get_status_of_request(const struct call *c, uint64_t i)
{
	const union arg *st = get_status_argument(c);

	return st && !mpi_status_ignored(st->cp)
		       ? (const char *)st->cp + i * (uint64_t)mpi.constant[CONST_STATUS_SIZE]
		       : NULL;
}

/* After a failed call: requests whose handle the library removed are complete nevertheless. */
static void complete_failed_call(struct call *c, int64_t ret)
{
	const struct async_claims *a = get_call_claims(c);
	const void *array = get_request_array(c);
	bool each = call_get_arg(c, ROLE_STATUSES) != NULL;

	for (uint64_t i = 0; i < a->n; i++) {
		const void *st = each ? get_status_of_request(c, i) : NULL;
		int32_t error = st ? mpi_get_status_int(st, CONST_STATUS_ERROR) : (int32_t)ret;

		if (!array || mpi_handle_at(array, i) != a->claim[i].key)
			handle_completed_request(c, &a->claim[i], error ? NULL : st, error, false);
	}
}

static void take_completed(struct call *c, int64_t ret)
{
	const struct api_spec *s = c->api->spec;
	struct pending_claim *claims = get_call_claims(c)->claim;
	uint64_t n = get_call_claims(c)->n;
	const union arg *flag = call_get_arg(c, ROLE_FLAG), *index = call_get_arg(c, ROLE_INDEX);
	bool keep = s->sub == SUB_LOOK_ALL || s->sub == SUB_LOOK_ANY || s->sub == SUB_LOOK_SOME;

	if (s->task == TASK_WAIT)
		async_wait_end(c);
	if (!c->ok) {
		complete_failed_call(c, ret);
		return;
	}
	if (flag && flag->cp && !*(const int *)flag->cp)
		return;
	switch (s->sub) {
	case SUB_ONE:
	case SUB_END:
		handle_completed_request(c, &claims[0], get_status_of_request(c, 0), 0, false);
		break;
	case SUB_ALL:
	case SUB_LOOK_ALL:
		for (uint64_t i = 0; i < n; i++)
			handle_completed_request(
				c, &claims[i], get_status_of_request(c, i), 0, keep);
		break;
	case SUB_ANY:
	case SUB_LOOK_ANY:
		if (*(const int *)index->cp >= 0 && (uint64_t) * (const int *)index->cp < n)
			handle_completed_request(c, &claims[*(const int *)index->cp],
				get_status_of_request(c, 0), 0, keep);
		break;
	case SUB_SOME:
	case SUB_LOOK_SOME: {
		const int *done = call_get_arg(c, ROLE_OUTCOUNT)->cp,
			  *which = call_get_arg(c, ROLE_INDICES)->cp;

		for (int i = 0; i < *done; i++)
			if (which[i] >= 0 && (uint64_t)which[i] < n)
				handle_completed_request(c, &claims[which[i]],
					get_status_of_request(c, (uint64_t)i), 0, keep);
		break;
	}
	}
}

static void handle_completion_leave(struct call *c, int64_t ret)
{
	struct async_claims *a = get_call_claims(c);

	if (!async_has_claims(a))
		return;
	take_completed(c, ret);
	async_close_claims(a);
}

/* ---- arguments of a call ---- */

bool mpi_request_is_complete(uint64_t h, void *status)
{
	int flag = 0;

	return mpi.f.request_get_status((mpi_handle)h, &flag, status) == 0 && flag;
}

/*
 * A library with MPICH's handles need not mark requests that are complete when made as MPICH
 * does: Intel MPI, which shares the handles, numbers them like any other. A message to
 * MPI_PROC_NULL shows whether it marks them. This is tried once, before a collective's first
 * request is taken for a pending one.
 */
__attribute__((noinline)) static void check_request_marks(void)
{
	static _Atomic bool tried;
	uint64_t request = 0, status[MPI_STATUS_MAX / 8];

	if (atomic_exchange_explicit(&tried, true, memory_order_relaxed) ||
		get_layout_state(LAYOUT_MPI_REQUESTS) == LAYOUT_VERIFIED ||
		mpi.f.isend(NULL, 0, (mpi_handle)mpi.byte, (int)mpi.constant[CONST_MPI_PROC_NULL],
			0, (mpi_handle)mpi.constant[CONST_MPI_COMM_SELF], &request) != 0)
		return;
	if (!mpi_is_request_done(mpi_handle_at(&request, 0)))
		mpi.done_mask = 0;
	mpi.f.wait(&request, status);
}

/*
 * The standard's ABI does not define the handles of requests that are complete when made.
 * Libraries with this ABI return their own handles: MPICH its integers, Open MPI the address of
 * its empty request. Two pending messages to MPI_PROC_NULL show it: if both have the same handle,
 * it is such a handle.
 */
__attribute__((noinline)) static void find_request_marks_by_messages(void)
{
	static _Atomic bool tried;
	uint64_t request[2] = {0, 0}, status[MPI_STATUS_MAX / 8];
	int made = 0;

	if (atomic_exchange_explicit(&tried, true, memory_order_relaxed))
		return;
	while (made < 2 &&
		mpi.f.isend(NULL, 0, (mpi_handle)mpi.byte, (int)mpi.constant[CONST_MPI_PROC_NULL],
			0, (mpi_handle)mpi.constant[CONST_MPI_COMM_SELF], &request[made]) == 0)
		made++;
	if (made == 2 && request[0] == request[1]) {
		/*
		 * MPICH has one such handle for each kind of request; they differ in the lower 26
		 * bits.
		 */
		uint64_t mask = request[0] >> 32 ? UINT64_MAX : ~UINT64_C(0x3ffffff);

		mpi.done = request[0] & mask;
		mpi.done_mask = mask;
		/*
		 * If the handle of a completed request is an address, requests of collectives may get
		 * another address when they complete, as in Intel MPI.
		 */
		mpi.done_is_one = mask == UINT64_MAX;
	}
	for (int i = 0; i < made; i++)
		mpi.f.wait(&request[i], status);
	atomic_store_explicit(&mpi.marks_unknown, false, memory_order_release);
}

/*
 * Sends are not tested unless their handle is in the table: their buffers are not read again at their end. Receives are
 * not tested either, because each has its own status, and so its own request.
 */
static bool can_ask_at_once(const struct call *c)
{
	if (c->api->spec->task != TASK_COMM_NEW && !c->api->spec->kind->collective)
		return false;
	if (mpi.done_mask && !mpi.done_is_one)
		check_request_marks();
	return !mpi.done_mask || mpi.done_is_one;
}

/*
 * A handle says for the first time that its request is complete: asks MPI whether that is true.
 * Returns false if it is not.
 */
__attribute__((noinline)) static bool check_request_done(uint64_t h)
{
	uint64_t status[MPI_STATUS_MAX / 8];
	bool holds = mpi_request_is_complete(h, status);

	session_record_layout_fact(LAYOUT_MPI_REQUESTS, holds);
	if (!holds)
		mpi.done_mask = 0;
	return holds;
}

bool mpi_request_handle_new(struct call *c, uint64_t h, uint64_t *end)
{
	bool persistent = c->api->spec->completion == DONE_START, complete = false, stands;
	uint64_t status[MPI_STATUS_MAX / 8];

	*end = c->end;
	if (__builtin_expect(atomic_load_explicit(&mpi.marks_unknown, memory_order_acquire), 0))
		find_request_marks_by_messages();
	if (__builtin_expect(mpi_is_request_done(h), 1) &&
		(get_layout_state(LAYOUT_MPI_REQUESTS) == LAYOUT_VERIFIED || persistent ||
			check_request_done(h)))
		return !persistent;
	stands = async_has_request(h);
	if (!persistent && (stands || can_ask_at_once(c))) {
		complete = mpi_request_is_complete(h, status);
		/*
		 * The library may have made progress: a rank that had not arrived when the call
		 * returned may have arrived by now.
		 */
		*end = clock_ticks();
	}
	if (__builtin_expect(stands, 0))
		async_reused(c, h, complete);
	return complete;
}

/* ---- starting persistent requests ---- */

static struct async_start *get_call_starts(struct call *c)
{
	return (struct async_start *)(uintptr_t)c->note.completion.status[0];
}

static void enter_start(struct call *c)
{
	uint64_t n = get_request_count(c);
	struct async_claims *a = get_call_claims(c);
	const void *array = get_request_array(c);
	struct async_start *s;
	struct thread *t;

	a->thread = NULL;
	if (!pending_get_count() || !array || !n)
		return;
	/* Handles are tracked even if starts are not recorded now. */
	async_is_recording();
	t = thread_get();
	s = t && n < SIZE_MAX / sizeof(*s) ? thread_get_scratch(t, n * sizeof(*s)) : NULL;
	if (!s || !async_open_starts(a, t, n)) {
		/* Starts that are not recorded are counted. */
		for (uint64_t i = 0; i < n; i++)
			async_count_start(c, mpi_handle_at(array, i));
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		async_open_start(c, a, i, mpi_handle_at(array, i), &s[i]);
	c->note.completion.status[0] = (uintptr_t)s;
}

static void leave_start(struct call *c, int64_t ret)
{
	struct async_claims *a = get_call_claims(c);
	const void *array = get_request_array(c);

	if (!async_has_claims(a))
		return;
	for (uint64_t i = 0; i < a->n; i++) {
		/* Open MPI uses another request if the old one's message is still pending. */
		uint64_t h = mpi_handle_at(array, i);

		async_close_start(
			a, i, &get_call_starts(c)[i], h, c->ok, ret, mpi_is_request_done(h));
	}
	async_close_claims(a);
}

/* ---- one request, without completing it ---- */

static void handle_request_enter(struct call *c)
{
	const union arg *a = call_get_arg(c, ROLE_REQUEST);
	union arg *st = call_get_arg(c, ROLE_STATUS);
	struct async_claims *claims = get_call_claims(c);
	struct thread *t;
	uint64_t h;

	claims->thread = NULL;
	claims->one.key = 0;
	if (!a || !pending_get_count() || !(t = thread_get()))
		return;
	/* MPI_Request_get_status takes the handle itself, the others a pointer to it. */
	if (c->api->spec->sub == SUB_LOOK)
		h = mpi_get_clean_handle(a->u);
	else if (a->cp)
		h = mpi_handle_at(a->cp, 0);
	else
		return;
	/* MPI_Cancel frees nothing, and another thread may be waiting for the request. */
	if (c->api->spec->sub == SUB_CANCEL) {
		claims->one.key = h;
		pending_set_cancel(h, true);
		return;
	}
	async_claim_one(claims, t, h);
	if (st && mpi_status_ignored(st->cp))
		st->p = c->note.completion.status;
}

static void handle_request_leave(struct call *c)
{
	const union arg *flag = call_get_arg(c, ROLE_FLAG);
	struct async_claims *claims = get_call_claims(c);

	if (c->api->spec->sub == SUB_CANCEL && claims->one.key && !c->ok)
		pending_set_cancel(claims->one.key, false);
	if (!async_has_claims(claims))
		return;
	if (c->ok && c->api->spec->sub == SUB_FREE)
		async_freed(c, claims->claim, c->end, CF_FREED, 0);
	else if (c->ok && *(const int *)flag->cp)
		handle_completed_request(c, claims->claim, get_status_of_request(c, 0), 0, true);
	async_close_claims(claims);
}

void mpi_request_handle_enter(struct call *c)
{
	if (c->api->spec->task == TASK_START)
		enter_start(c);
	else if (c->api->spec->task == TASK_REQUEST)
		handle_request_enter(c);
	else
		handle_completion_enter(c);
}

void mpi_request_handle_leave(struct call *c, int64_t ret)
{
	if (c->api->spec->task == TASK_START)
		leave_start(c, ret);
	else if (c->api->spec->task == TASK_REQUEST)
		handle_request_leave(c);
	else
		handle_completion_leave(c, ret);
}
