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
/* Of what asked for the graph that runs; kernels of a graph are on threads that know nothing of it. */
static _Atomic uint8_t graph_phase;

void ms_steps_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	/* Graphs that ran on other threads go on in the parent alone. */
	graphs = begun = 0;
	updating = false;
	graph_phase = PHASE_NONE;
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

uint32_t ms_graph_begins(void)
{
	uint32_t before = thread_state.phase;

	lock_steps();
	if (!graphs++)
		graph_phase = (uint8_t)before;
	pthread_mutex_unlock(&lock);
	thread_state.phase = PHASE_NONE;
	return before;
}

void ms_graph_ends(uint32_t before)
{
	enum train_mark m = TRAIN_NOTHING;

	thread_state.phase = before;
	lock_steps();
	if (graphs && --graphs == 0) {
		for (; begun; begun--)
			m = train_optimizer_end(&train);
		updating = false;
		graph_phase = PHASE_NONE;
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
			updating = true;
		}
		pthread_mutex_unlock(&lock);
	}
	w->busy--;
	errno = err;
}

/* By its place in the graph, which names what autograd made, and cells by their class: optimizer-Adam. 0: it does not say. */
static uint8_t phase_of_place(const char *place)
{
	if (strncmp(place, "Gradients/", 10) == 0 || strstr(place, "/Gradients/"))
		return PHASE_BACKWARD;
	if (strstr(place, "/optimizer-") || strstr(place, "optimizer-") == place)
		return PHASE_OPTIMIZER;
	return strstr(place, "/network-") || strstr(place, "/net-") ? PHASE_FORWARD : PHASE_NONE;
}

uint8_t ms_kernel_phase(const struct call *c)
{
	const struct ms_kernel *k = (const struct ms_kernel *)c->api;
	const void *node = c->v[KERNEL_NODE].cp;
	const char *place = node ? ms_node_name(ms_layout(), node, k->name) : NULL;
	uint8_t phase = place ? phase_of_place(place) : PHASE_NONE;

	if (phase || thread_state.phase)
		return phase;
	if (updating)
		return PHASE_OPTIMIZER;
	return graph_phase ? graph_phase : PHASE_FORWARD;
}
