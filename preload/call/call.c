/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a wrapped call: enter, the real function, leave. Everything that a call costs is on this page.
 */
#include "call/call.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "call/activation.h"
#include "call/async.h"
#include "call/comm.h"
#include "call/describe.h"
#include "call/record.h"
#include "call/stackid.h"
#include "call/step.h"
#include "call/stream.h"
#include "call/thread.h"
#include "config/marker.h"
#include "entry/bind.h"
#include "entry/check.h"
#include "entry/real.h"
#include "session.h"

/* Does the row matter at all with this configuration? */
static uint32_t traits_of(const struct api *f)
{
	const struct api_spec *s = f->spec;
	const char *marker = session.cfg.step_marker;
	struct marker m;
	uint32_t t = 0;

	if (check_wanted())
		return API_COUNTED;
	if (s->task != TASK_DATA)
		return API_LISTED | API_HOOKED;
	if (f->traits & API_CHOSEN || wraplist_match(session.list, s->lib->name, s->list_name))
		t |= API_LISTED;
	if (marker && *marker &&
		(strcmp(marker, s->symbol) == 0 || strcmp(marker, s->list_name) == 0))
		t |= API_MARKER;
	if (marker && !marker_parse(marker, strlen(marker), &m) && m.form == MARKER_LANGUAGE &&
		t & API_LISTED)
		t |= API_LOOKED;
	if (s->completion != DONE_RETURN || s->at[ROLE_STATUS] || s->at[ROLE_MESSAGE])
		t |= API_HOOKED;
	return t;
}

uint32_t call_first_use(struct api *f, uintptr_t pc)
{
	uint32_t given = f->traits & (API_BOUND | API_CHOSEN | API_MARKER), state = API_NEW;
	uint32_t loads = real_loads();
	bool several = false;
	void *real = given & API_BOUND ? call_real(f) : real_find(f->spec, pc, &several);
	uint32_t next;

	if (!real)
		return API_GONE;
	if (session_configure())
		f->traits = traits_of(f) | given;
	log_config_now();
	/* The fast way of a wrapper knows one real function only. */
	several |= !(given & API_BOUND) && !real_settled(loads);
	next = several					      ? API_MULTI
	       : f->traits & ~(given & ~(uint32_t)API_MARKER) ? API_ON
							      : API_SKIP;
	if (!(given & API_BOUND) && atomic_exchange(&f->real, real) != real)
		atomic_store_explicit(&f->copy, 0, memory_order_relaxed);
	/* A library that is being loaded may have made it API_MULTI meanwhile. */
	if (!atomic_compare_exchange_strong(&f->state, &state, next))
		return state;
	/* Or has taken it for one that nobody has called yet. */
	if (next == API_MULTI || given & API_BOUND || real_settled(loads))
		return next;
	state = next;
	return atomic_compare_exchange_strong(&f->state, &state, API_MULTI) ? API_MULTI : state;
}

/*
 * A wrapper that is on its way according to our books may have been left by longjmp. It has if its frame does not lie
 * above ours, or if its return address no longer stands in its frame. It may still stand there, in a gap of a larger
 * frame that lies over it now: that the stack leads past it is looked at when calls have come inside of it again and
 * again, for it takes as long as some hundred other calls inside.
 */
__attribute__((noinline)) static bool stack_leads_past(
	const struct thread_word *w, const struct stack_bounds *b, uintptr_t pc, uintptr_t frame)
{
	return stack_returns_by(b, w->self ? w->self->stacks : NULL, pc, frame, w->frame + 8) == 0;
}

#define LOOK_FIRST 32 /* calls inside; then at 64, 128 ..., and each LOOK_EVERY */
#define LOOK_EVERY 1024

__attribute__((no_sanitize("address", "thread"))) static bool left_by_jump(
	struct thread_word *w, uintptr_t pc, uintptr_t frame)
{
	const struct stack_bounds *b = thread_bounds();
	uint32_t n = ++w->inside;

	if (w->frame < b->floor || w->frame + 16 > b->hi || frame < b->floor || frame >= b->hi)
		return false; /* another stack (fiber, signal stack): nothing can be told */
	if (w->frame <= frame || ((const uintptr_t *)w->frame)[1] != w->pc)
		return true;
	if (__builtin_expect((n < LOOK_EVERY ? n & (n - 1) : n % LOOK_EVERY) || n < LOOK_FIRST, 1))
		return false;
	return stack_leads_past(w, b, pc, frame);
}

static bool large_enough(const struct what *w)
{
	uint64_t largest = 0;

	if (!session.cfg.min_bytes)
		return true;
	for (unsigned i = 0; i < w->nin; i++)
		largest = what_in(w)[i].bytes > largest ? what_in(w)[i].bytes : largest;
	for (unsigned i = 0; i < w->nout; i++)
		largest = what_out(w)[i].bytes > largest ? what_out(w)[i].bytes : largest;
	return largest >= (uint64_t)session.cfg.min_bytes;
}

/* Why this call is not recorded, or JC_RECORDED. */
static enum journal_count filter(const struct call *c)
{
	if (atomic_load_explicit(&session.paused, memory_order_relaxed))
		return JC_SKIP_PAUSED;
	if (!session_rank_selected())
		return JC_SKIP_RANK;
	if (!step_selected())
		return JC_SKIP_STEP;
	return large_enough(&c->what) ? JC_RECORDED : JC_SKIP_SIZE;
}

static void enter_data(struct call *c, struct api *f, const struct api_spec *s)
{
	int64_t comm_seq = JOURNAL_NONE64;

	if (!describe(c)) {
		c->mode = CALL_NESTED;
		return;
	}
	if (s->completion == DONE_START) {
		/* Moves nothing yet: its adapter's leave keeps the description. */
		c->mode = CALL_TASK;
		return;
	}
	if (__builtin_expect(f->traits & API_LOOKED && !thread_word.depth, 0))
		activation_look();
	if (f->traits & API_LISTED) {
		/* Counted whether it is recorded or not: the number joins the ranks. */
		if (s->kind->collective && c->what.comm)
			comm_seq = comm_next(c->what.comm);
	}

	enum journal_count why = f->traits & API_LISTED ? filter(c) : JC_SKIP_SIZE;

	c->mode = CALL_NESTED;
	if (!(f->traits & API_LISTED) || (why != JC_RECORDED && !session_is_on()))
		return;
	if (!session_is_on() && !session_start())
		return;
	c->t = thread_get();
	if (!c->t)
		return;
	thread_count(c->t, JC_SEEN);
	if (why != JC_RECORDED) {
		thread_count(c->t, why);
		return;
	}

	uint32_t stack = stack_id_wanted() ? stack_id(c->t, f, c->pc, c->frame) : 0;

	if (stack == STACK_UNWANTED) {
		thread_count(c->t, JC_SKIP_CALLER);
		return;
	}
	if (s->completion == DONE_STREAM)
		stream_enter(c);
	c->rec = record_open(c->t, f, &c->what, comm_seq, stack, c->outer);
	if (!c->rec && s->completion == DONE_STREAM)
		stream_drop(&c->what);
	if (c->rec) {
		c->mode = CALL_RECORD;
		c->start = c->rec->start;
		thread_word.call = c->rec->seq;
	}
}

static void enter_inside(
	struct call *c, struct api *f, const struct api_spec *s, struct thread_word *w)
{
	bool nested = w->depth > 0;

	if (f->traits & API_COUNTED) {
		atomic_fetch_add_explicit(&f->hits, 1, memory_order_relaxed);
		return;
	}
	if (s->task == TASK_SCOPE) {
		c->mode = CALL_SCOPE;
		if (s->lib->enter)
			s->lib->enter(c);
		return;
	}
	if (nested && s->task != TASK_COMM_NEW && s->task != TASK_COMM_END) {
		if (s->task != TASK_DATA || !session.cfg.nested) {
			if (s->task == TASK_DATA && w->self && session_is_on())
				thread_count(w->self, JC_SKIP_NESTED);
			return;
		}
	}
	if (s->task == TASK_DATA) {
		if (s->lib->ready && !s->lib->ready())
			return;
		enter_data(c, f, s);
	} else {
		c->mode = CALL_TASK;
		stream_poll();
		if (s->task == TASK_GROUP_END)
			stream_group_enter(c);
	}
	if (f->traits & API_HOOKED && c->mode != CALL_PASS && s->lib->enter)
		s->lib->enter(c);
}

/* For a call from inside libprobe itself (an adapter's query, a signal handler): nothing is recorded. */
static void *real_anyway(const struct api *f, uintptr_t pc)
{
	void *real = bound_take(f);
	bool several;

	if (!real && atomic_load_explicit(&f->state, memory_order_relaxed) != API_MULTI)
		real = call_real(f);
	return real ? real : real_find(f->spec, pc, &several);
}

/*
 * Our own time. Reading the clock takes as long as much of what is measured, so it is done in one call of SAMPLE on
 * average, which stands for all since the last one: at random distances, or a step that repeats itself could be seen
 * at the same call for ever. What takes long is counted each time (thread_exact_time()).
 */
#define SAMPLE_BITS 5 /* distances of 1 to 32 */

static inline void own_time_begin(struct call *c, struct thread_word *w)
{
	c->weight = 0;
	if (w->unsampled) {
		w->unsampled--;
		return;
	}
	c->own = clock_ticks();
	c->counted = w->self ? w->self->counted : 0;
	c->weight = w->weight ? w->weight : 1;
	w->unsampled = (uint32_t)(c->own * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SAMPLE_BITS));
	w->weight = w->unsampled + 1;
}

/* c->own was a moment; from here on it is a duration. */
static inline void own_time_entered(struct call *c, uint64_t now)
{
	c->own = now - c->own;
}

static inline void own_time_end(struct call *c)
{
	if (c->t != thread_word.self)
		return;

	uint64_t exact = c->t->counted - c->counted, end = call_ended(c);
	uint64_t own = c->own + (clock_ticks() - end);

	if (own > exact)
		thread_self_time(c->t, (own - exact) * c->weight);
}

/* Where it counts as being on the way. */
static inline uint32_t *level_of(const struct api_spec *s, struct thread_word *w)
{
	return __builtin_expect(s->around, 0) ? &w->around : &w->depth;
}

static inline void step_out(const struct call *c, struct thread_word *w)
{
	uint32_t *level = level_of(c->api->spec, w);

	w->call = c->outer;
	/* A forked child begins at 0, inside of whatever it was forked in. */
	if (*level)
		--*level;
}

void *call_enter(struct call *c, struct api *f, union arg *v, uintptr_t pc, uintptr_t frame)
{
	struct thread_word *w = &thread_word;
	uint32_t state = atomic_load_explicit(&f->state, memory_order_acquire);
	int err = errno;

	c->mode = CALL_PASS;
	c->done = 0;
	if (w->busy)
		return real_anyway(f, pc);
	w->busy++;
	if (w->depth + w->around && left_by_jump(w, pc, frame)) {
		w->depth = w->around = 0;
		w->call = 0;
	}

	void *real = bound_take(f);

	if (state == API_NEW)
		state = call_first_use(f, real ? (uintptr_t)real : pc);
	if (!real && state != API_GONE)
		real = state == API_MULTI ? real_of_caller(f, pc) : call_real(f);
	if (real && (state == API_ON || (state == API_MULTI && f->traits))) {
		const struct api_spec *s = f->spec;

		own_time_begin(c, w);
		c->api = f;
		c->real = real;
		c->v = v;
		c->t = NULL;
		c->rec = NULL;
		c->outer = w->call;
		c->pc = pc;
		c->frame = frame;
		enter_inside(c, f, s, w);
		if (c->mode != CALL_PASS && c->mode != CALL_SCOPE) {
			if (w->depth + w->around == 0) {
				w->frame = frame;
				w->pc = pc;
				w->inside = 0;
			}
			++*level_of(s, w);
			/* The real function starts here; what came before was ours. */
			if (!c->rec) {
				if (!w->self)
					thread_bounds_ask();
				c->start = clock_ticks();
			}
			if (c->weight)
				own_time_entered(c, c->start);
		}
	}
	w->busy--;
	errno = err;
	return real;
}

static bool is_success(const struct lib *lib, int64_t ret)
{
	for (unsigned i = 0; i < lib->nsuccess; i++)
		if (lib->success[i] == ret)
			return true;
	return lib->nsuccess == 0;
}

/*
 * Has the thread become another one inside the real function? It may have forked, and this is the child: the record is
 * the parent's, and where the child records anew its memory is not even mapped here any more.
 */
static inline bool is_elsewhere(const struct call *c)
{
	return __builtin_expect(c->t && c->t != thread_word.self, 0);
}

int64_t call_leave(struct call *c, int64_t ret)
{
	if (c->mode == CALL_PASS) {
		c->done = 1;
		return ret;
	}

	const struct api *f = c->api;
	const struct api_spec *s = f->spec;
	const struct lib *lib = s->lib;
	/* A program asks again and again before a Test says yes, and the clock is a quarter of what that costs. */
	uint64_t end = s->task == TASK_TEST ? 0 : clock_ticks();
	struct thread_word *w = &thread_word;
	int err = errno;
	bool ok = is_success(lib, ret);

	w->busy++;
	c->done = 1;
	c->ok = ok;
	c->end = end;
	c->async = false;
	if (is_elsewhere(c)) {
		c->t = NULL;
		c->rec = NULL;
	}
	if (c->mode == CALL_SCOPE) {
		if (lib->leave)
			lib->leave(c, ret);
		w->busy--;
		errno = err;
		return ret;
	}
	if (f->traits & API_HOOKED && lib->leave)
		lib->leave(c, ret);
	if (c->rec) {
		if (s->completion == DONE_STREAM)
			stream_leave(c, ret);
		else if (c->async)
			record_async(c->rec, &c->what);
		else
			record_close(c->rec, &c->what, end, !ok, ret);
	} else if (s->task == TASK_GROUP_START || s->task == TASK_GROUP_END) {
		stream_group(c, ret);
	}
	if (f->traits & API_MARKER && w->depth == 1)
		step_marker_hit();
	step_out(c, w);
	if (c->weight && c->t)
		own_time_end(c);
	w->busy--;
	errno = err;
	return ret;
}

void call_unwind(struct call *c)
{
	if (c->mode == CALL_PASS || c->done)
		return;

	struct thread_word *w = &thread_word;
	int err = errno;

	w->busy++;
	if (c->mode == CALL_SCOPE) {
		c->ok = false;
		c->end = clock_ticks();
		if (c->api->spec->lib->leave)
			c->api->spec->lib->leave(c, 0);
		w->busy--;
		errno = err;
		return;
	}
	if (c->rec && !is_elsewhere(c)) {
		c->what.flags |= CF_UNWOUND;
		c->what.nout = 0;
		stream_drop(&c->what);
		record_close(c->rec, &c->what, clock_ticks(), false, 0);
	} else if (!c->rec) {
		/* A completion call: the thread does not stand in it any more. */
		async_wait_end(c);
	}
	step_out(c, w);
	w->busy--;
	errno = err;
}
