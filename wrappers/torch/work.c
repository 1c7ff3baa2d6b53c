/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a call of a process group to its completion.
 *
 * Gloo: the caller's thread puts a Work into a queue (enqueue) before the function returns; a thread of gloo's runs it and
 * calls finishWorkGloo, at whose entry the outputs are valid. A Work is told by its address, from enqueue, which comes
 * before anybody can run it. Nobody need ever wait for it (DDP does not). Messages are completed by the wait of their
 * Work. A reduce_scatter queues an all-reduce and gives back another Work that copies its part of the result when it is
 * waited for (lambda.c); where that is not seen its outputs are not known (flag untracked). Other backends complete on the
 * device's stream.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/thread.h"
#include "call/async.h"
#include "call/comm.h"
#include "call/pending.h"
#include "call/thread.h"
#include "journal/layout.h"
#include "session.h"
#include "wrappers/torch/torch.h"

#define WORKS_MAX 512 /* on the way at once */

/* Free ones. `lock` is a leaf, held for some instructions; a forked child makes it anew. */
static struct torch_work *free_list;
static unsigned made;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __thread struct torch_work *current __attribute__((tls_model("initial-exec")));

static struct torch_work *take(void)
{
	struct torch_work *w = NULL;

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

/* One of its users is done with it. */
static void give(struct torch_work *w)
{
	if (atomic_fetch_sub_explicit(&w->users, 1, memory_order_acq_rel) > 1)
		return;
	pthread_mutex_lock(&lock);
	w->next = free_list;
	free_list = w;
	pthread_mutex_unlock(&lock);
}

void torch_work_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

/*
 * Lets go of those of calls that have returned (their views were needed until the record was closed), or were left. Gives
 * one of them to be used again, if there is one: the usual case, without a lock.
 */
static struct torch_work *drop_returned(void)
{
	struct torch_work *spare = NULL;

	while (current && current->depth >= thread_on_the_way()) {
		struct torch_work *w = current;

		current = w->outer;
		if (spare || w->started)
			give(w);
		else
			spare = w;
	}
	return spare;
}

struct torch_work *torch_work_new(struct call *c)
{
	struct torch_work *w = drop_returned();

	if (!w)
		w = take();
	if (!w) {
		log_loss(LOSS_PENDING,
			"more than %d calls of process groups on the way at once: further ones are "
			"recorded without tensors",
			WORKS_MAX);
		return NULL;
	}
	w->outer = current;
	atomic_store_explicit(&w->users, 1, memory_order_relaxed);
	w->call = c;
	w->depth = thread_on_the_way();
	w->started = false;
	w->nin = w->nout = 0;
	current = w;
	return w;
}

struct torch_work *torch_work_of(const struct call *c)
{
	/* Calls inside this one have returned. */
	struct torch_work *spare = drop_returned();

	if (spare)
		give(spare);
	return current && current->call == c ? current : NULL;
}

static struct torch_work *work_of(const struct pending *p)
{
	return (struct torch_work *)((char *)p->what.all_out - offsetof(struct torch_work, out));
}

/*
 * A Work that nobody waited for, and that is gone, for another one is at its address: its record stays open. Else a wait
 * of the new one could be taken for its completion, and its tensors may be gone, too.
 */
static void forget(const void *handle)
{
	struct pending p;

	while (pending_count() && pending_get((uintptr_t)handle, PENDING_STARTED, false, &p) &&
		p.api->spec->lib == &lib_c10d && p.what.all_out &&
		pending_get((uintptr_t)handle, PENDING_STARTED, true, &p)) {
		if (p.what.comm)
			comm_release(p.what.comm);
		give(work_of(&p));
	}
}

/* That handle stands for the call from now on. */
static void follow(struct torch_work *w, const void *handle)
{
	struct call *c = w->call;
	struct pending p = {
		.seq = c->rec ? c->rec->seq : 0,
		.start = c->start,
		.api = c->api,
		.what = c->what,
		.state = PENDING_STARTED,
	};

	if (!c->rec || w->started)
		return;
	forget(handle);
	w->handle = handle;
	atomic_fetch_add_explicit(&w->users, 1, memory_order_relaxed);
	w->started = true;
	if (!pending_add((uintptr_t)handle, &p)) {
		w->started = false;
		give(w);
	}
}

/* What the output tensors are now; one may have been resized since. */
static void fill(struct pending *p, void *arg)
{
	struct torch_work *w = p->what.all_out ? work_of(p) : NULL;

	if (!w)
		return;
	*(struct torch_work **)arg = w;
	for (unsigned i = 0; i < p->what.nout; i++) {
		struct view *v = &w->out[i], was = *v;

		if (!torch_tensor_view(w->out_impl[i], v)) {
			*v = was;
			v->nostats = 1;
		}
		v->io = was.io;
		v->index = was.index;
		v->peer = was.peer;
		v->tag = was.tag;
		v->comm_seq = was.comm_seq;
	}
}

static void finished(struct call *c, const void *handle, uint64_t end, uint32_t flags)
{
	struct torch_work *w = NULL;

	if (!pending_count())
		return;
	c->t = NULL;
	c->start = 0; /* a Work is one call's until it is gone */
	if (async_done(c, (uintptr_t)handle, end, 0, flags, flags & CF_ERROR ? 1 : 0, fill, &w,
		    false) &&
		w)
		give(w);
}

void torch_work_scope(struct call *c, enum torch_scope s, bool leaving)
{
	const void *self = c->v[0].cp;

	switch (s) {
	case SCOPE_GLOO_ENQUEUE:
		/* Of a call within this one nobody asked for. */
		if (!leaving && current && thread_on_the_way() == current->depth + 1 &&
			torch_row_of(current->call)->method &&
			!torch_row_of(current->call)->indirect)
			follow(current, *(void **)c->v[1].p);
		break;
	case SCOPE_GLOO_FINISH:
		if (!leaving)
			finished(c, self, clock_ticks(), 0);
		break;
	case SCOPE_GLOO_FAILED:
		if (!leaving)
			finished(c, self, clock_ticks(), CF_ERROR);
		break;
	case SCOPE_WAIT:
		if (leaving)
			finished(c, self, c->end, c->ok ? 0 : CF_ERROR);
		break;
	default:
		break;
	}
}

/* The function has returned; the record is closed, or left open, behind this. */
void torch_work_leave(struct call *c)
{
	const struct torch_row *row = torch_row_of(c);
	struct torch_work *w = torch_work_of(c);

	if (!w)
		return;
	if (!w->started && c->rec && row->backend == BACKEND_GLOO &&
		(row->method->form >= FORM_SEND ||
			(row->indirect && torch_watch_wait(*(void **)c->result))))
		follow(w, *(void **)c->result);
	if (w->started) {
		/* What it gives back does something more behind it: this row's outputs may be wrong, no other one's. */
		if (row->ffi.hidden && *(void **)c->result != w->handle) {
			((struct torch_row *)row)->indirect = true;
			c->what.flags |= CF_UNTRACKED;
		}
		current = w->outer;
		c->async = true;
		give(w);
		return;
	}
	c->what.flags |= CF_ASYNC;
	if (row->backend == BACKEND_GLOO && row->ffi.hidden) {
		c->what.flags |= CF_UNTRACKED;
		c->what.nout = 0;
	}
}
