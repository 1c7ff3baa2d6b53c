/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loss, learning rates, norm and loss scale of each step of a training, and when the step's parts
 * begin and end.
 *
 * A segment consists of the backward passes that one optimizer step uses: those since the last
 * step, and the first pass inside the step. (A closure may be called several times for one batch.
 * Only its first pass counts, because step() returns the value of the first call.) A step of the training may have several segments:
 * each optimizer's is kept until the step ends.
 *
 * Lock: `lock` is a leaf, held for a few additions, a few times in each step.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/private_stack.h"
#include "call/call.h"
#include "config/rooms/training.h"
#include "session/state.h"
#include "stack/foreign.h"
#include "training/params/metric.h"
#include "stats/sum.h"
#include "training/params/kind.h"
#include "training/steps/scalar.h"
#include "training/steps/step_times.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/module_tree.h"
#include "wrappers/torch/numbers/late_scalar.h"
#include "wrappers/torch/numbers/loss_ops.h"
#include "wrappers/torch/names/optimizer_view.h"
#include "wrappers/torch/tensors/on_device.h"
#include "wrappers/torch/tensors/param_grad.h"
#include "wrappers/torch/numbers/scalars.h"
#include "wrappers/torch/tensors/torch.h"
#include "wrappers/torch/tensors/train_observers.h"

#define OPTIMIZERS_MAX 16
#define GROUPS_MAX 64
#define MICRO_MAX 64 /* micro steps whose losses are kept separately */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Backward passes whose gradients are used by one optimizer step. */
struct segment {
	uint32_t passes;
	double sum; /* of the losses of its passes */
	double micro[MICRO_MAX]; /* the loss of each pass */
	double divisor[LOSS_DIVISORS]; /* divisors by which the program divided each loss */
	uint8_t ndivisor;
	double scale; /* loss scale by which the program multiplied the last loss; 1: none */
	bool known; /* the loss of each pass is known */
};

/* Results of an optimizer that are kept until the end of the step. */
struct optimizer_results {
	uint64_t optimizer_number; /* 0: no such optimizer yet */
	bool loss_there, norm_there, norm_is_own;
	double loss, norm, scale;
	uint32_t passes; /* number of micro steps */
	double micro[MICRO_MAX]; /* losses of the micro steps; `loss` is their mean */
	uint32_t ngroup;
	double rate[GROUPS_MAX];
};

static const struct segment no_passes = {.scale = 1, .known = true};
static struct segment segment = {.scale = 1, .known = true};
static struct optimizer_results optimizer_results[OPTIMIZERS_MAX];
static bool in_optimizer, has_inner_pass;
static _Atomic bool
	inside_step; /* an optimizer's step is in progress, whether or not its event was handled */
static double known_divisor; /* a divisor that once equalled the number of micro steps */
/* transformers' Trainer runs: it reports the sum, whatever it divides the loss by */
static bool with_trainer;

void torch_scalars_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	segment = no_passes;
	memset(optimizer_results, 0, sizeof(optimizer_results));
	in_optimizer = has_inner_pass = false;
	atomic_store(&inside_step, false);
}

/* ---- the loss ---- */

static void find_trainer(void *arg)
{
	static const char file[] = "/transformers/trainer.py";
	struct foreign_stack s;
	struct foreign_name n;
	bool *found = arg;

	foreign_read_stack(&s);
	for (int i = 0; i < s.n && !*found; i++)
		if (s.language->describe(&s.frame[i], &n)) {
			size_t len = strlen(n.file);

			*found = len >= sizeof(file) - 1 &&
				 strcmp(n.file + len - (sizeof(file) - 1), file) == 0;
		}
}

/* Searches once, at the first pass. */
static void find_trainer_once(void)
{
	static _Atomic bool looked;
	bool found = false;

	if (atomic_load_explicit(&looked, memory_order_relaxed) || atomic_exchange(&looked, true))
		return;
	private_stack_call(find_trainer, &found);
	with_trainer = found;
}

static bool is_same_count(double a, double b)
{
	return a > 1 && b > a - 1e-4 && b < a + 1e-4;
}

static bool has_divisor(const struct segment *s, double n)
{
	for (unsigned i = 0; i < s->ndivisor; i++)
		if (is_same_count(n, s->divisor[i]))
			return true;
	return false;
}

static bool is_sum_of_parts(const struct segment *s)
{
	const struct config *cfg = get_config();
	const struct training_keys *keys = get_training_keys(cfg);

	if (keys->loss_reduction != LOSS_AUTO)
		return keys->loss_reduction == LOSS_SUM;
	return with_trainer || has_divisor(s, s->passes) || has_divisor(s, known_divisor);
}

/* Stores the loss of a finished segment in k; if the segment has no loss, k has none. */
static void close_segment(struct optimizer_results *k)
{
	struct segment s = segment;
	bool sums;

	segment = no_passes;
	if (!s.passes || !s.known)
		return;
	if (has_divisor(&s, s.passes))
		known_divisor = s.passes;
	sums = is_sum_of_parts(&s) || s.passes == 1;
	k->loss = sums ? s.sum : s.sum / s.passes;
	k->passes = s.passes;
	/* A loss that the program divided by the number of passes is multiplied by it again. */
	for (uint32_t i = 0; i < s.passes && i < MICRO_MAX; i++)
		k->micro[i] = s.micro[i] * (sums ? s.passes : 1);
	k->scale = s.scale;
	k->loss_there = true;
}

/* Keeps the divisors common to all passes. */
static void merge_divisors(const struct loss_root *root)
{
	unsigned n = 0;

	for (unsigned i = 0; i < segment.ndivisor; i++)
		for (unsigned j = 0; j < root->n; j++)
			if (is_same_count(segment.divisor[i], root->divisor[j])) {
				segment.divisor[n++] = segment.divisor[i];
				break;
			}
	segment.ndivisor = (uint8_t)n;
}

static void add_pass(bool seen, const struct loss_root *root)
{
	if (in_optimizer && has_inner_pass)
		return;
	has_inner_pass = in_optimizer;
	if (segment.passes) {
		merge_divisors(root);
	} else {
		segment.ndivisor = root->n;
		memcpy(segment.divisor, root->divisor, sizeof(segment.divisor));
	}
	if (segment.passes < MICRO_MAX)
		segment.micro[segment.passes] = seen ? root->value : 0;
	segment.passes++;
	segment.known &= seen;
	segment.sum += seen ? root->value : 0;
	segment.scale = root->scale;
}

/* Queued events were dropped: what was noted before and after does not belong together. */
static void reset_after_losses(void)
{
	static uint32_t seen;
	uint32_t now = late_get_losses();

	if (__builtin_expect(now == seen, 1))
		return;
	seen = now;
	loss_reset_numbers();
	segment = no_passes;
	segment.known = false;
	memset(optimizer_results, 0, sizeof(optimizer_results));
	in_optimizer = has_inner_pass = false;
}

static void handle_pass(const void *data, const double *value, const bool *known)
{
	struct loss_root root;
	bool seen = loss_find_root(*(const void *const *)data, &root);

	(void)value;
	(void)known;
	pthread_mutex_lock(&lock);
	reset_after_losses();
	add_pass(seen, &root);
	pthread_mutex_unlock(&lock);
}

static void write_scalar_sources(uint32_t step);

static void handle_scalars_backward_begin(const struct torch_train_event *e)
{
	struct torch_list grads;
	const void *grad;

	if (!e->outermost || !e->accumulates)
		return;
	/* Here, not in the optimizer's step: a gradient scaler may skip the first steps of a training. */
	step_add_source(write_scalar_sources);
	grads = torch_read_vector(e->call->v[2].cp);
	grad = grads.n == 1 ? grads.at[0] : NULL;
	torch_reset_sums();
	find_trainer_once();
	handle_scalar_event(handle_pass, &grad, sizeof(grad), NULL, 0);
	step_part_start(PART_BACKWARD);
}

/* ---- the norm of the gradients, where the program does not compute it ---- */

struct norm_sum {
	const struct torch_optimizer_view *view;
	double sum;
	uint32_t n;
	bool whole; /* each gradient is complete on this rank */
	bool parts; /* other ranks have parts of some gradients */
	bool read; /* all gradients could be read */
	bool late; /* some are on a device: handle_square() adds them up */
};

/*
 * The norm of this rank's gradients, measured after the last backward pass before an optimizer's
 * step, or in the step; NAN if not measured.
 */
static double own_norm = NAN;

/* The sum of the squares of those gradients that are on a device, whose values come late; NAN if one of them is unknown. */
static double late_squares;

static void handle_square(const void *data, const struct stats *stats)
{
	(void)data;
	late_squares += stats->n ? stats->norm * stats->norm : (double)NAN;
}

static void handle_own_norm(const void *data, const double *value, const bool *known)
{
	double squares = *(const double *)data + late_squares;

	(void)value;
	(void)known;
	late_squares = 0;
	own_norm = stats_sqrt(squares);
}

/* With several ranks only the names show that a gradient is complete. */
static void update_completeness(struct norm_sum *s, const struct optimizer_param *o)
{
	const struct train_params *all = train_get_params();
	bool named = o->id && all && o->id <= all->n;

	if (o->outer || s->view->partitions ||
		(named && all->at[o->id - 1].flags & (TP_SHARD | TP_FLAT)))
		s->parts = true;
	s->whole &= !s->parts && (named || session.world_size <= 1);
}

static void compute_gradient_norms(void *arg)
{
	struct norm_sum *s = arg;

	for (uint32_t i = 0; i < s->view->nparam; i++) {
		const struct optimizer_param *o = &s->view->param[i];
		struct train_value v = {.kind = TK_GRAD_REDUCED};
		struct buffer b;

		update_completeness(s, o);
		/*
		 * The gradients are incomplete on this rank; they are measured only to confirm a
		 * sum over the ranks.
		 */
		if (!s->whole && !torch_has_sums())
			return;
		if (!(o->outer ? o->grad && torch_find_buffer(o->grad, &b)
			       : torch_find_grad_buffer(o->impl, &b)))
			continue;
		train_kind_measure_on(&v, &b, torch_get_stream(&b));
		s->read &= v.stats.n || v.snapshot || !b.count;
		s->sum += v.stats.n ? v.stats.norm * v.stats.norm : 0;
		s->n++;
		if (v.snapshot) {
			struct late_number n = {v.count, v.snapshot, v.dtype};

			s->late = true;
			scalar_set_queueing();
			late_add(handle_square, NULL, 0, &n, 1);
		}
	}
}

static void measure_norms_in_one_launch(void *arg)
{
	late_open_tensors();
	compute_gradient_norms(arg);
	late_close_tensors();
}

static void reset_own_norm(const void *data, const double *value, const bool *known)
{
	(void)data;
	(void)value;
	(void)known;
	own_norm = NAN;
	late_squares = 0;
}

static void measure_own_norm(void)
{
	struct norm_sum s = {.view = torch_get_optimizer(), .whole = true, .read = true};

	handle_scalar_event(reset_own_norm, NULL, 0, NULL, 0);
	if (!s.view || torch_has_clip_norm() || !scalar_is_due(SCALAR_GRAD_NORM))
		return;
	private_stack_call(measure_norms_in_one_launch, &s);
	if (!s.read || !s.n)
		return;
	if (!s.late && torch_has_sums() && torch_match_norm(s.sum, s.parts))
		return;
	if (s.whole)
		handle_scalar_event(handle_own_norm, &s.sum, sizeof(s.sum), NULL, 0);
}

static void handle_scalars_backward_end(const struct torch_train_event *e)
{
	if (!e->outermost || !e->accumulates)
		return;
	step_part_stop(PART_BACKWARD);
	if (inside_step)
		measure_own_norm();
}

/* ---- batches ---- */

void torch_record_batch(void)
{
	uint64_t samples, tokens;
	struct py_object_lock h;
	const char *why;
	bool found;

	/*
	 * session_start() takes locks of libprobe, which must not be waited for with the GIL
	 * held.
	 */
	if (!step_is_batch_wanted() || !session_start() || !py_lock_objects(&h, &why))
		return;
	found = tree_find_batch(&samples, &tokens);
	py_unlock_objects(&h);
	if (found)
		step_record_batch(samples, tokens);
}

/* ---- optimizers ---- */

static struct optimizer_results *find_or_add_results(uint64_t optimizer_number)
{
	for (unsigned i = 0; i < OPTIMIZERS_MAX; i++) {
		if (!optimizer_results[i].optimizer_number)
			optimizer_results[i].optimizer_number = optimizer_number;
		if (optimizer_results[i].optimizer_number == optimizer_number)
			return &optimizer_results[i];
	}
	return NULL;
}

/* The optimizer's step begins, with these learning rates of its groups. */
struct step_begin {
	uint64_t optimizer_number;
	uint32_t ngroup;
	double rate[GROUPS_MAX];
};

static void copy_rates(struct step_begin *b, const struct torch_optimizer_view *v)
{
	for (uint32_t i = 0; v && i < v->ngroup && i < GROUPS_MAX; i++)
		b->rate[b->ngroup++] = torch_get_group_number(&v->group[i], "lr");
}

static void handle_step_begin(const void *data, const double *value, const bool *known)
{
	const struct step_begin *b = data;
	struct optimizer_results *k;

	(void)value;
	(void)known;
	pthread_mutex_lock(&lock);
	in_optimizer = true;
	has_inner_pass = false;
	k = find_or_add_results(b->optimizer_number);
	if (k) {
		k->ngroup = b->ngroup;
		memcpy(k->rate, b->rate, b->ngroup * sizeof(*k->rate));
	}
	pthread_mutex_unlock(&lock);
}

static void handle_scalars_optimizer_begin(const struct torch_train_event *e)
{
	struct step_begin b = {.optimizer_number = e->optimizer_number};

	step_add_source(write_scalar_sources);
	if (!e->outermost)
		return;
	measure_own_norm();
	step_part_start(PART_OPTIMIZER);
	copy_rates(&b, torch_get_optimizer());
	inside_step = true;
	handle_scalar_event(handle_step_begin, &b,
		(uint32_t)(offsetof(struct step_begin, rate) + b.ngroup * sizeof(*b.rate)), NULL,
		0);
}

static void handle_step_end(const void *data, const double *value, const bool *known)
{
	struct optimizer_results *k, none;
	double norm;

	(void)value;
	(void)known;
	loss_reset_numbers();
	pthread_mutex_lock(&lock);
	in_optimizer = false;
	k = find_or_add_results(*(const uint64_t *)data);
	close_segment(k ? k : &none);
	if (k) {
		if (torch_read_and_reset_clip_norm(&norm)) {
			k->norm = norm;
			k->norm_there = true;
		} else if (!isnan(own_norm)) {
			k->norm = own_norm;
			k->norm_there = k->norm_is_own = true;
		}
	}
	pthread_mutex_unlock(&lock);
}

static void handle_scalars_optimizer_end(const struct torch_train_event *e)
{
	if (!e->outermost)
		return;
	step_part_stop(PART_OPTIMIZER);
	inside_step = false;
	torch_reset_late_norm();
	handle_scalar_event(
		handle_step_end, &e->optimizer_number, sizeof(e->optimizer_number), NULL, 0);
}

/* ---- the end of the step ---- */

static void write_rates_of(uint32_t step, uint16_t number, const struct optimizer_results *k)
{
	bool same = true;

	for (uint32_t i = 1; i < k->ngroup; i++)
		same &= k->rate[i] >= k->rate[0] && k->rate[i] <= k->rate[0];
	for (uint32_t i = 0; i < (same && k->ngroup ? 1 : k->ngroup); i++)
		if (!isnan(k->rate[i]))
			scalar_write_of(SCALAR_LEARNING_RATE, step, number,
				same ? JOURNAL_NO_GROUP : (uint16_t)i, k->rate[i]);
}

/* by: the gradient scaler's loss scale; 1 without a scaler. */
static void write_kept(
	uint32_t step, uint16_t number, const struct optimizer_results *k, double scaler_scale)
{
	if (k->loss_there)
		scalar_write_of(
			SCALAR_LOSS, step, number, JOURNAL_NO_GROUP, k->loss / scaler_scale);
	if (k->loss_there && !number)
		metric_record_losses(step, k->loss / scaler_scale, k->passes);
	if (k->loss_there && !number && k->passes > 1 && k->passes <= MICRO_MAX) {
		double micro[MICRO_MAX];

		for (uint32_t i = 0; i < k->passes; i++)
			micro[i] = k->micro[i] / scaler_scale;
		record_micro_losses(step, micro, k->passes);
	}
	write_rates_of(step, number, k);
	if (k->norm_is_own)
		scalar_is_derived(SCALAR_GRAD_NORM);
	if (k->norm_there)
		scalar_write_of(SCALAR_GRAD_NORM, step, number, JOURNAL_NO_GROUP, k->norm);
}

static void write_scalar_sources(uint32_t step)
{
	struct optimizer_results now;
	double norm, scale = 1;
	bool scaled = torch_read_and_reset_loss_scale(&scale);

	pthread_mutex_lock(&lock);
	reset_after_losses();
	/* A step that the gradient scaler has skipped: its passes belong to no optimizer's step. */
	if (segment.passes && !optimizer_results[0].loss_there)
		close_segment(&optimizer_results[0]);
	if (!optimizer_results[0].norm_there && torch_read_and_reset_clip_norm(&norm)) {
		optimizer_results[0].norm = norm;
		optimizer_results[0].norm_there = true;
	}
	pthread_mutex_unlock(&lock);
	for (uint16_t i = 0; i < OPTIMIZERS_MAX; i++) {
		pthread_mutex_lock(&lock);
		now = optimizer_results[i];
		optimizer_results[i] =
			(struct optimizer_results){.optimizer_number = now.optimizer_number};
		pthread_mutex_unlock(&lock);
		/* Without a scaler: the program's own loss scale. */
		if (!scaled && now.loss_there && now.scale > 1) {
			scalar_is_derived(SCALAR_LOSS_SCALE);
			scalar_write_of(SCALAR_LOSS_SCALE, step, i, JOURNAL_NO_GROUP, now.scale);
		}
		write_kept(step, i, &now, scaled || !now.loss_there ? scale : now.scale);
	}
	if (scaled)
		scalar_write(SCALAR_LOSS_SCALE, step, scale);
}

const struct torch_train_observer scalars_observer = {
	.wanted = scalars_wanted,
	.backward_begin = handle_scalars_backward_begin,
	.backward_end = handle_scalars_backward_end,
	.optimizer_begin = handle_scalars_optimizer_begin,
	.optimizer_end = handle_scalars_optimizer_end,
};
