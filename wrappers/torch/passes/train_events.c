/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps and phases of a training, from functions that PyTorch calls whether or not a profiler is
 * running:
 *
 *	torch::autograd::Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs)
 *	torch::autograd::profiler::record_function_enter_new("Optimizer.step#SGD.step", ...), and its RecordFunction::end
 *	at::RecordFunction::RecordFunction(scope) under the Python frame of an optimizer's wrapper, where the mark's function
 *	is not called from outside (before 2.0)
 *	at::_ops::_amp_update_scale_::call
 *
 * Lock: `lock` is a leaf except for the locks that step_end() takes; there are some events per
 * step. A forked child initialises it again, whether it records or not.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/hash.h"
#include "base/thread.h"
#include "call/recorder.h"
#include "call/step.h"
#include "call/train_steps.h"
#include "config/rooms/steps.h"
#include "journal/layout.h"
#include "session/state.h"
#include "stack/foreign.h"
#include "text/suffix.h"
#include "training/params/kind.h"
#include "training/steps/late.h"
#include "training/steps/scalar.h"
#include "training/steps/step_times.h"
#include "wrappers/torch/numbers/block_memory.h"
#include "wrappers/torch/numbers/scalars.h"
#include "wrappers/torch/passes/optimizer_identity.h"
#include "wrappers/torch/passes/gradient_nodes.h"
#include "wrappers/torch/passes/function_watch.h"
#include "wrappers/torch/passes/module_call.h"
#include "wrappers/torch/passes/step_boundary.h"
#include "wrappers/torch/tensors/on_device.h"
#include "wrappers/torch/tensors/torch.h"
#include "wrappers/torch/tensors/train_observers.h"

static struct train train;
static bool configured;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic bool named; /* record_function_enter_new has been seen */

/*
 * Marks that began on this thread and have not ended: the RecordFunction of each, and the phase
 * before the mark.
 */
#define MARKS_MAX 8
static THREAD_OWN struct {
	const void *record[MARKS_MAX];
	uint64_t optimizer_number[MARKS_MAX];
	uint8_t phase[MARKS_MAX], n;
} open_marks;

void torch_marks_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void lock_train_state(void)
{
	const struct steps_keys *keys = get_steps_keys(get_config());

	pthread_mutex_lock(&lock);
	if (!configured && session_configure()) {
		const char *a = keys->step_anchor;

		configured = true;
		train.anchor_wanted = strcmp(a, "any") == 0 ? TRAIN_ANCHOR_ANY : atoi(a);
		train.accumulate = (uint32_t)keys->grad_acc_steps;
	}
}

static void handle_mark_and_unlock(enum train_mark m)
{
	step_micro_set(train_get_micro_step(&train));
	if (m == TRAIN_SKIPPED)
		step_skipped(step_now());
	pthread_mutex_unlock(&lock);
	if (m != TRAIN_NOTHING)
		torch_handle_step_mark();
}

/* ---- other observers (train_observers.h) ---- */

#define OBSERVERS_MAX 16

static _Atomic uint32_t
	/* bit i: the configuration needs train_observers[i]; bit 31: the other bits are valid */
	wanted_observers;
#define WANTING_KNOWN (UINT32_C(1) << 31)

static uint32_t get_wanted_observers(void)
{
	uint32_t w = atomic_load_explicit(&wanted_observers, memory_order_relaxed);

	if (__builtin_expect(w & WANTING_KNOWN || !session_configure(), 1))
		return w & ~WANTING_KNOWN;
	for (unsigned i = 0; i < OBSERVERS_MAX && train_observers[i]; i++)
		if (!train_observers[i]->wanted || train_observers[i]->wanted())
			w |= 1u << i;
	atomic_store_explicit(&wanted_observers, w | WANTING_KNOWN, memory_order_relaxed);
	return w;
}

/* Ends are reported in reverse order, so that data of the first row is available to all others. */
#define SHOW_EVENT(method, e, last_first)                                                        \
	do {                                                                                     \
		for (uint32_t w_ = get_wanted_observers(), k_; w_; w_ &= ~(UINT32_C(1) << k_)) { \
			k_ = (uint32_t)((last_first) ? 31 - __builtin_clz(w_)                    \
						     : __builtin_ctz(w_));                       \
			if (train_observers[k_]->method)                                         \
				train_observers[k_]->method(e);                                  \
		}                                                                                \
	} while (0)

/* Passes in progress on this thread. */
static THREAD_OWN uint32_t passes;

static void handle_backward_event(const struct call *c, bool counts, bool leaving)
{
	struct torch_train_event e = {.call = c, .accumulates = counts};
	struct own_work own;

	if (leaving && own(passes))
		own(passes)--;
	e.outermost = own(passes) == 0;
	e.ok = c->ok;
	own = own_work_start();
	late_check();
	if (leaving)
		SHOW_EVENT(backward_end, &e, true);
	else
		SHOW_EVENT(backward_begin, &e, false);
	own_work_stop(&own);
	if (!leaving)
		own(passes)++;
}

static void handle_optimizer_event(
	const void *record, uint64_t optimizer_number, bool outermost, bool leaving)
{
	struct torch_train_event e = {.record = record,
		.optimizer_number = optimizer_number,
		.outermost = outermost,
		.ok = true};
	struct own_work own = own_work_start();

	late_check();
	if (leaving)
		SHOW_EVENT(optimizer_end, &e, true);
	else
		SHOW_EVENT(optimizer_begin, &e, false);
	own_work_stop(&own);
}

static void set_phase(uint32_t phase)
{
	thread_state.phase = phase;
}

/* The default phase of this thread. */
static uint32_t get_default_phase(void)
{
	return train.active ? PHASE_FORWARD : PHASE_NONE;
}

/* ---- forward ---- */

uint32_t torch_start_forward(bool training)
{
	uint32_t before = thread_state.phase;

	if (training)
		torch_handle_step_forward();
	if (training && scalars_wanted())
		step_forward_start();
	if (train.active)
		set_phase(training ? PHASE_FORWARD : PHASE_EVALUATION);
	return before;
}

void torch_stop_forward(uint32_t before)
{
	set_phase(before ? before : get_default_phase());
}

/* ---- backward ---- */

static void handle_backward(struct call *c, bool leaving)
{
	enum train_mark m = TRAIN_NOTHING;

	/*
	 * autograd.grad() computes gradients and accumulates none: by itself it is no pass of the
	 * training.
	 */
	bool counts = (uint8_t)c->v[5].u != 0;

	handle_backward_event(c, counts, leaving);
	if (counts && !leaving)
		torch_handle_step_backward();
	lock_train_state();
	if (!leaving) {
		if (counts)
			train_handle_backward_begin(&train);
		c->note.u[0] = thread_state.phase;
		set_phase(PHASE_BACKWARD);
		/* Each device has a thread of its own for the pass, with no Python on its stack. */
		foreign_start_lending();
	} else {
		if (counts)
			m = train_handle_backward_end(&train);
		set_phase(c->note.u[0] ? (uint32_t)c->note.u[0] : get_default_phase());
		foreign_stop_lending();
	}
	handle_mark_and_unlock(m);
}

/*
 * Called for the main function of the engine's threads: everything they do is part of a backward pass.
 */
static void handle_engine_thread(struct call *c, bool leaving)
{
	if (!leaving) {
		c->note.u[0] = thread_state.phase;
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

static bool has_string_prefix(const struct string *s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s->len >= n && memcmp(s->text, prefix, n) == 0;
}

/*
 * Identifies an optimizer by its class and the place in the program that calls its step().
 * Innermost are the frames of the mark, then the wrapper around step() in optimizer.py, perhaps a
 * scheduler's frame, and then the program.
 */
struct optimizer {
	const struct string *name;
	bool *step;
	uint64_t hash;
};

static void compute_optimizer_hash(void *arg)
{
	struct optimizer *o = arg;
	const struct string *name = o->name;
	bool *step = o->step;
	struct foreign_stack s;
	struct foreign_name n;
	uint64_t h = hash_u64(1, name->len);
	bool inside = false;

	for (uint64_t i = 0; i < name->len; i++)
		h = hash_u64(h, (unsigned char)name->text[i]);
	foreign_read_stack(&s);
	for (int i = 0; i < s.n && i < 16; i++) {
		if (!s.language->describe(&s.frame[i], &n))
			continue;
		if (has_suffix(n.file, "/torch/optim/optimizer.py") ||
			has_suffix(n.file, "/torch/optim/lr_scheduler.py")) {
			/* The frame belongs to step(), not to zero_grad(), which has a mark too. */
			*step |= has_suffix(n.function, "wrapper");
			inside = true;
		} else if (inside) {
			h = hash_u64(hash_u64(h, s.frame[i].code), s.frame[i].at);
			break;
		}
	}
	o->hash = h | 1;
}

static uint64_t find_optimizer_number(const struct string *name, bool *step)
{
	struct optimizer o = {name, step, 0};

	private_stack_call(compute_optimizer_hash, &o);
	return *step ? find_optimizer_identity(o.hash) : o.hash;
}

static void handle_optimizer_mark(const void *record, uint64_t optimizer_number)
{
	if (own(open_marks).n == MARKS_MAX)
		return;
	own(open_marks).record[own(open_marks).n] = record;
	own(open_marks).optimizer_number[own(open_marks).n] = optimizer_number;
	own(open_marks).phase[own(open_marks).n++] = (uint8_t)thread_state.phase;
	/* An optimizer that steps in the backward pass does so before the pass is complete. */
	if (thread_state.phase != PHASE_BACKWARD)
		torch_check_reducers();
	handle_optimizer_event(record, optimizer_number, own(open_marks).n == 1, false);
	/* Once the anchor (the optimizer that ends steps) is set, it does not change. */
	if (own(open_marks).n == 1 &&
		(train.anchor_wanted == TRAIN_ANCHOR_ANY || optimizer_number == train.anchor))
		torch_handle_step_optimizer();
	lock_train_state();
	train_handle_optimizer_begin(&train, optimizer_number);
	handle_mark_and_unlock(TRAIN_NOTHING);
	set_phase(PHASE_OPTIMIZER);
	torch_handle_first_step(true);
	torch_record_seeds();
}

/* at::RecordScope::USER_SCOPE: marks of a profiler, unlike the scopes of operators. */
#define USER_SCOPE 7

static void record_new(const struct call *c)
{
	static const struct string none = {"", 0};
	bool step = false;
	uint64_t optimizer_number;

	if ((uint8_t)c->v[1].u != USER_SCOPE)
		return;
	optimizer_number = find_optimizer_number(&none, &step);
	if (step)
		handle_optimizer_mark(c->v[0].cp, optimizer_number);
}

static bool is_open(const void *record)
{
	for (unsigned i = 0; i < own(open_marks).n; i++)
		if (own(open_marks).record[i] == record)
			return true;
	return false;
}

/* The mark of the DataLoader's __next__ that this thread is in. */
static THREAD_OWN const void *data_mark;

static void handle_data_mark(const void *record)
{
	if (!scalars_wanted() || own(data_mark))
		return;
	own(data_mark) = record;
	step_part_start(PART_DATA);
}

static void record_begin(struct call *c, bool leaving)
{
	bool step = false;

	const struct string *name = c->v[0].cp;

	atomic_store_explicit(&named, true, memory_order_relaxed);
	if (!leaving) {
		if (scalars_wanted() || train_get_kinds())
			torch_init_device();
		c->note.u[0] = has_string_prefix(name, "Optimizer.step#")
				       ? find_optimizer_number(name, &step)
				       : 0;
		c->note.u[1] = has_string_prefix(name, "enumerate(DataLoader)#");
		return;
	}
	if ((!c->note.u[0] && !c->note.u[1]) || !c->ok)
		return;

	/*
		 * The result is an intrusive_ptr<PythonRecordFunction>. It points to the base class intrusive_ptr_target (vtable,
		 * reference counts), which the RecordFunction follows.
		 */
	const char *object = *(const char *const *)c->result;

	if (c->note.u[1] && object)
		handle_data_mark(object + 16);
	else if (object && !is_open(object + 16))
		handle_optimizer_mark(object + 16, c->note.u[0]);
}

static void mark_record_end(struct call *c)
{
	const void *record = c->v[0].cp;

	/* Later marks of this thread were left by an exception. */
	for (unsigned i = own(open_marks).n; i-- > 0;) {
		enum train_mark m = TRAIN_NOTHING;

		if (own(open_marks).record[i] != record)
			continue;
		for (unsigned k = own(open_marks).n; k-- > i;)
			handle_optimizer_event(own(open_marks).record[k],
				own(open_marks).optimizer_number[k], k == 0, true);
		lock_train_state();
		for (unsigned k = own(open_marks).n; k-- > i;)
			m = train_handle_optimizer_end(&train);
		own(open_marks).n = (uint8_t)i;
		handle_mark_and_unlock(m);
		set_phase(
			own(open_marks).phase[i] ? own(open_marks).phase[i] : get_default_phase());
		torch_handle_first_step(false);
		return;
	}
}

/*
 * Arguments: memory, bytes, bytes in use on the device, reserved bytes, and a Device of two bytes
 * (type and index). For the host's memory the function is called only while a profiler listens; the host's blocks are known from its allocator.
 */
static void record_device_memory(const struct call *c)
{
	struct block_event e = {.address = c->v[0].u,
		.bytes = (double)c->v[1].i,
		.allocated = (double)c->v[2].u,
		.reserved = (double)c->v[3].u,
		.device_type = (uint8_t)c->v[4].u,
		.device_index = (int8_t)(c->v[4].u >> 8)};

	if (e.device_type == TORCH_DEVICE_CPU)
		return;
	step_record_device_memory(c->v[2].u);
	record_block_event(&e);
}

/* Arguments: this, the block's address, and its size in bytes if the block is being allocated. */
static void record_host_memory(const struct call *c, bool given)
{
	const double unknown = __builtin_nan("");
	struct block_event e = {.address = c->v[1].u,
		.bytes = given ? (double)c->v[2].u : unknown,
		.allocated = unknown,
		.reserved = unknown,
		.device_type = TORCH_DEVICE_CPU,
		.device_index = -1};

	if (e.address)
		record_block_event(&e);
}

void torch_handle_mark_begin(struct call *c, enum torch_scope s)
{
	if (s == SCOPE_BACKWARD)
		handle_backward(c, false);
	else if (s == SCOPE_ENGINE)
		handle_engine_thread(c, false);
	else if (s == SCOPE_RECORD_BEGIN)
		record_begin(c, false);
	else if (s == SCOPE_MEMORY)
		record_device_memory(c);
	else if (s == SCOPE_HOST_GIVEN || s == SCOPE_HOST_TAKEN)
		record_host_memory(c, s == SCOPE_HOST_GIVEN);
	else if (s == SCOPE_NODE) {
		torch_add_node();
		c->note.u[0] = torch_handle_node_begin(c->v[2].cp, c->v[3].cp);
	} else if (s == SCOPE_EDGES) {
		torch_handle_edges(c->v[0].cp, c->v[1].cp);
		torch_check_node_sums(c->v[1].cp);
	} else if (s == SCOPE_GRAD_MODE) {
		torch_set_module_hook_now();
		torch_set_function_hooks_now();
	}
}

void torch_handle_mark_end(struct call *c, enum torch_scope s)
{
	enum train_mark m;

	if (s == SCOPE_BACKWARD) {
		handle_backward(c, true);
	} else if (s == SCOPE_ENGINE) {
		handle_engine_thread(c, true);
	} else if (s == SCOPE_NODE) {
		torch_handle_node_end(c->note.u[0]);
	} else if (s == SCOPE_EDGES) {
		torch_record_node_sums(c->v[1].cp);
	} else if (s == SCOPE_RECORD_BEGIN) {
		record_begin(c, true);
	} else if (s == SCOPE_RECORD_NEW) {
		/*
		 * If record_function_enter_new was seen, it is used instead, because it has the
		 * name.
		 */
		if (!atomic_load_explicit(&named, memory_order_relaxed))
			record_new(c);
	} else if (s == SCOPE_RECORD_END) {
		/* RecordFunction's destructor calls end(), too. */
		if (own(open_marks).n)
			mark_record_end(c);
		if (own(data_mark) && own(data_mark) == c->v[0].cp) {
			own(data_mark) = NULL;
			step_part_stop(PART_DATA);
			torch_record_batch();
		}
	} else if (s == SCOPE_SCALE) {
		if (scalars_wanted() && c->ok)
			torch_record_scale_update(*(const void *const *)c->v[0].cp);
		lock_train_state();
		m = train_handle_scale_update(&train);
		/*
		 * torch_handle_skipped_step() writes to the journal, so the lock is released; the
		 * step is not over yet.
		 */
		if (m == TRAIN_SKIPPED) {
			pthread_mutex_unlock(&lock);
			torch_handle_skipped_step();
			pthread_mutex_lock(&lock);
		}
		handle_mark_and_unlock(m);
	}
}
