/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that a training program computes itself, seen at the operators that compute them:
 *
 *	ones_like(loss)                 backward() makes the gradient of what it begins at: the same tensor is in the engine's
 *	                                arguments next, so which tensor's it is is known for sure
 *	div(loss, n), div_              before backward(), where micro steps are added up
 *	stack(norms), linalg_vector_norm(that)
 *	                                under a frame of torch/nn/utils/clip_grad.py: the total norm
 *	pow, sqrt of a number that has been summed up over the ranks just before: the square root of that sum
 *	_local_scalar_dense (item()) of such a number, where a function around the sum says by its name that it is that norm
 *	_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, inv_scale)
 *	empty                           until it is known how tensors are laid out, for which those above are too small
 *
 * All are watched only where the numbers are asked for. A training thread has its own notes; what a step takes from
 * another thread is behind atomics.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/apart.h"
#include "base/dtype.h"
#include "base/metric.h"
#include "base/thread.h"
#include "call/call.h"
#include "config/metrics_asked.h"
#include "entry/stub.h"
#include "journal/layout.h"
#include "stack/foreign.h"
#include "stats/convert.h"
#include "stats/sum.h"
#include "train/scalar.h"
#include "wrappers/torch/scalars.h"
#include "wrappers/torch/torch.h"

enum scalar_op {
	OP_NONE,
	OP_ONES_LIKE,
	OP_DIV,
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
	uint8_t which; /* enum scalar: what it is watched for */
} ops[] = {
	{"ones_like", OP_ONES_LIKE, SCALAR_LOSS},
	{"div_Tensor", OP_DIV, SCALAR_LOSS},
	{"div__Tensor", OP_DIV, SCALAR_LOSS},
	{"stack", OP_STACK, SCALAR_GRAD_NORM},
	{"linalg_vector_norm", OP_VECTOR_NORM, SCALAR_GRAD_NORM},
	{"pow_Tensor_Scalar", OP_ROOT, SCALAR_GRAD_NORM},
	{"sqrt", OP_ROOT, SCALAR_GRAD_NORM},
	{"_local_scalar_dense", OP_ITEM, SCALAR_GRAD_NORM},
	{"_amp_foreach_non_finite_check_and_unscale_", OP_UNSCALE, SCALAR_LOSS_SCALE},
	{"empty_memory_format", OP_EMPTY, SCALAR_LOSS},
};

#define NSCALAR_OPS (sizeof(ops) / sizeof(*ops))

static bool is_loss_wanted(void)
{
	const struct config *cfg = config_now();

	return scalar_is_wanted(SCALAR_LOSS) ||
	       config_metrics(cfg) & (METRIC_BIT(LOCAL_LOSS) | METRIC_BIT(DEVICE_LOCAL_LOSS));
}

/* The loss needs the scale, too. */
static bool is_watched_for(unsigned i)
{
	return scalar_is_wanted(ops[i].which) ||
	       ((ops[i].which == SCALAR_LOSS || ops[i].op == OP_UNSCALE) && is_loss_wanted()) ||
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

void torch_watch_scalar_op(struct torch_function *r, const char *name)
{
	for (unsigned i = 0; i < NSCALAR_OPS; i++)
		if (strcmp(ops[i].name, name) == 0)
			r->scalar_op = ops[i].op;
}

bool torch_number_of(const void *impl, double *out)
{
	const unsigned char *p;
	struct buffer v;

	if (!torch_tensor_buffer(impl, &v) || v.count != 1 || v.nostats || !v.base)
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

/* ---- notes of a thread ---- */

#define QUOTIENTS 8

static __thread struct {
	const void *ones; /* what the last ones_like() of a number gave */
	double one_value; /* ... and of which number */
	struct {
		double value, divisor;
	} quotient[QUOTIENTS]; /* the last divisions of a number by a number */
	uint8_t nquotient, next;
	const void *stacked; /* what the last stack() gave */
	const void *summed; /* the number that was summed up over the ranks last: where it lies */
	bool summed_is_norm; /* a function around that says so */
} notes __attribute__((tls_model("initial-exec")));

/* Of the training, whichever thread computes: bits of a double, and whether it is there. */
struct last_number {
	_Atomic uint64_t bits;
	_Atomic bool there;
};

static struct last_number clip_norm, loss_scale;
static _Atomic uint64_t scale_so_far; /* the last loss scale that was seen, 0: none */

static uint64_t bits_of_number(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static void note_number(struct last_number *n, double v)
{
	atomic_store_explicit(&n->bits, bits_of_number(v), memory_order_relaxed);
	atomic_store_explicit(&n->there, true, memory_order_release);
}

static bool take_number(struct last_number *n, double *v)
{
	uint64_t bits;

	if (!atomic_exchange(&n->there, false))
		return false;
	bits = atomic_load_explicit(&n->bits, memory_order_relaxed);
	memcpy(v, &bits, sizeof(*v));
	return true;
}

bool torch_take_clip_norm(double *norm)
{
	return take_number(&clip_norm, norm);
}

void torch_note_scale_update(const void *scale)
{
	double v;

	if (torch_number_of(scale, &v) && v > 0)
		atomic_store_explicit(&scale_so_far, bits_of_number(v), memory_order_relaxed);
}

bool torch_take_loss_scale(double *scale)
{
	return take_number(&loss_scale, scale);
}

/* ---- what the loss was divided by ---- */

/* A loss scale is a power of two, unless the program says otherwise; then it is the one that was seen last. */
static bool may_be_scale(double ratio)
{
	uint64_t seen = atomic_load_explicit(&scale_so_far, memory_order_relaxed);
	int exponent;

	if (ratio >= 1 && ratio <= 1)
		return true;
	if (seen && fabs(ratio / double_of(seen) - 1) < 1e-6)
		return true;
	return frexp(ratio, &exponent) <= 0.5 && exponent > 1 && exponent < 64;
}

static double divisor_behind(double root)
{
	for (unsigned i = 0; i < notes.nquotient; i++) {
		unsigned at = (notes.next + QUOTIENTS - 1 - i) % QUOTIENTS;

		if (notes.quotient[at].value != 0 && may_be_scale(root / notes.quotient[at].value))
			return notes.quotient[at].divisor;
	}
	return 0;
}

bool torch_root_of(const void *grad, double *value, double *divisor)
{
	bool seen = grad && grad == notes.ones;

	if (seen) {
		*value = notes.one_value;
		*divisor = divisor_behind(*value);
	}
	notes.ones = NULL;
	notes.nquotient = 0;
	return seen;
}

/* ---- operators ---- */

static const void *tensor_argument(const struct call *c, unsigned arg)
{
	return *(const void *const *)c->v[arg].cp;
}

/* Of one that gives back a tensor, or a reference to one. */
static const void *tensor_result_of(const struct call *c)
{
	const struct torch_function *row = torch_function_of(c);
	void *const *r = c->result;

	if (!r)
		return NULL;
	return row->op.result == OP_REFERENCE ? *(void *const *)r[0] : r[0];
}

static void note_quotient(const struct call *c)
{
	double value, divisor;

	if (!torch_number_of(tensor_argument(c, 1), &divisor) ||
		!torch_number_of(tensor_result_of(c), &value))
		return;
	notes.quotient[notes.next].value = value;
	notes.quotient[notes.next].divisor = divisor;
	notes.next = (notes.next + 1) % QUOTIENTS;
	notes.nquotient += notes.nquotient < QUOTIENTS;
}

struct clip_look {
	bool clips;
};

static bool ends_with_path(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && memcmp(s + n - m, end, m) == 0;
}

static void look_for_clip(void *arg)
{
	struct clip_look *l = arg;
	struct foreign_stack s;
	struct foreign_name n;

	foreign_walk(&s);
	for (int i = 0; i < s.n && i < 6 && !l->clips; i++)
		l->clips = s.language->describe(&s.frame[i], &n) &&
			   ends_with_path(n.file, "/torch/nn/utils/clip_grad.py");
}

static void note_norm(const struct call *c)
{
	struct clip_look look = {false};
	double norm;

	if (tensor_argument(c, 0) != notes.stacked || !torch_number_of(tensor_result_of(c), &norm))
		return;
	notes.stacked = NULL;
	apart_call(look_for_clip, &look);
	if (look.clips)
		note_number(&clip_norm, norm);
}

/* ---- sums over the ranks ---- */

static void look_for_norm(void *arg)
{
	struct foreign_stack s;
	struct foreign_name n;
	bool *found = arg;

	foreign_walk(&s);
	for (int i = 0; i < s.n && i < 10 && !*found; i++)
		*found = s.language->describe(&s.frame[i], &n) && strstr(n.function, "grad") &&
			 strstr(n.function, "norm");
}

/* found_inf, token counts and losses travel like that, too: what becomes of the sum tells. */
void torch_note_summed(const struct buffer *v)
{
	if (!scalar_is_wanted(SCALAR_GRAD_NORM) || v->count != 1 || v->nostats ||
		(v->dtype != DT_FLOAT32 && v->dtype != DT_FLOAT64) ||
		thread_state.phase == PHASE_BACKWARD)
		return;
	notes.summed = v->base;
	notes.summed_is_norm = false;
	apart_call(look_for_norm, &notes.summed_is_norm);
}

static bool is_summed(const void *impl)
{
	struct buffer v;

	return notes.summed && torch_tensor_buffer(impl, &v) && v.base == notes.summed;
}

static void note_root(const struct call *c)
{
	double sum, root;

	if (!is_summed(tensor_argument(c, 0)) || !torch_number_of(tensor_argument(c, 0), &sum) ||
		!torch_number_of(tensor_result_of(c), &root) || root < 0)
		return;
	notes.summed = NULL;
	if (fabs(root * root - sum) <= 1e-3 * sum)
		note_number(&clip_norm, root);
}

static void note_item(const struct call *c)
{
	double sum;

	if (!notes.summed_is_norm || !is_summed(tensor_argument(c, 0)) ||
		!torch_number_of(tensor_argument(c, 0), &sum))
		return;
	notes.summed = NULL;
	if (sum >= 0)
		note_number(&clip_norm, stats_sqrt(sum));
}

bool torch_has_clip_norm(void)
{
	return atomic_load(&clip_norm.there);
}

void torch_note_scalar_op(const struct call *c)
{
	struct buffer plain;
	double v;

	if (!c->ok)
		return;
	switch (torch_function_of(c)->scalar_op) {
	case OP_ONES_LIKE:
		notes.ones =
			torch_number_of(tensor_argument(c, 0), &v) ? tensor_result_of(c) : NULL;
		if (notes.ones)
			notes.one_value = v;
		break;
	case OP_DIV:
		note_quotient(c);
		break;
	case OP_STACK:
		notes.stacked = tensor_result_of(c);
		break;
	case OP_VECTOR_NORM:
		note_norm(c);
		break;
	case OP_ROOT:
		note_root(c);
		break;
	case OP_ITEM:
		note_item(c);
		break;
	case OP_EMPTY:
		torch_tensor_buffer(tensor_result_of(c), &plain);
		if (torch_tensor_decided())
			stub_watch(c->api, false);
		break;
	case OP_UNSCALE:
		if (torch_number_of(tensor_argument(c, 2), &v) && v > 0) {
			note_number(&loss_scale, 1 / v);
			atomic_store_explicit(
				&scale_so_far, bits_of_number(1 / v), memory_order_relaxed);
		}
		break;
	}
}
