/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a training, from what its framework lets be seen: optimizer steps, backward passes, updates of a loss scale.
 * No framework is named here, no thread or clock is used: events go in, marks come out.
 *
 *	- An optimizer step ends a step when it ends; optimizer steps inside it (wrappers around an optimizer) count with it,
 *	  and so does a backward pass inside it (a closure).
 *	- Optimizer steps inside a backward pass (an optimizer for each parameter) are one, at the end of that pass.
 *	- Optimizer steps with no backward pass between them are one (chained optimizers), if there are such passes.
 *	- Of several optimizers one is the anchor, the first that stepped, and only its steps count: D, G, D, G is a step for
 *	  each pair. An anchor that is no longer used is replaced.
 *	- An update of the loss scale with no optimizer step since the last one, but a backward pass, ends a step too: the
 *	  optimizer was skipped because gradients overflowed.
 *
 * What comes after the mark belongs to the next step. Not thread-safe: the caller has a lock.
 */
#ifndef PROBE_CALL_TRAIN_STEPS_H
#define PROBE_CALL_TRAIN_STEPS_H

#include <stdbool.h>
#include <stdint.h>

enum train_mark {
	TRAIN_NOTHING,
	TRAIN_STEP, /* a step has ended */
	TRAIN_SKIPPED, /* a step has ended whose optimizer step was skipped */
};

/* Which optimizer's steps end a step: the n-th that stepped (0: the first), or any. */
#define TRAIN_ANCHOR_ANY (-1)

struct train {
	int anchor_wanted; /* TRAIN_ANCHOR_ANY or the number of the optimizer */
	uint32_t accumulate; /* micro steps in a step if the user says so, 0: as counted */
	/* the present */
	uint32_t in_optimizer, in_backward; /* nesting */
	uint64_t optimizer; /* of the outermost step that goes on */
	/* since the last mark */
	uint32_t backwards; /* outermost passes that have finished */
	bool stepped_in_backward;
	bool stepped; /* an optimizer step since the last backward pass */
	bool stepped_since_update; /* ... of the loss scale */
	/* all the time */
	bool active, passes; /* a training has been seen; a backward pass */
	uint64_t anchor; /* 0: none yet */
	uint64_t seen[16];
	uint32_t nseen; /* different optimizers */
	uint32_t others,
		others_max; /* steps of others since the anchor's last, and the most there were between two */
	uint64_t steps, skipped;
};

/* `which`: the same for all steps of one optimizer, never 0. */
void train_optimizer_begin(struct train *t, uint64_t which);
enum train_mark train_optimizer_end(struct train *t);
void train_backward_begin(struct train *t);
enum train_mark train_backward_end(struct train *t);
enum train_mark train_scale_update(struct train *t);

/* The micro step that goes on: backward passes finished in this step; UINT32_MAX while no training has been seen. */
uint32_t train_micro_step(const struct train *t);

#endif
