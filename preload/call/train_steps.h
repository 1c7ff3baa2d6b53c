/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a training, from events of its framework: optimizer steps, backward passes, updates of a loss scale. Names no
 * framework and uses no thread or clock: events go in, marks come out.  - An optimizer step ends a step when it ends. Optimizer
 * steps inside it (wrappers around an optimizer) count with it, and so does a backward pass inside it (a closure). - Optimizer
 * steps inside a backward pass (an optimizer for each parameter) are one, at the end of that pass. - Optimizer steps without a
 * backward pass between them are one (chained optimizers), if there are such passes. - Among several optimizers one is the
 * anchor, the first that stepped, and only its steps count: D, G, D, G is one step per pair. An anchor that is no longer used
 * is replaced. - An update of the loss scale ends a step too if there was a backward pass but no optimizer step since the last
 * update: the optimizer was skipped because gradients overflowed.  Events after the mark belong to the next step. Not
 * thread-safe: the caller has a lock.
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

/* The optimizer whose steps end a step: the n-th that stepped (0: the first), or any. */
#define TRAIN_ANCHOR_ANY (-1)

struct train {
	int anchor_wanted; /* TRAIN_ANCHOR_ANY or the number of the optimizer */
	uint32_t accumulate; /* micro steps in a step if the user sets it, 0: as counted */
	/* the current state */
	uint32_t in_optimizer, in_backward; /* nesting */
	uint64_t optimizer; /* of the outermost step in progress */
	/* since the last mark */
	uint32_t backwards; /* outermost passes that have finished */
	bool stepped_in_backward;
	bool stepped; /* an optimizer step since the last backward pass */
	bool stepped_since_update; /* ... since the last update of the loss scale */
	/* for the whole run */
	bool active, passes; /* a training has been seen; a backward pass */
	uint64_t anchor; /* 0: none yet */
	uint64_t seen[16];
	uint32_t nseen; /* different optimizers */
	/* steps of others since the anchor's last one, and their largest number between two of its steps */
	uint32_t others, others_max;
	uint64_t steps, skipped;
};

/* `which`: one value for all steps of an optimizer, never 0. */
void train_optimizer_begin(struct train *t, uint64_t which);
enum train_mark train_optimizer_end(struct train *t);
void train_backward_begin(struct train *t);
enum train_mark train_backward_end(struct train *t);
enum train_mark train_scale_update(struct train *t);

/* The current micro step: backward passes finished in this step; UINT32_MAX until a training has been seen. */
uint32_t train_micro_step(const struct train *t);

#endif
