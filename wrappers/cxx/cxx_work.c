/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/cxx/cxx_work.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/thread.h"
#include "call/async.h"
#include "call/comm.h"
#include "call/keep.h"
#include "call/pending.h"
#include "call/recorder.h"
#include "journal/layout.h"
#include "session/state.h"

#define WORKS_MAX 512 /* maximum number of pending calls */

/*
 * Unused descriptions. `lock` is a leaf, held for some instructions; a forked child initialises
 * it again.
 */
static struct cxx_work *free_list;
static unsigned made;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static THREAD_OWN struct cxx_work *current;

static struct cxx_work *get_free_work(void)
{
	struct cxx_work *w = NULL;

	pthread_mutex_lock(&lock);
	if (free_list) {
		w = free_list;
		free_list = w->next;
	} else if (made < WORKS_MAX) {
		w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
		if (w == MAP_FAILED)
			w = NULL;
		else
			made++;
	}
	pthread_mutex_unlock(&lock);
	return w;
}

/* Called when one of the users of w no longer needs it; the last one returns w to the free list. */
static void remove_work_user(struct cxx_work *w)
{
	if (atomic_fetch_sub_explicit(&w->users, 1, memory_order_acq_rel) > 1)
		return;
	pthread_mutex_lock(&lock);
	w->next = free_list;
	free_list = w;
	pthread_mutex_unlock(&lock);
}

void cxx_work_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

/*
 * Releases this thread's descriptions of calls that have returned (which were needed until the
 * record was closed) or that an exception left. Returns one of them for reuse, if there is one:
 * the usual case, without a lock.
 */
static struct cxx_work *drop_returned(void)
{
	struct cxx_work *spare = NULL;

	while (own(current) && own(current)->depth >= thread_get_call_depth()) {
		struct cxx_work *w = own(current);

		own(current) = w->outer;
		if (spare || w->started)
			remove_work_user(w);
		else
			spare = w;
	}
	return spare;
}

struct cxx_work *cxx_work_add(struct call *c, cxx_tensor_fn *describe)
{
	struct cxx_work *w = drop_returned();

	if (!w)
		w = get_free_work();
	if (!w) {
		log_loss(LOSS_PENDING,
			"more than %d asynchronous calls on the way at once: further ones are "
			"recorded without tensors",
			WORKS_MAX);
		return NULL;
	}
	w->outer = own(current);
	atomic_store_explicit(&w->users, 1, memory_order_relaxed);
	w->call = c;
	w->describe = describe;
	w->depth = thread_get_call_depth();
	w->started = false;
	w->nin = w->nout = 0;
	own(current) = w;
	return w;
}

void cxx_work_reset(void)
{
	struct cxx_work *spare = drop_returned();

	if (spare)
		remove_work_user(spare);
}

struct cxx_work *cxx_work_get(const struct call *c)
{
	/* Releases descriptions of calls inside c, which have returned. */
	cxx_work_reset();
	return own(current) && own(current)->call == c ? own(current) : NULL;
}

static struct cxx_work *get_pending_work(const struct pending *p)
{
	return (struct cxx_work *)((char *)p->op.all_out - offsetof(struct cxx_work, out));
}

/*
 * Drops a Work that the program destroyed without waiting for it: its record stays open. A new
 * Work has its address, and a wait for the new one must not be taken for the completion of the
 * old one, whose tensors may be freed, too.
 */
static void remove_gone_work(const struct adapter *lib, const void *handle)
{
	struct pending p;

	while (pending_get_count() && pending_remove_any((uintptr_t)handle, lib, &p)) {
		operation_free_copy(&p.op);
		if (p.op.all_out)
			remove_work_user(get_pending_work(&p));
	}
}

void cxx_work_set_object(struct cxx_work *w, const void *handle)
{
	struct call *c = w->call;
	struct pending p = {
		.seq = c->rec ? c->rec->seq : 0,
		.start = c->start,
		.api = c->api,
		.op = c->op,
		.state = PENDING_STARTED,
	};

	if (!c->rec || w->started)
		return;
	remove_gone_work(c->api->spec->lib, handle);
	w->handle = handle;
	atomic_fetch_add_explicit(&w->users, 1, memory_order_relaxed);
	w->started = true;
	if (!pending_add(NULL, (uintptr_t)handle, &p)) {
		w->started = false;
		remove_work_user(w);
	}
}

/* Reads the output tensors again, because one may have been resized since. */
static void read_work_outputs(struct pending *p, void *arg)
{
	struct cxx_work *w = p->op.all_out ? get_pending_work(p) : NULL;

	if (!w)
		return;
	*(struct cxx_work **)arg = w;
	for (unsigned i = 0; i < p->op.nout; i++) {
		struct buffer *v = &w->out[i], was = *v;

		if (!w->describe(w->out_impl[i], v)) {
			*v = was;
			v->nostats = 1;
		}
		v->io = was.io;
		v->index = was.index;
		v->arg = was.arg;
		v->peer = was.peer;
		v->tag = was.tag;
		v->comm_seq = was.comm_seq;
	}
}

void cxx_work_handle_end(struct call *c, const void *handle, uint64_t end, uint32_t flags)
{
	struct cxx_work *w = NULL;

	if (!pending_get_count())
		return;
	c->t = NULL;
	/* A Work belongs to one call until it is freed, and a thread that waits for it keeps it alive. */
	if (async_record_done_by_key(c, (uintptr_t)handle, 0, end, 0, flags,
		    flags & CF_ERROR ? 1 : 0, read_work_outputs, &w) &&
		w)
		remove_work_user(w);
}

struct cxx_work *cxx_work_get_enclosing(void)
{
	return own(current) && thread_get_call_depth() == own(current)->depth + 1 ? own(current)
										  : NULL;
}

void cxx_work_handle_return(struct call *c, struct cxx_work *w)
{
	own(current) = w->outer;
	c->async = true;
	remove_work_user(w);
}
