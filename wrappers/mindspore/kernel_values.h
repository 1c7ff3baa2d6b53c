/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a training that are seen at kernels: parameters, gradients and moments before and after a kernel that updates a
 * parameter (update_kernel.h), loss, learning rate and norm of the gradients.
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_KERNEL_VALUES_H
#define PROBE_WRAPPERS_MINDSPORE_KERNEL_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "training/params/kind.h"
#include "training/params/param.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/layout/kernel.h"
#include "wrappers/mindspore/kernel_phase.h"

/* True if the configuration in use requests any of it. */
bool ms_values_wanted(void);

/*
 * Called before and after a kernel runs. node: in its graph, NULL: no graph. False: ms_values_after() is not needed. Any
 * thread. Keeps errno.
 */
bool ms_values_before(const struct ms_kernel *k, const void *node, const struct kernel_tensors *in,
	const struct kernel_tensors *out);
void ms_values_after(const struct ms_kernel *k, const void *node, const struct kernel_tensors *in,
	const struct kernel_tensors *out);

/* A readable tensor of a kernel; false: not readable. */
struct ms_seen {
	struct buffer v;
	int64_t strides[CXX_DIMS_MAX];
};
bool ms_see_tensor(const struct kernel_tensors *t, unsigned i, struct ms_seen *s);

/* A pass has requested the gradients of n measured parameters. */
void ms_expect_values(uint32_t n);

/* ---- results of Python's functions (pass_values.c); the caller holds the GIL ---- */

/* PyNativeExecutor::RunGrad begins, or has returned the gradients. */
void ms_pass_begins(void);
void ms_pass_ends(const struct call *c);

/* PyNativeExecutor::EndGraph: a forward pass has returned a value at which a backward pass may begin. */
void ms_forward_returns(const struct call *c);

/* ExecutorPy::Run begins; and it has returned a graph's results. */
void ms_graph_is_called(void);
void ms_graph_returns(const struct call *c);

/* ---- gradients that a pass has returned and no kernel has used (pass_values.c) ---- */

/* True if there may be any. */
bool ms_gradients_wait(void);
/* If it is one of them: removes it and returns its parameter. NULL: it is not. */
const struct train_param *ms_gradient_take(const void *address, const struct train_params **all);

/* ---- gradients of graphs, before they are reduced and clipped (graph_gradients.c) ---- */

/* True if anything of this step is known. If not, kernels outside graphs do not matter here. */
bool ms_graph_gradients_wait(void);
/*
 * For each kernel, before and after; updates: it updates a parameter; key: ms_kernel_place(). Needs some room on the
 * stack.
 */
void ms_graph_gradients_before(
	enum ms_place place, const struct kernel_tensors *in, const struct kernel_tensors *out);
void ms_graph_gradients_after(enum ms_place place, uint64_t key, bool updates,
	const struct kernel_tensors *in, const struct kernel_tensors *out);
/*
 * The original gradient from which p's update input in that memory was computed: *v without a name; dims: room for
 * CXX_DIMS_MAX. False: it is not known to come from a gradient of a graph.
 */
bool ms_graph_gradient_of(
	const void *data, const struct train_param *p, struct train_value *v, uint64_t *dims);
/*
 * The next remaining gradient of this step from *at on, 0 at first, as earlier updates identified them: its parameter's
 * number; 0: no more.
 */
uint32_t ms_graph_gradient_left(uint32_t *at, struct train_value *v, uint64_t *dims);
void ms_graph_gradients_forked(void);

/* This step's update is skipped: writes the gradients that are known. */
void ms_write_left_gradients(void);

/* ---- numbers of a step (step_values.c) ---- */

/* A number that the program computed outside of graphs, and the DeviceAddress of its tensor. */
void ms_number_made(const void *address, double value);
/*
 * A pass has ended that began at the number with that DeviceAddress. NULL: not known; then the newest number before the pass is
 * used.
 */
void ms_pass_began_at(const void *address);
/* The root of a sum, outside of a pass. */
void ms_root_made(double value);
/* A kernel of a backward pass runs; in_graph: of a graph. */
void ms_backward_made(bool in_graph);
/* A parameter is updated: rate NAN, squares (of its gradient's elements, summed up) NAN: not known. */
void ms_update_made(uint32_t id, double rate, double squares);
/* A graph's first result; step: the step that it has ended, if any. */
void ms_loss_returned(bool ended, uint32_t step, double value);

void ms_values_forked(void);
void ms_gradients_forked(void);
void ms_numbers_forked(void);

#endif
