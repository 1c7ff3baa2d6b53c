/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations of a step: those of matrix products, convolutions and attention, from
 * the shapes of their operators. A multiplication with its addition counts as two. An adapter
 * reports the operators; no framework is named here.
 *
 * Operators are counted in one of `flops_interval` steps. The first operator called in the
 * counted step is the leader. In the steps between, the result is used as long as the leader is
 * called with the same shapes and equally often. If it is not, the
 * number of this step is unknown, and the next step is counted. While shapes keep changing, each step is counted; so are the first steps,
 * until it is known that they do not change.
 *
 * Threads: operators add atomically; everything else is done by the thread that ends the step,
 * one at a time.
 */
#ifndef PROBE_TRAIN_FLOPS_H
#define PROBE_TRAIN_FLOPS_H

#include <stdbool.h>
#include <stdint.h>

struct flops {
	/*
	 * Operations of the model: without recomputation in a backward pass, and without the
	 * optimizer's computations.
	 */
	double model;
	double all; /* all operations that ran */
};

/* True if a metric needs counted operations, because key model_flops_per_step is not set. */
bool flops_are_wanted(void);

/* True if operators are counted in the current step. If not, only the leader is checked. */
bool flops_are_counted(void);

/* Adds the operations of an operator. Operators nested in it must not be added too. */
void flops_add(double model, double all);

/* Notes a call of the leader; shapes: a hash of its shapes. */
void flops_add_leader_call(uint64_t shapes);

/* Notes that an operator's shapes could not be read: this step has no number. */
void flops_set_unknown(void);

/*
 * Stops counting permanently: some computation is not visible. The caller writes the reason to
 * meta.json.
 */
void flops_stop_counting(void);

/*
 * Called when counting begins (true) and ends, on the thread that ends the step. Only one adapter
 * may set it.
 */
typedef void flops_switch_fn(bool count);
void flops_register_switch(flops_switch_fn *fn);

/* Ends a step. Returns false if its number of operations is not known. */
bool flops_close_step(uint32_t step, struct flops *of_step);

#endif
