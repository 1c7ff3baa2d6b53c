/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels show of a training: parameters, gradients and moments as a kernel that updates a parameter is given them and leaves
 * them (update_kernel.h), loss, learning rate and norm of the gradients.
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

/* Is any of it asked for by the configuration that is in use? */
bool ms_values_wanted(void);

/*
 * A kernel is about to run, and has run. node: of the graph that it is in, NULL: it is in none. False: nothing is to be done
 * behind it. Any thread. Keeps errno.
 */
bool ms_values_before(const struct ms_kernel *k, const void *node, const struct kernel_tensors *in,
	const struct kernel_tensors *out);
void ms_values_behind(const struct ms_kernel *k, const void *node, const struct kernel_tensors *in,
	const struct kernel_tensors *out);

/* A tensor of a kernel whose memory can be read; false: it is none. */
struct ms_seen {
	struct buffer v;
	int64_t strides[CXX_DIMS_MAX];
};
bool ms_see_tensor(const struct kernel_tensors *t, unsigned i, struct ms_seen *s);

/* A pass has asked for the gradients of so many parameters that are measured. */
void ms_expect_values(uint32_t n);

/* ---- what a program gets from Python's functions (pass_values.c); the caller holds the GIL ---- */

/* PyNativeExecutor::RunGrad begins, or has returned the gradients. */
void ms_pass_begins(void);
void ms_pass_ends(const struct call *c);

/* PyNativeExecutor::EndGraph: a forward pass has given back what a backward pass may begin at. */
void ms_forward_returns(const struct call *c);

/* ExecutorPy::Run begins; it has returned what a graph gives back. */
void ms_graph_is_called(void);
void ms_graph_returns(const struct call *c);

/* ---- gradients that a pass has given back and nobody has used (pass_values.c) ---- */

/* May there be any? */
bool ms_gradients_wait(void);
/* Is it one of them? Its parameter then, and it is one no longer. NULL: it is none. */
const struct train_param *ms_gradient_take(const void *address, const struct train_params **all);

/* ---- gradients of graphs, before they are reduced and clipped (graph_gradients.c) ---- */

/* Is any of this step known? While none is, kernels outside of graphs are none of its matter. */
bool ms_graph_gradients_wait(void);
/* Each kernel, before and behind; updates: it updates a parameter; key: ms_kernel_place(). On a stack with some room. */
void ms_graph_gradients_before(
	enum ms_place place, const struct kernel_tensors *in, const struct kernel_tensors *out);
void ms_graph_gradients_behind(enum ms_place place, uint64_t key, bool updates,
	const struct kernel_tensors *in, const struct kernel_tensors *out);
/*
 * What an update of p is given in that memory was once: *v without a name; dims: room for CXX_DIMS_MAX. False: it is not known to
 * be a gradient of a graph.
 */
bool ms_graph_gradient_of(
	const void *data, const struct train_param *p, struct train_value *v, uint64_t *dims);
/* The next one of this step from *at on, 0 at first, by what updates of steps before have said: its parameter's number; 0: no further one. */
uint32_t ms_graph_gradient_left(uint32_t *at, struct train_value *v, uint64_t *dims);
void ms_graph_gradients_forked(void);

/* This step's update is left out: what there is of its gradients is written. */
void ms_write_left_gradients(void);

/* ---- numbers of a step (step_values.c) ---- */

/* A number that the program computed outside of graphs, and the DeviceAddress of its tensor. */
void ms_number_made(const void *address, double value);
/* A pass has ended that began at the number with that DeviceAddress. NULL: not known, then it is the newest before the pass. */
void ms_pass_began_at(const void *address);
/* The root of a sum, outside of a pass. */
void ms_root_made(double value);
/* A kernel of a backward pass runs; in_graph: of a graph. */
void ms_backward_made(bool in_graph);
/* A parameter is updated: rate NAN, squares (of its gradient's elements, summed up) NAN: not known. */
void ms_update_made(uint32_t id, double rate, double squares);
/* What a graph gave back first; step: which it has ended, if it has. */
void ms_loss_returned(bool ended, uint32_t step, double value);

void ms_values_forked(void);
void ms_gradients_forked(void);
void ms_numbers_forked(void);

#endif
