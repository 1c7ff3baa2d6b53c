/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations of a step: those of matrix products, convolutions and attention, from the shapes of their
 * operators; a multiplication with its addition counts as two. An adapter reports the operators; no framework is named
 * here.
 *
 * Operators are counted in one of `flops_interval` steps. The result is used for the steps in between as long as the
 * leader, the operator that came first in that step, is called with the same shapes and equally often. A step in which
 * it is not has no number, and the next step is counted. While shapes keep changing, each step is counted; so are the
 * first steps, until it is known that they do not change.
 *
 * Threads: operators add atomically; everything else is done by the thread that ends the step, one at a time.
 */
#ifndef PROBE_TRAIN_FLOPS_H
#define PROBE_TRAIN_FLOPS_H

#include <stdbool.h>
#include <stdint.h>

struct flops {
	/* Of the model: without recomputation in a backward pass, and without the optimizer's own computations. */
	double model;
	double all; /* that ran */
};

/* True if a number is requested that key model_flops_per_step does not give. */
bool flops_are_wanted(void);

/* True if operators are counted in the current step. If not, only the leader is checked. */
bool flops_are_counted(void);

/* Adds an operator. Operators nested in it must not be added too. */
void flops_add(double model, double all);

/* Notes a call of the leader; shapes: a hash of its shapes. */
void flops_lead(uint64_t shapes);

/* An operator's shapes could not be read: this step has no number. */
void flops_miss(void);

/* Gives up permanently: some computation is not visible. The caller puts the reason into meta.json. */
void flops_give_up(void);

/* Called when counting begins (true) and ends, on the thread that ends the step. One adapter. */
typedef void flops_switch_fn(bool count);
void flops_on_switch(flops_switch_fn *fn);

/* Ends a step. False: its number is not known. */
bool flops_end_step(uint32_t step, struct flops *of_step);

#endif
