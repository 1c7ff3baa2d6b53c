/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that MindSpore queues. A Python thread queues an operator and continues; other threads
 * pass it on, and the last one runs it. The stack of the Python thread is stored with the task
 * when it is queued, and used when it runs. A graph's operators run on separate threads while the
 * thread that started the graph waits; they get its frames.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/thread.h"
#include "call/activation.h"
#include "call/stackid.h"
#include "config/marker.h"
#include "config/rooms/steps.h"
#include "journal/layout.h"
#include "stack/foreign.h"
#include "wrappers/mindspore/kernel_phase.h"
#include "wrappers/mindspore/kernel_values.h"
#include "wrappers/mindspore/layout/ms.h"
#include "wrappers/mindspore/parameters.h"

/*
 * Queued tasks, by address, in groups of WAYS slots. If libprobe does not see a task run, the
 * task keeps its slot until the slot is needed; then the slots of a group are reused in turn.
 */
#define GROUPS 1024u
#define WAYS 8u

struct queued_tasks {
	_Atomic uintptr_t task; /* 0: free; BUSY: being written */
	const struct foreign_kept *stack;
	uint32_t phase; /* of the thread that queued it */
};
#define BUSY 1

static _Atomic(struct queued_tasks *) queued_tasks;
static _Atomic uint32_t taken;

static struct queued_tasks *get_or_map_slot_group(const void *task)
{
	struct queued_tasks *w = atomic_load_explicit(&queued_tasks, memory_order_acquire),
			    *none = NULL;

	if (!w) {
		size_t bytes = (size_t)GROUPS * WAYS * sizeof(*w);

		w = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (w == MAP_FAILED)
			return NULL;
		if (!atomic_compare_exchange_strong(&queued_tasks, &none, w)) {
			munmap(w, bytes);
			w = none;
		}
	}
	return w + hash_mix((uintptr_t)task) % GROUPS * WAYS;
}

static bool lock_slot(struct queued_tasks *w, uintptr_t from)
{
	return atomic_compare_exchange_strong_explicit(
		&w->task, &from, BUSY, memory_order_acquire, memory_order_relaxed);
}

static void record_task(const void *task, const struct foreign_kept *stack, uint32_t phase)
{
	struct queued_tasks *w = get_or_map_slot_group(task), *to = NULL;
	uintptr_t key = (uintptr_t)task;

	if (!w)
		return;
	/* an older task at this address, which ran without being seen */
	for (unsigned i = 0; i < WAYS && !to; i++)
		if (lock_slot(&w[i], key))
			to = &w[i];
	for (unsigned i = 0; i < WAYS && !to; i++)
		if (lock_slot(&w[i], 0))
			to = &w[i];
	if (!to) {
		struct queued_tasks *oldest =
			&w[atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed) % WAYS];
		uintptr_t was = atomic_load_explicit(&oldest->task, memory_order_relaxed);

		if (was == BUSY || !lock_slot(oldest, was))
			return;
		to = oldest;
	}
	to->stack = stack;
	to->phase = phase;
	atomic_store_explicit(&to->task, key, memory_order_release);
}

static const struct foreign_kept *remove_task(const void *task, uint32_t *phase)
{
	struct queued_tasks *w = get_or_map_slot_group(task);

	for (unsigned i = 0; w && i < WAYS; i++)
		if (lock_slot(&w[i], (uintptr_t)task)) {
			const struct foreign_kept *stack = w[i].stack;

			*phase = w[i].phase;
			atomic_store_explicit(&w[i].task, 0, memory_order_release);
			return stack;
		}
	return NULL;
}

bool ms_is_marker_searched(void)
{
	const char *configured = get_steps_keys(get_config())->step_marker;
	struct marker m;

	return configured && *configured && !marker_parse(configured, strlen(configured), &m) &&
	       m.form == MARKER_LANGUAGE;
}

/* const shared_ptr<AsyncTask> & */
static void handle_task_push(const struct call *c)
{
	const struct foreign_kept *stack = are_stack_ids_wanted() ? foreign_copy_stack() : NULL;
	const void *task = *(const void *const *)c->v[1].cp;
	uint32_t phase = thread_state.phase;

	if (ms_is_marker_searched())
		activation_check();
	/*
	 * An earlier task at this address ran without being seen; its stack must not be used for
	 * this task.
	 */
	if (stack || phase)
		record_task(task, stack, phase);
	else
		remove_task(task, &phase);
}

static void handle_task_run(struct call *c, bool leaving)
{
	const struct foreign_kept *stack = c->note.p[0];
	uint32_t phase = (uint32_t)c->note.u[1];

	if (!leaving) {
		phase = PHASE_NONE;
		stack = remove_task(c->v[0].cp, &phase);
		c->note.u[1] = thread_state.phase;
	}
	thread_state.phase = phase;
	c->note.u[0] = (uintptr_t)foreign_set_stack(stack);
}

static void handle_graph_run(struct call *c, bool leaving)
{
	const struct graph_run r = {c->v[2].cp, c->v[3].cp};

	if (leaving) {
		foreign_stop_lending();
		ms_register_graph_parameters();
		ms_handle_graph_end((uint32_t)c->note.u[0], &r);
	} else {
		c->note.u[0] = ms_handle_graph_begin(&r);
		foreign_start_lending();
	}
}

/* PyNativeExecutor::RunGrad: the pass from the loss to the gradients. */
static void handle_backward_run(struct call *c, bool leaving)
{
	if (leaving) {
		thread_state.phase = (uint32_t)c->note.u[0];
		ms_handle_pass_end(c);
	} else {
		c->note.u[0] = thread_state.phase;
		thread_state.phase = PHASE_BACKWARD;
		ms_handle_pass_begin();
	}
}

void ms_handle_task_scope(struct call *c, enum ms_scope s, bool leaving)
{
	if (s == MS_PUSH && !leaving)
		handle_task_push(c);
	else if (s == MS_TASK)
		handle_task_run(c, leaving);
	else if (s == MS_GRAPH)
		handle_graph_run(c, leaving);
	else if (s == MS_BACKWARD)
		handle_backward_run(c, leaving);
	else if (s == MS_FORWARD && leaving)
		ms_handle_forward_return(c);
	else if (s == MS_CALL && leaving)
		ms_handle_graph_return(c);
	else if (s == MS_CALL)
		ms_handle_graph_call();
}
