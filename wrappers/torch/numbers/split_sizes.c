/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/numbers/split_sizes.h"

#include <stdio.h>

#include "base/private_stack.h"
#include "base/thread.h"
#include "call/step.h"
#include "journal/layout.h"
#include "terms/dtype.h"
#include "training/params/kind.h"
#include "wrappers/torch/numbers/module_frames.h"
#include "wrappers/torch/tensors/tensor.h"

#define RANKS_MAX 4096
#define LEVELS 4 /* from the module that communicates out to the one that called the router */

bool is_split_wanted(void)
{
	return train_get_kinds() & KIND_BIT(TOKENS_PER_RANK);
}

bool is_split_due(void)
{
	return is_split_wanted() && train_are_kinds_due();
}

struct split {
	const struct module_frame *frame;
	uint32_t ranks;
	const int64_t *sizes; /* NULL: `rows` equal parts */
	int64_t rows;
};

static void write_split_row(
	const struct split *s, enum train_kind kind, const char *part, uint32_t i)
{
	double value = s->sizes ? (double)s->sizes[i] : (double)(s->rows / s->ranks);
	uint32_t micro = step_micro();
	char name[TRAIN_NAME_MAX + 32];
	struct train_value v = {.kind = kind,
		.name = name,
		.step = step_now(),
		.micro_step = micro == UINT32_MAX ? 0 : micro,
		.vpp_stage = s->frame->vpp_stage,
		.dtype = DT_FLOAT64,
		.count = 1,
		.nvalue = 1,
		.value = &value};

	snprintf(name, sizeof(name), "%.*s/%s_%u", TRAIN_NAME_MAX, s->frame->router, part, i);
	train_kind_write(&v);
}

static void write_split(void *arg)
{
	const struct split *s = arg;
	bool experts = s->frame->experts == s->ranks && train_get_kinds() & KIND_BIT(TOKENS);

	for (uint32_t i = 0; i < s->ranks; i++) {
		write_split_row(s, TK_TOKENS_PER_RANK, "rank", i);
		if (experts)
			write_split_row(s, TK_TOKENS, "expert", i);
	}
}

void record_split_sizes(int32_t ranks, const struct buffer *in, const void *sizes)
{
	const int64_t *const *v = sizes;
	const int64_t *dims = in->counts;
	struct module_frame *f = NULL;
	struct split s = {.ranks = (uint32_t)ranks};

	if (ranks < 2 || ranks > RANKS_MAX || thread_state.phase == PHASE_BACKWARD ||
		get_dtype_info(in->dtype)->cls != DTC_FLOAT || !in->ndim ||
		in->ndim == JOURNAL_NDIM_NONE || !is_split_due())
		return;
	for (uint32_t up = 0; up < LEVELS; up++) {
		f = find_module_frame(up);
		if (!f || f->router)
			break;
	}
	if (!f || !f->router || (v[1] != v[0] && v[1] - v[0] != ranks))
		return;
	s.frame = f;
	s.rows = dims[0];
	s.sizes = v[1] != v[0] ? v[0] : NULL;
	private_stack_call(write_split, &s);
	f->router = NULL;
}
