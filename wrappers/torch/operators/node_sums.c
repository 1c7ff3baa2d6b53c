/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What autograd does to a node's gradients before it passes them on: gradients of arguments that
 * were broadcast are summed to the argument's shape (torch::autograd::validate_outputs). Used by
 * dumps, which have the gradients as the next node receives them: each sum is recorded as a part
 * of its node's record, at the index of the gradient that it replaces. A last argument without a
 * gradient keeps its index, too, because a record has only tensors.
 */
#include <string.h>

#include "base/private_stack.h"
#include "base/thread.h"
#include "call/record.h"
#include "call/recorder.h"
#include "config/output_format.h"
#include "config/rooms/calls.h"
#include "config/rooms/files.h"
#include "journal/layout.h"
#include "session/state.h"
#include "wrappers/torch/tensors/torch.h"

#define GRADIENTS_MAX 16 /* maximum number of gradients per node */

bool torch_node_sums_wanted(void)
{
	const struct config *c = get_config();

	return get_calls_keys(c)->backward &&
	       output_has_format(get_files_keys(c)->format, FORMAT_DUMP);
}

/* The last recorded node of this thread, until its gradients are passed on. */
static THREAD_OWN struct {
	struct api *row;
	uint64_t seq; /* 0: no node */
	uint64_t n;
	const void *impl[GRADIENTS_MAX];
} last;

void torch_record_node(struct api *row, uint64_t seq, const void *gradients)
{
	struct torch_list l = torch_read_vector(gradients);

	own(last).seq = 0;
	if (!l.n || l.n > GRADIENTS_MAX || !torch_node_sums_wanted())
		return;
	for (uint64_t i = 0; i < l.n; i++)
		own(last).impl[i] = l.at[i];
	own(last).n = l.n;
	own(last).row = row;
	own(last).seq = seq;
}

void torch_check_node_sums(const void *gradients)
{
	struct torch_list l = torch_read_vector(gradients);

	/* These gradients belong to another node, which is not recorded. */
	if (own(last).seq &&
		(l.n != own(last).n || memcmp(l.at, own(last).impl, l.n * sizeof(*l.at)) != 0))
		own(last).seq = 0;
}

static void write_node_part(const struct buffer *b)
{
	struct operation w = {.root = JOURNAL_NONE,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.flags = CF_PART,
		.phase = PHASE_BACKWARD,
		.config = get_config(),
		.nout = 1,
		.all_in = b,
		.all_out = b};
	struct thread *t = thread_get();
	struct journal_call *e;

	if (!t)
		return;
	thread_count(t, JC_SEEN);
	operation_remove_excess(&w);
	e = record_open(t, own(last).row, &w, JOURNAL_NONE64, 0, own(last).seq);
	if (e)
		record_close(e, &w, clock_ticks(), false, 0);
}

static void write_sums(void *arg)
{
	const struct torch_list *l = arg;
	static const int64_t none;
	struct buffer b;

	for (uint64_t i = 0; i < l->n; i++) {
		bool exists = torch_read_tensor(l->at[i], &b);

		if (!exists) {
			if (i + 1 < l->n)
				continue;
			b = (struct buffer){.layout = BUFFER_STRIDED,
				.base = &none,
				.counts = &none,
				.displs = &none,
				.dtype = DT_OTHER,
				.nostats = 1,
				.peer = JOURNAL_NONE,
				.tag = JOURNAL_NONE,
				.comm_seq = JOURNAL_NONE64};
		} else if (l->at[i] == own(last).impl[i]) {
			continue;
		}
		b.io = IO_OUT;
		b.index = (uint16_t)i;
		b.name = 0;
		b.arg = 0;
		if (exists)
			torch_set_grad_flag(l->at[i], &b);
		b.arg |= (uint8_t)(i + 1);
		write_node_part(&b);
	}
}

void torch_record_node_sums(const void *gradients)
{
	struct torch_list l = torch_read_vector(gradients);

	if (own(last).seq && l.n == own(last).n)
		private_stack_call(write_sums, &l);
	own(last).seq = 0;
}
