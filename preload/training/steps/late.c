/* SPDX-License-Identifier: Apache-2.0 */
#include "training/steps/late.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/private_stack.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/recorder.h"
#include "call/stream_values.h"

#define LATE_BYTES (16u << 20)

_Atomic uint32_t late_pending;

/* A piece of work; its data follow. */
struct late_work {
	late_fn *fn;
	uint32_t bytes, data; /* with the header, a multiple of 8; of the data */
	uint32_t n;
	struct late_number number[LATE_NUMBERS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *queue; /* work from `oldest` on */
static uint32_t oldest, used; /* bytes of the queue */
static bool overflowed; /* work was dropped, and the queue has not been empty since */
static _Atomic uint32_t losses;
static _Atomic bool busy; /* a thread does queued work */
static THREAD_OWN bool busy_here;

bool late_is_running(void)
{
	return own(busy_here);
}

uint32_t late_get_losses(void)
{
	return atomic_load_explicit(&losses, memory_order_relaxed);
}

/* ---- measuring ---- */

static THREAD_OWN struct {
	struct stream_point point;
	bool open, begun; /* between the two calls; `point` is in use */
} tensors;

void late_open_tensors(void)
{
	own(tensors).open = true;
	own(tensors).begun = false;
}

void late_close_tensors(void)
{
	if (own(tensors).begun)
		stream_point_end(&own(tensors).point);
	own(tensors).open = own(tensors).begun = false;
}

struct late_number late_measure(const struct buffer *v, uint64_t stream)
{
	struct late_number n = {.count = v->count, .dtype = v->dtype};
	struct stream_point alone, *p = own(tensors).open ? &own(tensors).point : &alone;

	if (p == &alone || !own(tensors).begun)
		stream_point_start(p, stream);
	own(tensors).begun = own(tensors).open;
	stream_point_move(p, stream);
	n.snapshot = stream_measure(p, v);
	if (p == &alone)
		stream_point_end(p);
	return n;
}

void late_remove_number(const struct late_number *n)
{
	if (n->snapshot)
		stream_remove_result(n->snapshot);
}

/* ---- the queue ---- */

/* Returns the place for `bytes` more; NULL: the queue is full. */
static struct late_work *find_late_place(uint32_t bytes)
{
	if (!queue) {
		void *m = mmap(NULL, LATE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		queue = m == MAP_FAILED ? NULL : m;
	}
	if (!queue || overflowed || used + bytes > LATE_BYTES)
		return NULL;
	if (oldest + used + bytes > LATE_BYTES) {
		memmove(queue, queue + oldest, used);
		oldest = 0;
	}
	return (struct late_work *)(queue + oldest + used);
}

static void count_dropped_work(void)
{
	atomic_fetch_add_explicit(&losses, 1, memory_order_relaxed);
	if (thread_state.recorder)
		thread_count(thread_state.recorder, JC_DROP_VALUES);
	else
		thread_count_shared(JC_DROP_VALUES);
	log_loss(LOSS_DEVICE,
		"values of the training that a device has not computed yet take %u MiB, which is "
		"the limit: further ones are lost until it has caught up",
		LATE_BYTES >> 20);
}

bool late_add(
	late_fn *fn, const void *data, uint32_t bytes, const struct late_number *number, unsigned n)
{
	uint32_t all = ((uint32_t)sizeof(struct late_work) + bytes + 7) & ~7u;
	struct late_work *w;

	pthread_mutex_lock(&lock);
	w = find_late_place(all);
	if (w) {
		*w = (struct late_work){.fn = fn, .bytes = all, .data = bytes, .n = n};
		memcpy(w + 1, data, bytes);
		if (n)
			memcpy(w->number, number, n * sizeof(*number));
		used += all;
		atomic_fetch_add_explicit(&late_pending, 1, memory_order_relaxed);
	} else {
		overflowed = used != 0;
	}
	pthread_mutex_unlock(&lock);
	if (!w) {
		for (unsigned i = 0; i < n; i++)
			late_remove_number(&number[i]);
		count_dropped_work();
	}
	return w;
}

/* ---- doing the work ---- */

/* A copy of the oldest piece of work, and what its numbers are. */
struct work_now {
	struct late_work work;
	char data[LATE_DATA_MAX] __attribute__((aligned(8)));
	struct stats stats[LATE_NUMBERS];
	bool finish;
};

/* Copies the oldest piece of work. Returns false if there is none. */
static bool copy_oldest_work(struct work_now *w)
{
	const struct late_work *at;
	bool any;

	pthread_mutex_lock(&lock);
	any = used != 0;
	if (any) {
		at = (const struct late_work *)(queue + oldest);
		w->work = *at;
		memcpy(w->data, at + 1, at->data);
	}
	pthread_mutex_unlock(&lock);
	return any;
}

static void remove_oldest_work(const struct work_now *w)
{
	pthread_mutex_lock(&lock);
	oldest += w->work.bytes;
	used -= w->work.bytes;
	if (!used) {
		oldest = 0;
		overflowed = false;
	}
	atomic_fetch_sub_explicit(&late_pending, 1, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
}

/* True if all numbers have arrived, or never will. */
static bool read_late_numbers(struct work_now *w)
{
	for (uint32_t i = 0; i < w->work.n; i++) {
		const struct late_number *n = &w->work.number[i];
		int state = n->snapshot ? stream_read_result(n->snapshot, (enum dtype)n->dtype,
						  n->count, &w->stats[i])
					: -1;

		if (!state && !w->finish)
			return false;
		if (state != 1)
			w->stats[i].n = 0;
	}
	return true;
}

static void handle_late_work(void *arg)
{
	struct work_now w;

	w.finish = *(const bool *)arg;
	own(busy_here) = true;
	while (copy_oldest_work(&w) && read_late_numbers(&w)) {
		remove_oldest_work(&w);
		for (uint32_t i = 0; i < w.work.n; i++)
			late_remove_number(&w.work.number[i]);
		w.work.fn(w.data, w.stats);
	}
	own(busy_here) = false;
}

static void handle_late_queue(bool finish)
{
	if (!late_is_pending() || atomic_exchange(&busy, true))
		return;
	private_stack_call(handle_late_work, &finish);
	atomic_store(&busy, false);
}

void late_check(void)
{
	handle_late_queue(false);
}

void late_end(void)
{
	handle_late_queue(true);
}

void late_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	oldest = used = 0;
	overflowed = false;
	atomic_store(&late_pending, 0);
	atomic_store(&busy, false);
	own(busy_here) = false;
	own(tensors).open = own(tensors).begun = false;
}
