/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/health.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "config/rooms/alerts.h"
#include "config/rooms/kinds.h"
#include "terms/embedding.h"
#include "base/log.h"
#include "text/text.h"
#include "config/metrics_asked.h"
#include "session/generation.h"
#include "training/steps/scalar.h"
#include "training/steps/step_times.h"

#define CANDIDATES_SAID 6

bool health_is_alone(void)
{
	const struct config *cfg = get_config();

	return !*get_kinds_keys(cfg)->kinds && config_get_metrics(cfg) == METRICS_HEALTH;
}

/* ---- which parameter is the embedding ---- */

static uint64_t get_param_count(const struct train_param *p)
{
	const uint64_t *dims = p->whole_count ? p->whole_dims : p->dims;
	unsigned ndim = p->whole_count ? p->whole_ndim : p->ndim;
	uint64_t n = 1;

	for (unsigned i = 0; i < ndim; i++)
		n *= dims[i];
	return n;
}

static bool is_possible_embedding(const struct train_param *p)
{
	const struct config *cfg = get_config();
	const struct alerts_keys *keys = get_alerts_keys(cfg);

	if (p->flags & (TP_FROZEN | TP_FLAT))
		return false;
	if (keys->hidden_size && keys->vocab_size)
		return get_param_count(p) ==
		       (uint64_t)keys->hidden_size * (uint64_t)keys->vocab_size;
	return is_embedding_name(p->name);
}

static void handle_missing_embedding(const struct train_params *all)
{
	char list[LOSS_TEXT_MAX / 2];
	struct text t = text_init(list, sizeof(list));
	unsigned n = 0;

	for (uint32_t i = 0; i < all->n && n < CANDIDATES_SAID; i++) {
		const struct train_param *p = &all->at[i];

		if (p->flags & (TP_FROZEN | TP_FLAT) || p->ndim != 2)
			continue;
		text_add_string(&t, n++ ? ", " : "");
		text_add_string(&t, p->name);
	}
	log_loss(LOSS_HEALTH,
		"no parameter is an embedding, and checkpoints are not judged; candidates: %s; set "
		"hidden_size and vocab_size",
		n ? list : "none of two dimensions");
}

/* Returns the embedding's number, 0: none. Searched once in each table. */
static uint32_t find_embedding(const struct train_params *all)
{
	static _Atomic uint64_t known; /* 1 + generation of the table, and the number */
	uint64_t k = atomic_load_explicit(&known, memory_order_relaxed);
	uint32_t id = 0;

	if (k >> 32 == (uint64_t)all->generation + 1)
		return (uint32_t)k;
	/*
	 * A bias in the same module may come first, because a graph gets its arguments in any
	 * order.
	 */
	for (uint32_t i = 0; i < all->n; i++)
		if (is_possible_embedding(&all->at[i]) &&
			(!id || (all->at[id - 1].ndim < 2 && all->at[i].ndim >= 2)))
			id = all->at[i].id;
	if (!id && all->n)
		handle_missing_embedding(all);
	atomic_store_explicit(
		&known, ((uint64_t)all->generation + 1) << 32 | id, memory_order_relaxed);
	return id;
}

bool health_is_embedding(const struct train_params *all, const struct train_param *p)
{
	return get_alerts_keys(get_config())->health_checkpoint && p->id == find_embedding(all);
}

/* ---- its gradient ---- */

/* The steps of optimizers are measured one at a time. */
static struct {
	uint32_t step; /* 1 + the step; 0: none */
	double value;
} seen;

static void write_embedding_norm(uint32_t step)
{
	if (seen.step == step + 1)
		scalar_write_metric(SCALAR_EMBEDDING_NORM, step, seen.value);
	seen.step = 0;
}

bool health_handle_value(const struct train_value *v)
{
	const struct config *cfg = get_config();
	const struct alerts_keys *alerts_keys = get_alerts_keys(cfg);
	const struct train_params *all = alerts_keys->health_checkpoint ? train_get_params() : NULL;
	uint32_t id;
	bool alone;

	if (!all || v->kind != TK_GRAD_UNREDUCED)
		return false;
	if (v->micro_step != UINT32_MAX) {
		log_loss(LOSS_HEALTH,
			"monitor_mbs_grad: gradients are those of single micro steps: checkpoints "
			"are not judged; set it to false");
		return false;
	}
	id = find_embedding(all);
	if (!id || strcmp(v->name, train_get_kind_name(all, &all->at[id - 1])))
		return false;
	alone = health_is_alone() || !train_is_target(all->at[id - 1].name);
	/*
	 * A tensor that could not be read gives no norm; a shard without elements has a gradient
	 * of 0.
	 */
	if (!v->stats.n && v->count) {
		log_loss(LOSS_HEALTH,
			"the embedding's gradient cannot be read (memory of a device, or more than "
			"max_bytes): checkpoints are not judged; see keys device and max_bytes");
		return alone;
	}
	step_add_source(write_embedding_norm);
	seen.step = v->step + 1;
	seen.value = !v->count				     ? 0
		     : v->stats.nans			     ? (double)NAN
		     : v->stats.infs			     ? (double)INFINITY
		     : alerts_keys->health_norm == HEALTH_L2 ? v->stats.norm
							     : v->stats.norm * v->stats.norm;
	return alone;
}
