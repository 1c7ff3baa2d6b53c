/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of steps that an optimizer did before the first one that libprobe sees: nonzero if the training was resumed from a
 * checkpoint. Adam and similar optimizers count their steps in 0-dimensional
 * tensors and add 1 to them at the start of a step, with one of the operators below. These
 * operators are watched during the first step only; before and after it their stubs jump straight
 * to PyTorch.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/thread.h"
#include "entry/stubs/stub.h"
#include "journal/layout.h"
#include "life/life.h"
#include "session/state.h"
#include "wrappers/torch/tensors/torch.h"

#define STEPS_MAX 1e9

enum { BEFORE, DURING, AFTER };
static _Atomic int when;

/* Arguments: self, other, alpha; `other` is a list, a tensor or a number. */
static const char *const ops[] = {"add__Tensor", "_foreach_add__Tensor", "_foreach_add__Scalar"};

#define NOPS (sizeof(ops) / sizeof(*ops))

static struct torch_function *_Atomic watched[NOPS];

static unsigned find_optimizer_op(const char *name)
{
	unsigned i = 0;

	while (i < NOPS && strcmp(ops[i], name) != 0)
		i++;
	return i;
}

bool torch_is_optimizer_op(const char *name)
{
	return find_optimizer_op(name) < NOPS;
}

/* Reads the number in a 0-dimensional tensor in host memory. */
static bool read_step_number(const void *impl, uint8_t dtype, double *out)
{
	struct buffer v;

	if (!torch_read_tensor(impl, &v) || v.dtype != dtype || v.ndim != 0 || v.count != 1 ||
		v.nostats)
		return false;
	if (dtype == DT_FLOAT32) {
		float f;

		memcpy(&f, v.base, sizeof(f));
		*out = (double)f;
	} else {
		int64_t i;

		memcpy(&i, v.base, sizeof(i));
		*out = (double)i;
	}
	return true;
}

static bool is_step_one(const void *impl)
{
	double v;

	return (read_step_number(impl, DT_INT64, &v) || read_step_number(impl, DT_FLOAT32, &v)) &&
	       v >= 1 && v <= 1;
}

void torch_read_optimizer_steps(const struct call *c)
{
	const uint64_t *list = c->v[0].cp;
	const char *name = torch_get_function(c)->cxx.symbol;
	const void *impl;
	double steps;

	if (atomic_load_explicit(&when, memory_order_relaxed) != DURING ||
		thread_state.phase != PHASE_OPTIMIZER)
		return;
	if (strcmp(name, "at::_ops::add__Tensor::call") == 0)
		impl = *(void *const *)c->v[0].cp;
	else if (strncmp(name, "at::_ops::_foreach_add__", 24) == 0 && strstr(name, "::call") &&
		 list[1])
		impl = *(void *const *)(uintptr_t)list[0];
	else
		return;
	if (!strstr(name, "_Scalar") && !is_step_one(*(void *const *)c->v[1].cp))
		return;
	if (!read_step_number(impl, DT_FLOAT32, &steps) || steps < 0 || steps > STEPS_MAX)
		return;
	atomic_store_explicit(&when, AFTER, memory_order_relaxed);
	if (steps >= 1)
		session_record_steps_before((uint64_t)steps);
}

bool torch_has_seen_optimizer(void)
{
	return atomic_load_explicit(&when, memory_order_relaxed) >= AFTER;
}

void torch_register_optimizer_op(struct torch_function *r, const char *name)
{
	unsigned i = find_optimizer_op(name);

	if (i < NOPS)
		atomic_store(&watched[i], r);
}

static void set_optimizer_ops_watched(bool watch)
{
	for (unsigned i = 0; i < NOPS; i++) {
		struct torch_function *r = atomic_load(&watched[i]);

		if (r)
			stub_watch(&r->cxx.api, watch);
	}
}

void torch_handle_first_step(bool begins)
{
	int now = atomic_load_explicit(&when, memory_order_relaxed);

	if (begins && now == BEFORE && atomic_compare_exchange_strong(&when, &now, DURING))
		set_optimizer_ops_watched(true);
	else if (!begins && now != BEFORE && atomic_exchange(&when, AFTER + 1) <= AFTER)
		set_optimizer_ops_watched(false);
}

void torch_handle_counting_op(const struct call *c)
{
	torch_read_optimizer_steps(c);
	/* Outside of the first step the operator is not observed any more. */
	if (atomic_load_explicit(&when, memory_order_relaxed) != DURING)
		stub_watch(c->api, false);
}
