/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reducers of DistributedDataParallel. A forward pass with gradients prepares one, outside of no_sync(), and the end of the
 * backward pass finishes it. If a parameter got no gradient in between, it never finishes: gradients stay as each rank computed
 * them, and PyTorch reports it only in the next forward pass.
 */
#include <stdatomic.h>

#include "call/step.h"
#include "life/life.h"
#include "wrappers/torch/tensors/torch.h"

#define REDUCERS_MAX 32 /* maximum number of prepared reducers; more are not followed */

static _Atomic(const void *) prepared[REDUCERS_MAX];
static atomic_bool recorded;

static void remove_reducer(const void *reducer)
{
	for (unsigned i = 0; i < REDUCERS_MAX; i++) {
		const void *same = reducer;

		atomic_compare_exchange_strong(&prepared[i], &same, NULL);
	}
}

static void add_reducer(const void *reducer)
{
	remove_reducer(reducer);
	for (unsigned i = 0; i < REDUCERS_MAX; i++) {
		const void *none = NULL;

		if (atomic_compare_exchange_strong(&prepared[i], &none, reducer))
			return;
	}
}

void torch_handle_reducer(const struct call *c, bool finished)
{
	if (finished)
		remove_reducer(c->v[0].cp);
	else
		add_reducer(c->v[0].cp);
}

void torch_check_reducers(void)
{
	for (unsigned i = 0; i < REDUCERS_MAX; i++)
		if (atomic_load_explicit(&prepared[i], memory_order_relaxed) &&
			!atomic_exchange(&recorded, true))
			session_record_unfinished_reduction(step_now());
}
