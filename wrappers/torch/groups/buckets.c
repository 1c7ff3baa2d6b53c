/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets of DistributedDataParallel: the position of each gradient in them. Its reducer passes each bucket to
 * c10d::Reducer::run_comm_hook(GradBucket &), inside which the collective is started.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "call/recorder.h"
#include "life/life.h"
#include "session/state.h"
#include "training/params/param.h"
#include "training/steps/skip.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/tensors/param_grad.h"
#include "wrappers/torch/numbers/sure_norm.h"
#include "wrappers/torch/tensors/torch.h"

#define PARTS_MAX 4096u /* maximum number of gradients per bucket; more are not listed */

/* c10d::GradBucket (comm.hpp), since 1.9. */
struct grad_bucket {
	uint64_t index, count; /* index of this bucket, number of buckets */
	const void *buffer; /* Tensor */
	const uint64_t *offsets[3], *lengths[3]; /* vectors: begin, end, capacity */
	const void *sizes[3];
	const void *const *params[3];
};

static atomic_bool refused;

static void handle_unknown_buckets(void)
{
	if (atomic_exchange(&refused, true))
		return;
	session_record_layout_fact(LAYOUT_TORCH_BUCKET, false);
	log_loss(LOSS_ENTRY, "PyTorch: the layout of DDP's buckets in this version is unknown: "
			     "gradients in buckets get no names; update libprobe");
}

static bool has_valid_bucket_lengths(const struct grad_bucket *b, uint64_t n, uint64_t elements)
{
	struct buffer v;
	uint64_t filled = 0;

	if ((uint64_t)(b->lengths[1] - b->lengths[0]) != n ||
		(uint64_t)(b->params[1] - b->params[0]) != n || n > 1000000)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		if (!torch_read_tensor(b->params[0][i], &v) || v.count != b->lengths[0][i] ||
			b->offsets[0][i] + v.count > elements)
			return false;
		filled += v.count;
	}
	return filled <= elements;
}

static void register_bucket(const struct grad_bucket *b)
{
	const struct train_params *now = train_get_params();
	struct thread *t = now && session_is_on() ? thread_get() : NULL;
	uint64_t n = (uint64_t)(b->offsets[1] - b->offsets[0]);
	struct train_part *part;
	struct buffer v;
	uint32_t k = 0;

	if (!t || !n || !torch_read_tensor(b->buffer, &v))
		return;
	if (!has_valid_bucket_lengths(b, n, v.count)) {
		handle_unknown_buckets();
		return;
	}
	session_record_layout_fact(LAYOUT_TORCH_BUCKET, true);
	part = thread_get_scratch(t, (n < PARTS_MAX ? n : PARTS_MAX) * sizeof(*part));
	for (uint64_t i = 0; part && i < n && k < PARTS_MAX; i++) {
		const struct train_param *p = train_find_param_by_impl(now, b->params[0][i]);

		if (p)
			part[k++] = (struct train_part){
				p->id, true, b->offsets[0][i], b->lengths[0][i]};
	}
	if (k)
		train_open_bucket(train_register_bucket((uintptr_t)v.base, v.count, part, k),
			(uintptr_t)v.base, v.count);
}

/* The bucket whose hook this thread is in. */
static THREAD_OWN const struct grad_bucket *open_bucket;

void torch_bucket_reduced(int ranks)
{
	const struct grad_bucket *b = own(open_bucket);

	if (b)
		sure_norm_record_reduced(
			b->params[0], (size_t)(b->params[1] - b->params[0]), ranks);
}

/* Names the bucket's gradients, and records that they are reduced. */
static void set_open_bucket(const struct grad_bucket *b)
{
	uint64_t n = (uint64_t)(b->offsets[1] - b->offsets[0]);
	struct buffer v;

	own(open_bucket) = skip_is_wanted() && n && torch_read_tensor(b->buffer, &v) &&
					   has_valid_bucket_lengths(b, n, v.count)
				   ? b
				   : NULL;
}

void torch_handle_bucket_hook(const struct call *c, bool leaving)
{
	if (leaving) {
		train_close_bucket();
		own(open_bucket) = NULL;
	} else if (!atomic_load_explicit(&refused, memory_order_relaxed)) {
		register_bucket(c->v[1].cp);
		set_open_bucket(c->v[1].cp);
	}
}

/* ---- buffers of FSDP ---- */

/* The parameter whose gradient this thread accumulated last, and whether its bucket is being sent. */
static THREAD_OWN uint32_t last_accumulated;
static THREAD_OWN bool shard_bucket_open;

/* Lists the parameters of an FSDP1 buffer: the gradient of a flat parameter, padded at the end. */
static uint32_t find_flat_parts(const struct train_params *all, const struct train_param *flat,
	uint64_t count, uint32_t ranks, struct train_part *part)
{
	uint64_t end = 0;
	uint32_t n = 0;

	for (uint32_t id = 1; id <= all->n && n < PARTS_MAX; id++) {
		const struct train_param *p = &all->at[id - 1];

		if (p->piece_of != flat->id)
			continue;
		part[n++] = (struct train_part){id, true, p->whole_at, p->whole_count};
		if (p->whole_at + p->whole_count > end)
			end = p->whole_at + p->whole_count;
	}
	/*
	 * The buffer is padded to a multiple of the number of ranks, and before that for
	 * alignment.
	 */
	return end <= count && count - end < 64 + (uint64_t)ranks ? n : 0;
}

/*
 * Lists the parameters of an FSDP2 buffer, which has for each rank the rows that become its own,
 * parameter by parameter; each parameter is padded to equal numbers of rows.
 */
static uint32_t find_group_parts(const struct train_params *all, uint32_t group, uint64_t count,
	uint32_t ranks, struct train_part *part)
{
	uint64_t of_rank = 0;
	uint32_t n = 0;

	for (uint32_t id = 1; id <= all->n; id++) {
		const struct train_param *p = &all->at[id - 1];

		if (p->shard_group != group || p->flags & TP_FROZEN || !p->whole_ndim ||
			!p->whole_dims[0])
			continue;
		uint64_t rows = p->whole_dims[0], each = (rows + ranks - 1) / ranks,
			 row = p->whole_count / rows;

		for (uint32_t r = 0; r < ranks && n < PARTS_MAX; r++) {
			uint64_t from = r * each, to = from + each < rows ? from + each : rows;

			if (from < to)
				part[n++] = (struct train_part){
					id, true, r * (count / ranks) + of_rank, (to - from) * row};
		}
		of_rank += each * row;
	}
	return of_rank * ranks == count ? n : 0;
}

uint32_t torch_open_shard_bucket(const struct buffer *v, uint32_t ranks)
{
	const struct train_params *now = train_get_params();
	const struct train_param *p =
		now && own(last_accumulated) && own(last_accumulated) <= now->n
			? &now->at[own(last_accumulated) - 1]
			: NULL;
	struct thread *t = p && session_is_on() && ranks ? thread_get() : NULL;
	struct train_part *part = t ? thread_get_scratch(t, PARTS_MAX * sizeof(*part)) : NULL;
	uint32_t n = 0, name = 0;

	torch_close_shard_bucket();
	if (!part || (!(p->flags & TP_FLAT) && !p->shard_group))
		return 0;
	n = p->shard_group ? find_group_parts(now, p->shard_group, v->count, ranks, part)
			   : find_flat_parts(now, p, v->count, ranks, part);
	/* The buffer's memory differs each time. */
	if (n)
		name = train_register_bucket(0, v->count, part, n);
	if (name)
		own(shard_bucket_open) = train_open_bucket(name, (uintptr_t)v->base, v->count);
	return name;
}

void torch_close_shard_bucket(void)
{
	if (own(shard_bucket_open))
		train_close_bucket();
	own(shard_bucket_open) = false;
}

/* ---- single gradients and parameters ---- */

void torch_register_gradient(const void *impl)
{
	const struct train_param *p = train_find_param_by_impl(train_get_params(), impl);
	struct buffer b;

	own(last_accumulated) = p ? p->id : 0;
	if (p && torch_get_grad_buffer(impl, &b))
		train_record_grad(
			p, torch_get_grad(impl), (uintptr_t)b.base, (uintptr_t)b.base + b.bytes);
}

uint32_t torch_find_tensor_name(const void *impl, const void *base)
{
	const struct train_params *now = train_get_params();
	const struct train_param *p = train_find_param_by_impl(now, impl);

	if (!now)
		return 0;
	/*
	 * The parameter's elements are at another address, so this address was freed and reused
	 * for another tensor.
	 */
	if (p && (!base || !p->lo || ((uintptr_t)base >= p->lo && (uintptr_t)base < p->hi)))
		return p->id;
	return train_find_grad(impl, (uintptr_t)base);
}
