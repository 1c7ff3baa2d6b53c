/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that a training program computes itself, seen at the operators that compute them:
 *
 * - ones_like(loss): backward() makes the first gradient with it. The same tensor is in the engine's arguments next, so
 * it is certain which tensor it belongs to.
 * - div(loss, n), mul(loss, f): before backward(), if micro steps are accumulated or there is a loss scale.
 * - stack, linalg_vector_norm, pow, sqrt, _local_scalar_dense (item()): the total norm of the gradients (norm_ops.c).
 * - _amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, inv_scale): the loss scale.
 * - empty: until the layout of tensors is known, for which the tensors above are too small.
 *
 * Each is watched only if its number is requested. A training thread has its own notes; data that a step takes from
 * another thread is atomic.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/private_stack.h"
#include "terms/dtype.h"
#include "terms/metric.h"
#include "base/thread.h"
#include "call/call.h"
#include "config/metrics_asked.h"
#include "entry/stubs/stub.h"
#include "journal/layout.h"
#include "stack/foreign.h"
#include "stats/convert.h"
#include "stats/sum.h"
#include "training/steps/scalar.h"
#include "training/steps/skip.h"
#include "wrappers/torch/numbers/late_scalar.h"
#include "wrappers/torch/numbers/loss_ops.h"
#include "wrappers/torch/numbers/scalars.h"
#include "wrappers/torch/numbers/sure_norm.h"
#include "wrappers/torch/tensors/torch.h"

enum scalar_op {
	OP_NONE,
	OP_ONES_LIKE,
	OP_DIV,
	OP_MUL,
	OP_STACK,
	OP_VECTOR_NORM,
	OP_UNSCALE,
	OP_EMPTY,
	OP_ROOT,
	OP_ITEM
};

static const struct {
	const char *name;
	uint8_t op; /* enum scalar_op */
	uint8_t purpose; /* enum scalar: the number for which it is observed */
} ops[] = {
	{"ones_like", OP_ONES_LIKE, SCALAR_LOSS},
	{"div_Tensor", OP_DIV, SCALAR_LOSS},
	{"div__Tensor", OP_DIV, SCALAR_LOSS},
	{"mul_Tensor", OP_MUL, SCALAR_LOSS},
	{"mul__Tensor", OP_MUL, SCALAR_LOSS},
	{"stack", OP_STACK, SCALAR_GRAD_NORM},
	{"linalg_vector_norm", OP_VECTOR_NORM, SCALAR_GRAD_NORM},
	{"pow_Tensor_Scalar", OP_ROOT, SCALAR_GRAD_NORM},
	{"pow__Scalar", OP_ROOT, SCALAR_GRAD_NORM},
	{"sqrt", OP_ROOT, SCALAR_GRAD_NORM},
	{"sqrt_", OP_ROOT, SCALAR_GRAD_NORM},
	{"_local_scalar_dense", OP_ITEM, SCALAR_GRAD_NORM},
	{"_amp_foreach_non_finite_check_and_unscale_", OP_UNSCALE, SCALAR_LOSS_SCALE},
	{"empty_memory_format", OP_EMPTY, SCALAR_LOSS},
};

#define NSCALAR_OPS (sizeof(ops) / sizeof(*ops))

static bool is_loss_wanted(void)
{
	const struct config *cfg = get_config();

	return scalar_is_wanted(SCALAR_LOSS) ||
	       config_get_metrics(cfg) & (METRIC_BIT(LOCAL_LOSS) | METRIC_BIT(DEVICE_LOCAL_LOSS));
}

/* To compute the loss, the loss scale is needed, too. */
static bool is_watched_for(unsigned i)
{
	return scalar_is_wanted(ops[i].purpose) ||
	       ((ops[i].purpose == SCALAR_LOSS || ops[i].op == OP_UNSCALE) && is_loss_wanted()) ||
	       (ops[i].op == OP_UNSCALE && skip_is_wanted()) ||
	       (ops[i].op == OP_EMPTY &&
		       (scalar_is_wanted(SCALAR_GRAD_NORM) || scalar_is_wanted(SCALAR_LOSS_SCALE)));
}

bool torch_is_scalar_op(const char *name)
{
	for (unsigned i = 0; i < NSCALAR_OPS; i++)
		if (strcmp(ops[i].name, name) == 0)
			return is_watched_for(i);
	return false;
}

void torch_register_scalar_op(struct torch_function *r, const char *name)
{
	for (unsigned i = 0; i < NSCALAR_OPS; i++)
		if (strcmp(ops[i].name, name) == 0)
			r->scalar_op = ops[i].op;
}

bool torch_read_number(const void *impl, double *out)
{
	const unsigned char *p;
	struct buffer v;

	if (!torch_read_tensor(impl, &v) || v.count != 1 || v.nostats || !v.base)
		return false;
	p = v.base;
	switch (v.dtype) {
	case DT_FLOAT64:
		*out = load_f64(p);
		return true;
	case DT_FLOAT32:
		*out = load_f32(p);
		return true;
	case DT_FLOAT16:
		*out = load_f16(p);
		return true;
	case DT_BFLOAT16:
		*out = load_bf16(p);
		return true;
	case DT_INT64:
		*out = (double)(int64_t)load_u64(p);
		return true;
	case DT_INT32:
		*out = (double)(int32_t)load_u32(p);
		return true;
	}
	return false;
}

/* Loss scale, from any thread: the bits of a double, and whether it is set. */
static _Atomic uint64_t scale_bits;
static _Atomic bool scale_there;

static void record_scale(double scale)
{
	atomic_store_explicit(&scale_bits, bits_of_double(scale), memory_order_relaxed);
	atomic_store_explicit(&scale_there, true, memory_order_release);
	loss_record_scale(scale);
}

static void handle_scale_update(const void *data, const double *scale, const bool *known)
{
	(void)data;
	if (*known && *scale > 0)
		loss_record_scale(*scale);
}

void torch_record_scale_update(const void *scale)
{
	struct scalar_source s;

	if (scalar_read(scale, &s))
		handle_scalar_event(handle_scale_update, NULL, 0, &s, 1);
}

bool torch_read_and_reset_loss_scale(double *scale)
{
	if (!atomic_exchange(&scale_there, false))
		return false;
	*scale = double_of(atomic_load_explicit(&scale_bits, memory_order_relaxed));
	return true;
}

/* ---- operators ---- */

static const void *get_tensor_argument(const struct call *c, unsigned arg)
{
	return *(const void *const *)c->v[arg].cp;
}

enum { FACTOR_A, FACTOR_B, FACTOR_RESULT };

static void handle_quotient(const void *data, const double *v, const bool *known)
{
	(void)data;
	if (known[FACTOR_B] && known[FACTOR_RESULT])
		loss_record_quotient(v[FACTOR_B], v[FACTOR_RESULT]);
	else
		loss_set_unknown();
}

static void handle_product(const void *data, const double *v, const bool *known)
{
	(void)data;
	if (known[FACTOR_A] && known[FACTOR_B] && known[FACTOR_RESULT])
		loss_record_product(v[FACTOR_A], v[FACTOR_B], v[FACTOR_RESULT]);
	else
		loss_set_unknown();
}

static void record_factor(const struct call *c, bool divides)
{
	const void *impl[LATE_NUMBERS] = {
		get_tensor_argument(c, 0), get_tensor_argument(c, 1), torch_get_result(c)};
	struct scalar_source s[LATE_NUMBERS];

	/* Numbers computed by autograd are not losses. A closure's forward pass is inside an optimizer's step. */
	if (thread_state.phase == PHASE_BACKWARD)
		return;
	for (unsigned i = 0; i < LATE_NUMBERS; i++)
		if (!scalar_is_readable(impl[i]))
			return;
	late_open_tensors();
	for (unsigned i = 0; i < LATE_NUMBERS; i++)
		scalar_read(impl[i], &s[i]);
	late_close_tensors();
	handle_scalar_event(divides ? handle_quotient : handle_product, NULL, 0, s, LATE_NUMBERS);
}

static void handle_ones(const void *data, const double *value, const bool *known)
{
	if (*known)
		loss_record_ones(*(const void *const *)data, *value);
	else
		loss_record_ones(NULL, 0);
}

static void handle_no_ones(const void *data, const double *value, const bool *known)
{
	(void)data;
	(void)value;
	(void)known;
	loss_record_ones(NULL, 0);
}

static void record_ones(const struct call *c)
{
	const void *ones = torch_get_result(c);
	struct scalar_source s;

	if (scalar_read(get_tensor_argument(c, 0), &s))
		handle_scalar_event(handle_ones, &ones, sizeof(ones), &s, 1);
	else
		handle_scalar_event(handle_no_ones, NULL, 0, NULL, 0);
}

static void handle_unscale(const void *data, const double *inverse, const bool *known)
{
	(void)data;
	if (*known && *inverse > 0)
		record_scale(1 / *inverse);
}

static void record_unscale(const struct call *c)
{
	struct scalar_source s;

	sure_norm_record_unscale();
	if (scalar_read(get_tensor_argument(c, 2), &s))
		handle_scalar_event(handle_unscale, NULL, 0, &s, 1);
}

void torch_record_scalar_op(const struct call *c)
{
	struct torch_list list;
	struct buffer plain;

	if (!c->ok)
		return;
	switch (torch_get_function(c)->scalar_op) {
	case OP_ONES_LIKE:
		record_ones(c);
		break;
	case OP_DIV:
		record_factor(c, true);
		break;
	case OP_MUL:
		record_factor(c, false);
		break;
	case OP_STACK:
		if (torch_get_function(c)->op.arg[0] != OP_LIST)
			break;
		memcpy(&list, c->v[0].cp, sizeof(list)); /* an ArrayRef: address, length */
		torch_record_stack(&list, torch_get_result(c));
		break;
	case OP_VECTOR_NORM:
		torch_record_norm(get_tensor_argument(c, 0), torch_get_result(c));
		break;
	case OP_ROOT:
		torch_record_root(get_tensor_argument(c, 0), torch_get_result(c));
		break;
	case OP_ITEM:
		torch_record_item(get_tensor_argument(c, 0));
		break;
	case OP_EMPTY:
		torch_read_tensor(torch_get_result(c), &plain);
		if (torch_tensor_decided())
			stub_watch(c->api, false);
		break;
	case OP_UNSCALE:
		record_unscale(c);
		break;
	}
}
