/* SPDX-License-Identifier: Apache-2.0 */
#include "call/stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/async.h"
#include "call/comm.h"
#include "call/keep.h"
#include "call/data/observer.h"
#include "call/pending.h"
#include "call/record.h"
#include "call/recorder.h"
#include "call/stream_values.h"
#include "config/rooms/calls.h"
#include "device/device.h"
#include "resolve/real.h"
#include "elf/loaded/object_of.h"
#include "session/state.h"

/* ---- which buffers can be measured ---- */

static uint64_t get_stream(const struct call *c)
{
	const union arg *stream = call_get_arg(c, ROLE_STREAM);
	const struct adapter *lib = c->api->spec->lib;

	return stream ? stream->u : lib->stream ? lib->stream(c) : 0;
}

/*
 * Buffers to be decided on. In a local kind, outputs follow the inputs in one array; an adapter
 * may have its buffers elsewhere.
 */
static struct buffer *get_stream_inputs(struct operation *w)
{
	return (struct buffer *)operation_get_inputs(w);
}

static struct buffer *get_stream_outputs(struct operation *w)
{
	return (struct buffer *)operation_get_outputs(w);
}

static void remove_statistics(struct buffer *v, unsigned n)
{
	for (; n; n--, v++)
		v->nostats = 1;
}

static void remove_statistics_without_snapshot(struct buffer *v, unsigned n)
{
	for (; n; n--, v++)
		v->nostats |= !v->snapshot;
}

/*
 * For a call that its stream completes, the device's time is measured too: it begins when the
 * inputs were measured.
 */
static void start_input_measurements(struct call *c)
{
	bool own = c->api->spec->completion == DONE_STREAM;
	struct stream_point p;

	stream_point_begin(&p, device_present(), get_stream(c));
	p.op = &c->op;
	if (own)
		stream_decide_all(&p, c->api->spec->lib, get_stream_inputs(&c->op), c->op.nin);
	else
		stream_decide_placed(&p, get_stream_inputs(&c->op), c->op.nin);
	c->op.before = stream_point_mark(&p, own);
	stream_point_end(&p);
}

/* The device's time of the call ends when the measurement of its outputs starts. */
static void start_output_measurements(
	struct stream_point *p, const struct adapter *lib, struct operation *w, bool own)
{
	p->op = w;
	if (own)
		stream_decide_all(p, lib, get_stream_outputs(w), w->nout);
	else
		stream_decide_placed(p, get_stream_outputs(w), w->nout);
	if (w->before)
		w->after = stream_point_mark(p, true);
}

/* ---- calls whose work is done by inner calls ---- */

#define CARRIED_MAX 64u /* maximum number of outputs; additional ones have no statistics */

static struct open_group *find_open_group(uintptr_t copy, bool make);
static uintptr_t get_library_copy(const struct call *c);

static THREAD_OWN struct {
	/*
	 * the outer call, whose outputs the calls inside it provide; valid if
	 * thread_state.carrying is set
	 */
	struct call *call;
	uint64_t stream; /* stream of the calls inside the group */
	uint32_t depth; /* nesting depth of groups that were opened inside the outer call */
	uint64_t reached[CARRIED_MAX / 64]; /* bit i: a call of the group writes output i */
} carrier;

static void start_carrying(struct call *c)
{
	own(carrier).call = c;
	own(carrier).depth = 0;
	memset(own(carrier).reached, 0, sizeof(own(carrier).reached));
	thread_inside()->carrying = true;
}

static void stop_carrying(const struct operation *w)
{
	if (thread_inside()->carrying && &own(carrier).call->op == w)
		thread_inside()->carrying = false;
}

/* To be called when the group's work is on its stream: decides how its outputs are measured. */
static void start_reached_measurements(const struct device_backend *b, struct operation *w)
{
	struct buffer *v = get_stream_outputs(w);
	struct stream_point p;

	stream_point_begin(&p, b, own(carrier).stream);
	for (unsigned i = 0; i < w->nout && i < CARRIED_MAX; i++)
		if (own(carrier).reached[i / 64] >> i % 64 & 1)
			stream_decide(&p, &v[i]);
	stream_point_end(&p);
	memset(own(carrier).reached, 0, sizeof(own(carrier).reached));
}

/* Handles an inner call that writes at address `to`. */
static void record_carried_output(
	const struct device_backend *b, struct operation *w, const char *to)
{
	struct buffer *v = get_stream_outputs(w);
	struct stream_point p;

	stream_point_begin(&p, b, own(carrier).stream);
	for (unsigned i = 0; i < w->nout && i < CARRIED_MAX; i++) {
		const char *base = v[i].base;

		if (!base || v[i].snapshot || to < base || to >= base + v[i].bytes)
			continue;
		/* In a group, several calls may fill one output; a call outside a group fills it alone. */
		if (own(carrier).depth)
			own(carrier).reached[i / 64] |= UINT64_C(1) << i % 64;
		else if (to == base)
			stream_decide(&p, &v[i]);
	}
	stream_point_end(&p);
}

void stream_carried(struct call *c)
{
	const union arg *to =
		call_get_arg(c, ROLE_RECV) ? call_get_arg(c, ROLE_RECV) : call_get_arg(c, ROLE_BUF);
	enum task task = c->api->spec->task;
	const struct device_backend *b = device_known();

	/*
	 * If longjmp() has left the outer call, its frame is not above this one: calls inside it
	 * have lower frames.
	 */
	if (!b || !thread_inside()->carrying || c->frame >= own(carrier).call->frame)
		return;
	if (task == TASK_GROUP_START) {
		own(carrier).depth += c->ok;
	} else if (task == TASK_GROUP_END) {
		if (own(carrier).depth && --own(carrier).depth == 0 && c->ok)
			start_reached_measurements(b, &own(carrier).call->op);
	} else if (c->ok && to && !find_open_group(get_library_copy(c), false)) {
		own(carrier).stream = get_stream(c);
		if (!b->capturing(own(carrier).stream))
			record_carried_output(b, &own(carrier).call->op, to->cp);
	}
}

void stream_set_on_device(struct operation *w)
{
	if (!w->on_device)
		w->before = w->after = 0;
	w->on_device = true;
}

void stream_enter(struct call *c)
{
	const struct device_backend *b = device_present();
	struct operation *w = &c->op;

	stream_poll();
	for (unsigned i = 0; i < 2 * KIND_VIEWS; i++)
		w->views[i].snapshot = 0;
	w->before = w->after = 0;
	thread_inside()->carrying = false;
	if (b && b->capturing(get_stream(c))) {
		w->flags |= CF_CAPTURED;
		remove_statistics(get_stream_inputs(w), w->nin);
		remove_statistics(get_stream_outputs(w), w->nout);
		return;
	}
	start_input_measurements(c);
	if (c->api->spec->completion == DONE_STREAM)
		device_collective_begins(b);
	if (b && c->api->spec->lib->carried && !get_calls_keys(c->generation->cfg)->nested)
		start_carrying(c);
}

static bool has_snapshots(const struct buffer *v, unsigned n)
{
	for (; n; n--, v++)
		if (v->snapshot)
			return true;
	return false;
}

static bool is_completed_by_stream(struct operation *w)
{
	return w->after || has_snapshots(get_stream_inputs(w), w->nin) ||
	       has_snapshots(get_stream_outputs(w), w->nout);
}

static void remove_snapshots(struct buffer *v, unsigned n)
{
	for (; n; n--, v++)
		if (v->snapshot) {
			stream_drop_snapshot(device_known(), v->snapshot);
			v->snapshot = 0;
		}
}

static void remove_stream_mark(uint32_t *mark)
{
	if (*mark)
		stream_drop_snapshot(device_known(), *mark);
	*mark = 0;
}

void stream_remove_operation(struct operation *w)
{
	stop_carrying(w);
	if (!device_known())
		return;
	remove_snapshots(get_stream_inputs(w), w->nin);
	remove_snapshots(get_stream_outputs(w), w->nout);
	remove_stream_mark(&w->before);
	remove_stream_mark(&w->after);
}

/* ---- pending snapshots ---- */

#define FLIGHT_MAX 1024u
#define FLIGHT_LATE 16 /* number of pending snapshots checked in one pass */

static struct pending *flight; /* room for twice as many: nflight from `oldest` on, oldest first */
static uint32_t oldest, nflight;
static _Atomic uint32_t flying;
static pthread_mutex_t flight_lock = PTHREAD_MUTEX_INITIALIZER;

static bool flight_add(const struct pending *p)
{
	bool ok;

	pthread_mutex_lock(&flight_lock);
	if (!flight) {
		void *m = mmap(NULL, 2 * FLIGHT_MAX * sizeof(*flight), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		flight = m == MAP_FAILED ? NULL : m;
	}
	ok = flight && nflight < FLIGHT_MAX;
	if (ok) {
		if (oldest + nflight == 2 * FLIGHT_MAX) {
			memmove(flight, flight + oldest, nflight * sizeof(*flight));
			oldest = 0;
		}
		flight[oldest + nflight++] = *p;
		atomic_store_explicit(&flying, nflight, memory_order_relaxed);
	}
	pthread_mutex_unlock(&flight_lock);
	return ok;
}

/*
 * True if the snapshot of each buffer has arrived, or is lost. Then the values are in host
 * memory.
 */
static bool are_snapshots_ready(const struct device_backend *b, struct buffer *v, unsigned n)
{
	for (; n; n--, v++)
		if (v->snapshot && v->nostats && stream_get_snapshot(b, v) == 0)
			return false;
	return true;
}

/* True if the stream has passed both marks of the call. */
static bool are_marks_ready(const struct operation *w)
{
	return !w->after || stream_poll_mark(w->after) != 0;
}

/* Removes the i-th call: the few calls before it move, not the many after it. */
static void remove_flight(uint32_t i)
{
	memmove(flight + oldest + 1, flight + oldest, i * sizeof(*flight));
	oldest++;
	nflight--;
	atomic_store_explicit(&flying, nflight, memory_order_relaxed);
}

/* Removes the first complete call from the list. */
static bool remove_first_complete(struct pending *out)
{
	const struct device_backend *b = device_known();
	uint32_t late = 0;
	bool found = false;

	if (!b || pthread_mutex_trylock(&flight_lock) != 0)
		return false;
	for (uint32_t i = 0; i < nflight && late < FLIGHT_LATE; i++) {
		struct operation *w = &flight[oldest + i].op;

		if (!are_snapshots_ready(b, get_stream_inputs(w), w->nin) ||
			!are_snapshots_ready(b, get_stream_outputs(w), w->nout) ||
			!are_marks_ready(w)) {
			late++;
			continue;
		}
		*out = flight[oldest + i];
		remove_flight(i);
		found = true;
		break;
	}
	pthread_mutex_unlock(&flight_lock);
	return found;
}

/*
 * Returns the time between the launches before and after the call, by the device's clock. 0: not
 * known.
 */
static uint64_t compute_device_time(const struct operation *w)
{
	uint64_t begin, end, first, last;

	if (!w->before || !w->after || !device_get_times(w->before, &begin, &end) ||
		!device_get_times(w->after, &first, &last) || first < end)
		return 0;
	return first - end;
}

static void handle_stream_completion(struct pending *p, uint64_t end, uint32_t flags, int32_t error)
{
	struct thread *t = session_is_on() ? thread_get() : NULL;

	p->device_ns = compute_device_time(&p->op);
	if (t)
		write_end_record(t, p, end, flags, error);
	stream_remove_operation(&p->op);
	operation_free_copy(&p->op);
}

void stream_poll(void)
{
	struct pending p;

	if (!atomic_load_explicit(&flying, memory_order_relaxed))
		return;
	while (remove_first_complete(&p))
		handle_stream_completion(&p, clock_ticks(), 0, 0);
}

/* Ends the call's record when its snapshots have arrived, or now if it has none. end: ticks. */
static void end_when_snapshots_arrived(struct pending *p, uint64_t end, uint32_t flags)
{
	if (is_completed_by_stream(&p->op)) {
		if (flight_add(p))
			return;
		log_loss(LOSS_PENDING,
			"too many calls in progress on streams: further ones have no statistics");
		stream_remove_operation(&p->op);
	}
	handle_stream_completion(p, end, flags, 0);
}

/* ---- groups ---- */

/*
 * number of libraries, or copies of one, with groups that a thread may have open at the same time
 */
#define GROUPS 2
#define QUEUE_FIRST 64u
#define QUEUE_MAX 65536u

struct queued {
	struct pending p;
	uint64_t stream;
	uintptr_t copy;
};

struct open_group {
	uintptr_t copy;
	uint32_t depth;
};

#define BASES 8u

static THREAD_OWN struct {
	struct open_group open[GROUPS];
	uint32_t n; /* number of calls in thread->group */
	uint32_t age; /* real_get_generation() for which base[] is valid */
	struct {
		const void *real;
		uintptr_t copy;
	} base[BASES];
} thread_groups;

/* A group belongs to one copy of a library: several copies may be loaded, independent of each other. */
static uintptr_t find_library_copy(const void *real)
{
	uintptr_t copy = sibling_get_base(real);

	return copy ? copy : 1;
}

/* For a function of another copy of the library than the row's. Cached by the thread. */
__attribute__((noinline)) static uintptr_t find_other_copy(const void *real)
{
	unsigned i = (unsigned)(hash_mix((uintptr_t)real) % BASES);
	uint32_t age = real_get_generation();

	if (own(thread_groups).age != age)
		memset(own(thread_groups).base, 0, sizeof(own(thread_groups).base));
	own(thread_groups).age = age;
	if (own(thread_groups).base[i].real != real) {
		own(thread_groups).base[i].copy = find_library_copy(real);
		own(thread_groups).base[i].real = real;
	}
	return own(thread_groups).base[i].copy;
}

static uintptr_t get_library_copy(const struct call *c)
{
	struct api *f = c->api;
	uintptr_t copy = atomic_load_explicit(&f->copy, memory_order_relaxed);

	if (c->real != call_get_real(f))
		return find_other_copy(c->real);
	if (!copy) {
		copy = find_library_copy(c->real);
		atomic_store_explicit(&f->copy, copy, memory_order_relaxed);
	}
	return copy;
}

static struct open_group *find_open_group(uintptr_t copy, bool make)
{
	struct open_group *unused = NULL;

	for (unsigned i = 0; i < GROUPS; i++) {
		if (own(thread_groups).open[i].depth && own(thread_groups).open[i].copy == copy)
			return &own(thread_groups).open[i];
		if (!own(thread_groups).open[i].depth)
			unused = &own(thread_groups).open[i];
	}
	if (!make || !unused)
		return NULL;
	*unused = (struct open_group){.copy = copy};
	return unused;
}

/* Returns the entry for one more call; the queue grows by doubling and is kept. */
static struct queued *reserve_queue_entry(struct thread *t)
{
	size_t have = t->group_bytes / sizeof(struct queued);

	if (own(thread_groups).n == have) {
		size_t want = have ? 2 * have : QUEUE_FIRST;
		size_t bytes = want * sizeof(struct queued);
		void *m = want > QUEUE_MAX ? MAP_FAILED
					   : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (m == MAP_FAILED)
			return NULL;
		if (t->group) {
			memcpy(m, t->group, own(thread_groups).n * sizeof(struct queued));
			munmap(t->group, t->group_bytes);
		}
		t->group = m;
		t->group_bytes = bytes;
	}
	return (struct queued *)t->group + own(thread_groups).n++;
}

static void handle_group_end(struct call *c, int64_t ret)
{
	const struct adapter *lib = c->api->spec->lib;
	uintptr_t copy = get_library_copy(c);
	bool progress = lib->in_progress && ret == lib->in_progress;
	bool never = c->api->spec->sub == SUB_CANCEL || !c->ok;
	uint32_t kept = 0, flags = !c->ok     ? CF_ERROR
				   : never    ? CF_CANCELLED
				   : progress ? CF_INPROGRESS
					      : 0;
	struct thread *t = thread_inside()->recorder;
	/* A forked child inherits the depth, but not the queue. */
	struct queued *q = t ? t->group : NULL;
	struct stream_point point;

	if (!q)
		own(thread_groups).n = 0;
	stream_point_begin(&point, device_present(), 0);
	for (uint32_t i = 0; i < own(thread_groups).n; i++) {
		struct operation *w = &q[i].p.op;

		if (q[i].copy != copy || never)
			continue;
		if (progress || w->flags & (CF_INPROGRESS | CF_CAPTURED)) {
			remove_statistics(w->out, w->nout);
			continue;
		}
		stream_point_move(&point, q[i].stream);
		start_output_measurements(&point, lib, w, true);
	}
	stream_point_end(&point);
	for (uint32_t i = 0; i < own(thread_groups).n; i++) {
		struct operation *w = &q[i].p.op;

		if (q[i].copy != copy) {
			if (kept != i)
				q[kept] = q[i];
			kept++;
			continue;
		}
		if (never) {
			stream_remove_operation(w);
			handle_stream_completion(&q[i].p, c->end, flags, (int32_t)ret);
			continue;
		}
		end_when_snapshots_arrived(&q[i].p, c->end, flags);
	}
	own(thread_groups).n = kept;
}

void stream_group_enter(struct call *c)
{
	struct open_group *g = find_open_group(get_library_copy(c), false);

	/* The work of the group completes, or hangs, in its outermost end. */
	if (g && g->depth == 1 && own(thread_groups).n && c->api->spec->task == TASK_GROUP_END)
		async_wait_begin(c);
}

void stream_group(struct call *c, int64_t ret)
{
	bool start = c->api->spec->task == TASK_GROUP_START;
	struct open_group *g = find_open_group(get_library_copy(c), start);

	async_wait_end(c);
	if (!g || (start && !c->ok))
		return;
	if (start)
		g->depth++;
	/* The level goes up by one even if the function failed. */
	else if (--g->depth == 0)
		handle_group_end(c, ret);
}

bool stream_in_group(const struct call *c)
{
	return find_open_group(get_library_copy(c), false) != NULL;
}

/*
 * True if the call's stream is being captured. Asked again at leave for calls that no stream
 * completes: at entry they may not have had a buffer on a device.
 */
static bool is_captured(const struct call *c)
{
	const struct device_backend *b = device_known();

	return b && b->capturing(get_stream(c));
}

void stream_leave(struct call *c, int64_t ret)
{
	const struct adapter *lib = c->api->spec->lib;
	struct operation *w = &c->op;
	bool progress = lib->in_progress && ret == lib->in_progress;
	bool own = c->api->spec->completion == DONE_STREAM;
	struct open_group *g = own ? find_open_group(get_library_copy(c), false) : NULL;
	struct queued *q = NULL;
	struct stream_point point;
	struct pending p;

	stop_carrying(w);
	if (!c->ok) {
		stream_remove_operation(w);
		record_close(c->rec, w, c->end, true, ret);
		return;
	}
	if (progress)
		w->flags |= CF_INPROGRESS;
	if (g && !w->all_in && !(q = reserve_queue_entry(c->t))) {
		w->flags |= CF_UNTRACKED;
		w->nout = 0;
		thread_count(c->t, JC_DROP_PENDING);
		log_loss(LOSS_PENDING,
			"a group of more than %u calls: outputs of further ones are "
			"not recorded",
			QUEUE_MAX);
	}
	if (progress || w->flags & CF_CAPTURED || (!own && is_captured(c)))
		remove_statistics(get_stream_outputs(w), w->nout);
	else if (lib->carried)
		remove_statistics_without_snapshot(get_stream_outputs(w), w->nout);
	else if (!own || !g || w->all_in) {
		stream_point_begin(&point, device_present(), get_stream(c));
		start_output_measurements(&point, lib, w, own);
		stream_point_end(&point);
	}
	if (!q && !is_completed_by_stream(w)) {
		remove_stream_mark(&w->before);
		record_close(c->rec, w, c->end, false, ret);
		return;
	}
	p = (struct pending){.seq = c->rec->seq, .start = c->start, .api = c->api, .op = *w};
	if (!w->all_in && !w->all_out) {
		operation_copy_arrays(&p.op);
	} else if (!operation_copy_all(&p.op)) {
		stream_remove_operation(w);
		record_close(c->rec, w, c->end, false, ret);
		return;
	}
	record_async(c->rec, w, c->end);
	if (q)
		*q = (struct queued){.p = p, .stream = get_stream(c), .copy = get_library_copy(c)};
	else
		end_when_snapshots_arrived(&p, c->end, 0);
}

void stream_reset(void)
{
	pthread_mutex_init(&flight_lock, NULL);
	oldest = nflight = 0;
	atomic_store(&flying, 0);
	own(thread_groups).n = 0;
	thread_inside()->carrying = false;
}
