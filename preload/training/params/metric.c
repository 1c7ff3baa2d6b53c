/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/metric.h"

#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "config/metrics_asked.h"
#include "config/rooms/alerts.h"
#include "config/rooms/tensorboard.h"
#include "config/rooms/kinds.h"
#include "config/rooms/monitor.h"
#include "config/rooms/training.h"
#include "session/state.h"
#include "stats/convert.h"
#include "stats/sum.h"
#include "training/steps/scalar.h"
#include "training/steps/step_times.h"

static bool is_metric_wanted(const struct config *cfg, enum metric m)
{
	return config_get_metrics(cfg) >> m & 1;
}

uint32_t metric_get_kinds(const struct config *cfg)
{
	const struct tensorboard_keys *keys = get_tensorboard_keys(cfg);
	uint32_t kinds = 0;

	if (is_metric_wanted(cfg, METRIC_LOCAL_NORM))
		kinds |= KIND_BIT(GRAD_UNREDUCED) | KIND_BIT(LOCAL_NORM);
	if (is_metric_wanted(cfg, METRIC_DEVICE_LOCAL_NORM))
		kinds |= KIND_BIT(GRAD_UNREDUCED);
	if (is_metric_wanted(cfg, METRIC_WEIGHT_NORM))
		kinds |= KIND_BIT(PARAM_UPDATED);
	if (is_metric_wanted(cfg, METRIC_ADAM_NORM))
		kinds |= KIND_BIT(ADAM_M_NORM) | KIND_BIT(ADAM_V_NORM);
	if (is_metric_wanted(cfg, METRIC_STABLE_RANK))
		kinds |= KIND_BIT(STABLE_RANK) | KIND_BIT(EIGENVALUE);
	if (get_alerts_keys(cfg)->health_checkpoint)
		kinds |= KIND_BIT(GRAD_UNREDUCED);
	if (keys->summary_dir && *keys->summary_dir)
		kinds |= KIND_BIT(HISTOGRAM);
	if (get_monitor_keys(cfg)->monitor_log >> MONITOR_LOG_TOKENS & 1)
		kinds |= KIND_BIT(TOKENS);
	return kinds;
}

bool metric_is_due(enum metric m, uint32_t step)
{
	const struct config *cfg = get_config();

	return is_metric_wanted(cfg, m) &&
	       ((uint64_t)step + 1) % (uint64_t)get_training_keys(cfg)->metrics_interval == 0;
}

/* ---- targets ---- */

#define METRIC_TARGETS_MAX 64
/* number of names with a cached decision: hash of the name, with the decision in the lowest bit */
#define DECISIONS 4096

struct target_set {
	regex_t target[METRIC_TARGETS_MAX];
	unsigned n;
	_Atomic uint64_t decided[DECISIONS];
};

/* From the configuration at process start, because these keys cannot change. */
static struct target_set of_metrics, of_stable_rank, of_summary, of_routers;
static pthread_once_t read_once = PTHREAD_ONCE_INIT;

static void read_target_set(struct target_set *set, const char *words)
{
	char one[512];

	for (size_t n; words && *words && set->n < METRIC_TARGETS_MAX;
		words += n + (words[n] == '\n')) {
		n = strcspn(words, "\n");
		if (n >= sizeof(one))
			continue;
		memcpy(one, words, n);
		one[n] = 0;
		if (regcomp(&set->target[set->n], one, REG_EXTENDED | REG_NOSUB) == 0)
			set->n++;
	}
}

static void read_metric_targets(void)
{
	const struct config *cfg = get_first_generation()->cfg;
	const struct training_keys *keys = get_training_keys(cfg);

	read_target_set(&of_metrics, keys->metrics_targets);
	read_target_set(&of_stable_rank, keys->stable_rank_targets);
	read_target_set(&of_routers, get_kinds_keys(cfg)->router_targets);
	read_target_set(&of_summary, get_tensorboard_keys(cfg)->summary_targets);
}

static bool is_any_target(struct target_set *set, const char *name)
{
	bool found = false;

	for (unsigned i = 0; i < set->n && !found; i++)
		found = regexec(&set->target[i], name, 0, NULL, 0) == 0;
	return found;
}

static bool is_in_set(struct target_set *set, const char *name, bool invert)
{
	uint64_t h = 0, was;

	pthread_once(&read_once, read_metric_targets);
	if (!set->n)
		return true;
	for (const char *p = name; *p; p++)
		h = hash_u64(h, (unsigned char)*p);
	h |= 3;
	was = atomic_load_explicit(&set->decided[h / 4 % DECISIONS], memory_order_relaxed);
	if ((was | 1) == h)
		return was & 1;
	was = is_any_target(set, name) != invert ? h : h & ~UINT64_C(1);
	atomic_store_explicit(&set->decided[h / 4 % DECISIONS], was, memory_order_relaxed);
	return was & 1;
}

bool metric_has_target(const char *name)
{
	return is_in_set(&of_metrics, name, get_training_keys(get_config())->metrics_invert);
}

bool stable_rank_has_target(const char *name)
{
	return is_in_set(&of_stable_rank, name, false);
}

bool is_router_name(const char *name)
{
	const char *targets = get_kinds_keys(get_config())->router_targets;
	const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;

	if (targets && *targets)
		return is_in_set(&of_routers, name, false) && of_routers.n;
	return strcmp(last, "gate") == 0 || strcmp(last, "router") == 0;
}

double get_expert_capacity_factor(void)
{
	return get_kinds_keys(get_config())->expert_capacity_factor;
}

bool histogram_has_target(const char *name, unsigned index)
{
	const struct tensorboard_keys *keys = get_tensorboard_keys(get_config());

	if (!*keys->summary_targets)
		return index < (uint64_t)keys->summary_first;
	return is_in_set(&of_summary, name, false) && of_summary.n;
}

/* ---- over all parameters ---- */

struct norm_sum {
	uint32_t step; /* 1 + the step; 0: none */
	uint32_t n; /* number of values so far */
	uint32_t unread; /* number of values that could not be measured */
	double squares;
};

/*
 * Without a lock, because the steps of optimizers are measured one at a time (kinds of the
 * adapter).
 */
static struct norm_sum grads, weights;

/* Sums for gradients as accumulated after each micro step, with monitor_mbs_grad. */
#define MICRO_MAX 64
static struct norm_sum micro_grads[MICRO_MAX];

/* Number of parameters that were updated, if the adapter counts them. */
static struct {
	uint32_t step; /* 1 + the step; 0: none */
	uint32_t n;
	uint32_t last; /* n of the last step with an update */
	uint32_t least; /* set by metric_set_expected_values() */
} updates;

static void add_norm(struct norm_sum *s, const struct train_value *v)
{
	if (s->step != v->step + 1)
		*s = (struct norm_sum){.step = v->step + 1};
	if (!v->stats.n && v->count) {
		s->unread++;
		return;
	}
	s->n++;
	s->squares += v->stats.n ? v->stats.norm * v->stats.norm : 0;
}

/*
 * Writes a norm, unless some parameters are missing from it: such a sum is not a number of the
 * training.
 */
static void write_norm(enum metric m, enum scalar which, uint32_t step, struct norm_sum *s)
{
	bool any = s->step == step + 1, updated = updates.step == step + 1;
	uint32_t expected;

	if (!any)
		*s = (struct norm_sum){0};
	expected = updates.last > updates.least ? updates.last : updates.least;
	if (!expected)
		expected = s->n + s->unread;
	if ((any || updated) && metric_is_due(m, step)) {
		if (any && s->n == expected && !s->unread)
			scalar_write_metric(which, step, stats_sqrt(s->squares));
		else
			log_loss(LOSS_ENTRY,
				"step %u: %s is not written: it needs all %u parameters, and %u "
				"were measured",
				step, scalar_names[which], expected, s->n);
	}
	s->step = 0;
}

/* A micro step in which not all parameters were measured has no norm. */
static void write_micro_norms(uint32_t step)
{
	uint32_t most = 0;

	for (unsigned i = 0; i < MICRO_MAX; i++)
		if (micro_grads[i].step == step + 1 && micro_grads[i].n > most)
			most = micro_grads[i].n;
	for (unsigned i = 0; i < MICRO_MAX; i++) {
		const struct norm_sum *s = &micro_grads[i];

		if (s->step == step + 1 && s->n == most && !s->unread && most >= updates.last &&
			metric_is_due(METRIC_DEVICE_LOCAL_NORM, step))
			record_metric_of(
				SCALAR_MICRO_NORM, step, (uint16_t)i, stats_sqrt(s->squares));
	}
}

static void write_norms(uint32_t step)
{
	if (updates.step == step + 1)
		updates.last = updates.n;
	if (get_kinds_keys(get_config())->monitor_mbs_grad)
		write_micro_norms(step);
	else
		write_norm(METRIC_DEVICE_LOCAL_NORM, SCALAR_DEVICE_LOCAL_NORM, step, &grads);
	write_norm(METRIC_WEIGHT_NORM, SCALAR_WEIGHT_NORM, step, &weights);
}

void metric_set_expected_values(uint32_t n)
{
	updates.least = n;
}

void metric_add_expected_value(uint32_t step)
{
	if (!config_get_metrics(get_config()))
		return;
	step_add_source(write_norms);
	if (updates.step != step + 1) {
		updates.step = step + 1;
		updates.n = 0;
	}
	updates.n++;
}

static void write_local_norm(const struct train_value *param_value)
{
	struct train_value v = *param_value;

	if (!metric_is_due(METRIC_LOCAL_NORM, v.step) || !metric_has_target(v.name))
		return;
	v.kind = TK_LOCAL_NORM;
	v.value = &param_value->stats.norm;
	v.nvalue = 1;
	train_kind_write(&v);
}

void metric_record_losses(uint32_t step, double mean, uint32_t passes)
{
	if (metric_is_due(METRIC_LOCAL_LOSS, step))
		scalar_write_metric(SCALAR_LOCAL_LOSS, step, mean);
	if (metric_is_due(METRIC_DEVICE_LOCAL_LOSS, step))
		scalar_write_metric(SCALAR_DEVICE_LOCAL_LOSS, step, mean * passes);
}

void record_micro_losses(uint32_t step, const double *loss, uint32_t n)
{
	if (!scalar_is_wanted(SCALAR_MICRO_LOSS) && !metric_is_due(METRIC_LOCAL_LOSS, step))
		return;
	for (uint32_t i = 0; i < n; i++)
		record_metric_of(SCALAR_MICRO_LOSS, step, (uint16_t)i, loss[i]);
}

void metric_handle_value(const struct train_value *v)
{
	const struct config *cfg = get_config();

	if (!config_get_metrics(cfg))
		return;
	if (v->kind == TK_GRAD_UNREDUCED && v->micro_step == UINT32_MAX) {
		step_add_source(write_norms);
		add_norm(&grads, v);
		if (v->stats.n)
			write_local_norm(v);
	} else if (v->kind == TK_GRAD_UNREDUCED && v->micro_step < MICRO_MAX) {
		step_add_source(write_norms);
		add_norm(&micro_grads[v->micro_step], v);
	} else if (v->kind == TK_PARAM_UPDATED) {
		step_add_source(write_norms);
		add_norm(&weights, v);
	}
}
