/* SPDX-License-Identifier: Apache-2.0 */
/* Lock: `lock` is a leaf, taken for some events per step. A forked child initialises it again. */
#include "wrappers/torch/numbers/sure_norm.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "session/state.h"
#include "stats/sum.h"
#include "training/params/derive.h"
#include "training/steps/skip.h"
#include "wrappers/torch/names/optimizer_view.h"
#include "wrappers/torch/tensors/param_grad.h"

#define REDUCED_SLOTS (1u << 18) /* a power of two; at most half of them are used */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Numbers of the current pass, reset when the next one begins. */
static struct {
	unsigned norms; /* norms that clip_grad.py has computed and no step has used */
	double norm; /* the last of these norms; NAN: it cannot be read */
	bool readable, replica, taken;
	bool summed; /* norms were summed, over all ranks */
	bool full; /* more parameters were reduced than fit into the table */
} seen;

/*
 * Parameters that were reduced, in a hash table (open addressing). An entry of another pass than
 * `pass` is free.
 */
struct reduced {
	const void *impl;
	uint64_t pass;
};
static struct reduced *reduced;
static uint64_t pass = 1;
static uint32_t nreduced;

void sure_norm_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

void sure_norm_reset(void)
{
	pthread_mutex_lock(&lock);
	memset(&seen, 0, sizeof(seen));
	pass++;
	nreduced = 0;
	pthread_mutex_unlock(&lock);
}

void sure_norm_record_clip(const double *value, bool replica)
{
	if (!skip_is_wanted())
		return;
	pthread_mutex_lock(&lock);
	seen.norms = seen.taken ? 1 : seen.norms + 1;
	seen.taken = false;
	seen.readable = value;
	seen.norm = value ? *value : (double)NAN;
	seen.replica = replica;
	pthread_mutex_unlock(&lock);
}

void sure_norm_record_unscale(void)
{
	if (!skip_is_wanted())
		return;
	pthread_mutex_lock(&lock);
	seen.norms = 0;
	seen.taken = false;
	pthread_mutex_unlock(&lock);
}

static bool is_whole_world(int ranks)
{
	return ranks > 1 && ranks == session.world_size;
}

void sure_norm_record_sum(int ranks)
{
	if (!skip_is_wanted() || !is_whole_world(ranks))
		return;
	pthread_mutex_lock(&lock);
	seen.summed = true;
	pthread_mutex_unlock(&lock);
}

/* ---- gradients reduced by DDP ---- */

/* Returns the slot of parameter impl, or the free slot for it. */
static struct reduced *find_reduced_slot(const void *impl)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)impl) & (REDUCED_SLOTS - 1);

	while (reduced[i].pass == pass && reduced[i].impl != impl)
		i = (i + 1) & (REDUCED_SLOTS - 1);
	return &reduced[i];
}

static bool open_reduced_table(void)
{
	void *at;

	if (reduced)
		return true;
	at = mmap(NULL, REDUCED_SLOTS * sizeof(*reduced), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at != MAP_FAILED)
		reduced = at;
	return reduced;
}

void sure_norm_record_reduced(const void *const *impl, size_t n, int ranks)
{
	if (!skip_is_wanted() || !is_whole_world(ranks))
		return;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n && open_reduced_table(); i++) {
		struct reduced *r = find_reduced_slot(impl[i]);

		if (r->pass == pass)
			continue;
		if (nreduced == REDUCED_SLOTS / 2) {
			seen.full = true;
			break;
		}
		*r = (struct reduced){impl[i], pass};
		nreduced++;
	}
	pthread_mutex_unlock(&lock);
}

static bool is_reduced(const void *impl)
{
	return reduced && find_reduced_slot(impl)->pass == pass;
}

/* ---- at the step ---- */

static const void *get_defined_grad(const struct optimizer_param *p)
{
	const void *grad = torch_get_grad(p->outer ? p->outer : p->impl);

	return grad != torch_get_undefined() ? grad : NULL;
}

/* Returns why the plain gradients may differ between ranks, or NULL if they are the same. */
static const char *check_norm_replicas(const struct torch_optimizer_view *v)
{
	if (v->partitions)
		return "the optimizer has partitions of the parameters";
	if (session.world_size <= 1)
		return NULL;
	if (seen.full)
		return "there are too many parameters to follow which gradients DDP has reduced";
	for (uint32_t i = 0; i < v->nparam; i++) {
		const struct optimizer_param *p = &v->param[i];

		if (!get_defined_grad(p))
			continue;
		if (p->outer)
			return "gradients are parts (DTensor), and the program has not clipped by "
			       "the norm of all of them";
		if (!is_reduced(p->impl))
			return "not all gradients were seen to be reduced over all ranks by DDP in "
			       "the last backward pass, so that the norm may differ between "
			       "ranks";
	}
	return NULL;
}

static bool has_any_gradient(const struct torch_optimizer_view *v)
{
	for (uint32_t i = 0; i < v->nparam; i++)
		if (get_defined_grad(&v->param[i]))
			return true;
	return false;
}

/*
 * Computes the norm of the gradients themselves. Returns NULL, or the reason why it is not
 * available.
 */
static const char *compute_own_norm(const struct torch_optimizer_view *v, double *norm)
{
	double sum = 0, one;
	struct buffer b;

	for (uint32_t i = 0; i < v->nparam; i++) {
		const struct optimizer_param *p = &v->param[i];

		if (!get_defined_grad(p))
			continue;
		if (p->outer)
			return "gradients are parts (DTensor), and the program has not clipped by "
			       "the norm of all of them";
		if (!torch_get_grad_buffer(p->impl, &b) ||
			(b.count && !derive_compute_squares(&b, &one)))
			return "gradients cannot be read on the host (a device's memory, sparse, "
			       "an unusual type), and the program has not clipped them";
		sum += b.count ? one : 0;
	}
	*norm = sum >= 0 ? stats_sqrt(sum) : sum;
	return NULL;
}

/* The lock is held. */
static const char *read_sure_norm(const struct torch_optimizer_view *v, double *norm)
{
	const char *why;

	if (seen.taken)
		return "several optimizers step after one backward pass, and one norm was computed "
		       "for them";
	if (seen.norms > 1)
		return "several total norms were computed before the step";
	if (seen.norms == 1 && !seen.readable)
		return "the total norm lies where it cannot be read without waiting (a device's "
		       "memory)";
	if (seen.norms == 1 && seen.replica) {
		if (session.world_size > 1 && !seen.summed)
			return "the norm of DTensors was not seen to be summed up over all ranks";
	} else {
		why = check_norm_replicas(v);
		if (why)
			return why;
	}
	if (!seen.norms)
		return compute_own_norm(v, norm);
	*norm = seen.norm;
	seen.taken = true;
	return NULL;
}

enum sure_norm sure_norm_read(const struct torch_optimizer_view *v, double *norm, const char **why)
{
	if (!has_any_gradient(v))
		return NO_GRADIENTS;
	pthread_mutex_lock(&lock);
	*why = read_sure_norm(v, norm);
	pthread_mutex_unlock(&lock);
	return *why ? UNSURE_NORM : SURE_NORM;
}
