/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loss, learning rates, norm and loss scale of each step of a training, and when its parts begin and end.
 *
 * What an optimizer's step closes is a segment: the backward passes since the last one, and those inside of it up to the
 * first (a closure may be called again and again for one batch; the first call's value is what step() gives back). Several
 * segments may lie in one step of the training: that of each optimizer is kept until the step ends.
 *
 * Lock: `lock` is a leaf, held for a few additions; some events per step.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/apart.h"
#include "call/call.h"
#include "session/state.h"
#include "stack/foreign.h"
#include "stats/sum.h"
#include "train/kind.h"
#include "train/scalar.h"
#include "train/step_times.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/module_tree.h"
#include "wrappers/torch/optimizer_view.h"
#include "wrappers/torch/param_grad.h"
#include "wrappers/torch/scalars.h"
#include "wrappers/torch/torch.h"
#include "wrappers/torch/train_observers.h"

#define OPTIMIZERS_MAX 16
#define GROUPS_MAX 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Backward passes whose gradients one optimizer's step uses. */
struct segment {
	uint32_t passes;
	double sum; /* of their losses, each divided by what the program divided it by */
	double divisor; /* of all of them; 0: not the same, or not known */
	bool known; /* each began at a number */
};

/* What an optimizer has left for the end of the step. */
struct kept {
	uint64_t which; /* 0: no such optimizer yet */
	bool loss_there, norm_there, norm_is_own;
	double loss, norm;
	uint32_t ngroup;
	double rate[GROUPS_MAX];
};

static struct segment segment = {.known = true};
static struct kept kept[OPTIMIZERS_MAX];
static bool in_optimizer, passed_inside;
static double learnt; /* a divisor that was the number of micro steps once */
static bool with_trainer; /* transformers' Trainer divides by the tokens of all micro steps */

void torch_scalars_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	segment = (struct segment){.known = true};
	memset(kept, 0, sizeof(kept));
	in_optimizer = passed_inside = false;
}

/* ---- the loss ---- */

static void find_trainer(void *arg)
{
	static const char file[] = "/transformers/trainer.py";
	struct foreign_stack s;
	struct foreign_name n;
	bool *found = arg;

	foreign_walk(&s);
	for (int i = 0; i < s.n && !*found; i++)
		if (s.language->describe(&s.frame[i], &n)) {
			size_t len = strlen(n.file);

			*found = len >= sizeof(file) - 1 &&
				 strcmp(n.file + len - (sizeof(file) - 1), file) == 0;
		}
}

/* Once: at the first pass whose divisor says nothing by itself. */
static void look_for_trainer(double divisor)
{
	static _Atomic bool looked;
	bool found = false;

	if (divisor <= 1 || atomic_exchange(&looked, true))
		return;
	apart_call(find_trainer, &found);
	with_trainer = found;
}

static bool sums_up(const struct segment *s)
{
	const struct config *cfg = config_now();

	if (cfg->loss_reduction != LOSS_AUTO)
		return cfg->loss_reduction == LOSS_SUM;
	if (s->divisor <= 1)
		return false;
	return (s->divisor >= s->passes && s->divisor <= s->passes) ||
	       (s->divisor >= learnt && s->divisor <= learnt) || with_trainer;
}

/* The loss of a segment, which is over. False: it has none. */
static bool end_segment(double *loss)
{
	struct segment s = segment;

	segment = (struct segment){.known = true};
	if (!s.passes || !s.known)
		return false;
	if (s.passes > 1 && s.divisor >= s.passes && s.divisor <= s.passes)
		learnt = s.divisor;
	*loss = sums_up(&s) || s.passes == 1 ? s.sum : s.sum / s.passes;
	return true;
}

static void add_pass(bool seen, double value, double divisor)
{
	if (in_optimizer && passed_inside)
		return;
	passed_inside = in_optimizer;
	if (!segment.passes)
		segment.divisor = divisor;
	else if (!(segment.divisor >= divisor && segment.divisor <= divisor))
		segment.divisor = 0;
	segment.passes++;
	segment.known &= seen;
	segment.sum += seen ? value : 0;
}

static void scalars_backward_begins(const struct torch_train_event *e)
{
	double value = 0, divisor = 0;
	struct torch_list grads;
	bool seen;

	if (!e->outermost || !e->accumulates)
		return;
	grads = torch_vector(e->call->v[2].cp);
	seen = grads.n == 1 && torch_root_of(grads.at[0], &value, &divisor);
	look_for_trainer(divisor);
	pthread_mutex_lock(&lock);
	add_pass(seen, value, divisor);
	pthread_mutex_unlock(&lock);
	step_part_begins(PART_BACKWARD);
}

/* ---- the norm of the gradients, where the program does not compute it ---- */

struct norm_sum {
	const struct torch_optimizer_view *view;
	double sum;
	uint32_t n;
	bool whole; /* each gradient is all of it: no parts lie on other ranks */
};

static void sum_gradient_norms(void *arg)
{
	struct norm_sum *s = arg;
	const struct train_params *all = train_params_now();

	for (uint32_t i = 0; i < s->view->nparam && s->whole; i++) {
		const struct optimizer_param *o = &s->view->param[i];
		struct train_value v = {.kind = TK_GRAD_REDUCED};
		struct buffer b;

		/* With several ranks only the names tell that it is no part. */
		s->whole = !o->outer &&
			   (o->id && all && o->id <= all->n
					   ? !(all->at[o->id - 1].flags & (TP_SHARD | TP_FLAT))
					   : session.world_size <= 1);
		if (!s->whole || !torch_grad_buffer(o->impl, &b))
			continue;
		train_kind_measure(&v, &b);
		s->whole = v.stats.n || !b.count;
		s->sum += v.stats.n ? v.stats.norm * v.stats.norm : 0;
		s->n++;
	}
}

/* Behind the last backward pass before an optimizer's step, or in it; own_norm is NAN where there is none. */
static double own_norm = NAN;

static void measure_own_norm(void)
{
	struct norm_sum s = {.view = torch_optimizer_now(), .whole = true};

	own_norm = NAN;
	if (!s.view || s.view->partitions || torch_has_clip_norm() ||
		!scalar_is_due(SCALAR_GRAD_NORM))
		return;
	apart_call(sum_gradient_norms, &s);
	if (s.whole && s.n)
		own_norm = stats_sqrt(s.sum);
}

static void scalars_backward_ends(const struct torch_train_event *e)
{
	if (!e->outermost || !e->accumulates)
		return;
	step_part_ends(PART_BACKWARD);
	if (in_optimizer)
		measure_own_norm();
}

/* ---- batches ---- */

void torch_note_batch(void)
{
	uint64_t samples, tokens;
	struct py_hold h;
	const char *why;
	bool found;

	/* It takes locks of ours, which must not be waited for with the GIL held. */
	if (!step_wants_batch() || !session_start() || !py_hold_objects(&h, &why))
		return;
	found = tree_find_batch(&samples, &tokens);
	py_release_objects(&h);
	if (found)
		step_saw_batch(samples, tokens);
}

/* ---- optimizers ---- */

static struct kept *kept_of(uint64_t which)
{
	for (unsigned i = 0; i < OPTIMIZERS_MAX; i++) {
		if (!kept[i].which)
			kept[i].which = which;
		if (kept[i].which == which)
			return &kept[i];
	}
	return NULL;
}

static void keep_rates(struct kept *k, const struct torch_optimizer_view *v)
{
	k->ngroup = 0;
	for (uint32_t i = 0; v && i < v->ngroup && i < GROUPS_MAX; i++)
		k->rate[k->ngroup++] = torch_group_number(&v->group[i], "lr");
}

static void put_scalar_sources(uint32_t step);

static void scalars_optimizer_begins(const struct torch_train_event *e)
{
	const struct torch_optimizer_view *v;
	struct kept *k;

	step_add_source(put_scalar_sources);
	if (!e->outermost)
		return;
	measure_own_norm();
	step_part_begins(PART_OPTIMIZER);
	v = torch_optimizer_now();
	pthread_mutex_lock(&lock);
	in_optimizer = true;
	passed_inside = false;
	k = kept_of(e->which);
	if (k)
		keep_rates(k, v);
	pthread_mutex_unlock(&lock);
}

static void scalars_optimizer_ends(const struct torch_train_event *e)
{
	struct kept *k;
	double loss;
	bool there;

	if (!e->outermost)
		return;
	step_part_ends(PART_OPTIMIZER);
	pthread_mutex_lock(&lock);
	in_optimizer = false;
	there = end_segment(&loss);
	k = kept_of(e->which);
	if (k) {
		if (there) {
			k->loss = loss;
			k->loss_there = true;
		}
		if (torch_take_clip_norm(&loss)) {
			k->norm = loss;
			k->norm_there = true;
		} else if (!isnan(own_norm)) {
			k->norm = own_norm;
			k->norm_there = k->norm_is_own = true;
		}
	}
	pthread_mutex_unlock(&lock);
}

/* ---- the end of the step ---- */

static void put_rates_of(uint32_t step, uint16_t number, const struct kept *k)
{
	bool same = true;

	for (uint32_t i = 1; i < k->ngroup; i++)
		same &= k->rate[i] >= k->rate[0] && k->rate[i] <= k->rate[0];
	for (uint32_t i = 0; i < (same && k->ngroup ? 1 : k->ngroup); i++)
		if (!isnan(k->rate[i]))
			scalar_put_of(SCALAR_LEARNING_RATE, step, number,
				same ? JOURNAL_NO_GROUP : (uint16_t)i, k->rate[i]);
}

static void put_kept(uint32_t step, uint16_t number, const struct kept *k, double by)
{
	if (k->loss_there)
		scalar_put_of(SCALAR_LOSS, step, number, JOURNAL_NO_GROUP, k->loss / by);
	put_rates_of(step, number, k);
	if (k->norm_is_own)
		scalar_is_derived(SCALAR_GRAD_NORM);
	if (k->norm_there)
		scalar_put_of(SCALAR_GRAD_NORM, step, number, JOURNAL_NO_GROUP, k->norm);
}

static void put_scalar_sources(uint32_t step)
{
	struct kept now;
	double loss, norm, scale = 1;
	bool scaled = torch_take_loss_scale(&scale);

	pthread_mutex_lock(&lock);
	/* A step that the gradient scaler has left out: its passes belong to no optimizer's step. */
	if (segment.passes && !kept[0].loss_there && end_segment(&loss)) {
		kept[0].loss = loss;
		kept[0].loss_there = true;
	}
	if (!kept[0].norm_there && torch_take_clip_norm(&norm)) {
		kept[0].norm = norm;
		kept[0].norm_there = true;
	}
	pthread_mutex_unlock(&lock);
	for (uint16_t i = 0; i < OPTIMIZERS_MAX; i++) {
		pthread_mutex_lock(&lock);
		now = kept[i];
		kept[i] = (struct kept){.which = now.which};
		pthread_mutex_unlock(&lock);
		put_kept(step, i, &now, scale);
	}
	if (scaled)
		scalar_put(SCALAR_LOSS_SCALE, step, scale);
}

const struct torch_train_observer scalars_observer = {
	.wanted = scalars_wanted,
	.backward_begin = scalars_backward_begins,
	.backward_end = scalars_backward_ends,
	.optimizer_begin = scalars_optimizer_begins,
	.optimizer_end = scalars_optimizer_ends,
};
