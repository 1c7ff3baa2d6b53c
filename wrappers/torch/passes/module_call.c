/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When calls of modules are hooked, and the data of each call. The flag `training` is in the
 * module's own dictionary; torch.nn.Module.__init__ sets it as the first entry, so it is found
 * quickly.
 *
 * There is no lock: all writes are made with the GIL held.
 */
#include "wrappers/torch/passes/module_call.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "config/rooms/steps.h"
#include "config/rooms/training.h"
#include "journal/layout.h"
#include "life/life.h"
#include "session/state.h"
#include "training/steps/scalar.h"
#include "training/steps/step_times.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/passes/module_dump.h"
#include "wrappers/torch/names/module_names.h"
#include "wrappers/torch/tensors/train_observers.h"

#define TRIES_MAX 3
#define OBSERVERS_MAX 8

static py_vectorcall_fn *_Atomic run_function; /* the original function */
static _Atomic uint32_t wanting; /* bit i: module_observers[i] */
static atomic_bool seen;

static THREAD_OWN uint32_t depth;

bool torch_are_module_calls_hooked(void)
{
	return atomic_load_explicit(&seen, memory_order_relaxed);
}

/* Data that end() needs from begin(). */
struct open_module_call {
	struct torch_module_call call;
	uint32_t phase;
	bool outermost;
};

static void handle_module_call(const struct torch_module_call *c, bool leaving)
{
	for (uint32_t w = atomic_load_explicit(&wanting, memory_order_relaxed); w; w &= w - 1) {
		const struct torch_module_observer *o = module_observers[__builtin_ctz(w)];

		if (leaving ? o->end != NULL : o->begin != NULL)
			(leaving ? o->end : o->begin)(c);
	}
}

#define WRAPPERS_MAX 4 /* maximum nesting of wrappers around a model */

/*
 * The outermost call shows whether the model is trained. A wrapper around the model may have an
 * outdated flag: Lightning leaves DDP in evaluation mode after its first validation.
 */
static bool is_training(py_object *module, bool outermost)
{
	for (int i = 0; module && i < WRAPPERS_MAX; i++) {
		if (py_is_true(py_get_own_attribute(module, "training")))
			return true;
		module = outermost ? get_wrapped_module(module) : NULL;
	}
	return false;
}

static __attribute__((noinline)) void handle_module_begin(
	struct open_module_call *w, py_object *const *args, size_t nargsf, py_object *kwnames)
{
	size_t n = py_get_nargs(nargsf), more = 0;
	py_object *const *names = NULL;
	int error = errno;

	thread_state.busy++;
	if (kwnames)
		py_get_sequence(kwnames, &names, &more);
	w->call = (struct torch_module_call){
		.self = args[0],
		.args = args + 1,
		.npositional = (uint32_t)(n - 1),
		.nargs = (uint32_t)(n - 1 + more),
		.keywords = names,
		.depth = own(depth),
		.training = is_training(args[0], own(depth) == 0),
		.again = thread_state.phase == PHASE_BACKWARD,
	};
	w->outermost = own(depth)++ == 0 && !w->call.again;
	if (w->outermost)
		w->phase = torch_start_forward(w->call.training);
	handle_module_call(&w->call, false);
	thread_state.busy--;
	errno = error;
}

static __attribute__((noinline)) void handle_module_end(
	struct open_module_call *w, py_object *result)
{
	int error = errno;

	thread_state.busy++;
	own(depth) = w->call.depth;
	w->call.result = result;
	handle_module_call(&w->call, true);
	if (w->outermost)
		torch_stop_forward(w->phase);
	thread_state.busy--;
	errno = error;
}

/* True if the first step's own call of the model is needed. */
static bool is_first_call_needed(void)
{
	return step_is_batch_wanted() || scalar_is_wanted(SCALAR_ITERATION_TIME) ||
	       torch_module_stacks_wanted() || torch_routing_wanted() ||
	       is_attention_or_split_wanted();
}

/*
 * True if this call starts the recording: nothing has been recorded so far, and this call would
 * be the first. A model that is not trained does not start it.
 */
static __attribute__((noinline)) bool is_recording_start(py_object *module)
{
	int error = errno;
	bool starts = torch_is_module_call_dumped() ||
		      (is_first_call_needed() && is_training(module, true) && session_start());

	errno = error;
	return starts;
}

/* Replaces the vectorcall of torch.nn.Module.__call__. */
static py_object *handle_vectorcall(
	py_object *callable, py_object *const *args, size_t nargsf, py_object *kwnames)
{
	py_vectorcall_fn *run = atomic_load_explicit(&run_function, memory_order_relaxed);
	py_object *result;
	struct open_module_call w;

	if (py_handle_trial_call(callable, args, nargsf, &result))
		return result;
	if (!py_get_nargs(nargsf) || thread_state.busy ||
		!atomic_load_explicit(&seen, memory_order_relaxed) ||
		(!session_is_on() && !is_recording_start(args[0])))
		return run(callable, args, nargsf, kwnames);
	handle_module_begin(&w, args, nargsf, kwnames);
	result = run(callable, args, nargsf, kwnames);
	handle_module_end(&w, result);
	return result;
}

/* ---- when to start hooking ---- */

static bool are_module_calls_needed(void)
{
	uint32_t w = 0;

	for (unsigned i = 0; i < OBSERVERS_MAX && module_observers[i]; i++)
		if (!module_observers[i]->wanted || module_observers[i]->wanted())
			w |= 1u << i;
	atomic_store(&wanting, w);
	return w || get_training_keys(get_config())->names ||
	       scalar_is_wanted(SCALAR_ITERATION_TIME) ||
	       get_steps_keys(get_config())->step_boundary == STEP_BOUNDARY_ITERATION;
}

static atomic_int tries;

static void stop_module_hooks(const char *why)
{
	atomic_store(&tries, TRIES_MAX);
	session_record_layout_fact(LAYOUT_TORCH_MODULE, false);
	log_loss(LOSS_ENTRY,
		"PyTorch: calls of modules are not seen (%s): no actv, actv_grad and phase "
		"evaluation, steps end with the optimizer; update libprobe",
		why);
}

static void set_module_hook(const struct torch_train_event *e)
{
	const char *wrong = NULL;
	int gil;

	(void)e;
	if (atomic_load_explicit(&tries, memory_order_relaxed) >= TRIES_MAX)
		return;
	if (!py_lock_gil(&gil, &wrong)) {
		if (wrong)
			stop_module_hooks(wrong);
		return;
	}
	if (!atomic_load(&seen) && atomic_load(&tries) < TRIES_MAX) {
		wrong = py_set_call_hook(
			"torch.nn.modules.module", "Module", handle_vectorcall, &run_function);
		if (!wrong) {
			atomic_store(&seen, true);
			atomic_store(&tries, TRIES_MAX);
		} else if (atomic_fetch_add(&tries, 1) + 1 < TRIES_MAX) {
			wrong = NULL;
		}
	}
	py_unlock_gil(gil);
	if (atomic_load(&seen))
		session_record_layout_fact(LAYOUT_TORCH_MODULE, true);
	if (wrong)
		stop_module_hooks(wrong);
}

bool torch_are_early_calls_needed(void)
{
	return torch_modules_dumped() || is_first_call_needed();
}

void torch_set_module_hook_now(void)
{
	int before;

	/* PyTorch may still be being imported; a failed search during the import does not count. */
	if (atomic_load_explicit(&tries, memory_order_relaxed) >= TRIES_MAX ||
		atomic_load_explicit(&seen, memory_order_relaxed) || !py_is_held() ||
		!py_has_module("torch.nn.modules.module"))
		return;
	if (!are_module_calls_needed())
		return;
	before = atomic_load(&tries);
	set_module_hook(NULL);
	if (!atomic_load(&seen))
		atomic_store(&tries, before);
}

const struct torch_train_observer module_call_observer = {
	.wanted = are_module_calls_needed,
	.backward_begin = set_module_hook,
	.optimizer_begin = set_module_hook,
};
