/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/mindspore/kernel_phase.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "call/step.h"
#include "call/train_steps.h"
#include "journal/layout.h"
#include "session/state.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/kernel_layout.h"

/*
 * `lock` is a leaf but for what step_end() takes; it is taken some times in a step. A forked child makes it anew. Kernels of a
 * graph run on many threads, while the one that asked for it waits.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct train train;
static bool configured;
static unsigned graphs; /* running */
static unsigned begun; /* optimizer steps in them */
static _Atomic bool updating;

void ms_steps_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void lock_steps(void)
{
	pthread_mutex_lock(&lock);
	if (!configured && session_configure()) {
		const char *a = config_now()->step_anchor;

		configured = true;
		train.anchor_wanted = strcmp(a, "any") == 0 ? TRAIN_ANCHOR_ANY : atoi(a);
	}
}

void ms_graph_begins(void)
{
	lock_steps();
	graphs++;
	pthread_mutex_unlock(&lock);
}

void ms_graph_ends(void)
{
	enum train_mark m = TRAIN_NOTHING;

	lock_steps();
	if (graphs && --graphs == 0) {
		for (; begun; begun--)
			m = train_optimizer_end(&train);
		atomic_store(&updating, false);
	}
	pthread_mutex_unlock(&lock);
	if (m != TRAIN_NOTHING)
		step_end(STEP_OPTIMIZER);
}

/* A number that counts steps, optimizer.global_step: one int32. Which optimizer it is is known by where that lies. */
static uint64_t optimizer_of_step(const struct kernel_tensors *in)
{
	int64_t strides[CXX_DIMS_MAX];
	struct buffer v;

	if (in->begin == in->end || !ms_tensor_buffer(in->begin[0], &v, strides) ||
		v.dtype != DT_INT32 || v.count != 1 || v.ndim != 1)
		return 0;
	return (uintptr_t)v.base;
}

void ms_update_seen(const struct kernel_tensors *in)
{
	struct thread_state *w = &thread_state;
	int err = errno;
	uint64_t which;

	if (w->busy)
		return;
	w->busy++;
	which = optimizer_of_step(in);
	if (which) {
		lock_steps();
		if (graphs) {
			train_optimizer_begin(&train, which);
			begun++;
			atomic_store(&updating, true);
		}
		pthread_mutex_unlock(&lock);
	}
	w->busy--;
	errno = err;
}

uint8_t ms_kernel_phase(const struct call *c)
{
	(void)c;
	return updating ? PHASE_OPTIMIZER : PHASE_FORWARD;
}
