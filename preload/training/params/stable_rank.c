/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/stable_rank.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "config/rooms/training.h"
#include "terms/dtype.h"
#include "text/pytext.h"
#include "text/text.h"
#include "config/metrics_asked.h"
#include "terms/metric.h"
#include "journal/meta_part.h"
#include "session/state.h"
#include "stats/sum.h"
#include "training/params/power_iteration.h"

/* ---- rounds ---- */

#define LOOK_EVERY (1u << 16) /* elements from which on the time of a weight is significant */
/* maximum number of a parameter; parameters with higher numbers are skipped */
#define NUMBERS_MAX (1u << 20)
#define WORD_BITS 64

static struct {
	uint32_t begun; /* 1 + the step after which the round began; 0: no round */
	bool left; /* weights remain for the next step */
	uint32_t step; /* 1 + the step to which `spent` belongs */
	uint64_t spent; /* ns of the step's budget that were used */
	uint64_t cost, longest; /* ns: of all rounds together; of the longest step */
	uint64_t rows, skipped_count;
	uint32_t rounds;
	double ns_each; /* measured time per element and pass, ns; 0: not measured yet */
} rounds;
/* bit by the parameter's number: measured in this round */
static uint64_t measured[NUMBERS_MAX / WORD_BITS];

static uint64_t compute_budget_ns(void)
{
	return (uint64_t)get_training_keys(get_config())->stable_rank_budget_ms * 1000000;
}

bool stable_rank_is_due(uint32_t step)
{
	const struct config *cfg = get_config();

	if (!(config_get_metrics(cfg) & METRIC_BIT(STABLE_RANK)))
		return false;
	return ((uint64_t)step + 1) % (uint64_t)get_training_keys(cfg)->stable_rank_interval == 0 ||
	       rounds.left || rounds.step == step + 1;
}

static void start_rank_step(uint32_t step)
{
	bool due = ((uint64_t)step + 1) %
			   (uint64_t)get_training_keys(get_config())->stable_rank_interval ==
		   0;

	if (rounds.step == step + 1)
		return;
	rounds.step = step + 1;
	rounds.spent = 0;
	rounds.left = false;
	if (!due || rounds.begun == step + 1)
		return;
	memset(measured, 0, sizeof(measured));
	rounds.begun = step + 1;
	rounds.rounds++;
}

/*
 * A sequence of matrices in memory, each stored row by row, n elements per row. A matrix may be
 * transposed, which has the same eigenvalues.
 */
struct stack {
	const unsigned char *at;
	uint64_t count, m, n;
};

static bool find_stack(const struct buffer *b, struct stack *s)
{
	const int64_t *size = b->counts, *stride = b->displs;
	unsigned d = b->ndim, two = d - 2;
	bool plain, turned;

	if ((d != 2 && d != 3) || get_dtype_info(b->dtype)->cls != DTC_FLOAT ||
		get_dtype_info(b->dtype)->component != b->dtype || b->nostats || !b->base ||
		!b->count)
		return false;
	s->at = b->base;
	s->count = d == 3 ? (uint64_t)size[0] : 1;
	s->m = (uint64_t)size[two];
	s->n = (uint64_t)size[two + 1];
	if (s->count * s->m * s->n != b->count)
		return false;
	if (b->layout == BUFFER_CONTIG)
		return true;
	if (b->layout != BUFFER_STRIDED ||
		(d == 3 && size[0] > 1 && stride[0] != size[1] * size[2]))
		return false;
	plain = (size[two + 1] == 1 || stride[two + 1] == 1) &&
		(size[two] == 1 || stride[two] == size[two + 1]);
	turned = (size[two] == 1 || stride[two] == 1) &&
		 (size[two + 1] == 1 || stride[two + 1] == size[two]);
	if (!plain && turned) {
		s->m = (uint64_t)size[two + 1];
		s->n = (uint64_t)size[two];
	}
	return plain || turned;
}

static void write_rank(
	const struct train_value *param_value, const char *part, const struct stable_rank *r)
{
	uint32_t wanted = train_get_kinds();
	char name[TRAIN_NAME_MAX + 32];
	struct train_value v = *param_value;
	double kernel_norm = stats_sqrt(r->eigenvalue),
	       sr = kernel_norm == 0 ? 0 : stats_sqrt(r->rank);

	snprintf(name, sizeof(name), "%.*s%s", TRAIN_NAME_MAX, param_value->name, part);
	v.name = name;
	v.nvalue = 1;
	v.kind = TK_STABLE_RANK;
	v.value = &r->rank;
	train_kind_write(&v);
	v.kind = TK_EIGENVALUE;
	v.value = &r->eigenvalue;
	train_kind_write(&v);
	rounds.rows += 2;
	if (wanted & KIND_BIT(SR)) {
		v.kind = TK_SR;
		v.value = &sr;
		train_kind_write(&v);
		rounds.rows++;
	}
	if (wanted & KIND_BIT(KERNEL_NORM)) {
		v.kind = TK_KERNEL_NORM;
		v.value = &kernel_norm;
		train_kind_write(&v);
		rounds.rows++;
	}
}

/* Largest, smallest and mean over experts. */
struct expert_ranks {
	struct stable_rank most, least, sum;
};

static void add_expert(struct expert_ranks *all, const struct stable_rank *r, bool first)
{
	if (first || r->rank > all->most.rank)
		all->most.rank = r->rank;
	if (first || r->rank < all->least.rank)
		all->least.rank = r->rank;
	if (first || r->eigenvalue > all->most.eigenvalue)
		all->most.eigenvalue = r->eigenvalue;
	if (first || r->eigenvalue < all->least.eigenvalue)
		all->least.eigenvalue = r->eigenvalue;
	all->sum.rank += r->rank;
	all->sum.eigenvalue += r->eigenvalue;
}

static void write_experts(const struct train_value *v, const struct expert_ranks *all, uint64_t n)
{
	struct stable_rank mean = {all->sum.rank / (double)n, all->sum.eigenvalue / (double)n};

	write_rank(v, "/expert_max", &all->most);
	write_rank(v, "/expert_min", &all->least);
	write_rank(v, "/expert_mean", &mean);
}

/* Returns false if it took too long; the results so far are written. */
static bool measure_stack(const struct train_value *v, const struct stack *s, uint64_t until)
{
	const struct training_keys *keys = get_training_keys(get_config());
	enum config_rank_experts shown = keys->stable_rank_experts;
	uint64_t bytes = s->m * s->n * get_dtype_info(v->dtype)->size;
	struct expert_ranks all = {.sum = {0, 0}};

	for (uint64_t i = 0; i < s->count; i++) {
		struct stable_rank r;
		char part[32] = "";

		if (!stable_rank_compute(s->at + i * bytes, s->m, s->n, v->dtype,
			    (unsigned)keys->stable_rank_iterations, until, &r))
			return false;
		if (v->ndim == 3)
			snprintf(part, sizeof(part), "/expert_%llu", (unsigned long long)i);
		if (v->ndim != 3 || shown != RANK_EXPERTS_STATISTICS)
			write_rank(v, part, &r);
		add_expert(&all, &r, i == 0);
	}
	if (v->ndim == 3 && shown != RANK_EXPERTS_FULL)
		write_experts(v, &all, s->count);
	return true;
}

/* Returns the work of one pass: rows are computed in blocks of 8 elements. */
static double compute_rank_work(const struct stack *s)
{
	return (double)(s->count * s->m * ((s->n + 7) / 8 * 8));
}

/*
 * True if the remaining time is enough to measure the weight. *ever: false if not even the whole
 * budget is.
 */
static bool has_time(const struct stack *s, bool *ever)
{
	double need = rounds.ns_each * compute_rank_work(s) *
		      (double)get_training_keys(get_config())->stable_rank_iterations;

	*ever = need <= (double)compute_budget_ns();
	return rounds.spent < compute_budget_ns() &&
	       need <= (double)(compute_budget_ns() - rounds.spent);
}

static void record_time(uint64_t took, const struct stack *s, bool whole)
{
	double each = (double)took /
		      (compute_rank_work(s) *
			      (double)get_training_keys(get_config())->stable_rank_iterations);

	rounds.spent += took;
	rounds.cost += took;
	if (rounds.spent > rounds.longest)
		rounds.longest = rounds.spent;
	/*
	 * A measurement that was stopped gives a lower limit for its time. For small weights the
	 * time is mostly overhead.
	 */
	if (each > rounds.ns_each && (!whole || s->count * s->m * s->n >= LOOK_EVERY))
		rounds.ns_each = each;
	else if (whole && s->count * s->m * s->n >= LOOK_EVERY)
		rounds.ns_each = (3 * rounds.ns_each + each) / 4;
}

void stable_rank_measure(const struct train_value *param_value, uint32_t id, const struct buffer *b)
{
	struct train_value v = *param_value;
	uint64_t bit = UINT64_C(1) << id % WORD_BITS, begin;
	bool ever, whole, fresh;
	struct stack s;

	start_rank_step(v.step);
	if (b->ndim != 2 && b->ndim != 3)
		return;
	if (id >= NUMBERS_MAX || !find_stack(b, &s)) {
		rounds.skipped_count += rounds.begun == v.step + 1;
		return;
	}
	if (measured[id / WORD_BITS] & bit)
		return;
	if (!has_time(&s, &ever) && ever) {
		rounds.left = true;
		return;
	}
	v.dtype = b->dtype;
	v.count = b->count;
	v.ndim = b->ndim;
	v.dims = b->counts;
	fresh = rounds.spent == 0;
	begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	whole = ever && measure_stack(&v, &s, begin + (compute_budget_ns() - rounds.spent));
	if (ever)
		record_time(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin, &s, whole);
	if (ever && !whole && !fresh) {
		rounds.left = true;
		return;
	}
	rounds.skipped_count += !whole;
	measured[id / WORD_BITS] |= bit;
}

/* Each text takes space in the dictionary permanently, so not every number is written. */
static bool is_said(uint32_t n)
{
	return n <= 4 || (n & (n - 1)) == 0;
}

void stable_rank_write_meta(void)
{
	static uint64_t reported;
	char part[200];
	struct text t = text_init(part, sizeof(part));

	if (rounds.left || rounds.rows == reported || !is_said(rounds.rounds) ||
		!session.journal.head)
		return;
	reported = rounds.rows;
	text_add_bytes(&t, "stable_rank", sizeof("stable_rank"));
	text_add_string(&t, "{\"rounds\": ");
	text_add_u64(&t, rounds.rounds);
	text_add_string(&t, ", \"seconds\": ");
	text_fixed(&t, (double)rounds.cost / 1e9, 0, 6);
	text_add_string(&t, ", \"longest_step_s\": ");
	text_fixed(&t, (double)rounds.longest / 1e9, 0, 6);
	text_add_string(&t, ", \"rows\": ");
	text_add_u64(&t, rounds.rows);
	text_add_string(&t, ", \"left_out\": ");
	text_add_u64(&t, rounds.skipped_count);
	text_add_char(&t, '}');
	if (!t.cut)
		journal_dict_add(&session.journal, DICT_META, META_STABLE_RANK, part, t.len + 1);
}
