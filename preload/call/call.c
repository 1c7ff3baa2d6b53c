/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a wrapped call: enter, the real function, leave. All costs of a call are in this file. */
#include "call/call.h"

#include <errno.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/log.h"
#include "api/enabled.h"
#include "base/thread.h"
#include "call/activation.h"
#include "call/async.h"
#include "call/comm.h"
#include "call/data/slice.h"
#include "call/describe.h"
#include "call/record.h"
#include "call/stackid.h"
#include "call/step.h"
#include "call/stream.h"
#include "call/recorder.h"
#include "config/marker.h"
#include "config/rooms/calls.h"
#include "resolve/bound_call.h"
#include "resolve/real.h"
#include "session/profiled.h"
#include "session/state.h"
#include "session/thinning.h"

/*
 * Detects wrappers that were skipped by longjmp() although thread_self still has them as active.
 * This is certain if the wrapper's frame is not above the current one, or its return address is
 * no longer in its frame. But the address may survive in a gap of a larger frame that now covers
 * it. So after many calls inside the wrapper, the stack is walked to find out whether it passes
 * through the wrapper. A walk takes as long as some hundred calls.
 */
struct stack_search {
	const struct stack_bounds *b;
	uintptr_t pc, frame;
	bool is_found;
};

static void search_stack_for_call(void *arg)
{
	const struct thread_self *w = thread_inside();
	struct stack_search *u = arg;

	u->is_found = stack_returns_by(u->b, w->recorder ? w->recorder->stacks : NULL, u->pc,
			      u->frame, w->frame + 8) == 0;
}

__attribute__((noinline)) static bool is_frame_on_stack(
	const struct stack_bounds *b, uintptr_t pc, uintptr_t frame)
{
	struct stack_search u = {b, pc, frame, false};

	private_stack_call(search_stack_for_call, &u);
	return u.is_found;
}

/*
 * number of calls inside the wrapper before the first walk; then at 64, 128 ..., and at each
 * LOOK_EVERY
 */
#define LOOK_FIRST 32
#define LOOK_EVERY 1024

__attribute__((no_sanitize("address", "thread"))) static bool has_jumped_out(
	struct thread_self *w, uintptr_t pc, uintptr_t frame)
{
	const struct stack_bounds *b = thread_get_bounds();
	uint32_t n = ++w->inside;

	if (w->frame < b->floor || w->frame + 16 > b->hi || frame < b->floor || frame >= b->hi)
		return false; /* another stack (fiber, signal stack): not known */
	if (w->frame <= frame || ((const uintptr_t *)w->frame)[1] != w->pc)
		return true;
	if (__builtin_expect((n < LOOK_EVERY ? n & (n - 1) : n % LOOK_EVERY) || n < LOOK_FIRST, 1))
		return false;
	return is_frame_on_stack(b, pc, frame);
}

static bool is_large_enough(const struct operation *w, const struct config *cfg)
{
	const struct calls_keys *keys = get_calls_keys(cfg);
	uint64_t largest = 0;

	if (!keys->min_bytes)
		return true;
	for (unsigned i = 0; i < w->nin; i++)
		largest = operation_get_inputs(w)[i].bytes > largest
				  ? operation_get_inputs(w)[i].bytes
				  : largest;
	for (unsigned i = 0; i < w->nout; i++)
		largest = operation_get_outputs(w)[i].bytes > largest
				  ? operation_get_outputs(w)[i].bytes
				  : largest;
	return largest >= (uint64_t)keys->min_bytes;
}

/* Returns the reason why no call is recorded at present, or JC_RECORDED. */
static inline __attribute__((always_inline)) enum journal_count find_reason_unwanted(
	const struct call *c)
{
	if (c->generation->paused)
		return JC_SKIP_PAUSED;
	if (!session_rank_selected() || !session_rank_profiled())
		return JC_SKIP_RANK;
	/* A batch without the request of key request_id; calls between ranks are recorded anyway. */
	if (c->api->spec->lib->passed && slice_is_request_absent())
		return JC_SKIP_STEP;
	return step_profiled() ? JC_RECORDED : JC_SKIP_STEP;
}

/* Returns the reason why this call is not recorded, or JC_RECORDED. */
static enum journal_count find_reason_filtered(const struct call *c)
{
	enum journal_count why = find_reason_unwanted(c);

	return why != JC_RECORDED || is_large_enough(&c->op, c->generation->cfg) ? why
										 : JC_SKIP_SIZE;
}

/*
 * For a call that only produces rows: if rows are not wanted now, handles it cheaply by the
 * adapter's passed(), without a description.
 */
static bool handle_rowless_call(struct call *c)
{
	enum journal_count why = c->word & API_LISTED ? find_reason_unwanted(c) : JC_SKIP_STEP;

	if (why == JC_RECORDED && is_thinning_on() && session_is_on() && (c->t = thread_get()) &&
		!is_call_kept(0, (int64_t)c->t->unnumbered++))
		why = JC_SKIP_OVERHEAD;
	if (why == JC_RECORDED)
		return false;
	c->api->spec->lib->passed(c);
	c->mode = CALL_NESTED;
	if (!c->t && c->word & API_LISTED && session_is_on())
		c->t = thread_get();
	if (c->t) {
		thread_count(c->t, JC_SEEN);
		thread_count(c->t, why);
	} else if (!session_is_on()) {
		session_record_exclusion(c->word & API_LISTED);
	}
	return true;
}

static inline bool is_on_stream(const struct call *c, const struct api_spec *s)
{
	return __builtin_expect(s->completion == DONE_STREAM || c->op.on_device, 0);
}

static void start_data_call(
	struct call *c, struct api *f, const struct api_spec *s, struct thread_self *w)
{
	int64_t comm_seq = JOURNAL_NONE64;
	bool only_rows = s->lib->passed && !(c->word & (API_NUMBERED | API_LOOKED));

	if (only_rows && handle_rowless_call(c))
		return;
	if (!describe_call(c)) {
		c->mode = CALL_NESTED;
		return;
	}
	/*
	 * If this is a thread of the library itself, the call cannot be part of one of the
	 * library's recorded calls.
	 */
	if (__builtin_expect(c->op.comm && c->op.comm->inner, 0) &&
		!get_calls_keys(c->generation->cfg)->nested) {
		if (w->recorder && session_is_on())
			thread_count(w->recorder, JC_SKIP_NESTED);
		c->mode = CALL_NESTED;
		return;
	}
	c->op.config = c->generation->cfg;
	c->op.slicing = slicing_get();
	if (__builtin_expect(is_sliced(&c->op.slicing), 0) &&
		(c->op.comm || (s->kind && s->kind->collective)))
		c->op.slicing = (struct slicing){0};
	if (s->completion == DONE_START) {
		/*
		 * The call only describes a persistent request: no data is transferred before it
		 * is started. The adapter's leave() keeps the description.
		 */
		c->mode = CALL_HOOK;
		return;
	}
	if (__builtin_expect(c->word & API_LOOKED && !w->depth, 0))
		activation_check();
	if (c->word & API_NUMBERED) {
		/* Counted even if it is not recorded: the number matches calls of different ranks. */
		if (s->kind->collective && c->op.comm)
			comm_seq = comm_get_next_seq(c->op.comm);
	}

	enum journal_count why = c->word & API_LISTED ? find_reason_filtered(c) : JC_SKIP_SIZE;

	c->mode = CALL_NESTED;
	if (!(c->word & API_LISTED) || (why != JC_RECORDED && !session_is_on())) {
		if (!session_is_on())
			session_record_exclusion(c->word & API_LISTED);
		return;
	}
	if (!session_is_on() && !session_start())
		return;
	c->t = thread_get();
	if (!c->t)
		return;
	thread_count(c->t, JC_SEEN);
	if (is_thinning_on() && !only_rows && why == JC_RECORDED &&
		is_thinned_out(c->t, &c->op, comm_seq))
		why = JC_SKIP_OVERHEAD;
	if (why != JC_RECORDED) {
		thread_count(c->t, why);
		return;
	}

	uint32_t stack = are_stack_ids_wanted() ? stack_id(c->t, f, c->pc, c->frame) : 0;

	if (stack == STACK_UNWANTED) {
		thread_count(c->t, JC_SKIP_CALLER);
		return;
	}
	if (is_on_stream(c, s))
		stream_enter(c);
	c->rec = record_open(c->t, f, &c->op, comm_seq, stack, c->outer);
	if (!c->rec && is_on_stream(c, s))
		stream_remove_operation(&c->op);
	if (c->rec) {
		c->mode = CALL_RECORD;
		c->start = c->rec->start;
		w->call = c->rec->seq;
	}
}

/*
 * Tasks whose adapters also see nested calls: they may make and free communicators and complete
 * requests.
 */
#define API_ALWAYS                                                                             \
	(1u << TASK_COMM_NEW | 1u << TASK_COMM_END | 1u << TASK_WIN_NEW | 1u << TASK_WIN_END | \
		1u << TASK_WAIT | 1u << TASK_TEST | 1u << TASK_REQUEST)

/* True if calls of the function do the enclosing call's work, on a stream. */
static inline bool is_carrier(const struct api_spec *s)
{
	return s->completion == DONE_STREAM || s->task == TASK_GROUP_START ||
	       s->task == TASK_GROUP_END;
}

static void start_inner_call(
	struct call *c, struct api *f, const struct api_spec *s, struct thread_self *w)
{
	bool nested = w->depth > 0;

	if (c->word & API_COUNTED) {
		atomic_fetch_add_explicit(&f->hits, 1, memory_order_relaxed);
		return;
	}
	if (s->task == TASK_SCOPE) {
		c->mode = CALL_WATCH;
		if (s->lib->enter)
			s->lib->enter(c);
		return;
	}
	if (nested && !(API_ALWAYS >> s->task & 1)) {
		if (s->task != TASK_DATA || !get_calls_keys(c->generation->cfg)->nested) {
			if (__builtin_expect(w->carrying, 0) && is_carrier(s))
				c->mode = CALL_CARRIED;
			if (s->task == TASK_DATA && w->recorder && session_is_on())
				thread_count(w->recorder, JC_SKIP_NESTED);
			if (c->mode == CALL_PASS && s->task == TASK_DATA && s->lib->nested &&
				s->lib->nested(c))
				c->mode = CALL_WATCH;
			return;
		}
	}
	if (s->task == TASK_DATA) {
		if (s->lib->ready && !s->lib->ready())
			return;
		start_data_call(c, f, s, w);
	} else {
		c->mode = CALL_HOOK;
		stream_poll();
		if (s->task == TASK_GROUP_END)
			stream_group_enter(c);
	}
	if (c->word & API_HOOKED && c->mode != CALL_PASS) {
		if (s->lib->enter)
			s->lib->enter(c);
		else if (s->task == TASK_COMM_END && call_get_arg(c, ROLE_COMM))
			call_set_ending_comm(c, s->lib, call_get_arg(c, ROLE_COMM)->u);
	}
}

/* For a call from inside libprobe itself (an adapter's query, a signal handler): nothing is recorded. */
static void *find_real_anyway(const struct api *f, uintptr_t pc)
{
	void *real = bound_take(f);
	bool several;

	if (!real && !(get_api_word(f) & API_MULTI))
		real = call_get_real(f);
	api_fill(); /* WRAPPER_ENTER reads `spec` if there is no real function */
	return real ? real : real_find(f->spec, pc, &several);
}

/*
 * Measures libprobe's own time. Reading the clock takes about as long as the work that is
 * measured. So only one call in SAMPLE on average is measured, and represents all calls since the
 * last measured one. The distance is random, because otherwise a repeating step could always hit
 * the same call. Slow parts are measured in each call (thread_add_exact_time()).
 */
#define SAMPLE_BITS 5 /* distances of 1 to 32 */

static inline void start_own_time(struct call *c, struct thread_self *w)
{
	c->weight = 0;
	if (w->unsampled) {
		w->unsampled--;
		return;
	}
	c->own = clock_ticks();
	c->counted = w->recorder ? w->recorder->counted : 0;
	c->weight = w->weight ? w->weight : 1;
	w->unsampled = (uint32_t)(c->own * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SAMPLE_BITS));
	w->weight = w->unsampled + 1;
}

/* c->own was a time stamp; from here on it is a duration. */
static inline void set_own_ticks(struct call *c, uint64_t now)
{
	c->own = now - c->own;
}

static inline void stop_own_time(struct call *c, const struct thread_self *w)
{
	if (c->t != w->recorder)
		return;

	uint64_t exact = c->t->counted - c->counted, end = call_ended(c);
	uint64_t own = c->own + (clock_ticks() - end);

	if (own > exact)
		thread_add_own_time(c->t, compute_sample_ticks(own - exact, c->weight));
}

/* Returns the nesting counter that this call increments. */
static inline uint32_t *get_nesting_counter(const struct api_spec *s, struct thread_self *w)
{
	return __builtin_expect(s->transparent, 0) ? &w->transparent : &w->depth;
}

static inline void remove_nesting_level(
	const struct call *c, const struct api_spec *s, struct thread_self *w)
{
	uint32_t *level = get_nesting_counter(s, w);

	w->call = c->outer;
	/* A forked child starts at 0, although it is inside the call in which it was forked. */
	if (*level)
		--*level;
}

/*
 * True if there is enough stack below the wrapper's frame. False before the thread's first call,
 * when that is not known.
 */
static inline bool has_stack_space(const struct thread_self *w, uintptr_t frame)
{
	return __builtin_expect(frame - w->space_at < w->space_bytes, 1);
}

static inline bool is_followed(uint32_t word)
{
	return word & API_ON || (word & API_MULTI && word & API_DECIDED);
}

/* plain: the row's state is API_ON, and the wrapper has just checked that recording is on. */
static inline __attribute__((always_inline)) void *enter_wrapped_call(struct call *c, struct api *f,
	union arg *v, uintptr_t pc, uintptr_t frame, struct thread_self *w, uint32_t word,
	bool plain)
{
	if (w->depth + w->transparent && has_jumped_out(w, pc, frame)) {
		w->depth = w->transparent = 0;
		w->call = 0;
	}

	void *real = bound_take(f);

	if (!plain && !(word & API_STATES))
		word = call_first_use(f, real ? (uintptr_t)real : pc);
	if (!real && (plain || !(word & API_GONE)))
		real = !plain && word & API_MULTI ? real_find_for_caller(f, pc) : call_get_real(f);
	if (real && (plain || (is_followed(word) && recording_enabled()))) {
		const struct api_spec *s = f->spec;

		start_own_time(c, w);
		c->word = word;
		c->generation = get_generation();
		c->api = f;
		c->real = real;
		c->v = v;
		c->t = NULL;
		c->rec = NULL;
		c->ending = NULL;
		c->outer = w->call;
		c->pc = pc;
		c->frame = frame;
		start_inner_call(c, f, s, w);
		if (c->mode < CALL_CARRIED && c->mode != CALL_PASS) {
			if (w->depth + w->transparent == 0) {
				w->frame = frame;
				w->pc = pc;
				w->inside = 0;
			}
			++*get_nesting_counter(s, w);
			/* The real function starts here; the time before belongs to libprobe. */
			if (!c->rec)
				c->start = clock_ticks();
			if (c->weight)
				set_own_ticks(c, c->start);
		}
	}
	return real;
}

struct entering {
	struct call *c;
	struct api *f;
	union arg *v;
	uintptr_t pc, frame;
	void *real;
};

static void start_on_private_stack(void *arg)
{
	struct entering *e = arg;
	struct thread_self *w = thread_inside();

	if (w->busy > 1) {
		if (!thread_has_block() && get_api_word(e->f) & API_LISTED && session_is_on())
			thread_handle_lost_call();
		e->real = find_real_anyway(e->f, e->pc);
		return;
	}
	thread_bounds_find();
	e->real =
		enter_wrapped_call(e->c, e->f, e->v, e->pc, e->frame, w, get_api_word(e->f), false);
}

/*
 * The careful path: a thread's first call, a call inside libprobe's own code, one with little or unknown stack, or a function's
 * first call.
 */
__attribute__((noinline)) static void *start_call_carefully(
	struct call *c, struct api *f, union arg *v, uintptr_t pc, uintptr_t frame)
{
	struct entering e = {c, f, v, pc, frame, NULL};
	struct thread_self *w = thread_self();

	w->busy++;
	private_stack_call(start_on_private_stack, &e);
	w->busy--;
	return e.real;
}

void *call_enter(struct call *c, struct api *f, union arg *v, uintptr_t pc, uintptr_t frame)
{
	struct thread_self *w = thread_inside();
	uint32_t word = get_api_word(f);
	int err;
	void *real;

	c->mode = CALL_PASS;
	c->done = 0;
	/* In a thread's first call, `busy` is set. */
	if (w->busy == 0 && word & API_ON && has_stack_space(w, frame)) {
		err = *w->error;
		w->busy = 1;
		real = enter_wrapped_call(c, f, v, pc, frame, w, word, true);
		w->busy--;
		*w->error = err;
	} else {
		err = errno;
		real = start_call_carefully(c, f, v, pc, frame);
		errno = err;
	}
	return real;
}

static inline bool is_success(const struct adapter *lib, int64_t ret)
{
	if (__builtin_expect(lib->success[0] == ret || lib->nsuccess == 0, 1))
		return true;
	for (unsigned i = 1; i < lib->nsuccess; i++)
		if (lib->success[i] == ret)
			return true;
	return false;
}

void call_set_ending_comm(struct call *c, const struct adapter *lib, uint64_t handle)
{
	if (!c->ending)
		c->ending = comm_claim(lib, handle);
}

static void close_comm_claim(struct call *c, bool ended)
{
	if (c->ending)
		comm_close_claim(c->ending, ended);
	c->ending = NULL;
}

/*
 * True if the thread is not the one at entry: it may have forked inside the real function, and
 * this is the child. The record is then the parent's; if the child records again, its memory is
 * not even mapped any more.
 */
static inline bool is_elsewhere(const struct call *c, const struct thread_self *w)
{
	return __builtin_expect(c->t && c->t != w->recorder, 0);
}

static inline __attribute__((always_inline)) void leave_wrapped_call(
	struct call *c, const struct api_spec *s, struct thread_self *w, int64_t ret)
{
	const struct adapter *lib = s->lib;

	c->ok = is_success(lib, ret);
	c->async = false;
	if (is_elsewhere(c, w)) {
		c->t = NULL;
		c->rec = NULL;
	}
	if (c->mode == CALL_CARRIED) {
		stream_carried(c);
		return;
	}
	if (c->mode == CALL_WATCH) {
		if (lib->leave)
			lib->leave(c, ret);
		close_comm_claim(c, c->ok);
		return;
	}
	if (c->word & API_HOOKED && lib->leave)
		lib->leave(c, ret);
	if (c->rec) {
		if (is_on_stream(c, s))
			stream_leave(c, ret);
		else if (c->async)
			record_async(c->rec, &c->op, c->end);
		else
			record_close(c->rec, &c->op, c->end, !c->ok, ret);
		if (c->op.comm && w->depth == 1)
			c->t->comm_ticks += c->end - c->start;
	} else if ((s->task == TASK_WAIT || s->task == TASK_PROBE) && w->depth == 1 &&
		   w->recorder) {
		w->recorder->comm_ticks += c->end - c->start;
	} else if (s->task == TASK_GROUP_START || s->task == TASK_GROUP_END) {
		stream_group(c, ret);
	}
	if (c->word & API_MARKER && w->depth == 1)
		step_handle_marker();
	remove_nesting_level(c, s, w);
	if (c->weight && c->t)
		stop_own_time(c, w);
}

/*
 * True if the call describes a communicator, or the library: this may need more stack than is
 * certain to be available.
 */
static inline bool is_rare(unsigned task)
{
	return task >= TASK_COMM_NEW && task <= TASK_ABORT;
}

struct leaving {
	struct call *c;
	int64_t ret;
};

static void finish_on_private_stack(void *arg)
{
	const struct leaving *l = arg;

	leave_wrapped_call(l->c, l->c->api->spec, thread_inside(), l->ret);
	/* Calls that end an object always take this path. */
	if (l->c->mode == CALL_HOOK)
		close_comm_claim(l->c, l->c->ok);
}

int64_t call_leave(struct call *c, int64_t ret)
{
	c->done = 1;
	if (c->mode == CALL_PASS)
		return ret;

	struct thread_self *w = thread_inside();
	const struct api_spec *s = c->api->spec;
	int err = *w->error;

	/*
	 * A program calls Test repeatedly until it succeeds, and reading the clock is a quarter
	 * of a call's cost.
	 */
	c->end = s->task == TASK_TEST ? 0 : clock_ticks();
	w->busy++;
	if (has_stack_space(w, c->frame) && !is_rare(s->task)) {
		leave_wrapped_call(c, s, w, ret);
	} else {
		struct leaving l = {c, ret};

		private_stack_call(finish_on_private_stack, &l);
	}
	w->busy--;
	*w->error = err;
	return ret;
}

static void unwind_on_private_stack(void *arg)
{
	struct call *c = arg;

	if (c->mode == CALL_CARRIED)
		return;
	if (c->mode == CALL_WATCH) {
		c->ok = false;
		c->end = clock_ticks();
		if (c->api->spec->lib->leave)
			c->api->spec->lib->leave(c, 0);
		close_comm_claim(c, false);
		return;
	}
	if (c->mode == CALL_HOOK)
		close_comm_claim(c, false);
	if (c->rec && !is_elsewhere(c, thread_inside())) {
		c->op.flags |= CF_UNWOUND;
		c->op.nout = 0;
		stream_remove_operation(&c->op);
		record_close(c->rec, &c->op, clock_ticks(), false, 0);
	} else if (!c->rec) {
		/* If it is a completion call: the thread is no longer blocked in it. */
		async_remove_claims(c);
	}
	remove_nesting_level(c, c->api->spec, thread_inside());
}

void call_unwind(struct call *c)
{
	if (c->mode == CALL_PASS || c->done)
		return;

	int err = errno;

	thread_inside()->busy++;
	private_stack_call(unwind_on_private_stack, c);
	thread_inside()->busy--;
	errno = err;
}
