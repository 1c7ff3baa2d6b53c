/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UCC. A collective is described by the struct with which its request is made, so each kind of
 * collective has a row of its own, in whose name records are written. libprobe treats a request
 * as persistent. A request is complete when its status, the first word that its handle points to,
 * is 0 or negative.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "api/runtime_registry.h"
#include "base/hash.h"
#include "base/log.h"
#include "call/async.h"
#include "call/comm.h"
#include "call/recorder.h"
#include "elf/loaded/object_of.h"
#include "journal/layout.h"
#include "life/life.h"
#include "session/state.h"
#include "ucc_gen.h"
#include "wrappers/ucc/ucc.h"

/* ---- rows ---- */

/* Indexed by the bit of ucc_coll_type_t. */
static const char *const op_of_bit[] = {"all_gather", "all_gather_v", "all_reduce", "all_to_all",
	"all_to_all_v", "barrier", "broadcast", "barrier", "barrier", "gather", "gather_v",
	"reduce", "reduce_scatter", "reduce_scatter_v", "scatter", "scatter_v"};
#define KINDS (sizeof(op_of_bit) / sizeof(*op_of_bit))

struct ucc_row {
	struct kind kind;
	struct api_spec spec;
	struct api api;
	struct made_row listed;
	_Atomic bool made;
};

/* [0]: requests that are posted later; [1]: requests that are posted when they are made. */
static struct ucc_row rows[2][KINDS];

/*
 * Guards the making of rows. A leaf, held for a few instructions; a forked child initialises it
 * again.
 */
static pthread_mutex_t rows_lock = PTHREAD_MUTEX_INITIALIZER;

static void init_ucc_row(struct ucc_row *r, const struct call *c, unsigned bit)
{
	pthread_mutex_lock(&rows_lock);
	if (!atomic_load_explicit(&r->made, memory_order_relaxed)) {
		r->kind = *c->api->spec->kind;
		r->kind.op = op_of_bit[bit];
		r->spec = *c->api->spec;
		r->spec.symbol = r->spec.list_name;
		r->spec.kind = &r->kind;
		r->api.spec = &r->spec;
		atomic_store_explicit(&r->api.real, (void *)c->real, memory_order_relaxed);
		atomic_store_explicit(&r->made, true, memory_order_release);
		r->listed.api = &r->api;
		rows_add(&r->listed);
	}
	pthread_mutex_unlock(&rows_lock);
}

/*
 * Returns the row for the collective with number `bit`. Decisions about the row of c apply to it.
 */
static struct api *get_coll_row(const struct call *c, unsigned bit)
{
	bool at_once = c->api->spec->list_name[sizeof("ucc_collective_") - 1] == 'i';
	struct ucc_row *r = &rows[at_once][bit];

	if (!atomic_load_explicit(&r->made, memory_order_acquire))
		init_ucc_row(r, c, bit);
	atomic_store_explicit(&r->api.word, c->word, memory_order_release);
	return &r->api;
}

/* ---- teams ---- */

/*
 * The needed part of ucc_team_attr_t (UCC 1.0 to 1.5): mask at byte 0, ep at 24, size at 56, of
 * 72 bytes. Larger, in case a later version has more fields.
 */
struct team_attr {
	uint64_t mask, skip[2], ep, skip2[3];
	uint32_t size;
	uint32_t pad[57];
};
#define TEAM_ATTR_EP_AND_SIZE 0x44

/*
 * Queries rank and size of a team. This is possible when the team is complete, which UCC does not
 * report, so it is done when the team is first used.
 */
static bool read_ucc_team(struct comm *m)
{
	int (*get)(uint64_t, struct team_attr *) = (int (*)(
		uint64_t, struct team_attr *))sibling_find_symbol(m->from, "ucc_team_get_attr");
	struct team_attr a = {.mask = TEAM_ATTR_EP_AND_SIZE};

	if (!get || get(m->handle, &a) || !a.size || a.size > INT32_MAX || a.ep >= a.size)
		return false;
	m->rank = (int32_t)a.ep;
	/*
	 * Teams have no number that all members know. A team of all ranks is numbered by how many
	 * such teams were made before, which is the same on all ranks; other teams get a number
	 * that is known only in this process.
	 */
	if ((int64_t)a.size == session.world_size || session.world_size <= 0) {
		static _Atomic uint64_t whole;

		m->id = comm_compute_id(
			0, "ucc", (int64_t)atomic_fetch_add(&whole, 1), NULL, 0, NULL, 0);
		session_set_guessed_rank(m->rank, (int32_t)a.size);
	} else {
		m->id = comm_compute_id(
			m->handle, "ucc", (int64_t)comm_get_serial(), NULL, 0, NULL, 0);
		m->flags |= CF_LOCALCOMM;
	}
	__atomic_store_n(&m->size, (int32_t)a.size, __ATOMIC_RELEASE);
	return true;
}

static struct comm *find_ucc_team(uint64_t handle)
{
	struct comm *m = handle ? comm_find(&adapter_ucc, handle) : NULL;

	if (m && __atomic_load_n(&m->size, __ATOMIC_ACQUIRE) <= 0 && !read_ucc_team(m))
		return NULL;
	return m;
}

static void register_ucc_team(const struct call *c)
{
	const union arg *at = call_get_arg(c, ROLE_NEWCOMM);
	struct comm *m = at->cp && *(const uint64_t *)at->cp ? comm_alloc(0) : NULL;

	if (!m)
		return;
	m->lib = &adapter_ucc;
	m->from = c->real;
	m->handle = *(const uint64_t *)at->cp;
	m->kind = c->api->spec->how;
	m->rank = m->size = -1;
	comm_register(m);
}

/* ---- pending requests ---- */

/*
 * Requests that were posted and have not been seen complete. Any thread that gives the library time may end the record
 * of another thread's request, while that thread, which reads the status itself, posts or frees it again.
 * Locks: `ending` of a request is held while its record is ended, and waited for by the thread that posts or frees that request;
 * they are held for as long as the outputs take to be measured, and are only tried where records of others are ended.
 * `lock` is a leaf after them: it keeps a request from being freed by another thread while its status is read. Held for
 * a few instructions. Neither is held across a call of the library. A forked child makes both again.
 */
#define POSTED_MAX 1024
#define ENDINGS 64
static struct {
	pthread_mutex_t lock, ending[ENDINGS];
	uint32_t n;
	uint64_t key[POSTED_MAX];
} posted = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.ending = {[0 ... ENDINGS - 1] = PTHREAD_MUTEX_INITIALIZER},
};

static void lock_ending(uint64_t key)
{
	pthread_mutex_lock(&posted.ending[hash_mix(key) % ENDINGS]);
}

static bool try_lock_ending(uint64_t key)
{
	return pthread_mutex_trylock(&posted.ending[hash_mix(key) % ENDINGS]) == 0;
}

static void unlock_ending(uint64_t key)
{
	pthread_mutex_unlock(&posted.ending[hash_mix(key) % ENDINGS]);
}

static void lock_posted(void)
{
	pthread_mutex_lock(&posted.lock);
}

static void unlock_posted(void)
{
	pthread_mutex_unlock(&posted.lock);
}

static int32_t read_request_status(uint64_t key)
{
	return __atomic_load_n((const int32_t *)(uintptr_t)key, __ATOMIC_ACQUIRE);
}

static void note_posted(uint64_t key)
{
	bool full;

	lock_posted();
	full = posted.n == POSTED_MAX;
	if (!full)
		posted.key[posted.n++] = key;
	unlock_posted();
	if (full)
		log_loss(LOSS_PENDING,
			"UCC: more than %d requests under way: when further ones are complete is "
			"not recorded",
			POSTED_MAX);
}

static void remove_posted(uint32_t i)
{
	posted.key[i] = posted.key[--posted.n];
}

/*
 * Removes request `key` from the pending ones and reads its status into *status. The caller holds
 * its `ending`. Returns false if the request is not pending.
 */
static bool take_posted(uint64_t key, int32_t *status)
{
	bool found = false;

	lock_posted();
	for (uint32_t i = 0; i < posted.n && !found; i++) {
		if (posted.key[i] != key)
			continue;
		found = true;
		*status = read_request_status(key);
		remove_posted(i);
	}
	unlock_posted();
	return found;
}

/*
 * Removes a complete request from the pending ones, locks its `ending`, and reads its status into
 * *status. Returns 0 if none is complete, or if other threads are ending those that are.
 */
static uint64_t remove_complete_request(int32_t *status)
{
	uint64_t found = 0;

	lock_posted();
	for (uint32_t i = 0; i < posted.n && !found; i++) {
		uint64_t key = posted.key[i];

		*status = read_request_status(key);
		if (*status > 0 || !try_lock_ending(key))
			continue;
		found = key;
		remove_posted(i);
	}
	unlock_posted();
	return found;
}

/*
 * The record's flags by a request's last status. A positive status means that the request was
 * freed while pending, so its end is never seen.
 */
static uint32_t get_status_flags(int32_t status)
{
	return status > 0 ? CF_FREED : status < 0 ? CF_ERROR : 0;
}

static void finish_posted(
	struct call *c, struct thread *t, uint64_t key, int32_t status, uint64_t end, uint64_t wait)
{
	struct async_claims a;

	async_claim_one(&a, t, key);
	async_record_done(c, a.claim, end, wait, get_status_flags(status), status < 0 ? status : 0,
		NULL, NULL, false);
	async_close_claims(&a);
}

/* Called after functions that give the library time: ends the records of all complete requests. */
static void look_at_posted(struct call *c)
{
	struct thread *t;
	uint64_t key;
	int32_t status;

	if (!__atomic_load_n(&posted.n, __ATOMIC_RELAXED) || !(t = thread_get()))
		return;
	while ((key = remove_complete_request(&status)) != 0) {
		finish_posted(c, t, key, status, call_ended(c), call_ended(c) - c->start);
		unlock_ending(key);
	}
}

/* ---- requests ---- */

/*
 * A post gets the request itself; a triggered post gets an event that leads to it (field req,
 * after ev_type, ev_context and its size).
 */
static uint64_t get_request(const struct call *c)
{
	const union arg *a = call_get_arg(c, ROLE_REQUEST);

	if (c->api->spec->nargs == 2)
		return a->cp ? ((const uint64_t *)a->cp)[3] : 0;
	return a->u;
}

static struct async_start *get_start_slot(struct thread *t)
{
	return t ? thread_get_scratch(t, sizeof(struct async_start)) : NULL;
}

/* Stored in c->note of a posting call. */
struct posting {
	struct async_claims claims;
	struct async_start *start;
};
_Static_assert(sizeof(struct posting) <= sizeof(((struct call *)0)->note), "");

/* Claims the start of request `key`. Returns false if the start is only counted, not recorded. */
static bool open_post(struct call *c, struct thread *t, uint64_t key, struct posting *post)
{
	post->start = get_start_slot(t);
	post->claims.thread = NULL;
	if (!post->start || !async_open_starts(&post->claims, t, 1)) {
		async_count_start(c, key);
		return false;
	}
	async_open_start(c, &post->claims, 0, key, post->start);
	return true;
}

static void close_post(struct posting *post, uint64_t key, bool ok, int64_t ret)
{
	bool at_once = ok && read_request_status(key) == 0,
	     is_ours = post->claims.claim[0].entry != NULL;

	if (is_ours)
		async_close_start(&post->claims, 0, post->start, key, ok, ret, at_once);
	if (is_ours && ok && !at_once && post->start->rec)
		note_posted(key);
	async_close_claims(&post->claims);
}

static void handle_post_begin(struct call *c)
{
	struct posting *post = (struct posting *)&c->note;
	uint64_t key = get_request(c);
	struct thread *t;
	int32_t status;

	post->claims.thread = NULL;
	if (!key || !pending_get_count())
		return;
	async_is_recording();
	t = thread_get();
	/* The program posts the request again, so its last round has ended. */
	if (t) {
		lock_ending(key);
		if (take_posted(key, &status))
			finish_posted(c, t, key, status, clock_ticks(), 0);
		unlock_ending(key);
	}
	open_post(c, t, key, post);
}

static void handle_post_return(struct call *c, int64_t ret)
{
	struct posting *post = (struct posting *)&c->note;

	if (async_has_claims(&post->claims))
		close_post(post, get_request(c), c->ok, ret);
}

/* ---- the end of a request ---- */

/* Stored in c->note of a freeing call: the request's state before the call. */
struct ending {
	struct async_claims claims;
	uint64_t end;
	int32_t status;
	bool was_posted;
};
_Static_assert(sizeof(struct ending) <= sizeof(((struct call *)0)->note), "");

/* The request's memory is not valid after the real call, so its status is read before. */
static void enter_free(struct call *c)
{
	struct ending *e = (struct ending *)&c->note;
	uint64_t key = get_request(c);

	e->status = 0;
	lock_ending(key);
	e->was_posted = key && take_posted(key, &e->status);
	e->end = clock_ticks();
	async_claim_one(&e->claims, key && pending_get_count() ? thread_get() : NULL, key);
	unlock_ending(key);
}

static void leave_free(struct call *c)
{
	struct ending *e = (struct ending *)&c->note;

	if (async_has_claims(&e->claims)) {
		if (c->ok)
			async_freed(c, e->claims.claim, e->end, get_status_flags(e->status),
				e->status < 0 ? e->status : 0);
		async_close_claims(&e->claims);
	}
	if (!c->ok && e->was_posted)
		note_posted(get_request(c));
}

static void leave_init(struct call *c, int64_t ret)
{
	struct api *own = c->api;
	bool at_once = own->spec->list_name[sizeof("ucc_collective_") - 1] == 'i';
	const void *args = call_get_arg(c, ROLE_ITEMS)->cp, *const *at =
								    call_get_arg(c, ROLE_REQUEST)
									    ->cp;
	uint64_t key = at ? (uint64_t)(uintptr_t)*at : 0;
	unsigned bit = args ? ucc_get_coll_bit(args) : KINDS;
	struct posting post;

	if (!c->ok || !key || bit >= KINDS)
		return;
	if (async_has_request(key))
		async_reused(c, key, false);
	c->api = get_coll_row(c, bit);
	async_started(c, key, false);
	c->api = own;
	if (!at_once)
		return;
	async_is_recording();
	if (open_post(c, thread_get(), key, &post))
		close_post(&post, key, true, ret);
}

static void handle_ucc_begin(struct call *c)
{
	switch (c->api->spec->task) {
	case TASK_START:
		handle_post_begin(c);
		break;
	case TASK_REQUEST:
		enter_free(c);
		break;
	case TASK_COMM_END:
		call_set_ending_comm(c, &adapter_ucc, call_get_arg(c, ROLE_COMM)->u);
		break;
	}
}

static void handle_ucc_return(struct call *c, int64_t ret)
{
	switch (c->api->spec->task) {
	case TASK_DATA:
		leave_init(c, ret);
		break;
	case TASK_START:
		handle_post_return(c, ret);
		break;
	case TASK_TEST:
		look_at_posted(c);
		break;
	case TASK_REQUEST:
		leave_free(c);
		break;
	case TASK_COMM_NEW:
		if (c->ok)
			register_ucc_team(c);
		break;
	}
}

static void ucc_forked(void)
{
	pthread_mutex_init(&rows_lock, NULL);
	pthread_mutex_init(&posted.lock, NULL);
	for (unsigned i = 0; i < ENDINGS; i++)
		pthread_mutex_init(&posted.ending[i], NULL);
	posted.n = 0;
}

static void (*const ucc_fork_handlers[])(void) = {ucc_forked, NULL};

static bool read_ucc_call(struct call *c)
{
	const void *args = call_get_arg(c, ROLE_ITEMS)->cp;

	if (!args || ucc_get_coll_bit(args) >= KINDS)
		return false;
	c->op.comm = find_ucc_team(call_get_arg(c, ROLE_COMM)->u);
	if (c->op.comm)
		c->op.flags |= c->op.comm->flags;
	read_ucc_args(&c->op, args);
	return true;
}

static void read_ucc_dtype(uint64_t value, struct dtype_desc *d)
{
	ucc_read_dtype(value, d);
}

const struct adapter adapter_ucc = {
	LIB_UCC_SPEC,
	.comm = find_ucc_team,
	.dtype = read_ucc_dtype,
	.describe = read_ucc_call,
	.enter = handle_ucc_begin,
	.leave = handle_ucc_return,
	.fork_handlers = ucc_fork_handlers,
};
