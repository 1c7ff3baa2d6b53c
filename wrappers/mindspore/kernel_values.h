/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a training that are seen at kernels: parameters, gradients and moments before and
 * after a kernel that updates a parameter (update_kernel.h), loss, learning rate and norm of the
 * gradients.
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

/* True if the configuration in use requests any of these values. */
bool ms_values_wanted(void);

/*
 * Called before and after a kernel runs. node: its node in a graph, NULL: not in a graph. If the
 * first function returns false, ms_handle_values_after() need not be called. Any thread. Keeps errno.
 */
bool ms_handle_values_before(const struct ms_kernel *k, const void *node,
	const struct kernel_tensors *in, const struct kernel_tensors *out);
void ms_handle_values_after(const struct ms_kernel *k, const void *node,
	const struct kernel_tensors *in, const struct kernel_tensors *out);

/* A backward pass has requested the gradients of n measured parameters. */
void ms_set_expected_values(uint32_t n);

/* ---- results of Python's functions (pass_values.c); the caller holds the GIL ---- */

/* PyNativeExecutor::RunGrad begins, or has returned the gradients. */
void ms_handle_pass_begin(void);
void ms_handle_pass_end(const struct call *c);

/* PyNativeExecutor::EndGraph: a forward pass has returned a value at which a backward pass may begin. */
void ms_handle_forward_return(const struct call *c);

/* ExecutorPy::Run begins; or it has returned a graph's results. */
void ms_handle_graph_call(void);
void ms_handle_graph_return(const struct call *c);

/* ---- gradients that a backward pass has returned and no kernel has used (pass_values.c) ---- */

/* True if there may be such gradients. */
bool ms_has_pending_gradients(void);
/*
 * If `address` is that of such a gradient: removes it and returns its parameter. Otherwise
 * returns NULL.
 */
const struct train_param *ms_remove_pending_gradient(
	const void *address, const struct train_params **all);

/* ---- gradients of graphs, before they are reduced and clipped (graph_gradients.c) ---- */

/*
 * True if a gradient of this step is known. If not, kernels outside graphs are of no interest
 * here.
 */
bool ms_has_graph_gradients(void);
/*
 * Called before and after each kernel. updates: the kernel updates a parameter; key: as from
 * ms_find_kernel_place(). Needs some KiB of stack.
 */
void ms_handle_gradients_before(
	enum ms_place place, const struct kernel_tensors *in, const struct kernel_tensors *out);
void ms_handle_gradients_after(enum ms_place place, uint64_t key, bool updates,
	const struct kernel_tensors *in, const struct kernel_tensors *out);
/*
 * Finds the original gradient from which the gradient input of p's update, at `data`, was
 * computed. Fills in *v, except the name; dims: space for CXX_DIMS_MAX. Returns false if it is
 * not known to come from a gradient of a graph.
 */
bool ms_find_graph_gradient(
	const void *data, const struct train_param *p, struct train_value *v, uint64_t *dims);
/*
 * Iterates over the remaining gradients of this step; *at is 0 at first. Their parameters are
 * known from earlier updates. Returns the parameter's number, 0 after the last.
 */
uint32_t ms_get_next_gradient(uint32_t *at, struct train_value *v, uint64_t *dims);
void ms_graph_gradients_forked(void);

/* To be called if this step's update is skipped: writes the gradients that are known. */
void ms_write_remaining_gradients(void);

/* ---- numbers of a step (step_values.c) ---- */

/* The program computed a number outside of graphs. address: the DeviceAddress of its tensor. */
void ms_record_number(const void *address, double value);
/*
 * A backward pass has ended that began at the number with this DeviceAddress. NULL: not known;
 * then the newest number before the pass is used.
 */
void ms_record_pass_begin(const void *address);
/* The square root of a sum was computed, outside of a backward pass. */
void ms_record_root(double value);
/* A kernel of a backward pass runs; in_graph: it is part of a graph. */
void ms_record_backward_kernel(bool in_graph);
/*
 * Parameter `id` is updated. rate: learning rate; squares: sum of the squares of its gradient's
 * elements. NAN: not known.
 */
void ms_record_update(uint32_t id, double rate, double squares);
/* A graph has returned `value` as its first result. ended: the graph has ended step `step`. */
void ms_loss_returned(bool ended, uint32_t step, double value);

/* A row of this kind has been written: it is not reported as missing at the end of a step. */
void ms_set_kind_written(enum train_kind kind);
/*
 * Reports kinds that are configured and have had no row, each once. Call this at the end of step `step`, if
 * it updated parameters, without a lock.
 */
void ms_record_missing_kinds(uint32_t step);

void ms_values_forked(void);
void ms_gradients_forked(void);
void ms_numbers_forked(void);

#endif
