/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/mindspore/kernel_values.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>

#include "base/private_stack.h"
#include "base/thread.h"
#include "call/data/buffer_check.h"
#include "call/step.h"
#include "config/rooms/training.h"
#include "journal/layout.h"
#include "session/state.h"
#include "training/params/kind.h"
#include "training/params/metric.h"
#include "training/steps/scalar.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/layout/kernel_layout.h"
#include "wrappers/mindspore/attention_values.h"
#include "wrappers/mindspore/expert_values.h"
#include "wrappers/mindspore/kernel_phase.h"
#include "wrappers/mindspore/parameters.h"

/*
 * Kernels of a graph run on several threads; this lock lets one at a time update the sums over
 * parameters. A leaf except for the journal's locks.
 */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

void ms_values_forked(void)
{
	pthread_mutex_init(&writing, NULL);
}

bool ms_values_wanted(void)
{
	return get_training_keys(get_config())->names || train_get_kinds() || scalars_wanted();
}

/* ---- tensors of a kernel ---- */

/* The value of tensor i if it is a single number, otherwise NAN. */
static double read_single_number(const struct kernel_tensors *t, unsigned i)
{
	struct train_value v = {.kind = TK_PARAM_ORIGIN};
	struct ms_tensor_view s;

	if (!ms_read_kernel_tensor(t, i, &s) || s.v.count != 1 || s.v.ndim > 1 ||
		get_dtype_info(s.v.dtype)->cls != DTC_FLOAT)
		return NAN;
	train_kind_measure(&v, &s.v);
	return v.stats.n ? v.stats.mean : NAN;
}

static void write_value(const struct train_value *v)
{
	pthread_mutex_lock(&writing);
	train_kind_write(v);
	pthread_mutex_unlock(&writing);
}

static void set_value_name(struct train_value *v, enum train_kind kind,
	const struct train_params *all, const struct train_param *p)
{
	*v = (struct train_value){.kind = kind,
		.name = train_get_kind_name(all, p),
		.step = step_now(),
		.micro_step = UINT32_MAX,
		.vpp_stage = p->vpp_stage};
}

/* ---- a kernel that updates a parameter ---- */

struct kernel_run {
	const struct ms_kernel *k;
	const void *node;
	const struct kernel_tensors *in, *out;
	uint8_t phase;
	bool measures_output; /* measure what the kernel has written, too */
	bool routes; /* experts may be chosen by it, or by a later kernel */
	bool is_tracked; /* gradients of graphs are tracked; the following fields are valid */
	enum ms_place place;
	uint64_t key;
};

static bool is_kind_wanted(enum train_kind kind)
{
	return train_get_kinds() >> kind & 1;
}

static void write_input(const struct kernel_run *r, enum train_kind kind, unsigned at,
	const char *word, const struct train_params *all, const struct train_param *p)
{
	struct train_value v;
	struct ms_tensor_view s;

	if (!is_kind_wanted(kind) || !ms_read_kernel_tensor(r->in, at, &s) || !s.v.ndim)
		return;
	set_value_name(&v, kind, all, p);
	v.word = word;
	train_kind_measure(&v, &s.v);
	write_value(&v);
}

/* Writes m, the statistics of a gradient before reduction, as a value of parameter p. */
static void write_measured(
	const struct train_value *m, const struct train_params *all, const struct train_param *p)
{
	struct train_value v;

	set_value_name(&v, TK_GRAD_UNREDUCED, all, p);
	v.dtype = m->dtype;
	v.ndim = m->ndim;
	v.count = m->count;
	v.dims = m->dims;
	v.stats = m->stats;
	write_value(&v);
}

static void write_graph_gradient(const struct ms_tensor_view *given, const struct train_params *all,
	const struct train_param *p)
{
	uint64_t dims[CXX_DIMS_MAX];
	struct train_value m;

	if (!ms_find_graph_gradient(given->v.base, p, &m, dims))
		return;
	m.dims = dims;
	write_measured(&m, all, p);
}

void ms_write_remaining_gradients(void)
{
	const struct train_params *all = train_get_params();
	uint64_t dims[CXX_DIMS_MAX];
	struct train_value m;
	uint32_t at = 0, id;

	if (!is_kind_wanted(TK_GRAD_UNREDUCED) || !train_are_kinds_due())
		return;
	while ((id = ms_get_next_gradient(&at, &m, dims))) {
		const struct train_param *p = all && id <= all->n ? &all->at[id - 1] : NULL;

		m.dims = dims;
		if (p && train_param_is_target(all, p))
			write_measured(&m, all, p);
	}
}

/*
 * Measures the gradient passed to an update, and with `kinds` writes the kinds that are
 * configured. Returns the sum of its squares, or NAN if it cannot be read.
 */
static double measure_update_gradient(const struct kernel_run *r, const struct train_params *all,
	const struct train_param *p, bool kinds)
{
	const struct kernel_layout *l = ms_get_layout();
	unsigned at = r->k->update->grad;
	struct train_value v = {.kind = TK_GRAD_REDUCED};
	const struct train_params *waiting_in;
	const struct train_param *waiting;
	struct ms_tensor_view s;
	double squares;

	if (!at || !ms_read_kernel_tensor(r->in, at, &s))
		return NAN;
	if (p)
		set_value_name(&v, TK_GRAD_REDUCED, all, p);
	train_kind_measure(&v, &s.v);
	if (!v.stats.n)
		return NAN;
	if (kinds && is_kind_wanted(TK_GRAD_REDUCED))
		write_value(&v);
	/*
	 * This gradient is the one that the pass returned: no code of the program has changed it.
	 */
	waiting = ms_has_pending_gradients() && l
			  ? ms_remove_pending_gradient(
				    ms_get_kernel_address(l, r->in->begin[at]), &waiting_in)
			  : NULL;
	squares = v.stats.norm * v.stats.norm;
	if (kinds && waiting && waiting->id == p->id && is_kind_wanted(TK_GRAD_UNREDUCED)) {
		v.kind = TK_GRAD_UNREDUCED;
		write_value(&v);
	} else if (kinds && r->is_tracked) {
		write_graph_gradient(&s, all, p);
	}
	return squares;
}

static const struct train_param *find_updated(
	const struct kernel_run *r, const struct train_params **all, bool *kinds)
{
	const struct update_kernel *k = r->k->update;
	const unsigned state[] = {k->exp_avg, k->exp_avg_sq, k->state};
	const struct train_param *p;
	struct ms_updated u = {.nstate = 0};
	struct ms_tensor_view s;

	if (!ms_read_kernel_tensor(r->in, 0, &s))
		return NULL;
	u.parameter = s.v.base;
	for (unsigned i = 0; i < MS_STATES_MAX; i++)
		if (state[i] && ms_read_kernel_tensor(r->in, state[i], &s))
			u.state[u.nstate++] = s.v.base;
	p = ms_parameter_updated(&u, all);
	*kinds = p && train_get_kinds() && train_are_kinds_due() && train_param_is_target(*all, p);
	return p;
}

/* A parameter without a known name may be any of the measured ones. */
static void add_expected_value(const struct train_param *p, const struct train_params *all)
{
	if (!train_get_kinds() || !train_are_kinds_due() || (p && !train_param_is_target(all, p)))
		return;
	pthread_mutex_lock(&writing);
	metric_add_expected_value(step_now());
	pthread_mutex_unlock(&writing);
}

void ms_set_expected_values(uint32_t n)
{
	pthread_mutex_lock(&writing);
	metric_set_expected_values(n);
	pthread_mutex_unlock(&writing);
}

static void handle_update(const struct kernel_run *r)
{
	const struct update_kernel *u = r->k->update;
	const struct train_params *all;
	bool kinds = false;
	const struct train_param *p = find_updated(r, &all, &kinds);
	double squares = NAN, rate = NAN;

	add_expected_value(p, all);
	if (kinds)
		write_input(r, TK_PARAM_ORIGIN, 0, NULL, all, p);
	if (kinds || scalar_is_due(SCALAR_GRAD_NORM))
		squares = measure_update_gradient(r, all, p, kinds);
	if (kinds && u->exp_avg)
		write_input(r, TK_EXP_AVG, u->exp_avg, NULL, all, p);
	if (kinds && u->exp_avg_sq)
		write_input(r, TK_EXP_AVG_SQ, u->exp_avg_sq, NULL, all, p);
	if (kinds && u->state && (is_kind_wanted(TK_EXP_AVG) || is_kind_wanted(TK_EXP_AVG_SQ))) {
		struct train_value v;
		struct ms_tensor_view s;

		set_value_name(&v, TK_STATE, all, p);
		v.word = u->state_name;
		if (ms_read_kernel_tensor(r->in, u->state, &s) && s.v.ndim) {
			train_kind_measure(&v, &s.v);
			write_value(&v);
		}
	}
	if (u->rate && scalar_is_due(SCALAR_LEARNING_RATE))
		rate = read_single_number(r->in, u->rate);
	ms_record_update(p ? p->id : 0, rate, squares);
}

static void write_moment(const struct kernel_run *r, enum train_kind kind, unsigned at,
	const struct train_params *all, const struct train_param *p)
{
	struct train_value v;
	struct ms_tensor_view s;

	set_value_name(&v, kind, all, p);
	if (!at || !is_kind_wanted(kind) || !metric_is_due(METRIC_ADAM_NORM, v.step) ||
		!metric_has_target(v.name) || !ms_read_kernel_tensor(r->in, at, &s))
		return;
	train_kind_measure(&v, &s.v);
	if (!v.stats.n)
		return;
	v.value = &v.stats.norm;
	v.nvalue = 1;
	write_value(&v);
}

static void handle_after_update(const struct kernel_run *r)
{
	const struct update_kernel *u = r->k->update;
	const struct train_params *all;
	bool kinds = false;
	const struct train_param *p = find_updated(r, &all, &kinds);

	if (!kinds)
		return;
	write_input(r, TK_PARAM_UPDATED, 0, NULL, all, p);
	write_moment(r, TK_ADAM_M_NORM, u->exp_avg, all, p);
	write_moment(r, TK_ADAM_V_NORM, u->exp_avg_sq, all, p);
}

/* ---- gradients returned by a pass: their first use shows them unchanged ---- */

static void handle_inputs(const struct kernel_run *r)
{
	const struct kernel_layout *l = ms_get_layout();

	for (const void *const *t = r->in->begin; l && t < r->in->end; t++) {
		const struct train_params *all;
		const struct train_param *p =
			ms_remove_pending_gradient(ms_get_kernel_address(l, *t), &all);
		struct train_value v;
		struct ms_tensor_view s;

		if (!p || !ms_read_kernel_tensor(r->in, (unsigned)(t - r->in->begin), &s) ||
			!train_are_kinds_due() || !train_param_is_target(all, p))
			continue;
		set_value_name(&v, TK_GRAD_UNREDUCED, all, p);
		train_kind_measure(&v, &s.v);
		write_value(&v);
	}
}

/* ---- kernels ---- */

static void handle_before_kernel(void *arg)
{
	const struct kernel_run *r = arg;

	if (r->is_tracked)
		ms_handle_gradients_before(r->place, r->in, r->out);
	if (r->k->update)
		handle_update(r);
	else if (r->phase != PHASE_BACKWARD && ms_has_pending_gradients())
		handle_inputs(r);
}

static void handle_softmax(void *arg)
{
	const struct kernel_run *r = arg;

	ms_record_softmax(r->in);
}

static void record_after_kernel(void *arg)
{
	const struct kernel_run *r = arg;
	double value;

	if (r->is_tracked)
		ms_handle_gradients_after(r->place, r->key, r->k->update, r->in, r->out);
	if (r->routes)
		ms_record_experts(r->k, r->in, r->out);
	if (!r->measures_output)
		return;
	if (r->k->update) {
		handle_after_update(r);
		return;
	}
	value = read_single_number(r->out, 0);
	if (isnan(value) && !r->k->takes_root)
		return;
	if (r->k->takes_root && r->phase != PHASE_OPTIMIZER)
		ms_record_root(value);
	else if (!ms_is_graph_running())
		ms_record_number(ms_get_kernel_address(ms_get_layout(), r->out->begin[0]), value);
}

/* True if the kernel's output is a single number. Called for every kernel, so it must be cheap. */
static bool is_number_kernel(const struct kernel_tensors *out)
{
	struct buffer v;
	int64_t strides[CXX_DIMS_MAX];

	return out->end - out->begin == 1 && ms_read_tensor_buffer(out->begin[0], &v, strides) &&
	       v.count == 1 && get_dtype_info(v.dtype)->cls == DTC_FLOAT;
}

static void handle_on_private_stack(void (*handle)(void *), struct kernel_run *r)
{
	struct thread_self *w = &thread_state;
	int err = errno;

	w->busy++;
	private_stack_call(handle, r);
	w->busy--;
	errno = err;
}

/* True if gradients of graphs are tracked through this kernel. */
static bool is_gradient_kernel(struct kernel_run *r)
{
	if (!is_kind_wanted(TK_GRAD_UNREDUCED) || !(r->node || ms_has_graph_gradients()) ||
		!train_are_kinds_due())
		return false;
	r->place = ms_find_kernel_place(r->k, r->node, &r->key);
	return true;
}

bool ms_handle_values_before(const struct ms_kernel *k, const void *node,
	const struct kernel_tensors *in, const struct kernel_tensors *out)
{
	struct kernel_run r = {.k = k, .node = node, .in = in, .out = out};

	if (thread_state.busy || !ms_values_wanted())
		return false;
	r.phase = ms_find_kernel_phase(k, node);
	r.is_tracked = is_gradient_kernel(&r);
	if (r.phase == PHASE_BACKWARD) {
		bool in_graph = ms_is_graph_running();

		ms_record_backward_kernel(in_graph);
		if (in_graph)
			ms_set_graph_has_backward();
		return r.is_tracked;
	}
	if (k->is_softmax && is_softmax_due())
		handle_on_private_stack(handle_softmax, &r);
	if (k->update || ms_has_pending_gradients() || (r.is_tracked && ms_has_graph_gradients()))
		handle_on_private_stack(handle_before_kernel, &r);
	return k->update || k->takes_root || r.is_tracked || is_routing_due() ||
	       !ms_is_graph_running();
}

void ms_handle_values_after(const struct ms_kernel *k, const void *node,
	const struct kernel_tensors *in, const struct kernel_tensors *out)
{
	struct kernel_run r = {.k = k, .node = node, .in = in, .out = out};

	if (thread_state.busy)
		return;
	r.phase = ms_find_kernel_phase(k, node);
	r.measures_output = r.phase != PHASE_BACKWARD && (k->update || is_number_kernel(out));
	r.is_tracked = is_gradient_kernel(&r);
	r.routes = r.phase != PHASE_BACKWARD && !k->update && is_routing_due();
	if (r.measures_output || r.is_tracked || r.routes)
		handle_on_private_stack(record_after_kernel, &r);
}
