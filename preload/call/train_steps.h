/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a training, from events of its framework: optimizer steps, backward passes, updates of a loss scale. Names no
 * framework and uses no thread or clock: events go in, marks come out. Events after a mark belong to the next step.
 *
 * - An optimizer step ends a step when it ends. Optimizer steps inside it (wrappers around an optimizer) count with it, and so
 *   does a backward pass inside it (a closure).
 * - Optimizer steps inside a backward pass (an optimizer for each parameter) count as one, at the end of that pass.
 * - If there are backward passes, optimizer steps without one between them count as one (chained optimizers).
 * - One of several optimizers is the anchor, the first that stepped. Only its steps count: D, G, D, G is one step per pair. An
 *   anchor that is no longer used is replaced, and so is one that stepped before the first backward pass.
 * - An update of the loss scale ends a step if there was a backward pass but no optimizer step since the last update: the
 *   optimizer was skipped because gradients overflowed.
 *
 * Not thread-safe: the caller has a lock.
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

/* The optimizer whose steps end a training step: the n-th that was seen (0: the first), or any. */
#define TRAIN_ANCHOR_ANY (-1)

struct train {
	int anchor_wanted; /* TRAIN_ANCHOR_ANY, or the number of the optimizer */
	uint32_t accumulate; /* micro steps in a step, as set by the user; 0: counted from events */
	/* the current state */
	uint32_t in_optimizer, in_backward; /* nesting depth */
	uint64_t optimizer; /* the one of the outermost optimizer step in progress */
	/* since the last mark */
	uint32_t backwards; /* outermost backward passes that have finished */
	bool stepped_in_backward;
	bool stepped; /* an optimizer has stepped since the last backward pass */
	/* an optimizer has stepped since the last update of the loss scale */
	bool stepped_since_update;
	/* for the whole run */
	bool active, passes; /* a training event was seen; a backward pass was seen */
	uint64_t anchor; /* 0: none yet */
	uint64_t seen[16];
	uint32_t nseen; /* number of different optimizers seen */
	/*
	 * steps of other optimizers since the anchor's last step; the largest such number between
	 * two
	 */
	uint32_t others, others_max;
	uint64_t steps, skipped;
};

/* which: a value other than 0 that identifies the optimizer. */
void train_handle_optimizer_begin(struct train *t, uint64_t which);
enum train_mark train_handle_optimizer_end(struct train *t);
void train_handle_backward_begin(struct train *t);
enum train_mark train_handle_backward_end(struct train *t);
enum train_mark train_handle_scale_update(struct train *t);

/* The current micro step: backward passes finished in this step; UINT32_MAX until a training has been seen. */
uint32_t train_get_micro_step(const struct train *t);

#endif
