/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink of TensorBoard's event files:
 * <tensorboard_dir>/rank_<R>/events.out.tfevents.<seconds>.<host>, one for each process. A file
 * grows and is committed together with the other files, so that after a crash each event is in it
 * once. Key tensorboard_tags selects the tags and the x axis:
 *
 *	probe, mindformers	scalars as MindSpore Transformers names them, x = step + 1;
 *				also with samples as x, if these are known
 *	probe			kinds as {kind}/{name}/{op}, x = step
 *	msprobe			kinds as msprobe's monitor names them, no scalars
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "config/rooms/files.h"
#include "config/rooms/tensorboard.h"
#include "config/rooms/training.h"
#include "terms/metric.h"
#include "terms/scalar.h"
#include "sink/format.h"
#include "sink/places.h"
#include "sink/statistic.h"
#include "formats/tensorboard/event_folder.h"
#include "formats/tensorboard/tb_start.h"
#include "formats/tensorboard/tb_tags.h"
#include "formats/tensorboard/tfevent.h"

#define TB_FILE "t:"

/* State on which later entries depend. */
struct tb_known {
	bool has_loss; /* this rank has the loss */
	double batch; /* number of samples in a step; 0: not known */
	bool rate_held; /* `rate` is to be written when another scalar of its step comes */
	struct record_scalar rate;
};

struct tensorboard {
	struct files *files;
	const struct config *cfg;
	bool placed, off;
	struct tfevents events; /* of the current entry */
	struct tb_known now, before, committed; /* before: state before the last entry */
};

static void close_tensorboard(void *state)
{
	struct tensorboard *t = state;

	tfevents_free(&t->events);
}

static int32_t get_rank_of_files(const struct tensorboard *t)
{
	int32_t rank = t->files->j->head->rank;

	return rank < 0 ? 0 : rank;
}

/*
 * True if this rank writes a file. With msprobe's tags each rank; else rank 0, and the last rank
 * if it has the loss, as in a pipeline.
 */
static bool is_tb_rank(const struct tensorboard *t)
{
	const struct tensorboard_keys *keys = get_tensorboard_keys(t->cfg);
	const struct journal_head *h = t->files->j->head;
	int32_t rank = get_rank_of_files(t);

	if (t->files->from_files)
		return true;
	if (keys->tensorboard_ranks.n)
		return ranges_has(&keys->tensorboard_ranks, (uint64_t)rank);
	if (keys->tensorboard_tags == TB_TAGS_MSPROBE)
		return true;
	return rank == 0 || (rank == h->world_size - 1 && t->now.has_loss);
}

/* ---- the file ---- */

static double get_wall_time(uint64_t ns)
{
	return (double)ns * 1e-9;
}

/*
 * Decides once, when the rank is known, where the file will be. Returns false if no file is to be
 * written.
 */
static bool add_tensorboard_folder(struct tensorboard *t)
{
	const struct tensorboard_keys *keys = get_tensorboard_keys(t->cfg);
	char folder[4300];
	int err;

	if (t->placed || t->off)
		return t->placed;
	snprintf(folder, sizeof(folder), "%s%s/rank_%d",
		*keys->tensorboard_dir ? keys->tensorboard_dir : get_files_keys(t->cfg)->output_dir,
		*keys->tensorboard_dir ? "" : "/tensorboard", (int)get_rank_of_files(t));
	err = add_event_folder(t->files, TB_FILE[0], folder);
	if (err) {
		log_loss(LOSS_WRITE,
			"no events for TensorBoard can be written into %s: %s; set tensorboard_dir",
			folder, io_error_text(err));
		t->off = true;
	}
	t->placed = !err;
	return t->placed;
}

/* Checks that the file does not exist. Returns -EEXIST if it does. */
static int find_tb_file(struct tensorboard *t)
{
	const char *name;
	int dir = files_place_open(t->files, TB_FILE, false, &name);

	return dir >= 0 && faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -EEXIST : 0;
}

/* Returns x of the first event: events of older files from this x on belong to an earlier run. */
static int64_t get_first_x(const struct tensorboard *t, uint32_t step)
{
	return get_tensorboard_keys(t->cfg)->tensorboard_tags == TB_TAGS_MSPROBE
		       ? (int64_t)step
		       : (int64_t)step + 1;
}

static int write_step_events(struct tensorboard *t, uint32_t step, double wall)
{
	struct tfevents start = {0};
	struct out_file *o;
	char *at;

	if (!t->events.len || t->events.failed || !add_tensorboard_folder(t) ||
		files_table_is_full(t->files, TB_FILE, t->events.len)) {
		t->files->j->head->lost_rows += t->events.len && !t->off;
		return 0;
	}
	at = files_get_table_space(t->files, TB_FILE, "", t->events.len, &o);
	if (at && !o->bytes && !o->len) {
		tb_put_start(&start, t->files->j, t->cfg, wall, get_first_x(t, step));
		at = files_get_table_space(t->files, TB_FILE, "", start.len + t->events.len, &o);
		if (at && start.len)
			memcpy(at, start.at, start.len);
	}
	if (at) {
		memcpy(at + start.len, t->events.at, t->events.len);
		files_add_length(t->files, o, start.len + t->events.len);
	}
	tfevents_free(&start);
	return at ? 0 : -ENOBUFS;
}

static int open_tensorboard(void *state, struct files *files)
{
	struct tensorboard *t = state;

	t->files = files;
	t->cfg = files->cfg;
	t->off = !t->cfg;
	/* `probe export` reads finished files: it must not append to an event file that the job wrote. */
	return files->from_files && add_tensorboard_folder(t) ? find_tb_file(t) : 0;
}

/* ---- scalars ---- */

static double get_shown_value(const struct record_scalar *e)
{
	bool whole = e->which == SCALAR_ITERATION_TIME && e->value >= 0 && e->value < 1e15;

	return whole ? (double)(int64_t)e->value : e->value;
}

static void add_scalar_event(struct tensorboard *t, const struct record_scalar *e)
{
	double wall = get_wall_time(e->wall_ns);
	int64_t x = (int64_t)e->step + 1;
	char tag[TB_TAG_MAX];
	struct text out = text_init(tag, sizeof(tag));

	tb_write_scalar_tag(&out, e, false);
	tfevent_write_scalar(&t->events, wall, x, tag, (float)get_shown_value(e));
	if (!tb_scalar_has_samples((enum scalar)e->which) || !(t->now.batch > 0))
		return;
	out = text_init(tag, sizeof(tag));
	tb_write_scalar_tag(&out, e, true);
	tfevent_write_scalar(&t->events, wall, (int64_t)((double)x * t->now.batch), tag,
		(float)get_shown_value(e));
}

/*
 * True if the rate must wait: if there are several groups, MindSpore Transformers shows the last
 * one's rate, and which group is the last is known when the next scalar comes.
 */
static bool is_held_rate(struct tensorboard *t, const struct record_scalar *e)
{
	struct record_scalar one = *e;

	if (get_tensorboard_keys(t->cfg)->tensorboard_tags != TB_TAGS_MINDFORMERS ||
		e->which != SCALAR_LEARNING_RATE || e->group == JOURNAL_NO_GROUP)
		return false;
	one.group = JOURNAL_NO_GROUP;
	t->now.rate = one;
	t->now.rate_held = true;
	return true;
}

static bool is_scalar_event_wanted(const struct tensorboard *t, uint16_t which)
{
	static const struct {
		uint8_t which, metric;
	} of[] = {{SCALAR_DEVICE_LOCAL_NORM, METRIC_DEVICE_LOCAL_NORM},
		{SCALAR_WEIGHT_NORM, METRIC_WEIGHT_NORM}, {SCALAR_LOCAL_LOSS, METRIC_LOCAL_LOSS},
		{SCALAR_DEVICE_LOCAL_LOSS, METRIC_DEVICE_LOCAL_LOSS}};

	/* Numbers computed only for monitor.log have no events. */
	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (of[i].which == which &&
			!(get_training_keys(t->cfg)->metrics >> of[i].metric & 1))
			return false;
	return get_tensorboard_keys(t->cfg)->tensorboard_scalars >> which & 1;
}

static int write_scalar_event(void *state, const struct record_scalar *e)
{
	struct tensorboard *t = state;

	t->before = t->now;
	t->events.len = 0;
	t->events.failed = false;
	if (t->off || get_tensorboard_keys(t->cfg)->tensorboard_tags == TB_TAGS_MSPROBE)
		return 0;
	if (e->which == SCALAR_BATCH_SIZE)
		t->now.batch = e->value;
	t->now.has_loss |= e->which == SCALAR_LOSS;
	if (!is_scalar_event_wanted(t, e->which) || !is_tb_rank(t) || is_held_rate(t, e))
		return 0;
	if (t->now.rate_held) {
		t->now.rate_held = false;
		add_scalar_event(t, &t->now.rate);
	}
	add_scalar_event(t, e);

	int err = write_step_events(t, e->step, get_wall_time(e->wall_ns));

	if (err)
		t->now = t->before;
	return err;
}

/* ---- kinds ---- */

static void write_tb_tag(const struct tensorboard *t, struct text *out, const struct record_kind *r,
	const char *what)
{
	if (get_tensorboard_keys(t->cfg)->tensorboard_tags == TB_TAGS_MSPROBE)
		tb_write_monitor_tag(out, r, get_rank_of_files(t), what);
	else
		tb_write_kind_tag(out, r, what);
}

static void add_kind_event(struct tensorboard *t, const struct record_kind *r, double wall,
	const char *what, double value)
{
	char tag[TB_TAG_MAX];
	struct text out = text_init(tag, sizeof(tag));

	write_tb_tag(t, &out, r, what);
	tfevent_write_scalar(&t->events, wall, r->kind->step, tag, (float)value);
}

static void add_statistics(struct tensorboard *t, const struct record_kind *r, double wall)
{
	const struct tensorboard_keys *keys = get_tensorboard_keys(t->cfg);
	uint32_t ops = parse_ops(keys->tensorboard_ops);
	bool as_monitor = keys->tensorboard_tags == TB_TAGS_MSPROBE, nans = as_monitor;
	enum train_op op;
	double v;

	if (as_monitor)
		ops = r->kind->ops;
	for (unsigned i = 0; (op = get_train_op(ops, i)) && op < TRAIN_OPS_END; i++) {
		nans |= op == TO_NANS;
		if (find_statistic(&r->kind->stats, r->kind->dtype, r->kind->count, op, &v))
			add_kind_event(t, r, wall, train_op_words[op], v);
		else if (as_monitor)
			add_kind_event(t, r, wall, train_op_words[op], (double)NAN);
	}
	if (!nans && r->kind->stats.n && r->kind->stats.nans)
		add_kind_event(t, r, wall, train_op_words[TO_NANS], (double)r->kind->stats.nans);
}

/* Adds counts in bins from -1 to 1, as a histogram. */
static void add_bins(struct tensorboard *t, const struct record_kind *r, double wall, unsigned from,
	const char *what)
{
	double limit[KIND_BINS_EACH];
	struct tfevent_histogram h = {.min = -1,
		.max = 1,
		.n = KIND_BINS_EACH,
		.limit = limit,
		.bucket = r->value + from};
	char tag[TB_TAG_MAX];
	struct text out = text_init(tag, sizeof(tag));

	for (unsigned i = 0; i < KIND_BINS_EACH; i++) {
		double mid = -1 + (2.0 * i + 1) / KIND_BINS_EACH;

		limit[i] = -1 + 2.0 * (i + 1) / KIND_BINS_EACH;
		h.num += h.bucket[i];
		h.sum += h.bucket[i] * mid;
		h.sum_squares += h.bucket[i] * mid * mid;
	}
	write_tb_tag(t, &out, r, what);
	tfevent_write_histogram(&t->events, wall, r->kind->step, tag, &h);
}

/* Adds {metric}/{parameter}, with the x of scalars. */
static void add_metric_event(struct tensorboard *t, const struct record_kind *r, double wall)
{
	char tag[TB_TAG_MAX];
	struct text out = text_init(tag, sizeof(tag));

	tb_write_metric_tag(&out, r);
	tfevent_write_scalar(&t->events, wall, (int64_t)r->kind->step + 1, tag, (float)r->value[0]);
}

/* Metrics computed only for monitor.log have no events. */
static bool has_events_of_metric(const struct tensorboard *t, uint8_t kind)
{
	static const uint8_t of[] = {[TK_LOCAL_NORM] = METRIC_LOCAL_NORM,
		[TK_ADAM_M_NORM] = METRIC_ADAM_NORM,
		[TK_ADAM_V_NORM] = METRIC_ADAM_NORM,
		[TK_STABLE_RANK] = METRIC_STABLE_RANK,
		[TK_EIGENVALUE] = METRIC_STABLE_RANK,
		[TK_SR] = METRIC_STABLE_RANK,
		[TK_KERNEL_NORM] = METRIC_STABLE_RANK};

	return kind < TK_LOCAL_NORM || kind > TK_KERNEL_NORM ||
	       get_training_keys(t->cfg)->metrics >> of[kind] & 1;
}

static bool has_events_of(const struct tensorboard *t, uint8_t kind)
{
	const struct tensorboard_keys *keys = get_tensorboard_keys(t->cfg);

	if (!has_events_of_metric(t, kind))
		return false;
	return keys->tensorboard_tags == TB_TAGS_PROBE ||
	       (keys->tensorboard_tags == TB_TAGS_MINDFORMERS) == (kind >= TK_LOCAL_NORM);
}

static int write_kind_event(void *state, const struct record_kind *r)
{
	struct tensorboard *t = state;
	const struct journal_kind_row *k = r->kind;
	const struct clock_base *clock = &t->files->j->head->clock;
	/* Rows read from CSV files have no time. */
	double wall = get_wall_time(
		t->files->from_files ? clock->real_ns : clock_to_real(clock, k->tick));

	t->before = t->now;
	t->events.len = 0;
	t->events.failed = false;
	if (t->off || train_kinds[k->kind].form >= KIND_HISTOGRAM || !is_tb_rank(t) ||
		!has_events_of(t, k->kind))
		return 0;
	switch (train_kinds[k->kind].form) {
	case KIND_OPS:
		add_statistics(t, r, wall);
		break;
	case KIND_VALUE:
	case KIND_BOUNDS:
	case KIND_SAMPLE:
		if (k->e.n && k->kind >= TK_LOCAL_NORM)
			add_metric_event(t, r, wall);
		else if (k->e.n)
			add_kind_event(t, r, wall, "value", r->value[0]);
		break;
	default:
		if (k->e.n == KIND_VALUES_MAX) {
			add_bins(t, r, wall, 0, "update");
			add_bins(t, r, wall, KIND_BINS_EACH, "ratio");
		}
	}
	return write_step_events(t, k->step, wall);
}

/* ---- passes ---- */

static void remove_event(void *state)
{
	struct tensorboard *t = state;

	t->now = t->before;
}

static void handle_events_written(void *state, bool written)
{
	struct tensorboard *t = state;

	if (written)
		t->committed = t->now;
	else
		t->now = t->committed;
}

static enum sink_file get_tb_file_kind(const char *path)
{
	return strcmp(path, TB_FILE) == 0 ? SINK_FILE_BYTES : SINK_FILE_OTHER;
}

const struct sink_format tensorboard_format = {
	.formats = FORMAT_BIT(TENSORBOARD),
	.state_bytes = sizeof(struct tensorboard),
	.open = open_tensorboard,
	.kind = write_kind_event,
	.scalar = write_scalar_event,
	.retract = remove_event,
	.commit = handle_events_written,
	.close = close_tensorboard,
	.owns = get_tb_file_kind,
};
