/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/mindspore/kernel_phase.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/thread.h"
#include "call/step.h"
#include "call/train_steps.h"
#include "config/rooms/steps.h"
#include "journal/layout.h"
#include "session/state.h"
#include "training/steps/step_times.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/kernel_values.h"
#include "wrappers/mindspore/layout/kernel_layout.h"

/*
 * `lock` is a leaf except for what step_end() takes; it is taken some times in a step. A forked child initialises it
 * again. Kernels of a graph run on many threads, while the thread that started the graph waits.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct train train;
static bool configured;
static unsigned graphs; /* running graphs */
static _Atomic uint64_t runs_begun;
static unsigned optimizer_steps; /* optimizer steps in the running graphs */
static _Atomic bool updating; /* a running graph that consists only of the optimizer */
static uint64_t update_began; /* ticks; 0: no graph that consists only of the optimizer has begun */
static _Atomic bool passed; /* the running graphs contain a backward pass, too */
/* Phase of the code that started the running graph, for its kernels, which run on other threads. */
static _Atomic uint8_t graph_phase;

#define RUNS_MAX 8
static struct graph_run running[RUNS_MAX]; /* more than RUNS_MAX are ignored */
static _Atomic unsigned trained; /* TRAINED_* */
static _Atomic uint32_t trained_step;

void ms_steps_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	/* Graphs on other threads continue only in the parent. */
	graphs = optimizer_steps = 0;
	update_began = 0;
	passed = false;
	memset(running, 0, sizeof(running));
	updating = false;
	graph_phase = PHASE_NONE;
}

static void lock_steps(void)
{
	pthread_mutex_lock(&lock);
	if (!configured && session_configure()) {
		const char *a = get_steps_keys(get_config())->step_anchor;

		configured = true;
		train.anchor_wanted = strcmp(a, "any") == 0 ? TRAIN_ANCHOR_ANY : atoi(a);
	}
}

static void update_running_graphs(const void *args, const struct graph_run *new_run)
{
	for (unsigned i = 0; i < RUNS_MAX; i++)
		if (running[i].args == args) {
			running[i] = *new_run;
			return;
		}
}

uint32_t ms_handle_graph_begin(const struct graph_run *r)
{
	uint32_t before = thread_state.phase;

	lock_steps();
	if (!graphs++)
		graph_phase = (uint8_t)before;
	update_running_graphs(NULL, r);
	runs_begun++;
	pthread_mutex_unlock(&lock);
	thread_state.phase = PHASE_NONE;
	return before;
}

void ms_handle_graph_end(uint32_t before, const struct graph_run *r)
{
	enum train_mark m = TRAIN_NOTHING;

	thread_state.phase = before;
	lock_steps();
	update_running_graphs(r->args, &(struct graph_run){NULL, NULL});
	if (graphs && --graphs == 0) {
		if (optimizer_steps) {
			trained |= TRAINED_UPDATE;
			trained_step = step_now();
		}
		for (; optimizer_steps; optimizer_steps--)
			m = train_handle_optimizer_end(&train);
		/* If the graph is the whole step, the duration of the optimizer's part is not known. */
		if (update_began && !passed)
			step_part_add(PART_OPTIMIZER, update_began, clock_ticks());
		update_began = 0;
		passed = false;
		updating = false;
		graph_phase = PHASE_NONE;
	}
	pthread_mutex_unlock(&lock);
	if (m != TRAIN_NOTHING) {
		ms_record_missing_kinds(step_now());
		step_end(STEP_OPTIMIZER);
	}
}

void ms_handle_each_graph(void (*visit)(void *arg, const struct graph_run *r), void *arg)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < RUNS_MAX; i++)
		if (running[i].args)
			visit(arg, &running[i]);
	pthread_mutex_unlock(&lock);
}

uint64_t ms_get_graph_count(void)
{
	return runs_begun;
}

bool ms_is_graph_running(void)
{
	return __atomic_load_n(&graphs, __ATOMIC_RELAXED) != 0;
}

unsigned ms_graph_trained(uint32_t *step)
{
	*step = trained_step;
	return atomic_exchange(&trained, 0);
}

void ms_set_graph_has_backward(void)
{
	if (!(trained & TRAINED_BACKWARD))
		trained |= TRAINED_BACKWARD;
	if (!passed)
		passed = true;
}

void ms_handle_skipped_step(void)
{
	step_skipped(step_now());
	step_end(STEP_OPTIMIZER);
}

/*
 * The address of optimizer.global_step, a number (one int32) that counts steps; it identifies the
 * optimizer.
 */
static uint64_t get_optimizer_address(const struct kernel_tensors *in)
{
	int64_t strides[CXX_DIMS_MAX];
	struct buffer v;

	if (in->begin == in->end || !ms_read_tensor_buffer(in->begin[0], &v, strides) ||
		v.dtype != DT_INT32 || v.count != 1 || v.ndim != 1)
		return 0;
	return (uintptr_t)v.base;
}

/*
 * Cells of graphs that are optimizers: "Default/opt-Adam/", if the kernel that counts steps is in one. A graph that
 * consists only of the optimizer has no cell for it ("Default/").
 */
#define SCOPES_MAX 8u
#define SCOPE_BYTES 256u
static char scopes[SCOPES_MAX][SCOPE_BYTES];
static _Atomic uint32_t nscopes;

/*
 * Length of the cell's name before the kernel's name; 0 if the graph itself is the cell, or if
 * the name is too long.
 */
static size_t get_scope_length(const char *place)
{
	const char *last = place ? strrchr(place, '/') : NULL;
	size_t n = last ? (size_t)(last + 1 - place) : 0;

	return n && n < SCOPE_BYTES && strchr(place, '/') != last ? n : 0;
}

static bool is_in_scope(const char *place)
{
	uint32_t n = atomic_load_explicit(&nscopes, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++)
		if (strncmp(place, scopes[i], strlen(scopes[i])) == 0)
			return true;
	return false;
}

/* The lock is held. */
static void add_scope(const char *place, size_t n)
{
	uint32_t k = nscopes;

	if (k == SCOPES_MAX || is_in_scope(place))
		return;
	memcpy(scopes[k], place, n);
	scopes[k][n] = 0;
	atomic_store_explicit(&nscopes, k + 1, memory_order_release);
}

void ms_handle_step_count(
	const struct ms_kernel *k, const void *node, const struct kernel_tensors *in)
{
	struct thread_self *w = &thread_state;
	int err = errno;
	const struct kernel_layout *l;
	const char *place;
	size_t scope;
	uint64_t which;

	if (w->busy)
		return;
	w->busy++;
	which = get_optimizer_address(in);
	if (which) {
		l = ms_get_layout();
		place = l && node ? ms_read_node_name(l, node, k->name) : NULL;
		scope = get_scope_length(place);
		lock_steps();
		if (graphs) {
			train_handle_optimizer_begin(&train, which);
			optimizer_steps++;
			if (scope)
				add_scope(place, scope);
			else
				updating = true;
			if (!scope && !update_began)
				update_began = clock_ticks();
		}
		pthread_mutex_unlock(&lock);
	}
	w->busy--;
	errno = err;
}

/*
 * The phase by a node's path, which names the parts made by autograd, and cells by their class:
 * optimizer-Adam. 0 if unknown.
 */
static uint8_t parse_phase(const char *place)
{
	if (strncmp(place, "Gradients/", 10) == 0 || strstr(place, "/Gradients/"))
		return PHASE_BACKWARD;
	if (is_in_scope(place) || strstr(place, "/optimizer-") ||
		strstr(place, "optimizer-") == place)
		return PHASE_OPTIMIZER;
	return strstr(place, "/network-") || strstr(place, "/net-") ? PHASE_FORWARD : PHASE_NONE;
}

enum ms_place ms_find_kernel_place(const struct ms_kernel *k, const void *node, uint64_t *key)
{
	const char *place = graph_phase == PHASE_BACKWARD
				    ? NULL
				    : ms_read_node_name(ms_get_layout(), node, k->name);

	*key = place ? hash_str(0, place) : 0;
	if (!place)
		return MS_PLACE_OTHER;
	if (strncmp(place, "Expand/", 7) == 0)
		return MS_PLACE_SHARED;
	return parse_phase(place) == PHASE_BACKWARD ? MS_PLACE_BACKWARD : MS_PLACE_OTHER;
}

/*
 * Cached results by the text of a node's path: 60 bits of its hash, 4 bits of the phase. The
 * node's address does not serve as the key, because another graph may reuse it.
 */
#define PLACES 8192u
static _Atomic uint64_t places[PLACES];

static uint8_t find_phase_of_node(const struct ms_kernel *k, const void *node)
{
	const char *place = ms_read_node_name(ms_get_layout(), node, k->name);
	_Atomic uint64_t *at;
	uint64_t hash, was;
	uint8_t phase;

	if (!place)
		return PHASE_NONE;
	/*
	 * The number of known cells is part of the key, because a path whose cell was not known
	 * may have had another result.
	 */
	hash = hash_str(nscopes, place) & ~UINT64_C(15);
	at = &places[(hash >> 4) % PLACES];
	was = atomic_load_explicit(at, memory_order_relaxed);
	if (__builtin_expect((was & ~UINT64_C(15)) == hash, 1))
		return (uint8_t)(was & 15);
	phase = parse_phase(place);
	atomic_store_explicit(at, hash | phase, memory_order_relaxed);
	return phase;
}

uint8_t ms_find_kernel_phase(const struct ms_kernel *k, const void *node)
{
	uint8_t phase = node ? find_phase_of_node(k, node) : PHASE_NONE;

	if (phase)
		return phase;
	if (thread_state.phase)
		return (uint8_t)thread_state.phase;
	if (updating)
		return PHASE_OPTIMIZER;
	return graph_phase ? graph_phase : PHASE_FORWARD;
}
