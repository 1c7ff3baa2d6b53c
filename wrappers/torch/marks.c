/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps and phases of a training, from functions that PyTorch calls whether or not a profiler is running:
 *
 *	torch::autograd::Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs)
 *	torch::autograd::profiler::record_function_enter_new("Optimizer.step#SGD.step", ...), and its RecordFunction::end
 *	at::RecordFunction::RecordFunction(scope) under the Python frame of an optimizer's wrapper, where the mark's function
 *		is not called from outside (before 2.0)
 *	at::_ops::_amp_update_scale_::call
 *
 * Lock: `lock` is a leaf but for what step_end() takes; events are some per step. A forked child makes it anew, whether
 * it records or not.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/thread.h"
#include "call/step.h"
#include "call/train.h"
#include "journal/layout.h"
#include "session.h"
#include "stack/foreign.h"
#include "wrappers/torch/torch.h"

static struct train train;
static bool configured;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic bool named; /* record_function_enter_new has been seen */

/* Marks that began on this thread and have not ended: the RecordFunction of each, and the phase before it. */
#define MARKS_MAX 8
static __thread struct {
	const void *record[MARKS_MAX];
	uint8_t phase[MARKS_MAX], n;
} open_marks __attribute__((tls_model("initial-exec")));

void torch_marks_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void begin(void)
{
	pthread_mutex_lock(&lock);
	if (!configured && session_configure()) {
		const char *a = session.cfg.step_anchor;

		configured = true;
		train.anchor_wanted = strcmp(a, "any") == 0 ? TRAIN_ANCHOR_ANY : atoi(a);
		train.accumulate = (uint32_t)session.cfg.grad_acc_steps;
	}
}

static void finish(enum train_mark m)
{
	step_micro_set(train_micro_step(&train));
	if (m == TRAIN_SKIPPED)
		step_skipped(step_now());
	pthread_mutex_unlock(&lock);
	if (m != TRAIN_NOTHING)
		step_end(STEP_OPTIMIZER);
}

static void set_phase(uint32_t phase)
{
	thread_word.phase = phase;
}

/* What the thread does when it does nothing special. */
static uint32_t usual(void)
{
	return train.active ? PHASE_FORWARD : PHASE_NONE;
}

/* ---- backward ---- */

static void backward(struct call *c, bool leaving)
{
	enum train_mark m = TRAIN_NOTHING;

	/* autograd.grad() computes gradients and accumulates none: it is no pass of the training by itself. */
	bool counts = (uint8_t)c->v[5].u != 0;

	begin();
	if (!leaving) {
		if (counts)
			train_backward_begin(&train);
		c->note.u[0] = thread_word.phase;
		set_phase(PHASE_BACKWARD);
		/* Devices have threads of their own, with no Python on their stacks. */
		foreign_lend();
	} else {
		if (counts)
			m = train_backward_end(&train);
		set_phase(c->note.u[0] ? (uint32_t)c->note.u[0] : usual());
		foreign_take_back();
	}
	finish(m);
}

/* Threads of the engine's own live in there: all that they do is part of a backward pass. */
static void engine(struct call *c, bool leaving)
{
	if (!leaving) {
		c->note.u[0] = thread_word.phase;
		set_phase(PHASE_BACKWARD);
	} else {
		set_phase((uint32_t)c->note.u[0]);
	}
}

/* ---- optimizers ---- */

/* std::string */
struct string {
	const char *text;
	uint64_t len;
};

static bool starts(const struct string *s, const char *with)
{
	size_t n = strlen(with);

	return s->len >= n && memcmp(s->text, with, n) == 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/*
 * Which optimizer it is: its class, and the place in the program that calls its step(). Innermost are the frames of the
 * mark, then the wrapper around step() in optimizer.py, perhaps that of a scheduler, and then the program.
 */
static uint64_t identify(const struct string *name, bool *step)
{
	struct foreign_stack s;
	struct foreign_name n;
	uint64_t h = hash_u64(1, name->len);
	bool inside = false;

	for (uint64_t i = 0; i < name->len; i++)
		h = hash_u64(h, (unsigned char)name->text[i]);
	foreign_walk(&s);
	for (int i = 0; i < s.n && i < 16; i++) {
		if (!s.language->describe(&s.frame[i], &n))
			continue;
		if (ends_with(n.file, "/torch/optim/optimizer.py") ||
			ends_with(n.file, "/torch/optim/lr_scheduler.py")) {
			/* What lies around step(), not zero_grad(), which has a mark as well. */
			*step |= ends_with(n.function, "wrapper");
			inside = true;
		} else if (inside) {
			h = hash_u64(hash_u64(h, s.frame[i].code), s.frame[i].at);
			break;
		}
	}
	return h | 1;
}

static void optimizer_begins(const void *record, uint64_t which)
{
	if (open_marks.n == MARKS_MAX)
		return;
	open_marks.record[open_marks.n] = record;
	open_marks.phase[open_marks.n++] = (uint8_t)thread_word.phase;
	begin();
	train_optimizer_begin(&train, which);
	finish(TRAIN_NOTHING);
	set_phase(PHASE_OPTIMIZER);
	torch_before_optimizer(true);
}

/* Scopes of profiler marks; others are those of operators. at::RecordScope::USER_SCOPE */
#define USER_SCOPE 7

static void record_new(const struct call *c)
{
	static const struct string none = {"", 0};
	bool step = false;
	uint64_t which;

	if ((uint8_t)c->v[1].u != USER_SCOPE)
		return;
	which = identify(&none, &step);
	if (step)
		optimizer_begins(c->v[0].cp, which);
}

static bool is_open(const void *record)
{
	for (unsigned i = 0; i < open_marks.n; i++)
		if (open_marks.record[i] == record)
			return true;
	return false;
}

static void record_begin(struct call *c, bool leaving)
{
	bool step = false;

	const struct string *name = c->v[0].cp;

	atomic_store_explicit(&named, true, memory_order_relaxed);
	if (!leaving) {
		c->note.u[0] = starts(name, "Optimizer.step#") ? identify(name, &step) : 0;
		return;
	}
	if (!c->note.u[0] || !c->ok)
		return;

	/* The result is an intrusive_ptr<PythonRecordFunction>: a target's header, then the RecordFunction. */
	const char *object = *(const char *const *)c->result;

	if (object && !is_open(object + 16))
		optimizer_begins(object + 16, c->note.u[0]);
}

static void record_end(struct call *c)
{
	const void *record = c->v[0].cp;

	/* Marks that were left by an exception lie above it. */
	for (unsigned i = open_marks.n; i-- > 0;) {
		enum train_mark m = TRAIN_NOTHING;

		if (open_marks.record[i] != record)
			continue;
		begin();
		for (unsigned k = open_marks.n; k-- > i;)
			m = train_optimizer_end(&train);
		open_marks.n = (uint8_t)i;
		finish(m);
		set_phase(open_marks.phase[i] ? open_marks.phase[i] : usual());
		torch_before_optimizer(false);
		return;
	}
}

void torch_mark_enter(struct call *c, enum torch_scope s)
{
	if (s == SCOPE_BACKWARD)
		backward(c, false);
	else if (s == SCOPE_ENGINE)
		engine(c, false);
	else if (s == SCOPE_RECORD_BEGIN)
		record_begin(c, false);
}

void torch_mark_leave(struct call *c, enum torch_scope s)
{
	enum train_mark m;

	if (s == SCOPE_BACKWARD) {
		backward(c, true);
	} else if (s == SCOPE_ENGINE) {
		engine(c, true);
	} else if (s == SCOPE_RECORD_BEGIN) {
		record_begin(c, true);
	} else if (s == SCOPE_RECORD_NEW) {
		/* Where both are seen the mark's own function decides: it knows the name. */
		if (!atomic_load_explicit(&named, memory_order_relaxed))
			record_new(c);
	} else if (s == SCOPE_RECORD_END) {
		/* RecordFunction::end() comes from its destructor, too. */
		if (open_marks.n)
			record_end(c);
	} else if (s == SCOPE_SCALE) {
		begin();
		m = train_scale_update(&train);
		finish(m);
	}
}
