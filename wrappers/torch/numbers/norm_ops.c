/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the total norm of the gradients that the program itself computes before it clips. Two forms are known:
 *
 * - stack(norms), then linalg_vector_norm() of the result, either under a frame of its clip_grad.py, or if
 * `norms` are total norms of groups. For DTensors the result is a DTensor, whose local part is the norm if it is
 * replicated.
 * - A number that is summed up over the ranks between backward pass and step (never a maximum: found_inf is reduced
 * that way). Its square root is taken next, by pow() or sqrt(); or it becomes a Python number and agrees within 1e-3
 * with the gradients when the optimizer's step begins. The sum is compared with the gradients of a replica, the input
 * with those of a shard (which clipping may have reduced since). Losses and token counts do not agree.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/private_stack.h"
#include "terms/dtype.h"
#include "base/thread.h"
#include "call/call.h"
#include "journal/layout.h"
#include "stack/foreign.h"
#include "stats/convert.h"
#include "stats/sum.h"
#include "text/suffix.h"
#include "training/steps/scalar.h"
#include "training/steps/skip.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/module_tree.h"
#include "wrappers/torch/numbers/late_scalar.h"
#include "wrappers/torch/numbers/scalars.h"
#include "wrappers/torch/numbers/sure_norm.h"
#include "wrappers/torch/tensors/torch.h"

#define SUMS_MAX 4
#define NORM_AGREES 1e-3

/* A number that was summed over the ranks, and is known to the program. */
struct summed {
	double own_norm, all; /* this rank's input, and the sum */
};

static THREAD_OWN struct {
	const void *stacked; /* the result of the last stack() */
	bool stacked_roots; /* `stacked` has norms of groups of gradients */
	const void *root; /* the tensor of the last norm that was found as a square root */
	const void *sent; /* address of the last number that was passed to be summed up */
	double own_norm; /* the value of `sent` */
	struct summed sum[SUMS_MAX];
	uint8_t nsum;
} notes;

/*
 * Total norm that any thread has found and no step has taken: the bits of a double, and whether
 * it is set.
 */
static _Atomic uint64_t found_bits;
static _Atomic bool found;

/*
 * Bits of a double: the total gradient norm after the last clipping that was recognised; 0 if
 * there was none yet.
 */
static _Atomic uint64_t clipped_to;

static void find_total_norm(double norm)
{
	atomic_store_explicit(&found_bits, bits_of_double(norm), memory_order_relaxed);
	atomic_store_explicit(&found, true, memory_order_release);
}

bool torch_read_and_reset_clip_norm(double *norm)
{
	if (!atomic_exchange(&found, false))
		return false;
	*norm = double_of(atomic_load_explicit(&found_bits, memory_order_relaxed));
	return true;
}

/* A norm was seen whose value is still on a device, and no step has begun since. */
static _Atomic bool is_late_norm_pending;

bool torch_has_clip_norm(void)
{
	return atomic_load(&found) || atomic_load(&is_late_norm_pending);
}

void torch_reset_late_norm(void)
{
	atomic_store(&is_late_norm_pending, false);
}

static void handle_norm(const void *data, const double *norm, const bool *known)
{
	(void)data;
	if (*known)
		find_total_norm(*norm);
}

bool torch_has_sums(void)
{
	return own(notes).nsum != 0;
}

void torch_reset_sums(void)
{
	own(notes).nsum = 0;
	own(notes).sent = own(notes).root = own(notes).stacked = NULL;
}

/* ---- norms of norms ---- */

static void find_clip(void *arg)
{
	struct foreign_stack s;
	struct foreign_name n;
	bool *clips = arg;

	foreign_read_stack(&s);
	for (int i = 0; i < s.n && i < 6 && !*clips; i++)
		*clips = s.language->describe(&s.frame[i], &n) &&
			 has_suffix(n.file, "/torch/nn/utils/clip_grad.py");
}

/* Reads the number in a DTensor that has the same value on all ranks. */
static bool read_dtensor_number(const void *impl, struct scalar_source *out)
{
	const void *local = NULL;
	const char *why;
	struct py_object_lock h;

	if (!py_lock_objects(&h, &why))
		return false;
	local = tree_get_replica_part(impl);
	py_unlock_objects(&h);
	/* The local tensor lives as long as the DTensor, which the operator is just returning. */
	return local && scalar_read(local, out);
}

void torch_record_stack(const struct torch_list *from, const void *made)
{
	own(notes).stacked = made;
	own(notes).stacked_roots = false;
	for (uint64_t i = 0; i < from->n && own(notes).root; i++)
		own(notes).stacked_roots |= from->at[i] == own(notes).root;
}

void torch_record_norm(const void *operand, const void *impl)
{
	bool roots = own(notes).stacked_roots, clips = roots, plain, replica, late = false;
	struct scalar_source norm;

	if (!impl || operand != own(notes).stacked)
		return;
	own(notes).stacked = NULL;
	if (!clips)
		private_stack_call(find_clip, &clips);
	if (!clips)
		return;
	plain = scalar_read(impl, &norm);
	replica = !plain && read_dtensor_number(impl, &norm);
	if (plain || replica) {
		late = !norm.known;
		if (norm.late.snapshot)
			atomic_store(&is_late_norm_pending, true);
		handle_scalar_event(handle_norm, NULL, 0, &norm, 1);
	}
	if (!roots)
		sure_norm_record_clip((plain || replica) && !late ? &norm.value : NULL, replica);
}

/* ---- sums over the ranks ---- */

void torch_record_sum_buffer(const struct buffer *v)
{
	if (!scalar_is_wanted(SCALAR_GRAD_NORM) || v->count != 1 || v->nostats || !v->base ||
		(v->dtype != DT_FLOAT32 && v->dtype != DT_FLOAT64) ||
		thread_state.phase == PHASE_BACKWARD)
		return;
	own(notes).sent = v->base;
	own(notes).own_norm = v->dtype == DT_FLOAT32 ? load_f32(v->base) : load_f64(v->base);
}

static void find_clip_in_all_frames(void *arg)
{
	struct foreign_stack s;
	struct foreign_name n;
	bool *clips = arg;

	foreign_read_stack(&s);
	for (int i = 0; i < s.n && !*clips; i++)
		*clips = s.language->describe(&s.frame[i], &n) &&
			 has_suffix(n.file, "/torch/nn/utils/clip_grad.py");
}

void torch_record_norm_sum(int ranks)
{
	bool clips = false;

	if (!skip_is_wanted() || thread_state.phase == PHASE_BACKWARD)
		return;
	private_stack_call(find_clip_in_all_frames, &clips);
	if (clips)
		sure_norm_record_sum(ranks);
}

static bool is_sent(const void *impl)
{
	struct buffer v;

	return own(notes).sent && torch_read_tensor(impl, &v) && v.base == own(notes).sent;
}

void torch_record_root(const void *operand, const void *impl)
{
	double sum, root;

	if (!is_sent(operand) || !torch_read_number(impl, &root) || root < 0)
		return;
	/* The square root was taken in place, which has overwritten the sum. */
	if (operand == impl)
		sum = root * root;
	else if (!torch_read_number(operand, &sum))
		return;
	own(notes).sent = NULL;
	if (fabs(root * root - sum) > NORM_AGREES * sum)
		return;
	find_total_norm(root);
	own(notes).root = impl;
}

void torch_record_item(const void *operand)
{
	double all;

	if (!is_sent(operand) || !torch_read_number(operand, &all) || !(all > 0) ||
		own(notes).nsum == SUMS_MAX)
		return;
	own(notes).sent = NULL;
	own(notes).sum[own(notes).nsum++] = (struct summed){own(notes).own_norm, all};
}

static bool is_same_norm(double a, double b)
{
	return fabs(a - b) <= NORM_AGREES * fabs(b);
}

/* True for common clipping values such as 1.0, 0.5 and 12. */
static bool is_round(double v)
{
	double digits = v;

	if (!(v > 1e-6 && v < 1e6))
		return false;
	while (digits >= 100)
		digits /= 10;
	while (digits < 10)
		digits *= 10;
	return fabs(digits - (double)(int)(digits + 0.5)) <= 1e-4 * digits;
}

/*
 * have: this rank's norm after clipping; here: this rank's norm before; norm: the total norm
 * before.
 */
static bool is_clipped(double norm_after, double own_norm, double norm)
{
	double limit = double_of(atomic_load_explicit(&clipped_to, memory_order_relaxed));
	double left = norm * (norm_after / own_norm);

	if (norm_after > own_norm || !(is_round(left) || (limit > 0 && is_same_norm(left, limit))))
		return false;
	atomic_store_explicit(&clipped_to, bits_of_double(left), memory_order_relaxed);
	return true;
}

/*
 * True if the sum is a multiple of this rank's value: replicas all contribute the same value,
 * which is not the square of a norm.
 */
static bool is_multiple(const struct summed *s)
{
	double times = s->all / s->own_norm;

	return times > 1.5 && times < 1e6 && is_same_norm(times, (double)(int)(times + 0.5));
}

static bool is_total_norm(const struct summed *s, double norm_after, bool parts)
{
	double norm = stats_sqrt(s->all), own_norm = s->own_norm > 0 ? stats_sqrt(s->own_norm) : 0;

	if (is_same_norm(norm_after, norm))
		return true;
	if (!(own_norm > 0))
		return false;
	if (is_same_norm(norm_after, own_norm))
		return parts || !is_multiple(s);
	return parts && is_clipped(norm_after, own_norm, norm);
}

bool torch_match_norm(double squares, bool parts)
{
	double norm_after = stats_sqrt(squares);
	bool settled = false;

	for (unsigned i = 0; i < own(notes).nsum && !settled; i++) {
		settled = is_total_norm(&own(notes).sum[i], norm_after, parts);
		if (settled)
			find_total_norm(stats_sqrt(own(notes).sum[i].all));
	}
	own(notes).nsum = 0;
	return settled;
}
