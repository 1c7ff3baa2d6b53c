/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loss, learning rates and gradient norm of each step. In PYNATIVE mode operators run one after
 * the other. The last number computed before the first kernel of a backward pass is the loss, at
 * which the pass begins. The last square root of a number between the pass and the optimizer is
 * the root of a sum of squares over all gradients, which a program uses for clipping. A graph's
 * numbers are in its results.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "call/step.h"
#include "config/rooms/kinds.h"
#include "life/life.h"
#include "session/state.h"
#include "stats/sum.h"
#include "training/params/kind.h"
#include "training/params/metric.h"
#include "training/steps/scalar.h"
#include "training/steps/step_times.h"
#include "wrappers/mindspore/kernel_values.h"

#define RATES_MAX 16

/* The learning rate of a group of parameters, identified by the group's first parameter. */
struct group_rate {
	double rate;
	uint32_t id;
};

struct step_numbers {
	double loss; /* sum of the losses of `passes` backward passes */
	uint32_t passes;
	double root; /* the first square root since the last pass; NAN if none */
	double root_squares; /* sum of the squares of all `roots` square roots */
	uint32_t roots;
	bool settled; /* an update has been seen */
	/*
	 * A graph that clips each gradient separately takes square roots between kernels of its
	 * backward part, and between updates; square roots after the last update have another
	 * meaning.
	 */
	bool in_graph; /* a kernel of a graph's backward part has run */
	uint32_t between, late; /* number of these square roots; late: after the last update */
	double between_squares, late_squares;
	double squares; /* sum over the gradients passed to updates; NAN if one could not be read */
	uint32_t updates;
	struct group_rate rate[RATES_MAX];
	uint32_t nrate;
};

static const struct step_numbers no_numbers = {.root = NAN};
static struct step_numbers now = {.root = NAN};

/* The last NUMBERS_MAX numbers that were computed outside of graphs. */
#define NUMBERS_MAX 32u
struct numbers {
	struct {
		const void *address;
		double value;
	} at[NUMBERS_MAX];
	uint32_t n; /* numbers computed so far; number i is at[i % NUMBERS_MAX] */
};

/*
 * `begun` counts passes whose first kernel has run, and `before` has the numbers computed until
 * then; `told` counts passes whose beginning the program has reported. Either may come first, and
 * a step may have several passes.
 */
#define PASSES_MAX 8u
static struct numbers numbers;
static struct {
	struct numbers before;
	const void *address;
} pass[PASSES_MAX];
static uint32_t begun, reported_passes, settled;

/* A leaf, held for some additions. A forked child initialises it again. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void ms_numbers_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	now = no_numbers;
	numbers.n = begun = reported_passes = settled = 0;
}

static void write_step_numbers(uint32_t step);

void ms_record_number(const void *address, double value)
{
	pthread_mutex_lock(&lock);
	numbers.at[numbers.n % NUMBERS_MAX].address = address;
	numbers.at[numbers.n++ % NUMBERS_MAX].value = value;
	pthread_mutex_unlock(&lock);
}

/* The newest number at `address`, otherwise the newest of all; NAN if there is none. */
static double find_number(const struct numbers *s, const void *address)
{
	uint32_t least = s->n > NUMBERS_MAX ? s->n - NUMBERS_MAX : 0;

	for (uint32_t i = s->n; address && i-- > least;)
		if (s->at[i % NUMBERS_MAX].address == address)
			return s->at[i % NUMBERS_MAX].value;
	return s->n ? s->at[(s->n - 1) % NUMBERS_MAX].value : NAN;
}

/*
 * Adds the losses of passes that have begun and were reported; with `all`, of every pass that has
 * begun. The lock is held.
 */
static void add_pass_losses(bool all)
{
	for (; settled < begun && (all || settled < reported_passes); settled++) {
		double value = find_number(&pass[settled % PASSES_MAX].before,
			settled < reported_passes ? pass[settled % PASSES_MAX].address : NULL);

		if (isnan(value))
			continue;
		now.loss += value;
		now.passes++;
	}
}

void ms_record_pass_begin(const void *address)
{
	pthread_mutex_lock(&lock);
	if (reported_passes - settled == PASSES_MAX)
		add_pass_losses(true);
	if (reported_passes - settled < PASSES_MAX)
		pass[reported_passes++ % PASSES_MAX].address = address;
	add_pass_losses(false);
	pthread_mutex_unlock(&lock);
}

void ms_record_root(double value)
{
	pthread_mutex_lock(&lock);
	if (!now.settled) {
		if (!now.roots++)
			now.root = value;
		now.root_squares += value * value;
	} else {
		now.late++;
		now.late_squares += value * value;
	}
	pthread_mutex_unlock(&lock);
}

void ms_record_backward_kernel(bool in_graph)
{
	pthread_mutex_lock(&lock);
	if (now.in_graph && in_graph) {
		now.between += now.roots;
		now.between_squares += now.root_squares;
	}
	now.in_graph |= in_graph;
	now.root = NAN;
	now.root_squares = 0;
	now.roots = 0;
	/*
	 * A kernel begins a new pass only if the previous pass has been reported; until then it
	 * belongs to that pass.
	 */
	if (!in_graph && numbers.n && begun <= reported_passes) {
		if (begun - settled == PASSES_MAX)
			add_pass_losses(true);
		pass[begun++ % PASSES_MAX].before = numbers;
		numbers.n = 0;
		add_pass_losses(false);
	}
	pthread_mutex_unlock(&lock);
	step_add_source(write_step_numbers);
}

static void add_rate(uint32_t id, double rate)
{
	uint32_t i = 0;

	while (i < now.nrate && (now.rate[i].rate < rate || now.rate[i].rate > rate))
		i++;
	if (i == RATES_MAX)
		return;
	if (i == now.nrate)
		now.rate[now.nrate++] = (struct group_rate){rate, id};
	else if (id < now.rate[i].id)
		now.rate[i].id = id;
}

void ms_record_update(uint32_t id, double rate, double squares)
{
	pthread_mutex_lock(&lock);
	if (!isnan(rate))
		add_rate(id, rate);
	now.squares += squares;
	now.updates++;
	now.settled = true;
	now.between += now.late;
	now.between_squares += now.late_squares;
	now.late = 0;
	now.late_squares = 0;
	pthread_mutex_unlock(&lock);
	step_add_source(write_step_numbers);
}

/* ---- the end of a step ---- */

static void write_group_rates(uint32_t step, struct step_numbers *n)
{
	for (uint32_t i = 1; i < n->nrate; i++) {
		struct group_rate r = n->rate[i];
		uint32_t k = i;

		for (; k && n->rate[k - 1].id > r.id; k--)
			n->rate[k] = n->rate[k - 1];
		n->rate[k] = r;
	}
	for (uint32_t i = 0; i < n->nrate; i++)
		scalar_write_of(SCALAR_LEARNING_RATE, step, 0,
			n->nrate == 1 ? JOURNAL_NO_GROUP : (uint16_t)i, n->rate[i].rate);
}

static void write_mean_loss(uint32_t step, double mean, uint32_t passes)
{
	scalar_write(SCALAR_LOSS, step, mean);
	metric_record_losses(step, mean, passes);
}

/*
 * True unless the program clipped each gradient separately (several square roots), so that the
 * updates got other gradients than the square roots were taken of.
 */
static bool are_updates_unclipped(const struct step_numbers *n)
{
	return !(n->roots + n->between) ||
	       fabs(n->root_squares + n->between_squares - n->squares) <= 1e-4 * n->squares;
}

/*
 * In a step with a skipped update, all square roots up to its end have been seen, including those
 * of a callback. The first one is the norm if it was the norm in the last step with an update.
 */
static void write_grad_norm(uint32_t step, const struct step_numbers *n)
{
	static bool root_is_norm; /* needs no lock: steps end one after the other */

	if (n->updates)
		root_is_norm = n->roots == 1 && !n->between;
	if ((n->roots == 1 && !n->between) || (n->roots && !n->updates && root_is_norm)) {
		scalar_write(SCALAR_GRAD_NORM, step, n->root);
	} else if (n->updates && !isnan(n->squares) && are_updates_unclipped(n)) {
		scalar_is_derived(SCALAR_GRAD_NORM);
		scalar_write(SCALAR_GRAD_NORM, step, stats_sqrt(n->squares));
	}
}

#define NO_CELL "MindSpore's kernels do not show the cell to which they belong"
#define NOT_COMPUTED "libprobe does not compute it for MindSpore"
#define NO_LOGITS                                                                              \
	"no kernel has computed logits in host memory with a matrix <cell>.weight whose cell " \
	"is named gate or router, or is one of router_targets"
#define NO_CHOICE "no kernel TopK or Argmax has chosen experts by a router's logits in host memory"
#define NO_SOFTMAX "no softmax kernel has had [batch, heads, queries, keys] in host memory"

/* Kinds that MindSpore's kernels do not show, and kinds without a row in a step with an update. */
static const struct missing_kind {
	enum train_kind kind;
	const char *why;
	bool at_interval; /* look at steps of attention_interval only */
} missing_kinds[] = {
	{TK_TOKENS_PER_RANK, "MindSpore's kernels show no split sizes", false},
	{TK_ACTV, NO_CELL, false},
	{TK_ACTV_GRAD, NO_CELL, false},
	{TK_MG_DIRECTION, NOT_COMPUTED, false},
	{TK_UR_DISTRIBUTION, NOT_COMPUTED, false},
	{TK_UPDATE_RATIO, NOT_COMPUTED, false},
	{TK_ROUTER_SIMILARITY, NO_LOGITS, false},
	{TK_EXPERT_ENTROPY, NO_LOGITS, false},
	{TK_TOKENS, NO_CHOICE, false},
	{TK_BALANCE, NO_CHOICE, false},
	{TK_MAX_LOGIT, NO_SOFTMAX, true},
	{TK_ATTENTION_ENTROPY, NO_SOFTMAX, true},
	{TK_SOFTMAX_MAX, NO_SOFTMAX, true},
};

static _Atomic uint32_t written; /* KIND_BIT() of kinds that have had a row */

void ms_set_kind_written(enum train_kind kind)
{
	written |= UINT32_C(1) << kind;
}

void ms_record_missing_kinds(uint32_t step)
{
	static _Atomic uint32_t noted;
	uint32_t interval = (uint32_t)get_kinds_keys(get_config())->attention_interval;
	uint32_t missing = train_get_kinds() & ~written;

	if (!missing || !train_are_kinds_due())
		return;
	for (size_t i = 0; i < sizeof(missing_kinds) / sizeof(*missing_kinds); i++) {
		const struct missing_kind *m = &missing_kinds[i];
		uint32_t bit = UINT32_C(1) << m->kind;

		if (!(missing & bit) || (m->at_interval && step % interval != 0) ||
			atomic_fetch_or(&noted, bit) & bit)
			continue;
		session_record_invisible(train_kinds[m->kind].word, m->why);
	}
}

static void write_step_numbers(uint32_t step)
{
	struct step_numbers n;

	pthread_mutex_lock(&lock);
	add_pass_losses(true);
	if (reported_passes < begun)
		reported_passes = begun;
	n = now;
	now = no_numbers;
	pthread_mutex_unlock(&lock);
	if (n.passes)
		write_mean_loss(step, n.loss / n.passes, n.passes);
	write_group_rates(step, &n);
	write_grad_norm(step, &n);
}

void ms_loss_returned(bool ended, uint32_t step, double value)
{
	if (ended) {
		write_mean_loss(step, value, 1);
		return;
	}
	pthread_mutex_lock(&lock);
	now.loss += value;
	now.passes++;
	pthread_mutex_unlock(&lock);
}
