/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key step_boundary: a step that its optimizer has marked ends immediately, or (iteration) is
 * kept open until the next iteration begins. An iteration begins with the first forward pass in
 * training mode that does not continue the current iteration. To decide this, the Python stacks
 * at the mark and at the forward pass are compared from the outermost frame. In the first frame
 * that differs, the iteration continues if the same call of the same function is at a later
 * instruction (the generator's half of a GAN). At an earlier instruction, or in another call, the
 * next iteration has begun. If frames are not known, or a frame calls different functions from
 * the same instruction, the next forward pass in training mode counts.
 *
 * A step that is still open ends when its optimizer begins again, or with the next backward pass
 * if no forward pass was seen meanwhile: torch.compile's graphs are not visible.
 *
 * Lock: `held_lock` is a leaf.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/private_stack.h"
#include "call/step.h"
#include "config/rooms/steps.h"
#include "session/state.h"
#include "stack/foreign.h"
#include "wrappers/torch/passes/module_call.h"
#include "wrappers/torch/passes/step_boundary.h"

static atomic_bool held,
	passed; /* a step is kept open; a forward in training mode was seen since its mark */
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static struct foreign_stack at_mark; /* guarded by held_lock */

void torch_boundary_forked(void)
{
	pthread_mutex_init(&held_lock, NULL);
}

static void close_held_step(void)
{
	if (atomic_exchange(&held, false))
		step_end(STEP_OPTIMIZER);
}

static void copy_stack_of_mark(void *arg)
{
	(void)arg;
	foreign_read_stack(&at_mark);
}

void torch_handle_step_mark(void)
{
	if (get_steps_keys(get_config())->step_boundary != STEP_BOUNDARY_ITERATION ||
		!torch_are_module_calls_hooked()) {
		step_end(STEP_OPTIMIZER);
		return;
	}
	close_held_step();
	pthread_mutex_lock(&held_lock);
	private_stack_call(copy_stack_of_mark, NULL);
	pthread_mutex_unlock(&held_lock);
	atomic_store(&passed, false);
	atomic_store(&held, true);
}

static void compare_with_mark(void *arg)
{
	struct foreign_stack now;

	foreign_read_stack(&now);
	*(bool *)arg = is_foreign_continued(&at_mark, &now);
}

void torch_handle_step_forward(void)
{
	bool same = false;

	if (__builtin_expect(!atomic_load_explicit(&held, memory_order_relaxed), 1))
		return;
	atomic_store(&passed, true);
	pthread_mutex_lock(&held_lock);
	private_stack_call(compare_with_mark, &same);
	pthread_mutex_unlock(&held_lock);
	if (!same)
		close_held_step();
}

void torch_handle_step_backward(void)
{
	if (!atomic_load_explicit(&passed, memory_order_relaxed))
		close_held_step();
}

void torch_handle_step_optimizer(void)
{
	close_held_step();
}
