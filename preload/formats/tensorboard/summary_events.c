/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink of key summary_dir: <summary_dir>/rank_<R>/events.out.tfevents.<seconds>.<host>, for
 * TensorBoard, with the data that MindSpore's SummaryCollector writes in its own format: the
 * loss, and histograms of parameters. x = step + 1. After a crash each event is in the file once,
 * as in the files of tensorboard.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "config/rooms/tensorboard.h"
#include "terms/scalar.h"
#include "config/summary_steps.h"
#include "sink/format.h"
#include "sink/places.h"
#include "formats/tensorboard/event_folder.h"
#include "formats/tensorboard/tb_tags.h"
#include "formats/tensorboard/tfevent.h"

#define SUMMARY_FILE "u:"

struct summary {
	struct files *files;
	const struct config *cfg;
	bool placed, off;
	struct tfevents events; /* of the current entry */
};

static int open_summary(void *state, struct files *files)
{
	struct summary *s = state;

	s->files = files;
	s->cfg = files->cfg;
	return 0;
}

static bool summary_is_idle(const void *state)
{
	const struct summary *s = state;
	const struct tensorboard_keys *keys = s->cfg ? get_tensorboard_keys(s->cfg) : NULL;

	return !keys || !keys->summary_dir || !*keys->summary_dir || s->files->from_files;
}

static void close_summary(void *state)
{
	struct summary *s = state;

	tfevents_free(&s->events);
}

/* Adds the folder, once, when the rank is known. Returns false if it cannot be used. */
static bool add_summary_folder(struct summary *s)
{
	const struct journal_head *h = s->files->j->head;
	char folder[4300];
	int err;

	if (s->placed || s->off)
		return s->placed;
	snprintf(folder, sizeof(folder), "%s/rank_%d", get_tensorboard_keys(s->cfg)->summary_dir,
		h->rank < 0 ? 0 : (int)h->rank);
	err = add_event_folder(s->files, SUMMARY_FILE[0], folder);
	if (err) {
		log_loss(LOSS_WRITE, "no summary can be written into %s: %s; set summary_dir",
			folder, io_error_text(err));
		s->off = true;
	}
	s->placed = !err;
	return s->placed;
}

/* True if the data does not fit. It is then lost, and so is everything after it. */
static bool is_too_much(struct summary *s, uint64_t bytes)
{
	const struct tensorboard_keys *keys = get_tensorboard_keys(s->cfg);

	if (!keys->summary_max_bytes || bytes <= (uint64_t)keys->summary_max_bytes)
		return false;
	log_loss(LOSS_LIMIT,
		"the file in summary_dir has reached its maximum size: nothing more is "
		"written into it; raise summary_max_bytes (now %lld)",
		(long long)keys->summary_max_bytes);
	s->off = true;
	return true;
}

/* x: that of the entry; TensorBoard drops events of an earlier run from this x on. */
static int write_summary(struct summary *s, double wall, int64_t x)
{
	struct tfevents first = {0};
	struct out_file *o;
	char *at;
	int err = 0;

	if (!s->events.len || s->events.failed || !add_summary_folder(s) ||
		files_table_is_full(s->files, SUMMARY_FILE, s->events.len)) {
		s->files->j->head->lost_rows += s->events.len != 0;
		return 0;
	}
	tfevent_write_version(&first, wall);
	tfevent_session_start(&first, wall, x);
	at = files_get_table_space(s->files, SUMMARY_FILE, "", first.len + s->events.len, &o);
	if (!at) {
		err = -ENOBUFS;
	} else {
		size_t lead = !o->bytes && !o->len ? first.len : 0;

		if (is_too_much(s, o->bytes + o->len + lead + s->events.len)) {
			s->files->j->head->lost_rows++;
		} else {
			if (lead)
				memcpy(at, first.at, lead);
			memcpy(at + lead, s->events.at, s->events.len);
			files_add_length(s->files, o, lead + s->events.len);
		}
	}
	tfevents_free(&first);
	return err;
}

static bool start_summary(struct summary *s, uint32_t step)
{
	s->events.len = 0;
	s->events.failed = false;
	return !s->off && config_summary_has(files_get_config_at(s->files, step), step);
}

static int write_summary_loss(void *state, const struct record_scalar *e)
{
	struct summary *s = state;
	double wall = (double)e->wall_ns * 1e-9;

	if (e->which != SCALAR_LOSS || e->optimizer ||
		!get_tensorboard_keys(s->cfg)->summary_loss || !start_summary(s, e->step))
		return 0;
	tfevent_write_scalar(&s->events, wall, (int64_t)e->step + 1, "loss/auto", (float)e->value);
	return write_summary(s, wall, (int64_t)e->step + 1);
}

static int write_summary_histogram(void *state, const struct record_kind *r)
{
	const struct journal_kind_row *k = r->kind;
	unsigned n = k->e.n > HISTOGRAM_HEAD ? k->e.n - HISTOGRAM_HEAD : 0;
	struct summary *s = state;
	double limit[HISTOGRAM_BINS_MAX], wall;
	struct tfevent_histogram h;
	char tag[TB_TAG_MAX];
	struct text t = text_init(tag, sizeof(tag));

	if (k->kind != TK_HISTOGRAM || !n || n > HISTOGRAM_BINS_MAX || !start_summary(s, k->step))
		return 0;
	h = (struct tfevent_histogram){.min = r->value[HISTOGRAM_LEAST],
		.max = r->value[HISTOGRAM_MOST],
		.sum = r->value[HISTOGRAM_SUM],
		.sum_squares = r->value[HISTOGRAM_SQUARES],
		.n = n,
		.limit = limit,
		.bucket = r->value + HISTOGRAM_HEAD};
	for (unsigned i = 0; i < n; i++) {
		limit[i] = h.min + (h.max - h.min) * (i + 1) / n;
		h.num += h.bucket[i];
	}
	limit[n - 1] = h.max;
	tb_write_summary_tag(&t, r);
	wall = (double)clock_to_real(&s->files->j->head->clock, k->tick) * 1e-9;
	tfevent_write_histogram(&s->events, wall, (int64_t)k->step + 1, tag, &h);
	return write_summary(s, wall, (int64_t)k->step + 1);
}

static enum sink_file get_summary_file_kind(const char *path)
{
	return strcmp(path, SUMMARY_FILE) == 0 ? SINK_FILE_BYTES : SINK_FILE_OTHER;
}

const struct sink_format summary_format = {
	.state_bytes = sizeof(struct summary),
	.open = open_summary,
	.idle = summary_is_idle,
	.kind = write_summary_histogram,
	.scalar = write_summary_loss,
	.close = close_summary,
	.owns = get_summary_file_kind,
};
