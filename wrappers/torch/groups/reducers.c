/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reducers of DistributedDataParallel. A forward pass with gradients prepares one, outside of no_sync(); the gradient of each
 * parameter reaches it, and the end of the backward pass finishes it. If a parameter gets none, it never finishes: gradients stay as
 * each rank computed them, and PyTorch reports it only in the next forward pass. A prepared reducer that no gradient reached is
 * none of these: the program asked for no backward pass of that module (a teacher, an evaluation). Reducer::require_finalize_ in
 * torch/csrc/distributed/c10d/reducer.cpp is the same.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "call/step.h"
#include "life/life.h"
#include "wrappers/torch/tensors/torch.h"

#define REDUCERS_MAX 32 /* maximum number of prepared reducers; more are not followed */
#define REACHED ((uintptr_t)1) /* beside the address, which is even: a gradient has reached it */

static _Atomic uintptr_t prepared[REDUCERS_MAX];
static atomic_bool recorded;

static void set_reducer(uintptr_t from, uintptr_t to)
{
	for (unsigned i = 0; i < REDUCERS_MAX; i++) {
		uintptr_t same = from;

		if (atomic_load_explicit(&prepared[i], memory_order_relaxed) == from &&
			atomic_compare_exchange_strong(&prepared[i], &same, to))
			return;
	}
}

/* Nearly all gradients come after the first one of their pass, and usually there is one reducer. */
static bool is_reached(uintptr_t reducer)
{
	return atomic_load_explicit(&prepared[0], memory_order_relaxed) == (reducer | REACHED);
}

void torch_handle_reducer(const struct call *c, enum torch_scope s)
{
	uintptr_t reducer = (uintptr_t)c->v[0].cp;

	if (s == SCOPE_REDUCER_GRADIENT) {
		if (!is_reached(reducer))
			set_reducer(reducer, reducer | REACHED);
		return;
	}
	set_reducer(reducer, 0);
	set_reducer(reducer | REACHED, 0);
	if (s == SCOPE_REDUCER_PREPARED)
		set_reducer(0, reducer);
}

void torch_check_reducers(void)
{
	for (unsigned i = 0; i < REDUCERS_MAX; i++)
		if (atomic_load_explicit(&prepared[i], memory_order_relaxed) & REACHED &&
			!atomic_exchange(&recorded, true))
			session_record_unfinished_reduction(step_now());
}
