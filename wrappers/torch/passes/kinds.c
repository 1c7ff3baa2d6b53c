/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter statistics of a PyTorch training around an optimizer's step. Parameters, gradients
 * and the optimizer's tensors are measured when the step begins, and written when it ends,
 * together with the updated parameters. A backward pass inside the step (a closure) computes
 * gradients again: then everything except the parameters is measured again when the pass ends,
 * and the last measurement counts.
 *
 * One step at a time is handled: if several threads step optimizers at once, the steps of the
 * other threads are skipped and counted.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/private_stack.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/step.h"
#include "config/rooms/kinds.h"
#include "session/state.h"
#include "training/params/derive.h"
#include "training/params/grad_probe.h"
#include "training/params/histogram.h"
#include "training/params/kind.h"
#include "training/params/metric.h"
#include "training/params/stable_rank.h"
#include "training/steps/late.h"
#include "wrappers/torch/passes/kinds.h"
#include "wrappers/torch/names/optimizer_view.h"
#include "wrappers/torch/tensors/on_device.h"
#include "wrappers/torch/tensors/param_grad.h"
#include "wrappers/torch/tensors/tensor.h"
#include "wrappers/torch/tensors/torch.h"
#include "wrappers/torch/tensors/train_observers.h"

#define AT_STEP                                                                              \
	(KIND_BIT(PARAM_ORIGIN) | KIND_BIT(PARAM_UPDATED) | KIND_BIT(GRAD_UNREDUCED) |       \
		KIND_BIT(GRAD_REDUCED) | KIND_BIT(EXP_AVG) | KIND_BIT(EXP_AVG_SQ) |          \
		KIND_BIT(ADAM_M_NORM) | KIND_BIT(MG_DIRECTION) | KIND_BIT(UR_DISTRIBUTION) | \
		KIND_BIT(UPDATE_RATIO) | KIND_BIT(STABLE_RANK) | KIND_BIT(HISTOGRAM) |       \
		KIND_BIT(GRAD_SUMMARY))

/* ---- values held from the beginning of a step to its end ---- */

#define HELD_DIMS 8 /* a shape with more dimensions is omitted */

struct held_value {
	struct train_value v;
	uint64_t dims[HELD_DIMS];
	uint32_t id, at; /* number of the parameter; index of its values in .numbers */
};

/*
 * A parameter that is measured again at the end of the step, when the optimizer's view is gone;
 * the optimizer holds the tensor.
 */
struct stepped_param {
	const void *impl;
	uint32_t id;
};

struct growing {
	char *at;
	size_t used, bytes;
};

#define GROWING_MAX (256u << 20)

static struct held_step {
	struct growing values, numbers, params;
	const struct train_params *all;
	uint32_t kinds, depth, step;
	bool partitions;
} held;
static _Atomic bool held_taken;
static THREAD_OWN bool held_here;

static void *add_growing_bytes(struct growing *g, size_t bytes)
{
	if (g->used + bytes > g->bytes) {
		size_t want = g->bytes ? 2 * g->bytes : 1 << 16;
		void *more;

		while (want < g->used + bytes)
			want *= 2;
		if (want > GROWING_MAX)
			return NULL;
		more = g->at ? mremap(g->at, g->bytes, want, MREMAP_MAYMOVE)
			     : mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				       -1, 0);
		if (more == MAP_FAILED)
			return NULL;
		g->at = more;
		g->bytes = want;
	}
	g->used += bytes;
	return g->at + g->used - bytes;
}

static struct held_value *add_held_value(enum train_kind kind, const struct train_param *p)
{
	struct held_value *h = add_growing_bytes(&held.values, sizeof(*h));

	if (!h)
		return NULL;
	h->id = p->id;
	h->at = 0;
	h->v = (struct train_value){.kind = kind,
		.name = train_get_kind_name(held.all, p),
		.dtype_prefix = TORCH_DTYPE_PREFIX,
		.step = held.step,
		.micro_step = UINT32_MAX,
		.vpp_stage = p->vpp_stage,
		.dtype = p->dtype,
		.ndim = p->ndim,
		.dims = p->dims};
	return h;
}

static struct held_value *add_held_tensor(enum train_kind kind, const char *label,
	const struct train_param *p, const struct buffer *b)
{
	struct held_value *h = add_held_value(kind, p);

	if (!h)
		return NULL;
	train_kind_measure_on(&h->v, b, torch_get_stream(b));
	h->v.word = label;
	if (h->v.ndim > HELD_DIMS)
		h->v.ndim = 0;
	/*
	 * Copies the shape: the tensor may have been freed when the value is written, and the
	 * entry's final position is known only then.
	 */
	if (h->v.ndim)
		memcpy(h->dims, h->v.dims, 8 * (size_t)h->v.ndim);
	h->v.dims = NULL;
	return h;
}

/* Keeps a gradient's statistics for task grad_probe. */
static void record_grad_summary(const struct train_param *p, const struct buffer *grad)
{
	double numbers[GRAD_PROBE_NUMBERS], *at;
	struct held_value *h;
	unsigned n;

	if (!grad_probe_has_param(train_get_kind_name(held.all, p)))
		return;
	n = grad_probe_measure(grad, p->id, held.step, numbers);
	at = n ? add_growing_bytes(&held.numbers, n * sizeof(*at)) : NULL;
	h = at ? add_held_tensor(TK_GRAD_SUMMARY, NULL, p, grad) : NULL;
	if (!h)
		return;
	memcpy(at, numbers, n * sizeof(*at));
	h->v.nvalue = (uint16_t)n;
	h->at = (uint32_t)((char *)at - held.numbers.at);
}

static void add_held_numbers(
	enum train_kind kind, const struct train_param *p, const double *numbers, unsigned n)
{
	double *at = add_growing_bytes(&held.numbers, n * sizeof(*at));
	struct held_value *h = at ? add_held_value(kind, p) : NULL;

	if (!h)
		return;
	memcpy(at, numbers, n * sizeof(*at));
	h->v.nvalue = (uint16_t)n;
	h->at = (uint32_t)((char *)at - held.numbers.at);
}

static void write_held(void)
{
	struct held_value *h = (struct held_value *)held.values.at;

	for (size_t n = held.values.used / sizeof(*h); n; n--, h++) {
		if (!h->v.dims)
			h->v.dims = h->dims;
		if (h->v.nvalue)
			h->v.value = (const double *)(held.numbers.at + h->at);
		train_kind_write(&h->v);
	}
}

/* ---- values of a parameter ---- */

static bool is_wanted(enum train_kind k)
{
	return held.kinds >> k & 1;
}

/* Reduces the optimizer's tensor for a flat parameter to the part of p. */
static bool set_piece_range(const struct train_param *p, struct buffer *b)
{
	return !p->piece_count || p->impl ||
	       torch_set_buffer_range(b, p->piece_at, p->piece_count, p->dims, p->ndim);
}

static bool find_state_buffer(const struct optimizer_param *op, const struct train_param *p,
	const char *key, struct buffer *b)
{
	const struct optimizer_state *s = torch_get_state(op, key);

	return s && s->impl && torch_find_buffer(s->impl, b) && set_piece_range(p, b);
}

static bool find_grad_buffer(
	const struct optimizer_param *op, const struct train_param *p, struct buffer *b)
{
	if (op->outer ? !op->grad || !torch_find_buffer(op->grad, b)
		      : !torch_find_grad_buffer(op->impl, b))
		return false;
	return set_piece_range(p, b);
}

/* Measures the optimizer's other tensors, except single numbers (step). */
static void measure_other_states(const struct optimizer_param *op, const struct train_param *p)
{
	struct buffer b;

	for (unsigned i = 0; i < op->nstate; i++) {
		const struct optimizer_state *s = &op->state[i];
		size_t n = strlen(s->key);

		if (!s->impl || n > 20 || find_kind_mask(s->key, n) ||
			strcmp(s->key, "calls") == 0 || strcmp(s->key, "scalars") == 0)
			continue;
		if (torch_find_buffer(s->impl, &b) && b.ndim && set_piece_range(p, &b))
			add_held_tensor(TK_STATE, s->key, p, &b);
	}
}

static void measure_adam_states(const struct torch_optimizer_view *view,
	const struct optimizer_param *op, const struct train_param *p, const struct buffer *param)
{
	const struct optimizer_group *g = &view->group[op->group];
	const struct optimizer_state *step = torch_get_state(op, "step");
	struct adam a = {.beta1 = torch_get_group_number(g, "betas.0"),
		.beta2 = torch_get_group_number(g, "betas.1"),
		.eps = torch_get_group_number(g, "eps"),
		.step = step ? step->value : NAN};
	struct train_value of_param = {.kind = TK_UPDATE_RATIO};
	double bins[KIND_VALUES_MAX], norm;
	struct buffer m, v;

	if (isnan(a.beta1) || isnan(a.beta2) || isnan(a.eps) ||
		!find_state_buffer(op, p, "exp_avg", &m) ||
		!find_state_buffer(op, p, "exp_avg_sq", &v))
		return;
	if (!derive_adam_update(&a, &m, &v, is_wanted(TK_UR_DISTRIBUTION) ? bins : NULL, &norm))
		return;
	if (is_wanted(TK_UR_DISTRIBUTION))
		add_held_numbers(TK_UR_DISTRIBUTION, p, bins, KIND_VALUES_MAX);
	if (!is_wanted(TK_UPDATE_RATIO))
		return;
	train_kind_measure(&of_param, param);
	if (of_param.stats.n && of_param.stats.norm > 0) {
		norm /= of_param.stats.norm;
		add_held_numbers(TK_UPDATE_RATIO, p, &norm, 1);
	}
}

static void measure_direction(const struct torch_optimizer_view *view,
	const struct optimizer_param *op, const struct train_param *p, const struct buffer *grad)
{
	struct buffer m;
	double value = 1;

	/* An optimizer without such a moment has no direction; before its first step it has none yet. */
	if (!find_state_buffer(op, p, "exp_avg", &m)) {
		if (isnan(torch_get_group_number(&view->group[op->group], "betas.0")) || op->nstate)
			return;
	} else if (!derive_compute_sign_agreement(grad, &m, &value)) {
		return;
	}
	add_held_numbers(TK_MG_DIRECTION, p, &value, 1);
}

/*
 * Handles a parameter without elements on this rank. It may still have a gradient before the reduction.
 */
static void handle_empty_param(const struct train_param *p)
{
	struct stepped_param *at = p->flags & TP_FROZEN || !train_param_is_target(held.all, p)
					   ? NULL
					   : add_growing_bytes(&held.params, sizeof(*at));

	if (at)
		*at = (struct stepped_param){NULL, p->id};
}

/* again: the parameter has been measured before, when the step began. */
static void measure_param(const struct torch_optimizer_view *view, const struct optimizer_param *op,
	const struct train_param *p, bool again)
{
	struct buffer param, b;
	struct stepped_param *at;
	bool grad;

	if (p->flags & TP_FROZEN || !train_param_is_target(held.all, p) ||
		!torch_find_buffer(op->impl, &param) || !set_piece_range(p, &param))
		return;
	/* A shard may be empty: this rank has no elements of the parameter. */
	if (!param.count) {
		if (!again)
			handle_empty_param(p);
		return;
	}
	if (!again && (at = add_growing_bytes(&held.params, sizeof(*at))))
		*at = (struct stepped_param){op->impl, p->id};
	if (!again && is_wanted(TK_PARAM_ORIGIN))
		add_held_tensor(TK_PARAM_ORIGIN, NULL, p, &param);
	grad = find_grad_buffer(op, p, &b);
	if (grad && is_wanted(TK_GRAD_REDUCED))
		add_held_tensor(TK_GRAD_REDUCED, NULL, p, &b);
	if (grad && is_wanted(TK_GRAD_SUMMARY))
		record_grad_summary(p, &b);
	/* A parameter without a gradient takes no part in the step. */
	if (grad && is_wanted(TK_MG_DIRECTION))
		measure_direction(view, op, p, &b);
	if (is_wanted(TK_EXP_AVG) && find_state_buffer(op, p, "exp_avg", &b))
		add_held_tensor(TK_EXP_AVG, NULL, p, &b);
	if (is_wanted(TK_EXP_AVG_SQ) && find_state_buffer(op, p, "exp_avg_sq", &b))
		add_held_tensor(TK_EXP_AVG_SQ, NULL, p, &b);
	if (is_wanted(TK_EXP_AVG) || is_wanted(TK_EXP_AVG_SQ))
		measure_other_states(op, p);
	if (is_wanted(TK_UR_DISTRIBUTION) || is_wanted(TK_UPDATE_RATIO))
		measure_adam_states(view, op, p, &param);
}

/* Measures those parameters in a flat parameter of which this rank has elements. */
static void measure_flat_param(const struct torch_optimizer_view *view,
	const struct optimizer_param *op, const struct train_param *flat, bool again)
{
	for (uint32_t id = flat->first_piece; id <= flat->last_piece && id <= held.all->n; id++) {
		const struct train_param *p = &held.all->at[id - 1];

		if (p->piece_of != flat->id)
			continue;
		if (p->piece_count)
			measure_param(view, op, p, again);
		else if (!again && p->whole_count)
			handle_empty_param(p);
	}
}

/* ---- steps ---- */

struct step_part {
	const struct torch_optimizer_view *view;
	bool again;
};

/* Writes gradients of the passes before the step; if called at the step's end, those of the passes inside the step. */
static void write_gradients(void)
{
	const struct stepped_param *at = (const struct stepped_param *)held.params.at;

	for (size_t n = held.params.used / sizeof(*at); n; n--, at++)
		torch_write_step_gradient(held.all, at->id);
	/*
	 * An optimizer of partitions (ZeRO) has none of the model's own parameters, or only those
	 * that this rank has elements of.
	 */
	for (uint32_t id = 1; id <= held.all->n; id++) {
		const struct train_param *p = &held.all->at[id - 1];

		if (p->flags & TP_UNOWNED && (held.partitions || p->grad_lo))
			torch_write_step_gradient(held.all, id);
	}
}

static void measure_step_begin(void *arg)
{
	const struct step_part *s = arg;

	late_open_tensors();
	for (uint32_t i = 0; i < s->view->nparam; i++) {
		const struct optimizer_param *op = &s->view->param[i];
		const struct train_param *p;

		if (!op->id || op->id > held.all->n)
			continue;
		p = &held.all->at[op->id - 1];
		if (p->first_piece)
			measure_flat_param(s->view, op, p, s->again);
		else
			measure_param(s->view, op, p, s->again);
	}
	late_close_tensors();
	if (!s->again && torch_accumulate_wanted())
		write_gradients();
}

static bool lock_held_step(void)
{
	bool no = false;

	if (!atomic_compare_exchange_strong(&held_taken, &no, true)) {
		log_loss(LOSS_FULL, "several optimizers step at once on different threads: kinds "
				    "of all but one "
				    "are skipped");
		return false;
	}
	own(held_here) = true;
	held.values.used = held.numbers.used = held.params.used = 0;
	held.depth = 0;
	return true;
}

static void handle_kinds_optimizer_begin(const struct torch_train_event *e)
{
	const struct torch_optimizer_view *view = torch_get_optimizer();
	struct step_part s = {view, false};

	(void)e;
	if (own(held_here)) {
		held.depth++;
		return;
	}
	if (!view)
		return;
	if (!(train_get_kinds() & AT_STEP) || !train_are_kinds_due() || !train_get_params() ||
		!lock_held_step())
		return;
	held.partitions = view->partitions;
	held.kinds = train_get_kinds();
	held.all = train_get_params();
	held.step = step_now();
	private_stack_call(measure_step_begin, &s);
}

static void write_pass(void *arg)
{
	(void)arg;
	torch_write_pass_gradients();
}

static void handle_kinds_backward_end(const struct torch_train_event *e)
{
	if (e->outermost && e->accumulates && get_kinds_keys(get_config())->monitor_mbs_grad &&
		torch_accumulate_wanted())
		private_stack_call(write_pass, NULL);
	if (!e->outermost || !e->accumulates || !own(held_here) || held.depth)
		return;

	struct step_part s = {torch_get_optimizer(), true};
	struct held_value *h = (struct held_value *)held.values.at;
	size_t kept = 0;

	if (!s.view)
		return;
	for (size_t i = 0; i < held.values.used / sizeof(*h); i++)
		if (h[i].v.kind == TK_PARAM_ORIGIN)
			h[kept++] = h[i];
		else
			train_kind_remove(&h[i].v);
	held.values.used = kept * sizeof(*h);
	held.numbers.used = 0;
	private_stack_call(measure_step_begin, &s);
}

static void write_updated(void)
{
	const struct stepped_param *at = (const struct stepped_param *)held.params.at;
	struct buffer b;

	for (size_t n = held.params.used / sizeof(*at); n; n--, at++) {
		const struct train_param *p = &held.all->at[at->id - 1];

		if (at->impl && torch_find_buffer(at->impl, &b) && set_piece_range(p, &b))
			train_kind_write_tensor(TK_PARAM_UPDATED, train_get_kind_name(held.all, p),
				p->vpp_stage, UINT32_MAX, TORCH_DTYPE_PREFIX, &b,
				torch_get_stream(&b));
	}
}

/*
 * Writes moments of parameters with their own tensors. If the optimizer's state was just created,
 * it has been read again.
 */
static void write_moments(void)
{
	static const struct {
		const char key[12];
		enum train_kind kind;
	} of[] = {{"exp_avg", TK_ADAM_M_NORM}, {"exp_avg_sq", TK_ADAM_V_NORM}};
	const struct torch_optimizer_view *view = torch_read_optimizer_again();

	for (uint32_t i = 0; view && i < view->nparam; i++) {
		const struct optimizer_param *op = &view->param[i];
		const struct train_param *p =
			op->id && op->id <= held.all->n ? &held.all->at[op->id - 1] : NULL;

		for (unsigned k = 0; p && k < 2; k++) {
			struct train_value v = {.kind = of[k].kind,
				.name = train_get_kind_name(held.all, p),
				.dtype_prefix = TORCH_DTYPE_PREFIX,
				.step = held.step,
				.micro_step = UINT32_MAX,
				.vpp_stage = p->vpp_stage};
			struct buffer b;

			if (!metric_is_due(METRIC_ADAM_NORM, held.step) ||
				!metric_has_target(v.name) ||
				!find_state_buffer(op, p, of[k].key, &b))
				continue;
			train_kind_measure_on(&v, &b, torch_get_stream(&b));
			v.norm = true;
			train_kind_write(&v);
		}
	}
}

/* Calls `handle` with each parameter as it is after the step. */
static void handle_updated_params(void (*handle)(
	const struct train_value *v, uint32_t id, unsigned index, const struct buffer *b))
{
	const struct stepped_param *at = (const struct stepped_param *)held.params.at;
	size_t n = held.params.used / sizeof(*at);
	struct buffer b;

	for (unsigned i = 0; i < n; i++, at++) {
		const struct train_param *p = &held.all->at[at->id - 1];
		struct train_value v = {.name = train_get_kind_name(held.all, p),
			.dtype_prefix = TORCH_DTYPE_PREFIX,
			.step = held.step,
			.micro_step = UINT32_MAX,
			.vpp_stage = p->vpp_stage};

		if (at->impl && torch_read_tensor(at->impl, &b) && set_piece_range(p, &b))
			handle(&v, at->id, i, &b);
	}
}

static void measure_param_rank(
	const struct train_value *v, uint32_t id, unsigned index, const struct buffer *b)
{
	(void)index;
	if (stable_rank_has_target(v->name))
		stable_rank_measure(v, id, b);
}

static void update_histograms(
	const struct train_value *v, uint32_t id, unsigned index, const struct buffer *b)
{
	(void)id;
	histogram_write(v, index, b);
}

static void write_step(void *arg)
{
	(void)arg;
	if (torch_accumulate_wanted())
		write_gradients();
	write_held();
	late_open_tensors();
	if (is_wanted(TK_PARAM_UPDATED))
		write_updated();
	if (is_wanted(TK_ADAM_M_NORM))
		write_moments();
	late_close_tensors();
	if (is_wanted(TK_STABLE_RANK) && stable_rank_is_due(held.step)) {
		handle_updated_params(measure_param_rank);
		stable_rank_write_meta();
	}
	if (is_wanted(TK_HISTOGRAM) && histogram_is_due(held.step))
		handle_updated_params(update_histograms);
}

static void handle_kinds_optimizer_end(const struct torch_train_event *e)
{
	(void)e;
	if (!own(held_here))
		return;
	if (held.depth) {
		held.depth--;
		return;
	}
	private_stack_call(write_step, NULL);
	own(held_here) = false;
	atomic_store(&held_taken, false);
}

bool torch_step_is_open(void)
{
	return atomic_load_explicit(&held_taken, memory_order_relaxed);
}

static bool are_kinds_wanted(void)
{
	return train_get_kinds();
}

void torch_kinds_forked(void)
{
	own(held_here) = false;
	atomic_store(&held_taken, false);
}

const struct torch_train_observer kinds_observer = {
	.wanted = are_kinds_wanted,
	.backward_end = handle_kinds_backward_end,
	.optimizer_begin = handle_kinds_optimizer_begin,
	.optimizer_end = handle_kinds_optimizer_end,
};
