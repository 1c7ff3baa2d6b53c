/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kind grad_unreduced: a parameter's gradient after its leaf's node (torch::autograd::AccumulateGrad) has added to it, which is
 * before the hooks that reduce it over the ranks. A pass is measured if it may be the last one of the accumulation: if a
 * parameter took n passes in the previous step, from the n-th on (with key grad_acc_steps: that many). The last measurement is
 * written when the optimizer's step begins; with monitor_mbs_grad each one at the end of its pass.
 *
 * On a device, the pieces of a flat parameter, and the gradients in a buffer that is sent, are measured in launches of up to
 * 30. A gradient of its own has a launch of its own: the hooks of its node, which run next, may change or free it.
 *
 * A node belongs to one parameter, and runs on one thread at a time, so a slot has one writer. The thread of the optimizer's
 * step, or of the pass, writes it out after the passes.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/private_stack.h"
#include "base/log.h"
#include "call/step.h"
#include "config/rooms/kinds.h"
#include "config/rooms/steps.h"
#include "config/rooms/training.h"
#include "elf/memory.h"
#include "life/life.h"
#include "session/state.h"
#include "training/params/kind.h"
#include "training/params/place.h"
#include "training/steps/late.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/passes/kinds.h"
#include "wrappers/torch/passes/module_dump.h"
#include "wrappers/torch/tensors/on_device.h"
#include "wrappers/torch/tensors/param_grad.h"
#include "wrappers/torch/tensors/tensor.h"
#include "wrappers/torch/tensors/torch.h"
#include "wrappers/torch/tensors/train_observers.h"

bool torch_accumulate_wanted(void)
{
	return train_get_kinds() & KIND_BIT(GRAD_UNREDUCED);
}

bool torch_are_gradient_names_wanted(void)
{
	return get_training_keys(get_config())->names ||
	       (train_get_kinds() && train_places_wanted());
}

bool torch_leaves_wanted(void)
{
	return torch_are_gradient_names_wanted() || torch_accumulate_wanted();
}

/* ---- the offset of the leaf in a node ---- */

#define NODE_BYTES 1024 /* bytes of a node, and after it, that are searched */
#define NOT_THERE (-1)
#define SEVERAL (-2)
#define SEVERAL_MAX 64 /* number of nodes in a row after which the search is given up */

static _Atomic int leaf_at; /* 0: not known yet, NOT_THERE */
static _Atomic unsigned doubtful;

static void handle_unknown_leaf(void)
{
	atomic_store(&leaf_at, NOT_THERE);
	session_record_layout_fact(LAYOUT_TORCH_LEAF, false);
	log_loss(LOSS_ENTRY, "PyTorch: the layout of leaf nodes in this version is unknown: kind "
			     "grad_unreduced is not written; update libprobe");
}

/*
 * The offset of pointer impl in the node; 0 if not found; SEVERAL if the memory after the node
 * contains it, too.
 */
static int find_leaf(const char *node, const void *impl)
{
	int found = 0;

	for (int at = 8; at < NODE_BYTES; at += 8) {
		/* A node may be at the end of readable memory. */
		if (((uintptr_t)node + (uintptr_t)at) % 4096 == 0 &&
			!is_memory_readable((uintptr_t)node + (uintptr_t)at))
			break;
		if (*(const void *const *)(node + at) != impl)
			continue;
		if (found)
			return SEVERAL;
		found = at;
	}
	return found;
}

void torch_handle_new_leaf(struct call *c, bool leaving)
{
	int at = atomic_load_explicit(&leaf_at, memory_order_relaxed);
	const void *impl = (const void *)(uintptr_t)c->note.u[0];

	if (at == NOT_THERE || !torch_leaves_wanted())
		return;
	if (!leaving) {
		/* The gradient is moved into the node, so its address is read before the call. */
		c->note.u[0] = (uint64_t)(uintptr_t) * (const void *const *)c->v[1].cp;
		return;
	}
	if (!c->ok || !impl)
		return;
	if (at) {
		if (*(const void *const *)((const char *)c->v[0].cp + at) != impl)
			handle_unknown_leaf();
		return;
	}
	at = find_leaf(c->v[0].cp, impl);
	/* This node is ambiguous; a later one will decide. */
	if (at == SEVERAL && atomic_fetch_add(&doubtful, 1) < SEVERAL_MAX)
		return;
	if (at <= 0) {
		handle_unknown_leaf();
		return;
	}
	atomic_store(&leaf_at, at);
	session_record_layout_fact(LAYOUT_TORCH_LEAF, true);
}

/* ---- measurements ---- */

#define SLOT_DIMS 8 /* a shape with more dimensions is omitted */

struct gradient_slot {
	struct stats stats;
	uint64_t count, dims[SLOT_DIMS];
	uint8_t ndim;
	uint32_t passes, passes_before; /* in this step and in the previous one */
	uint32_t snapshot; /* pending result of `stats`, while `pending` is set; 0: none */
	uint8_t dtype;
	_Atomic uint8_t pending;
};

static _Atomic(struct gradient_slot *)
	slots; /* by the parameter's number; pages are allocated when used */
#define SLOTS_BYTES (TRAIN_PARAMS_MAX * sizeof(struct gradient_slot))

static struct gradient_slot *get_or_map_gradient_slots(void)
{
	struct gradient_slot *s = atomic_load_explicit(&slots, memory_order_acquire), *none = NULL;

	if (s)
		return s;
	s = mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&slots, &none, s))
		return s;
	munmap(s, SLOTS_BYTES);
	return none;
}

/* In the child, parameters are numbered from the start again. */
void torch_accumulate_forked(void)
{
	struct gradient_slot *s = atomic_load(&slots);

	if (s)
		madvise(s, SLOTS_BYTES, MADV_DONTNEED);
}

static bool is_possible_last_pass(const struct gradient_slot *s)
{
	int64_t n = get_steps_keys(get_config())->grad_acc_steps;

	/* The optimizer decides how often a closure is called. */
	if (get_kinds_keys(get_config())->monitor_mbs_grad || torch_step_is_open())
		return true;
	return s->passes >= (n ? (uint64_t)n : s->passes_before);
}

static void measure_into_slot(struct gradient_slot *s, const struct buffer *b)
{
	struct train_value v = {.kind = TK_GRAD_UNREDUCED}, before = {.snapshot = s->snapshot};

	train_kind_remove(&before);
	train_kind_measure_on(&v, b, torch_get_stream(b));
	s->stats = v.stats;
	s->snapshot = v.snapshot;
	s->count = v.count;
	s->dtype = v.dtype;
	s->ndim = v.ndim <= SLOT_DIMS ? v.ndim : 0;
	for (unsigned i = 0; i < s->ndim; i++)
		s->dims[i] = v.dims[i];
	atomic_store_explicit(&s->pending, 1, memory_order_release);
}

static void measure_pass(
	const struct train_params *all, const struct train_param *p, struct buffer b)
{
	struct gradient_slot *s =
		train_param_is_target(all, p) ? get_or_map_gradient_slots() : NULL;

	if (!s)
		return;
	s += p->id - 1;
	s->passes++;
	if (is_possible_last_pass(s))
		measure_into_slot(s, &b);
}

/* Measures the gradients of all pieces of a flat parameter, wherever the program has them. */
static void measure_flat_pieces(
	const struct train_params *all, const struct train_param *flat, const struct buffer *b)
{
	late_open_tensors();
	for (uint32_t id = 1; id <= all->n; id++) {
		const struct train_param *p = &all->at[id - 1];
		struct buffer part = *b;

		if (p->piece_of == flat->id &&
			torch_set_buffer_range(
				&part, p->whole_at, p->whole_count, p->whole_dims, p->whole_ndim))
			measure_pass(all, p, part);
	}
	late_close_tensors();
}

static void measure_gradient(void *arg)
{
	const struct call *c = arg;
	int at = atomic_load_explicit(&leaf_at, memory_order_relaxed);
	const void *impl = *(const void *const *)((const char *)c->v[0].cp + at);
	const struct train_params *all = train_get_params();
	const struct train_param *p = train_find_param_by_impl(all, impl);
	struct buffer b;

	/*
	 * A gradient that is kept in a separate buffer (main_grad) is added to that buffer, and
	 * measured when the buffer is sent.
	 */
	if (!p || p->grad_lo || !torch_find_grad_buffer(impl, &b))
		return;
	if (p->flags & TP_FLAT)
		measure_flat_pieces(all, p, &b);
	else
		measure_pass(all, p, b);
}

/* ---- gradients that are kept in a buffer (main_grad) ---- */

static void measure_kept(void *arg, const struct train_params *all, const struct train_param *p)
{
	const struct buffer *sent = arg;
	struct gradient_slot *s;
	struct buffer b = *sent;
	uint64_t size = b.count ? b.bytes / b.count : 0;

	if (!size || p->grad_hi > (uintptr_t)b.base + b.bytes || p->flags & TP_FROZEN ||
		!train_param_is_target(all, p))
		return;
	s = get_or_map_gradient_slots();
	if (s && torch_set_buffer_range(&b, (p->grad_lo - (uintptr_t)b.base) / size,
			 (p->grad_hi - p->grad_lo) / size, p->dims, p->ndim))
		measure_into_slot(&s[p->id - 1], &b);
}

static void measure_sent(void *arg)
{
	const struct buffer *b = arg;

	late_open_tensors();
	train_handle_params_kept_in(train_get_params(), (uintptr_t)b->base,
		(uintptr_t)b->base + b->bytes, measure_kept, arg);
	late_close_tensors();
}

void torch_record_gradients_sent(const struct buffer *b)
{
	struct buffer copy = *b;

	if (!torch_accumulate_wanted() || (b->nostats && !b->device) || !torch_buffer_is_dense(b) ||
		!train_are_kinds_due())
		return;
	private_stack_call(measure_sent, &copy);
}

void torch_handle_accumulation(struct call *c, bool leaving)
{
	int at = atomic_load_explicit(&leaf_at, memory_order_relaxed);

	if (!leaving || !c->ok || at <= 0)
		return;
	torch_add_node();
	if (torch_are_gradient_names_wanted())
		torch_register_gradient(*(const void *const *)((const char *)c->v[0].cp + at));
	if (torch_module_gradients_dumped())
		torch_record_parameter_gradient(
			*(const void *const *)((const char *)c->v[0].cp + at));
	if (!torch_accumulate_wanted() || !train_are_kinds_due())
		return;
	private_stack_call(measure_gradient, c);
}

static void write_gradient(
	const struct train_params *all, struct gradient_slot *s, uint32_t id, uint32_t micro)
{
	const struct train_param *p = &all->at[id - 1];
	struct train_value v = {.kind = TK_GRAD_UNREDUCED,
		.name = train_get_kind_name(all, p),
		.dtype_prefix = TORCH_DTYPE_PREFIX,
		.step = step_now(),
		.micro_step = micro,
		.vpp_stage = p->vpp_stage,
		.dtype = s[id - 1].dtype,
		.ndim = s[id - 1].ndim,
		.dims = s[id - 1].dims,
		.count = s[id - 1].count,
		.stats = s[id - 1].stats,
		.snapshot = s[id - 1].snapshot};

	if (!atomic_exchange_explicit(&s[id - 1].pending, 0, memory_order_acquire))
		return;
	s[id - 1].snapshot = 0;
	train_kind_write(&v);
}

void torch_write_pass_gradients(void)
{
	const struct train_params *all = train_get_params();
	struct gradient_slot *s = atomic_load_explicit(&slots, memory_order_acquire);

	if (!all || !s)
		return;
	for (uint32_t id = 1; id <= all->n; id++)
		write_gradient(all, s, id, step_micro() == UINT32_MAX ? 0 : step_micro());
}

void torch_write_step_gradient(const struct train_params *all, uint32_t id)
{
	struct gradient_slot *s = atomic_load_explicit(&slots, memory_order_acquire);

	if (!s)
		return;
	if (!get_kinds_keys(get_config())->monitor_mbs_grad)
		write_gradient(all, s, id, UINT32_MAX);
	if (s[id - 1].passes)
		s[id - 1].passes_before = s[id - 1].passes;
	s[id - 1].passes = 0;
}

void torch_handle_skipped_step(void)
{
	const struct train_params *all = train_get_params();

	for (uint32_t id = 1; all && torch_accumulate_wanted() && id <= all->n; id++)
		torch_write_step_gradient(all, id);
}
