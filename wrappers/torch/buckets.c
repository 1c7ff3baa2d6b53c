/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets of DistributedDataParallel: which gradients lie where in them. Its reducer gives each to
 * c10d::Reducer::run_comm_hook(GradBucket &), inside of which the collective is started.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "call/recorder.h"
#include "life/life.h"
#include "session/state.h"
#include "train/param.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/param_grad.h"
#include "wrappers/torch/torch.h"

#define PARTS_MAX 4096u /* of one bucket; further ones are not listed */

/* c10d::GradBucket (comm.hpp), since 1.9. */
struct grad_bucket {
	uint64_t index, count; /* of buckets */
	const void *buffer; /* Tensor */
	const uint64_t *offsets[3], *lengths[3]; /* vectors: begin, end, capacity */
	const void *sizes[3];
	const void *const *params[3];
};

static atomic_bool refused;

static void refuse_buckets(void)
{
	if (atomic_exchange(&refused, true))
		return;
	session_layout_fact(LAYOUT_TORCH_BUCKET, false);
	log_loss(LOSS_ENTRY, "PyTorch: this version's buckets of DDP are laid out in a way that is "
			     "not known: what they hold has no names; update libprobe");
}

static bool lengths_agree(const struct grad_bucket *b, uint64_t n, uint64_t elements)
{
	struct buffer v;
	uint64_t filled = 0;

	if ((uint64_t)(b->lengths[1] - b->lengths[0]) != n ||
		(uint64_t)(b->params[1] - b->params[0]) != n || n > 1000000)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		if (!torch_tensor_buffer(b->params[0][i], &v) || v.count != b->lengths[0][i] ||
			b->offsets[0][i] + v.count > elements)
			return false;
		filled += v.count;
	}
	return filled <= elements;
}

static void name_bucket(const struct grad_bucket *b)
{
	const struct train_params *now = train_params_now();
	struct thread *t = now && session_is_on() ? thread_get() : NULL;
	uint64_t n = (uint64_t)(b->offsets[1] - b->offsets[0]);
	struct train_part *part;
	struct buffer v;
	uint32_t k = 0;

	if (!t || !n || !torch_tensor_buffer(b->buffer, &v))
		return;
	if (!lengths_agree(b, n, v.count)) {
		refuse_buckets();
		return;
	}
	session_layout_fact(LAYOUT_TORCH_BUCKET, true);
	part = thread_scratch(t, (n < PARTS_MAX ? n : PARTS_MAX) * sizeof(*part));
	for (uint64_t i = 0; part && i < n && k < PARTS_MAX; i++) {
		const struct train_param *p = train_param_by_impl(now, b->params[0][i]);

		if (p)
			part[k++] = (struct train_part){
				p->id, true, b->offsets[0][i], b->lengths[0][i]};
	}
	if (k)
		train_bucket_enter(train_bucket_seen((uintptr_t)v.base, v.count, part, k),
			(uintptr_t)v.base, v.count);
}

void torch_bucket_scope(const struct call *c, bool leaving)
{
	if (leaving)
		train_bucket_leave();
	else if (!atomic_load_explicit(&refused, memory_order_relaxed))
		name_bucket(c->v[1].cp);
}

/* ---- gradients and parameters by themselves ---- */

void torch_name_gradient(const void *impl)
{
	const struct train_param *p = train_param_by_impl(train_params_now(), impl);
	struct buffer b;

	if (p && torch_grad_buffer(impl, &b))
		train_grad_seen(
			p, torch_grad_impl(impl), (uintptr_t)b.base, (uintptr_t)b.base + b.bytes);
}

uint32_t torch_tensor_name(const void *impl, const void *base)
{
	const struct train_params *now = train_params_now();
	const struct train_param *p = train_param_by_impl(now, impl);

	if (!now)
		return 0;
	/* An address that was freed may have become another tensor, whose elements lie elsewhere. */
	if (p && (!base || !p->lo || ((uintptr_t)base >= p->lo && (uintptr_t)base < p->hi)))
		return p->id;
	return train_grad_of(impl, (uintptr_t)base);
}
