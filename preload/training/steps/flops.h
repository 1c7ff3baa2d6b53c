/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations of a step: those of matrix products, convolutions and attention, by the shapes of their operators,
 * two for each multiplication with its addition. An adapter says what has run; no framework is named here.
 *
 * They are counted in one step of `flops_interval`, and in the steps in between hold as long as the operator that came first in
 * that step, the leader, is called with the same shapes and as often. A step in which it is not has no number, and the next
 * one is counted; as long as shapes go on changing each step is. A step before it is known that they do not change, too.
 *
 * Threads: what an operator adds is atomic; the rest is the business of whoever ends the step, which one thread does at a time.
 */
#ifndef PROBE_TRAIN_FLOPS_H
#define PROBE_TRAIN_FLOPS_H

#include <stdbool.h>
#include <stdint.h>

struct flops {
	/* Of the model: without what is computed again in a backward pass, and without what the optimizer computes. */
	double model;
	double all; /* that ran */
};

/* Is a number asked for that is not given by key model_flops_per_step? */
bool flops_are_wanted(void);

/* Are operators counted in the step that goes on? If not, the leader alone is looked at. */
bool flops_are_counted(void);

/* An operator has run, and nothing of it inside of another one that is given, too. */
void flops_add(double model, double all);

/* The leader has run, with such shapes: a hash of them. */
void flops_lead(uint64_t shapes);

/* One has run whose shapes could not be read: this step has no number. */
void flops_miss(void);

/* There will be none any more: something computes that is not seen. Whoever says so says why in meta.json. */
void flops_give_up(void);

/* Called when counting begins and ends, on the thread that ends the step; true: it begins. One adapter. */
typedef void flops_switch_fn(bool count);
void flops_on_switch(flops_switch_fn *fn);

/* A step ends. False: its number is not known. */
bool flops_end_step(uint32_t step, struct flops *of_step);

#endif
