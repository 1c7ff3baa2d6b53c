/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of MindSpore's functions for Python: gradients of a pass, and the result of a graph.
 * When such a function returns, values may still be computed on other threads. A gradient is
 * identified by its DeviceAddress, and is measured when it is first passed to a kernel outside
 * the pass; that kernel waits for it anyway.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/private_stack.h"
#include "base/hash.h"
#include "elf/memory.h"
#include "journal/layout.h"
#include "session/state.h"
#include "training/params/kind.h"
#include "training/steps/scalar.h"
#include "training/steps/step_times.h"
#include "wrappers/cxx/cxx_shadow.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/layout/kernel_layout.h"
#include "wrappers/mindspore/expert_values.h"
#include "wrappers/mindspore/kernel_phase.h"
#include "wrappers/mindspore/kernel_values.h"
#include "wrappers/mindspore/parameters.h"
#include "wrappers/python/objects.h"

#define GRADIENTS_MAX 16384u
#define PLACES (2 * GRADIENTS_MAX)
#define FRAMES_MAX 24

/* ---- pending gradients ---- */

struct pending_gradient {
	const void *address; /* NULL: a free slot */
	/* the parameter's tensor::Tensor; NULL if the gradient has been taken */
	const void *parameter;
};

/* A leaf. A forked child initialises it again. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending_gradient *gradients; /* PLACES, open addressing */
static _Atomic uint32_t pending_count;
static uint32_t occupied; /* used slots, including those whose gradients were taken */

bool ms_has_pending_gradients(void)
{
	return atomic_load_explicit(&pending_count, memory_order_relaxed) != 0;
}

/* Returns the slot of the gradient at `address`, or the free slot for it. The lock is held. */
static struct pending_gradient *find_gradient_slot(const void *address)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)address) % PLACES;

	while (gradients[i].address && gradients[i].address != address)
		i = (i + 1) % PLACES;
	return &gradients[i];
}

const struct train_param *ms_remove_pending_gradient(
	const void *address, const struct train_params **all)
{
	const void *parameter = NULL;
	struct pending_gradient *g;

	if (!address)
		return NULL;
	pthread_mutex_lock(&lock);
	if (pending_count) {
		g = find_gradient_slot(address);
		parameter = g->address ? g->parameter : NULL;
		g->parameter = NULL;
		pending_count -= parameter != NULL;
	}
	pthread_mutex_unlock(&lock);
	*all = train_get_params();
	return parameter ? train_find_param_by_impl(*all, parameter) : NULL;
}

/* Drops gradients of the previous pass that no kernel has used. */
static void remove_gradients(void)
{
	pthread_mutex_lock(&lock);
	if (!gradients) {
		gradients = mmap(NULL, PLACES * sizeof(*gradients), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (gradients == MAP_FAILED)
			gradients = NULL;
	} else {
		memset(gradients, 0, PLACES * sizeof(*gradients));
	}
	occupied = 0;
	pending_count = 0;
	pthread_mutex_unlock(&lock);
}

static void add_pending_gradient_of(const void *address, const void *parameter)
{
	struct pending_gradient *g;

	pthread_mutex_lock(&lock);
	if (gradients && occupied < GRADIENTS_MAX) {
		g = find_gradient_slot(address);
		occupied += !g->address;
		pending_count += !g->parameter;
		*g = (struct pending_gradient){address, parameter};
	}
	pthread_mutex_unlock(&lock);
}

/* ---- Python's objects ---- */

#define STUB_CLASS "N9mindspore4stub8StubNodeE"
#define TENSOR_STUB_CLASS "N9mindspore4stub10TensorNodeE"

/*
 * The tensor of a stub, which Python has as the result of an operator that is still being
 * computed.
 */
static const void *get_stub_tensor(const struct kernel_layout *l, const void *o)
{
	const char *stub = *(const char *const *)((const char *)o + l->py_stub);
	const void *value;

	/*
	 * The stub's offset could not be verified at the start, so the object at that offset is
	 * checked by its type.
	 */
	if (!cxx_object_is_of(stub, STUB_CLASS) && !cxx_object_is_of(stub, TENSOR_STUB_CLASS))
		return NULL;
	if (!is_memory_readable((uintptr_t)(stub + l->stub_value)))
		return NULL;
	value = __atomic_load_n((const void *const *)(stub + l->stub_value), __ATOMIC_ACQUIRE);
	return value && cxx_object_is_of(value, MS_TENSOR_CLASS) ? value : NULL;
}

/*
 * The tensor::Tensor of an object of class Tensor or a subclass; NULL if o is no such object, or
 * if its tensor does not exist yet.
 */
static const void *get_object_tensor(const void *o)
{
	const struct kernel_layout *l = ms_get_layout();
	const void *type = py_find_global("mindspore.common.tensor", "Tensor"), *tensor;

	if (!l || !o || !type || !ms_is_host_layout_valid() || !py_is_instance(o, type))
		return NULL;
	tensor = *(const void *const *)((const char *)o + l->py_tensor);
	return tensor ? tensor : get_stub_tensor(l, o);
}

/* The first element of nested lists. */
static const void *get_first_element(const void *o)
{
	for (unsigned level = 0; level < 4 && o && (py_is_tuple(o) || py_is_list(o)); level++)
		o = py_get_item_count(o) ? py_get_item(o, 0) : NULL;
	return o;
}

/* ---- the beginning of a pass ---- */

/*
 * The result of the last forward pass; only compared, under the GIL. Its tensor may not exist yet
 * while the program continues, but exists after the pass. The result is alive if a variable of a
 * frame refers to it.
 */
static const void *forward_result;

void ms_handle_forward_return(const struct call *c)
{
	struct py_object_lock h;
	const char *why;

	if (!scalars_wanted() || !py_lock_objects(&h, &why))
		return;
	forward_result = get_first_element(*(const void *const *)c->v[2].cp);
	py_unlock_objects(&h);
}

/* True if o is the value of a variable of a running frame, or in a tuple or list that is. */
static bool is_in_frames(const void *o)
{
	struct py_frame f[FRAMES_MAX];
	int n = py_get_frames(f, FRAMES_MAX);
	void *name, *value;

	for (int i = 0; i < n; i++)
		for (unsigned k = py_get_local_count(&f[i]); k-- > 0;)
			if (py_get_local(&f[i], k, &name, &value) &&
				(value == o || get_first_element(value) == o))
				return true;
	return false;
}

/* The DeviceAddress of the number that the pass began at; NULL if not known. */
static const void *find_loss_address(void)
{
	const void *o = forward_result, *tensor;
	struct ms_tensor t;
	int64_t strides[CXX_DIMS_MAX];

	forward_result = NULL;
	tensor = o && is_in_frames(o) ? get_object_tensor(o) : NULL;
	return tensor && ms_read_host_tensor(tensor, &t, strides) ? t.address : NULL;
}

/* ---- gradients of a pass ---- */

struct pass {
	const void *weights, *result;
	const void *tensor[256]; /* of up to 256 weights at a time */
};

static const void *get_pass_weight(const struct pass *p, size_t i)
{
	const void *o = py_is_tuple(p->weights) || py_is_list(p->weights)
				? py_get_item(p->weights, i)
				: p->weights;

	return get_object_tensor(o);
}

/*
 * The gradients of n weights in a pass' result, which has them alone, or after those of inputs.
 * Returns NULL if it has none.
 */
static const void *find_gradient_list(const void *o, size_t n)
{
	if (!o || !(py_is_tuple(o) || py_is_list(o)))
		return n == 1 ? o : NULL;
	if (py_get_item_count(o) == n && get_object_tensor(py_get_item(o, 0)))
		return o;
	return py_get_item_count(o) == 2 ? find_gradient_list(py_get_item(o, 1), n) : NULL;
}

/*
 * Counts measured parameters among n weights. A weight without a name counts, because it may be
 * any of them.
 */
static uint32_t count_measured(const void *const *tensor, uint32_t n)
{
	const struct train_params *all = train_get_params();
	uint32_t measured = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct train_param *p = train_find_param_by_impl(all, tensor[i]);

		measured += !p || train_param_is_target(all, p);
	}
	return measured;
}

static void read_pass(void *arg)
{
	struct pass *p = arg;
	bool many = py_is_tuple(p->weights) || py_is_list(p->weights);
	size_t n = many ? py_get_item_count(p->weights) : get_object_tensor(p->weights) != NULL;
	const void *of = find_gradient_list(p->result, n);
	const size_t chunk = sizeof(p->tensor) / sizeof(*p->tensor);
	uint32_t measured = 0;
	struct ms_tensor t;
	int64_t strides[CXX_DIMS_MAX];

	if (scalars_wanted())
		ms_record_pass_begin(find_loss_address());
	for (size_t at = 0; at < n; at += chunk) {
		uint32_t k = 0;

		for (size_t i = at; i < n && i < at + chunk; i++) {
			const void *w = get_pass_weight(p, i);

			if (w)
				p->tensor[k++] = w;
		}
		ms_register_parameters(p->tensor, k, "gradients");
		measured += count_measured(p->tensor, k);
	}
	if (measured)
		ms_set_expected_values(measured);
	ms_write_unnamed_experts();
	if (!(train_get_kinds() & KIND_BIT(GRAD_UNREDUCED)))
		return;
	remove_gradients();
	for (size_t i = 0; i < n && of; i++) {
		const void *w = get_pass_weight(p, i);
		const void *g = get_object_tensor(
			py_is_tuple(of) || py_is_list(of) ? py_get_item(of, i) : of);

		if (w && g && ms_read_host_tensor(g, &t, strides) && t.address)
			add_pending_gradient_of(t.address, w);
	}
}

/* ---- skipped updates ---- */

/*
 * The first object of class `class` that is the caller in one of the innermost frames; NULL if
 * there is none. The GIL is held.
 */
static const void *find_caller(const char *module, const char *class)
{
	const void *type = py_find_global(module, class), *self = NULL;
	struct py_frame f[FRAMES_MAX];
	int n = type ? py_get_frames(f, FRAMES_MAX) : 0;

	for (int i = 0; i < n && !self; i++) {
		const void *o = py_find_local(&f[i], "self");

		if (o && py_is_instance(o, type))
			self = o;
	}
	return self;
}

/*
 * The cell that makes a step and may skip the update, because gradients overflow or for a reason
 * of its own.
 */
static const void *find_step_cell(void)
{
	return find_caller("mindspore.nn.wrap.loss_scale", "TrainOneStepWithLossScaleCell");
}

/*
 * pass_cell: the cell of the last pass, compared only. The other one: an optimizer was called
 * since that pass. Guarded by the GIL.
 */
static const void *pass_cell;
static bool optimizer_called;

/*
 * If the last call of a cell made a pass and called no optimizer, that step ends when the cell's
 * next pass begins.
 */
static void check_skipped_update(void *arg)
{
	const void *cell = find_step_cell();

	*(bool *)arg = cell && cell == pass_cell && !optimizer_called;
	pass_cell = cell;
	optimizer_called = false;
}

static void handle_optimizer(void *arg)
{
	(void)arg;
	if (find_caller("mindspore.nn.optim.optimizer", "Optimizer"))
		optimizer_called = true;
}

void ms_handle_graph_call(void)
{
	struct py_object_lock h;
	const char *why;

	if (!pass_cell || optimizer_called || !py_lock_objects(&h, &why))
		return;
	private_stack_call(handle_optimizer, NULL);
	py_unlock_objects(&h);
}

void ms_handle_pass_begin(void)
{
	struct py_object_lock h;
	const char *why;
	bool left_out = false;

	if (py_lock_objects(&h, &why)) {
		private_stack_call(check_skipped_update, &left_out);
		py_unlock_objects(&h);
	}
	if (left_out)
		ms_handle_skipped_step();
	step_part_start(PART_BACKWARD);
}

void ms_handle_pass_end(const struct call *c)
{
	struct pass p = {.weights = *(const void *const *)c->v[3].cp,
		.result = c->ok ? *(const void *const *)c->result : NULL};
	struct py_object_lock h;
	const char *why;

	step_part_stop(PART_BACKWARD);
	if (!ms_values_wanted() || !session_start() || !py_lock_objects(&h, &why))
		return;
	private_stack_call(read_pass, &p);
	py_unlock_objects(&h);
}

/* ---- results of a graph ---- */

struct returned {
	const void *object;
	double value; /* NAN if the result is not a number */
	bool step_cell; /* called by a cell that makes a step */
};

static void read_returned(void *arg)
{
	struct returned *r = arg;
	const void *tensor = get_object_tensor(get_first_element(r->object));
	struct train_value v = {.kind = TK_PARAM_ORIGIN};
	struct ms_tensor t;
	int64_t strides[CXX_DIMS_MAX];

	r->step_cell = find_step_cell() != NULL;
	if (!tensor || !ms_read_host_tensor(tensor, &t, strides) || t.v.nostats || t.v.count != 1 ||
		get_dtype_info(t.v.dtype)->cls != DTC_FLOAT)
		return;
	train_kind_measure(&v, &t.v);
	if (v.stats.n)
		r->value = v.stats.mean;
}

static void write_remaining_gradients(void *arg)
{
	(void)arg;
	ms_write_remaining_gradients();
}

void ms_handle_graph_return(const struct call *c)
{
	struct returned r = {c->ok ? *(const void *const *)c->result : NULL, NAN, false};
	uint32_t step = 0;
	unsigned trained = ms_graph_trained(&step);
	struct py_object_lock h;
	const char *why;

	if (!trained || (trained & TRAINED_UPDATE && !scalars_wanted()) ||
		!py_lock_objects(&h, &why))
		return;
	private_stack_call(read_returned, &r);
	py_unlock_objects(&h);
	if (!isnan(r.value))
		ms_loss_returned(trained & TRAINED_UPDATE, step, r.value);
	if (trained == TRAINED_BACKWARD && r.step_cell) {
		private_stack_call(write_remaining_gradients, NULL);
		ms_handle_skipped_step();
	}
}

void ms_gradients_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	pass_cell = NULL;
	if (gradients)
		memset(gradients, 0, PLACES * sizeof(*gradients));
	pending_count = 0;
}
