/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/kind.h"

#include <string.h>

#include "base/log.h"
#include "call/recorder.h"
#include "call/step.h"
#include "config/rooms/calls.h"
#include "config/rooms/kinds.h"
#include "session/state.h"
#include "training/params/grad_probe.h"
#include "training/params/health.h"
#include "training/params/metric.h"
#include "training/params/place.h"
#include "training/steps/late.h"

/* ---- which kinds, on which ranks ---- */

uint32_t train_get_kinds(void)
{
	/* One word: 1 + the number of a configuration, and its kinds. */
	static _Atomic uint64_t known;
	const struct generation *g = get_generation();
	uint64_t k = atomic_load_explicit(&known, memory_order_relaxed);

	if (__builtin_expect(k >> 32 == (uint64_t)g->number + 1, 1))
		return (uint32_t)k;
	if (!session_configure())
		return 0;
	g = get_generation();
	k = ((uint64_t)g->number + 1) << 32 | parse_kinds(get_kinds_keys(g->cfg)->kinds) |
	    metric_get_kinds(g->cfg) | grad_probe_get_kinds(g->cfg);
	atomic_store_explicit(&known, k, memory_order_relaxed);
	return (uint32_t)k;
}

/* Returns the position of this rank in a list of world ranks; -1: not in it. */
static int64_t find_place_in_group(const struct ranges *group, uint64_t rank)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < group->n; i++) {
		const struct range *r = &group->item[i];

		if (rank >= r->lo && rank <= r->hi)
			return (int64_t)(before + (rank - r->lo));
		before += r->hi - r->lo + 1;
	}
	return -1;
}

/*
 * True if this rank writes, by its position in a group of which only some ranks are wanted. The
 * group is that of the key, or the detected one; if there is none, all ranks form one
 * data-parallel group. True also if the position is not known.
 */
static bool is_rank_wanted(
	const struct ranges *wanted, const struct ranges *group, enum train_axis axis, bool only)
{
	int64_t place = session.world_rank;

	if (!wanted->n)
		return true;
	if (group->n) {
		place = find_place_in_group(group, (uint64_t)(place < 0 ? 0 : place));
	} else {
		int32_t found = train_get_place(axis);

		if (found >= 0)
			place = found;
		else if (axis != AXIS_DATA || !only || !train_is_one_group())
			return true;
	}
	return place < 0 || ranges_has(wanted, (uint64_t)place);
}

bool train_are_kinds_due(void)
{
	const struct generation *g = get_generation();
	const struct config *c = g->cfg;
	const struct kinds_keys *keys = get_kinds_keys(c);
	bool only = !keys->tp_group.n && !keys->process_group.n && !keys->tp_ranks.n &&
		    !keys->pp_ranks.n;

	if (g->paused || !step_selected() || !session_rank_selected())
		return false;
	return is_rank_wanted(&keys->dp_ranks, &keys->dp_group, AXIS_DATA, only) &&
	       is_rank_wanted(&keys->tp_ranks, &keys->tp_group, AXIS_TENSOR, false) &&
	       is_rank_wanted(&keys->pp_ranks, &keys->process_group, AXIS_PIPELINE, false);
}

/* ---- measuring and writing ---- */

static void add_kind_piece(
	void *acc, const void *p, uint64_t count, enum dtype dt, const void *next)
{
	(void)dt;
	stats_add_piece(acc, p, count, next);
}

/* Copies what a row shows of the tensor. Returns false if it has no elements that may be measured. */
static bool read_shape_of(struct train_value *v, const struct buffer *b)
{
	int64_t max = get_calls_keys(get_config())->max_bytes;

	v->dtype = b->dtype;
	v->count = b->count;
	v->ndim = b->ndim <= JOURNAL_KIND_DIMS ? b->ndim : 0;
	v->dims = b->counts;
	v->stats.n = 0;
	v->snapshot = 0;
	return b->base && b->count && !(max && b->bytes > (uint64_t)max);
}

void train_kind_measure(struct train_value *v, const struct buffer *b)
{
	const struct calls_keys *keys = get_calls_keys(get_config());
	struct stats_acc acc;
	struct stats_fenv fenv;
	struct own_work own;

	if (!read_shape_of(v, b) || b->nostats)
		return;
	own = own_work_start();
	stats_fenv_set(&fenv);
	if (!stats_begin(&acc, (enum dtype)b->dtype, keys->eps) &&
		buffer_read_pieces(b, false, add_kind_piece, &acc))
		stats_end(&acc, &v->stats);
	stats_fenv_reset(&fenv);
	own_work_stop(&own);
}

void train_kind_measure_on(struct train_value *v, const struct buffer *b, uint64_t stream)
{
	struct own_work own;

	if (!b->device) {
		train_kind_measure(v, b);
		return;
	}
	if (!read_shape_of(v, b))
		return;
	own = own_work_start();
	v->snapshot = late_measure(b, stream).snapshot;
	own_work_stop(&own);
}

static struct late_number get_kind_number(const struct train_value *v)
{
	return (struct late_number){v->count, v->snapshot, v->dtype};
}

void train_kind_remove(struct train_value *v)
{
	struct late_number n = get_kind_number(v);

	late_remove_number(&n);
	v->snapshot = 0;
}

static uint32_t get_wanted_ops(void)
{
	static _Atomic uint32_t known; /* fixed when the recording starts */
	uint32_t ops = atomic_load_explicit(&known, memory_order_relaxed);

	if (!ops) {
		ops = parse_ops(get_kinds_keys(get_config())->ops);
		if (!ops)
			ops = TO_NORM; /* other tools use this default if no word is valid */
		atomic_store_explicit(&known, ops, memory_order_relaxed);
	}
	return ops;
}

static size_t write_kind_text(char *to, const char *s, size_t max)
{
	size_t n = s ? strnlen(s, max) : 0;

	if (n)
		memcpy(to, s, n);
	to[n] = 0;
	return n + 1;
}

static bool count_lost_value(struct thread *t)
{
	if (t)
		thread_count(t, JC_DROP_VALUES);
	else
		thread_count_shared(JC_DROP_VALUES);
	log_loss(LOSS_FULL,
		"the journal is full: values of the training are lost, see meta.json; raise "
		"journal_mib (now %llu)",
		session.journal.head ? (unsigned long long)session.journal.head->bytes >> 20 : 0);
	return false;
}

#define KIND_WORD_MAX 20
#define DTYPE_PREFIX_MAX 16

/* Writes what follows a row: dims, values, and the texts name, word and prefix of the type. Returns the end. */
static char *write_texts_and_values(char *to, const struct train_value *v)
{
	if (v->ndim)
		memcpy(to, v->dims, 8 * (size_t)v->ndim);
	to += 8 * (size_t)v->ndim;
	if (v->nvalue)
		memcpy(to, v->value, 8 * (size_t)v->nvalue);
	to += 8 * (size_t)v->nvalue;
	to += write_kind_text(to, v->name, TRAIN_NAME_MAX);
	to += write_kind_text(to, v->word, KIND_WORD_MAX);
	return to + write_kind_text(to, v->dtype_prefix, DTYPE_PREFIX_MAX);
}

/* True if the kind is written, not only measured. */
static bool is_written_kind(enum train_kind k)
{
	static _Atomic uint64_t known; /* as in train_get_kinds() */
	const struct generation *g = get_generation();
	uint64_t w = atomic_load_explicit(&known, memory_order_relaxed);

	if (w >> 32 != (uint64_t)g->number + 1) {
		uint32_t kinds = parse_kinds(get_kinds_keys(g->cfg)->kinds);

		/* If Adam's moments are wanted, the optimizer's other tensors are written too. */
		if (kinds & (KIND_BIT(EXP_AVG) | KIND_BIT(EXP_AVG_SQ)))
			kinds |= KIND_BIT(STATE);
		w = ((uint64_t)g->number + 1) << 32 | kinds;
		atomic_store_explicit(&known, w, memory_order_relaxed);
	}
	return w >> k & 1 || (k >= TK_LOCAL_NORM && k != TK_SR && k != TK_KERNEL_NORM);
}

static bool write_kind_record(const struct train_value *v);

static bool write_kind_now(struct train_value *v)
{
	if (v->norm) {
		v->value = &v->stats.norm;
		v->nvalue = v->stats.n != 0;
		if (!v->nvalue)
			return true;
	}
	if (health_handle_value(v))
		return true;
	metric_handle_value(v);
	return !is_written_kind(v->kind) || write_kind_record(v);
}

/* ---- rows whose values arrive later (training/steps/late.h) ---- */

struct late_row {
	struct train_value v;
	char rest[LATE_DATA_MAX - sizeof(struct train_value)]; /* by write_texts_and_values() */
};
_Static_assert(sizeof(((struct late_row *)0)->rest) >=
		       8 * (JOURNAL_KIND_DIMS + HISTOGRAM_VALUES_MAX) + TRAIN_NAME_MAX +
			       KIND_WORD_MAX + DTYPE_PREFIX_MAX + 3,
	"the longest row fits");

static void write_late_row(const void *data, const struct stats *stats)
{
	struct train_value v = ((const struct late_row *)data)->v;
	const char *at = ((const struct late_row *)data)->rest;

	v.dims = (const uint64_t *)at;
	v.value = (const double *)(v.dims + v.ndim);
	v.name = (const char *)(v.value + v.nvalue);
	v.word = v.name + strlen(v.name) + 1;
	v.dtype_prefix = v.word + strlen(v.word) + 1;
	if (v.snapshot)
		v.stats = *stats;
	v.snapshot = 0;
	write_kind_now(&v);
}

static bool add_late_row(const struct train_value *v)
{
	struct late_number n = get_kind_number(v);
	struct late_row row;
	char *to;

	row.v = *v;
	to = write_texts_and_values(row.rest, v);
	return late_add(write_late_row, &row, (uint32_t)(to - (char *)&row), &n, v->snapshot != 0);
}

bool train_kind_write(const struct train_value *v)
{
	struct train_value now;

	if (v->snapshot || (late_is_pending() && !late_is_running()))
		return add_late_row(v);
	now = *v;
	return write_kind_now(&now);
}

static bool write_kind_record(const struct train_value *v)
{
	struct thread *t = session_start() ? thread_get() : NULL;
	size_t text =
		strnlen(v->name, TRAIN_NAME_MAX) + 1 + KIND_WORD_MAX + 1 + DTYPE_PREFIX_MAX + 1;
	uint32_t bytes = (uint32_t)(sizeof(struct journal_kind_row) +
				    8u * ((size_t)v->ndim + v->nvalue) + text + 7) &
			 ~7u;
	struct journal_kind_row *e;

	if (!t)
		return session_is_on() ? count_lost_value(NULL) : false;
	e = thread_reserve(t, bytes);
	if (!e)
		return count_lost_value(t);
	memset(e, 0, bytes);
	e->e.type = JE_KIND;
	e->e.bytes = bytes;
	e->e.n = v->nvalue;
	e->count = v->count;
	e->stats = v->stats;
	e->tick = clock_ticks();
	e->step = v->step;
	e->micro_step = v->micro_step;
	e->ops = get_wanted_ops();
	e->vpp_stage = v->vpp_stage;
	e->kind = (uint8_t)v->kind;
	e->dtype = v->dtype;
	e->ndim = v->ndim;
	write_texts_and_values((char *)(e + 1), v);
	chain_publish(&t->chain, bytes);
	return true;
}

bool train_kind_write_tensor(enum train_kind kind, const char *name, uint16_t vpp_stage,
	uint32_t micro_step, const char *dtype_prefix, const struct buffer *b, uint64_t stream)
{
	struct train_value v = {.kind = kind,
		.name = name,
		.vpp_stage = vpp_stage,
		.step = step_now(),
		.micro_step = micro_step,
		.dtype_prefix = dtype_prefix};

	if (!(train_get_kinds() >> kind & 1) || !train_are_kinds_due())
		return true;
	train_kind_measure_on(&v, b, stream);
	return train_kind_write(&v);
}
