/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps and phases of a training, from the graphs that run. In MindSpore an optimizer is a graph
 * even in PYNATIVE mode, and it adds one to its global step (AssignAdd) each time: a graph run
 * that contains such a kernel is an optimizer step.
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_KERNEL_PHASE_H
#define PROBE_WRAPPERS_MINDSPORE_KERNEL_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "wrappers/mindspore/layout/kernel.h"

/* Identifies a graph: only one of the two members is set. */
struct graph_run {
	const void *tensors; /* std::vector<std::vector<TensorPtr>> */
	const void *args; /* VectorRef */
};

/*
 * A graph begins to run on this thread; or it has run. Pass the result of the first function to
 * the second.
 */
uint32_t ms_handle_graph_begin(const struct graph_run *r);
void ms_handle_graph_end(uint32_t before, const struct graph_run *r);

/*
 * Calls visit() with the arguments of each running graph; none of them ends meanwhile. Must be
 * called from a kernel of such a graph. visit() must be short, because a lock is held.
 */
void ms_handle_each_graph(void (*visit)(void *arg, const struct graph_run *r), void *arg);

/*
 * Returns the number of graphs that have begun to run since process start. If it changes, the arguments of graphs may have
 * changed too.
 */
uint64_t ms_get_graph_count(void);

/*
 * True if any graph is running. Operators that Python calls one by one are kernels too, outside
 * graphs.
 */
bool ms_is_graph_running(void);

/*
 * Returns which parts have run since the last query: TRAINED_BACKWARD, TRAINED_UPDATE. *step: the
 * step in which the last optimizer stepped.
 */
#define TRAINED_BACKWARD 1u
#define TRAINED_UPDATE 2u
unsigned ms_graph_trained(uint32_t *step);
void ms_set_graph_has_backward(void);

/* A step whose update was skipped has ended. */
void ms_handle_skipped_step(void);

/*
 * A kernel that counts steps is about to run in a graph. node: its node in the graph; in: the
 * counter, and the increment. Other kernels in the same cell of the graph belong to the
 * optimizer.
 */
void ms_handle_step_count(
	const struct ms_kernel *k, const void *node, const struct kernel_tensors *in);

/*
 * Returns the enum phase of a kernel that is about to run, or running; 0: not known. node NULL:
 * the kernel is not part of a graph.
 */
uint8_t ms_find_kernel_phase(const struct ms_kernel *k, const void *node);

/*
 * The part of a graph that contains a kernel. BACKWARD: the backward part, if no backward pass
 * was started by Python; SHARED: an operator split into kernels, which may belong to any part;
 * OTHER: another part, or no graph. *key: identifies the node, equal in each run, 0: not known.
 */
enum ms_place { MS_PLACE_OTHER, MS_PLACE_SHARED, MS_PLACE_BACKWARD };
enum ms_place ms_find_kernel_place(const struct ms_kernel *k, const void *node, uint64_t *key);

void ms_steps_forked(void);
/* struct adapter.fork_handlers of MindSpore's libraries (registry.c). */
extern void (*const ms_fork_handlers[])(void);

#endif
