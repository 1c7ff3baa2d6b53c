/* SPDX-License-Identifier: Apache-2.0 */
#include "call/train_steps.h"

#define NSEEN_MAX (sizeof(((struct train *)0)->seen) / sizeof(uint64_t))
#define INSIDE_BACKWARD UINT64_MAX /* key of all optimizers that step inside a backward pass */
/* steps of other optimizers, without one of the anchor, before it is replaced */
#define FORGOTTEN_AFTER 16

static uint32_t find_or_add_optimizer(struct train *t, uint64_t which)
{
	for (uint32_t i = 0; i < t->nseen; i++)
		if (t->seen[i] == which)
			return i;
	if (t->nseen < NSEEN_MAX)
		t->seen[t->nseen++] = which;
	return t->nseen - 1;
}

static enum train_mark record_training_step(struct train *t, enum train_mark m)
{
	t->backwards = 0;
	t->others = 0;
	t->steps++;
	t->skipped += m == TRAIN_SKIPPED;
	return m;
}

/* Handles the end of an outermost optimizer step. */
static enum train_mark handle_optimizer_step(struct train *t, uint64_t which)
{
	/*
	 * Without any backward pass seen, another step of the same optimizer is another training
	 * step.
	 */
	bool chained = t->stepped && t->steps && (t->passes || which != t->anchor);
	bool is_anchor = t->anchor_wanted == TRAIN_ANCHOR_ANY;
	uint32_t n = find_or_add_optimizer(t, which);

	t->active = true;
	t->stepped = t->stepped_since_update = true;
	if (!is_anchor) {
		if (!t->anchor && n >= (uint32_t)t->anchor_wanted)
			t->anchor = which;
		is_anchor = which == t->anchor;
	}
	if (chained)
		return TRAIN_NOTHING;
	if (is_anchor) {
		if (t->others > t->others_max)
			t->others_max = t->others;
		return record_training_step(t, TRAIN_STEP);
	}
	/* The wanted optimizer has not stepped yet: each optimizer step counts. */
	if (!t->anchor)
		return record_training_step(t, TRAIN_STEP);
	t->others++;
	if (t->others >= FORGOTTEN_AFTER && t->others >= 4 * t->others_max) {
		t->anchor = which;
		return record_training_step(t, TRAIN_STEP);
	}
	return TRAIN_NOTHING;
}

void train_handle_optimizer_begin(struct train *t, uint64_t which)
{
	if (t->in_optimizer++ == 0)
		t->optimizer = which;
}

enum train_mark train_handle_optimizer_end(struct train *t)
{
	if (!t->in_optimizer || --t->in_optimizer)
		return TRAIN_NOTHING;
	if (t->in_backward) {
		t->stepped_in_backward = true;
		return TRAIN_NOTHING;
	}
	return handle_optimizer_step(t, t->optimizer);
}

void train_handle_backward_begin(struct train *t)
{
	t->in_backward++;
}

enum train_mark train_handle_backward_end(struct train *t)
{
	if (!t->in_backward || --t->in_backward)
		return TRAIN_NOTHING;
	/* A step before the first pass trains nothing: its optimizer's state was made to be saved. */
	if (!t->passes)
		t->anchor = t->nseen = t->others = 0;
	t->active = true;
	t->backwards++;
	t->passes = true;
	t->stepped = false;
	if (!t->stepped_in_backward)
		return TRAIN_NOTHING;
	t->stepped_in_backward = false;
	return handle_optimizer_step(t, INSIDE_BACKWARD);
}

enum train_mark train_handle_scale_update(struct train *t)
{
	bool stepped_before = t->stepped_since_update;

	t->stepped_since_update = false;
	/*
	 * If an optimizer has stepped since the last update, its step ends the training step, or
	 * the anchor's will.
	 */
	if (!t->backwards || stepped_before || t->in_optimizer || t->in_backward)
		return TRAIN_NOTHING;
	return record_training_step(t, TRAIN_SKIPPED);
}

uint32_t train_get_micro_step(const struct train *t)
{
	if (!t->active && !t->in_backward)
		return UINT32_MAX;
	return t->accumulate ? t->backwards % t->accumulate : t->backwards;
}
