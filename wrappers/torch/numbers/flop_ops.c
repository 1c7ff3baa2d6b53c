/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/numbers/flop_ops.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/thread.h"
#include "elf/loaded/elfsym.h"
#include "entry/stubs/stub.h"
#include "journal/layout.h"
#include "life/life.h"
#include "training/steps/flops.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/tensors/torch.h"
#include "wrappers/torch/tensors/train_observers.h"

/* ---- table of counted operators ---- */

enum flop_form {
	FLOPS_OTHER,
	FLOPS_PRODUCT, /* a product of two matrices, or of pairs of matrices */
	FLOPS_CONVOLUTION,
	FLOPS_CONVOLUTION_BACKWARD,
	FLOPS_ATTENTION,
	FLOPS_ATTENTION_BACKWARD,
	FLOPS_UNKNOWN, /* the operation count does not follow from the shapes */
};

/*
 * From the schemas in native_functions.yaml of 2.13. first: index of the first operand among the
 * operator's tensors.
 */
static const struct {
	char name[60];
	uint8_t form, first;
} flop_ops[] = {
	{"", FLOPS_OTHER, 0},
	{"mm", FLOPS_PRODUCT, 0},
	{"bmm", FLOPS_PRODUCT, 0},
	{"addmm", FLOPS_PRODUCT, 1},
	{"addmm_", FLOPS_PRODUCT, 1},
	{"baddbmm", FLOPS_PRODUCT, 1},
	{"baddbmm_", FLOPS_PRODUCT, 1},
	{"_addmm_activation", FLOPS_PRODUCT, 1},
	{"_int_mm", FLOPS_PRODUCT, 0},
	{"_scaled_mm", FLOPS_PRODUCT, 0},
	{"_scaled_mm_v2", FLOPS_PRODUCT, 0},
	{"_grouped_mm", FLOPS_PRODUCT, 0},
	{"_scaled_grouped_mm", FLOPS_PRODUCT, 0},
	{"convolution", FLOPS_CONVOLUTION, 0},
	{"_convolution", FLOPS_CONVOLUTION, 0},
	{"convolution_backward", FLOPS_CONVOLUTION_BACKWARD, 0},
	{"_scaled_dot_product_flash_attention", FLOPS_ATTENTION, 0},
	{"_scaled_dot_product_flash_attention_for_cpu", FLOPS_ATTENTION, 0},
	{"_scaled_dot_product_efficient_attention", FLOPS_ATTENTION, 0},
	{"_scaled_dot_product_cudnn_attention", FLOPS_ATTENTION, 0},
	{"_scaled_dot_product_fused_attention_overrideable", FLOPS_ATTENTION, 0},
	{"_scaled_dot_product_flash_attention_backward", FLOPS_ATTENTION_BACKWARD, 1},
	{"_scaled_dot_product_flash_attention_for_cpu_backward", FLOPS_ATTENTION_BACKWARD, 1},
	{"_scaled_dot_product_efficient_attention_backward", FLOPS_ATTENTION_BACKWARD, 1},
	{"_scaled_dot_product_cudnn_attention_backward", FLOPS_ATTENTION_BACKWARD, 1},
	{"_scaled_dot_product_fused_attention_overrideable_backward", FLOPS_ATTENTION_BACKWARD, 1},
	/* Called directly for packed sequences, whose lengths are values, not shapes. */
	{"_flash_attention_forward", FLOPS_UNKNOWN, 0},
	{"_efficient_attention_forward", FLOPS_UNKNOWN, 0},
	/* Layers in one kernel, with weights in the kernel's own packed form. */
	{"mkldnn_rnn_layer", FLOPS_UNKNOWN, 0},
	{"_cudnn_rnn", FLOPS_UNKNOWN, 0},
	{"miopen_rnn", FLOPS_UNKNOWN, 0},
};

#define NFLOP_OPS (sizeof(flop_ops) / sizeof(*flop_ops))

/*
 * True if s, the rest of a struct's name after an operator's name, is an overload's name or
 * empty.
 */
static bool is_overload(const char *s)
{
	static const char tensor_buffer[][12] = {
		"", "_out", "_dtype", "_dtype_out", "_deprecated", "_quantized"};

	for (unsigned i = 0; i < sizeof(tensor_buffer) / sizeof(*tensor_buffer); i++)
		if (strcmp(s, tensor_buffer[i]) == 0)
			return true;
	return false;
}

/* Returns 0 if the operator is not in the table. */
static uint8_t find_flop_op(const char *name)
{
	for (unsigned i = 1; i < NFLOP_OPS; i++) {
		size_t n = strlen(flop_ops[i].name);

		if (strncmp(name, flop_ops[i].name, n) == 0 && is_overload(name + n))
			return (uint8_t)i;
	}
	return 0;
}

bool torch_is_flop_op(const char *name)
{
	return flops_are_wanted() && find_flop_op(name);
}

/* ---- which operators are watched ---- */

#define WATCHED_MAX 128 /* maximum number of rows; more operators are always observed */

static struct api *_Atomic watched_rows[WATCHED_MAX];
static _Atomic uint32_t nwatched;
static _Atomic(const struct api *) leader; /* row of the first operator seen */

static void set_rows_watched(bool count)
{
	uint32_t n = atomic_load(&nwatched);

	if (count)
		atomic_store(&leader, NULL);
	for (uint32_t i = 0; i < n && i < WATCHED_MAX; i++) {
		struct api *a = atomic_load(&watched_rows[i]);

		if (a && (count || a != atomic_load(&leader)))
			stub_watch(a, count);
	}
}

void torch_register_flop_op(struct torch_function *r, const char *name, bool watched)
{
	uint32_t at;

	r->flop_op = find_flop_op(name);
	if (!watched)
		return;
	flops_register_switch(set_rows_watched);
	at = atomic_fetch_add(&nwatched, 1);
	if (at < WATCHED_MAX)
		atomic_store(&watched_rows[at], &r->cxx.api);
}

/* ---- computations that are not visible ---- */

#define UNSEEN_NAME "model-flops-throughput-per-npu"

static void stop_flop_count(const char *subject, const char *why)
{
	static atomic_flag reported = ATOMIC_FLAG_INIT;
	char text[200];

	if (!flops_are_wanted() || atomic_flag_test_and_set(&reported))
		return;
	flops_stop_counting();
	snprintf(text, sizeof(text),
		"not counted, nor are mfu and hfu: %s %s; give model_flops_per_step", subject, why);
	session_record_invisible(UNSEEN_NAME, text);
}

void torch_stop_flop_count(const char *library)
{
	stop_flop_count(library, "computes in kernels of its own");
}

void torch_check_flop_library(const char *module, const char *file)
{
	/*
	 * Prefixes of modules' names, and for a name that is not specific, parts of the file
	 * name.
	 */
	static const struct {
		char library[20], module[20], part[12];
	} tensor_buffer[] = {{"flash_attn", "flash_attn", ""},
		{"transformer_engine", "transformer_engine", ""}, {"xformers", "_C", "/xformers/"}};

	for (unsigned i = 0; i < sizeof(tensor_buffer) / sizeof(*tensor_buffer); i++)
		if (strncmp(module, tensor_buffer[i].module, strlen(tensor_buffer[i].module)) ==
				0 &&
			(!*tensor_buffer[i].part || (file && strstr(file, tensor_buffer[i].part))))
			torch_stop_flop_count(tensor_buffer[i].library);
}

/* ---- whether it counts for the model ---- */

/*
 * Number of running backward passes that compute their own graph (create_graph), in which
 * gradients are enabled anyway.
 */
static _Atomic int graph_passes;

static void handle_flops_backward_begin(const struct torch_train_event *e)
{
	if (e->call->v[4].u & 0xff)
		atomic_fetch_add(&graph_passes, 1);
}

static void handle_flops_backward_end(const struct torch_train_event *e)
{
	if (e->call->v[4].u & 0xff)
		atomic_fetch_sub(&graph_passes, 1);
}

const struct torch_train_observer flops_observer = {
	.wanted = flops_are_wanted,
	.backward_begin = handle_flops_backward_begin,
	.backward_end = handle_flops_backward_end,
};

/*
 * Calls c10::GradMode::is_enabled(), which reads a variable of the thread. Returns -1 if it is
 * not available.
 */
static int is_gradient_mode_on(void)
{
	static _Atomic(bool (*)(void)) found;
	bool (*get)(void) = atomic_load_explicit(&found, memory_order_relaxed);
	struct provider p;

	if (!get) {
		if (elfsym_find_all("_ZN3c108GradMode10is_enabledEv", &p, 1) <= 0 || p.ifunc)
			return -1;
		*(void **)&get = p.addr;
		atomic_store_explicit(&found, get, memory_order_relaxed);
	}
	return get();
}

/*
 * A backward pass that computes with gradients enabled repeats a forward pass: checkpointing does so, the nodes do not.
 * In an optimizer's step gradients are disabled except in its closure, which is a forward pass.
 */
static bool is_model_flop(void)
{
	switch (thread_state.phase) {
	case PHASE_BACKWARD:
		return atomic_load_explicit(&graph_passes, memory_order_relaxed) ||
		       is_gradient_mode_on() != 1;
	case PHASE_OPTIMIZER:
		return is_gradient_mode_on() == 1;
	case PHASE_EVALUATION:
		return false;
	}
	return true;
}

/* ---- shapes ---- */

#define OPERANDS 4

struct operands {
	struct buffer tensor_buffer[OPERANDS]; /* the first tensors of the call */
	unsigned n;
	uint64_t hash;
};

enum operand_class {
	OPERAND_PLAIN,
	/*
	 * the tensor's shape is not that of the local computation: a DTensor has the shape of all
	 * ranks together
	 */
	OPERAND_WRAPPER,
	OPERAND_TRACED, /* a compiler traces the call, and nothing is computed */
	OPERAND_UNREAD,
};

static enum operand_class get_operand_class(const char *name)
{
	if (strcmp(name, "DTensor") == 0)
		return OPERAND_WRAPPER;
	return strcmp(name, "FakeTensor") == 0 || strcmp(name, "FunctionalTensor") == 0
		       ? OPERAND_TRACED
		       : OPERAND_PLAIN;
}

/*
 * Classifies an operand by the class of its Python object, which the tensor keeps alive.
 * Operators run without the GIL, which is needed to read a class's name. The classes of nearly
 * all tensors live as long as torch does, and are cached by address.
 */
static enum operand_class find_operand_class(const void *impl)
{
	static const char lasting[][12] = {"Tensor", "Parameter"};
	static _Atomic(const void *) plain[2];
	const void *object = torch_get_python_object(impl), *type;
	enum operand_class class;
	struct py_object_lock hold;
	const char *name, *why;

	if (!object)
		return OPERAND_PLAIN;
	type = py_get_class(object);
	for (unsigned i = 0; i < 2; i++)
		if (atomic_load_explicit(&plain[i], memory_order_relaxed) == type)
			return OPERAND_PLAIN;
	if (!py_lock_objects(&hold, &why))
		return OPERAND_UNREAD;
	name = py_get_class_name(object);
	class = get_operand_class(name);
	for (unsigned i = 0; i < 2; i++)
		if (strcmp(name, lasting[i]) == 0)
			atomic_store_explicit(&plain[i], type, memory_order_relaxed);
	py_unlock_objects(&hold);
	return class;
}

enum read_operands { OPERANDS_READ, OPERANDS_UNKNOWN, OPERANDS_TRACED };

static enum read_operands read_operands(const struct call *c, struct operands *o)
{
	const struct op_type *t = &torch_get_function(c)->op;

	o->n = 0;
	o->hash = 1;
	for (unsigned i = 0; i < t->nargs && o->n < OPERANDS; i++) {
		const void *impl;
		struct buffer *b;

		if (t->arg[i] != OP_TENSOR && t->arg[i] != OP_TENSOR_OUT)
			continue;
		impl = *(const void *const *)c->v[i].cp;
		b = &o->tensor_buffer[o->n++];
		if (!torch_read_tensor(impl, b))
			return OPERANDS_UNKNOWN;
		switch (find_operand_class(impl)) {
		case OPERAND_PLAIN:
			break;
		case OPERAND_TRACED:
			return OPERANDS_TRACED;
		case OPERAND_WRAPPER:
			stop_flop_count("DTensor", "shows the shapes of all ranks");
			return OPERANDS_UNKNOWN;
		case OPERAND_UNREAD:
			return OPERANDS_UNKNOWN;
		}
		for (unsigned k = 0; k < b->ndim; k++)
			o->hash = hash_u64(o->hash, ((const uint64_t *)b->counts)[k]);
		o->hash = hash_u64(o->hash, b->ndim);
	}
	return OPERANDS_READ;
}

/*
 * The length of dimension `dim`, counted from the front, or from the end if negative; 1 if b has
 * no such dimension.
 */
static double get_dim_length(const struct buffer *b, int dim)
{
	int at = dim < 0 ? b->ndim + dim : dim;

	return at < 0 || at >= b->ndim ? 1 : (double)((const int64_t *)b->counts)[at];
}

static double compute_dims_product(const struct buffer *b, int first)
{
	double all = 1;

	for (int i = first; i < b->ndim; i++)
		all *= get_dim_length(b, i);
	return all;
}

/*
 * Batches are included by the number of matrices in both operands. If only one operand is a
 * batch, as with groups of rows, its rows count.
 */
static double compute_product_flops(const struct buffer *a, const struct buffer *b)
{
	double pairs = a->ndim > 2 && b->ndim > 2 ? get_dim_length(a, 0) : 1;

	return 2 * pairs * get_dim_length(a, -2) * get_dim_length(a, -1) * get_dim_length(b, -1);
}

/*
 * at: the tensor whose pixels each need one application of the kernel: the output, or for a transposed convolution the
 * input.
 */
static double compute_convolution_flops(const struct buffer *at, const struct buffer *kernel)
{
	return 2 * get_dim_length(at, 0) * compute_dims_product(at, 2) *
	       compute_dims_product(kernel, 0);
}

/*
 * Operations of one of the two products of an attention: number of queries times number of keys,
 * times `length`, the length of the vectors.
 */
static double compute_scores_flops(const struct buffer *q, const struct buffer *k, double length)
{
	return 2 * get_dim_length(q, 0) * get_dim_length(q, 1) * get_dim_length(q, 2) *
	       get_dim_length(k, 2) * length;
}

/* The value of the operator's first bool argument. */
static bool get_first_bool(const struct call *c)
{
	const struct op_type *t = &torch_get_function(c)->op;

	for (unsigned i = 0; i < t->nargs; i++)
		if (t->ctype[i] == CT_U8)
			return (uint8_t)c->v[i].u;
	return false;
}

static bool has_operands_of_rank(
	const struct operands *o, unsigned first, unsigned n, unsigned ndim)
{
	/* If the size of an element is not known, an element may hold two numbers. */
	for (unsigned i = first; i < first + n; i++)
		if (i >= o->n || o->tensor_buffer[i].ndim < ndim ||
			(o->tensor_buffer[i].count && !o->tensor_buffer[i].bytes))
			return false;
	return true;
}

/*
 * Number of requested results of a convolution's backward pass (gradients of the input and of the
 * kernel), each as expensive as the forward pass.
 */
static double count_requested_gradients(const struct call *c)
{
	const struct op_type *t = &torch_get_function(c)->op;

	/* output_mask, the only std::array<bool, 3>. */
	for (unsigned i = 0; i < t->nargs; i++)
		if (t->ctype[i] == CT_STRUCT && t->members[i] && t->members[i]->size == 3) {
			const uint8_t *mask = c->v[i].cp;

			return (double)(mask[0] != 0) + (double)(mask[1] != 0);
		}
	return 0;
}

/* Operations of the model, and in total. Returns false if not known. */
static bool compute_op_flops(const struct call *c, const struct operands *o, struct flops *f)
{
	unsigned op = torch_get_function(c)->flop_op, first = flop_ops[op].first;
	const struct buffer *b = o->tensor_buffer + first;
	double scores, values;
	struct buffer out;

	switch (flop_ops[op].form) {
	case FLOPS_PRODUCT:
		if (!has_operands_of_rank(o, first, 2, 2))
			return false;
		f->model = compute_product_flops(b, b + 1);
		break;
	case FLOPS_CONVOLUTION:
		if (!has_operands_of_rank(o, 0, 2, 3) ||
			!torch_read_tensor(torch_get_result(c), &out))
			return false;
		f->model = compute_convolution_flops(get_first_bool(c) ? b : &out, b + 1);
		break;
	case FLOPS_CONVOLUTION_BACKWARD:
		if (!has_operands_of_rank(o, 0, 3, 3))
			return false;
		f->model = count_requested_gradients(c) *
			   compute_convolution_flops(get_first_bool(c) ? b + 1 : b, b + 2);
		break;
	case FLOPS_ATTENTION:
	case FLOPS_ATTENTION_BACKWARD:
		if (!has_operands_of_rank(o, first, 3, 4))
			return false;
		scores = compute_scores_flops(b, b + 1, get_dim_length(b, 3));
		values = compute_scores_flops(b, b + 1, get_dim_length(b + 2, 3));
		if (flop_ops[op].form == FLOPS_ATTENTION) {
			f->model = scores + values;
			break;
		}
		/* The kernel recomputes the scores, which the forward pass did not keep. */
		f->model = 2 * (scores + values);
		f->all = f->model + scores;
		return true;
	default:
		return false;
	}
	f->all = f->model;
	return true;
}

/* ---- calls ---- */

/* The outermost operator that this thread is in. */
static THREAD_OWN struct {
	uintptr_t frame, pc;
} outermost;

/*
 * True if this thread is inside another counted operator. An exception may have left that one:
 * then its return address is no longer on the stack, or the current frame is above it.
 */
static __attribute__((no_sanitize("address", "thread"))) bool is_inside_another(
	const struct call *c)
{
	return own(outermost).frame && c->frame < own(outermost).frame &&
	       ((const uintptr_t *)own(outermost).frame)[1] == own(outermost).pc;
}

void torch_start_flop_op(const struct call *c)
{
	if (is_inside_another(c))
		return;
	own(outermost).frame = c->frame;
	own(outermost).pc = c->pc;
}

static void add_op_flops(const struct call *c, const struct operands *o)
{
	struct flops f;

	if (flop_ops[torch_get_function(c)->flop_op].form == FLOPS_UNKNOWN) {
		stop_flop_count(torch_get_function(c)->op_name,
			"does not show by its shapes what it computes");
		return;
	}
	if (compute_op_flops(c, o, &f))
		flops_add(is_model_flop() ? f.model : 0, f.all);
	else
		flops_set_unknown();
}

void torch_record_flop_op(const struct call *c)
{
	const struct api *none = NULL;
	bool outer = own(outermost).frame == c->frame, counts = outer && flops_are_counted();
	struct operands o;

	if (outer)
		own(outermost).frame = 0;
	/*
	 * The call may be inside another operator, which is not seen if only the leader is
	 * observed.
	 */
	if (!c->ok || (!counts && c->api != atomic_load(&leader)))
		return;
	switch (read_operands(c, &o)) {
	case OPERANDS_TRACED:
		return;
	case OPERANDS_UNKNOWN:
		flops_set_unknown();
		return;
	case OPERANDS_READ:
		break;
	}
	if (counts)
		atomic_compare_exchange_strong(&leader, &none, c->api);
	if (c->api == atomic_load(&leader))
		flops_add_leader_call(o.hash);
	if (counts)
		add_op_flops(c, &o);
}
