/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/export/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "config/config.h"
#include "config/config_value.h"
#include "folder/recorded_config.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/export/export.h"
#include "tools/probe/export/means.h"
#include "tools/probe/model/read/meta_config.h"

/* The key that sets each format's folder. */
static const char place_keys[OUTPUT_FORMATS][20] = {
	[FORMAT_DUMP] = "dump_path",
	[FORMAT_MONITOR] = "monitor_dir",
	[FORMAT_TENSORBOARD] = "tensorboard_dir",
};

/* ---- passes ---- */

/* Ends a pass as the writer thread does, for a journal that contains only fed data. */
static int close_feed_pass(struct feed *f)
{
	struct journal *j = &f->journal;
	uint64_t now = atomic_load(&j->head->commit_seq);
	struct journal_commit *next = tool_alloc(sizeof(*next));
	int err;

	memcpy(next, journal_get_commit(j, now), sizeof(*next));
	next->number = now + 2;
	err = sink_write(&f->sink, next);
	if (!err) {
		now = atomic_load(&j->head->commit_seq);
		next->number = now + 1;
		memcpy(journal_get_commit(j, now + 1), next, sizeof(*next));
		atomic_store(&j->head->commit_seq, now + 1);
	}
	free(next);
	return err;
}

/* ---- rows by their steps ---- */

static struct feed_source *get_earliest_kind(struct feed *f)
{
	struct feed_source *first = NULL;

	for (unsigned i = 0; i < f->nkind; i++)
		if (f->kind[i].have && (!first || f->kind[i].step < first->step))
			first = &f->kind[i];
	return first;
}

/* Passes on the row with the lowest step. Returns 1, 0 if there is none, or -errno. */
static int feed_one(struct feed *f)
{
	struct feed_source *kind = get_earliest_kind(f),
			   *scalar = f->scalars.have ? &f->scalars : NULL;
	uint64_t step = f->calls.now ? f->calls.now->call.step : UINT64_MAX;
	int err;

	if (kind && (kind->step < step))
		step = kind->step;
	if (scalar && scalar->step < step)
		step = scalar->step;
	if (step == UINT64_MAX)
		return 0;
	err = sink_add_step(&f->sink, (uint32_t)step);
	if (err)
		return err;
	if (f->calls.now && f->calls.now->call.step == step) {
		struct record r = feed_call_record(f);

		err = sink_give_record(&f->sink, &r);
		if (!err)
			feed_calls_next(f);
	} else if (kind && kind->step == step) {
		err = feed_give_kind(f, kind);
		if (!err)
			feed_source_next(f, kind);
	} else {
		err = feed_give_scalar(f, scalar);
		if (!err)
			feed_source_next(f, scalar);
	}
	f->given += !err;
	return err ? err : 1;
}

static int feed_rows(struct feed *f)
{
	bool again = false;
	int err;

	for (;;) {
		err = feed_one(f);
		if (err == -ENOBUFS && !again) {
			again = true;
			err = close_feed_pass(f);
			if (err)
				return err;
			continue;
		}
		if (err <= 0)
			return err;
		again = false;
	}
}

/* Passes on the selected steps that have ended. */
static int feed_last_step(struct feed *f)
{
	uint64_t next = f->dir->meta.step_now;
	int err;

	if (f->options->step_hi < next)
		next = f->options->step_hi + 1;
	err = sink_add_step(&f->sink, (uint32_t)(next > UINT32_MAX ? UINT32_MAX : next));
	if (err == -ENOBUFS && !(err = close_feed_pass(f)))
		err = sink_add_step(&f->sink, (uint32_t)next);
	return err ? err : close_feed_pass(f);
}

/* ---- a rank ---- */

static int init_feed_journal(struct feed *f)
{
	const struct meta *m = &f->dir->meta;
	struct journal_head *h;
	int err = journal_create(&f->journal, -1, NULL, JOURNAL_BYTES_MIN);

	if (err)
		return err;
	h = f->journal.head;
	f->clock = (struct clock_base){.ns_per_tick = 1.0};
	h->clock = h->clock_last = f->clock;
	h->clock.real_ns = h->clock_last.real_ns = h->clock.tick = h->clock_last.tick =
		m->clock_first_ns;
	h->block_steps = m->block_steps ? (uint32_t)m->block_steps : 100;
	h->rank = f->dir->rank >= 0 ? f->dir->rank : m->rank;
	h->world_size = m->world_size;
	h->owner = m->owner;
	snprintf(h->run, sizeof(h->run), "%s", m->run);
	return 0;
}

static int set_place(struct config *cfg, const struct feed_options *o)
{
	const char *name = place_keys[o->format], *to = o->output ? o->output : "";
	const struct config_key *k = config_key_find(name, strlen(name), false);
	char *path = o->output ? tool_get_absolute_path(to) : tool_strdup("");
	const char *wrong =
		k ? config_set(cfg, k, path, strlen(path), &(struct path_base){0}) : NULL;

	free(path);
	if (!wrong)
		return 0;
	tool_error("export: --output %s: %s", to, wrong);
	return -EINVAL;
}

static int feed_with(struct feed *f, const struct config *cfg)
{
	int dirfd = open(f->dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (dirfd < 0)
		return -errno;
	err = init_feed_journal(f);
	if (!err) {
		err = sink_open(&f->sink, &f->journal, dirfd, cfg,
			UINT32_C(1) << f->options->format | SINK_FROM_FILES);
		if (!err && !f->sink.open) {
			sink_close(&f->sink);
			err = -ENOTSUP;
		} else if (!err) {
			feed_calls_open(f);
			feed_rows_open(f);
			err = feed_tables(f, close_feed_pass);
			if (!err)
				err = feed_rows(f);
			if (!err)
				err = feed_last_step(f);
			if (!err)
				sink_write_results(&f->sink);
			feed_rows_close(f);
			feed_calls_close(f);
			sink_close(&f->sink);
		}
		journal_close(&f->journal);
	}
	close(dirfd);
	return err;
}

/* Returns true if the rank has a call, statistics row or scalar in the selected steps. */
static bool has_asked_rows(
	const struct feed_options *o, const struct rank_dir *dir, const struct overlay *overlay)
{
	struct feed *f;
	bool has;

	if (!o->step_lo && o->step_hi == UINT64_MAX)
		return true;
	f = tool_alloc(sizeof(*f));
	*f = (struct feed){.options = o, .dir = dir, .overlay = overlay};
	feed_calls_open(f);
	feed_rows_open(f);
	has = f->calls.now || f->scalars.have || get_earliest_kind(f);
	feed_rows_close(f);
	feed_calls_close(f);
	free(f);
	return has;
}

static int feed_rank(
	const struct feed_options *o, const struct rank_dir *dir, const struct overlay *overlay)
{
	struct feed *f = tool_alloc(sizeof(*f));
	struct config cfg;
	char *json = meta_read_config(dir->path), *slash, *out = realpath(dir->path, NULL);
	int err = -ENOMEM;

	*f = (struct feed){.options = o, .dir = dir, .overlay = overlay};
	slash = out ? strrchr(out, '/') : NULL;
	if (slash) {
		slash[slash == out] = 0;
		err = recorded_config_text(&cfg, json, out);
		if (!err)
			err = set_place(&cfg, o);
		if (!err)
			err = feed_with(f, &cfg);
		config_free(&cfg);
	}
	if (err)
		tool_error("export: --format %s: %s: %s", output_format_names[o->format],
			dir->label,
			err == -EEXIST ? "the output exists already; give another --output"
				       : io_error_text(err));
	else if (f->damaged)
		tool_warn("export: %s: %s could not be read and are skipped", dir->label,
			out_format_plural(f->damaged, "row", "rows"));
	free(out);
	free(json);
	free(f);
	return err ? STATUS_USAGE : 0;
}

/* Returns the folder of the ranks' TensorBoard files. */
static char *get_events_folder(const struct feed_options *o, const struct rank_dir *d)
{
	char *path = o->output ? NULL : realpath(d->path, NULL), *slash, *to;

	slash = path ? strrchr(path, '/') : NULL;
	if (slash)
		*slash = 0;
	to = o->output ? tool_strdup(o->output) : tool_format("%s/tensorboard", path ? path : "");
	free(path);
	return to;
}

static int write_means(const struct feed_options *o, const struct folders *folders, struct means *m)
{
	char *to = get_events_folder(o, &folders->dir[0]);
	int status = means_write(m, to);

	free(to);
	return status;
}

int feed_folders(const struct feed_options *o)
{
	struct folders folders;
	struct means means;
	unsigned n = 0, fed = 0;
	int status = folders_open(&folders, o->dir);

	means_open(&means);
	for (unsigned i = 0; !status && i < folders.n; i++) {
		const struct rank_dir *d = &folders.dir[i];
		struct overlay overlay = {0};
		char *wrong;

		if (!ranges_has(&o->ranks, (uint64_t)(d->rank < 0 ? 0 : d->rank)))
			continue;
		n++;
		/* The journal of a running process is not read, only its files. */
		wrong = d->journal && d->state != RANK_RUNNING ? overlay_open(&overlay, d) : NULL;
		if (wrong)
			tool_warn("export: %s: %s", d->label, wrong);
		free(wrong);
		if (!has_asked_rows(o, d, &overlay)) {
			overlay_remove(&overlay);
			continue;
		}
		fed++;
		status = feed_rank(o, d, &overlay);
		if (!status && o->format == FORMAT_TENSORBOARD &&
			(!o->kinds || strstr(o->kinds, "scalars")))
			means_add(&means, d, &overlay, i, o->step_lo, o->step_hi);
		overlay_remove(&overlay);
	}
	if (!status && !n) {
		tool_error(
			"export: %s: has no folder of a selected rank; `probe report %s` lists its "
			"ranks",
			o->dir, o->dir);
		status = STATUS_USAGE;
	} else if (!status && !fed) {
		export_print_no_calls(o->dir, o->step_lo, o->step_hi);
		status = STATUS_USAGE;
	}
	/*
	 * Means are written only for all ranks: means over some ranks are not means of the run, and
	 * several exports may share a folder.
	 */
	if (!status && n > 1 && !o->ranks.n)
		status = write_means(o, &folders, &means);
	means_close(&means);
	if (!status && !o->quiet)
		printf("%s: %s\n", o->output ? o->output : folders.path,
			out_format_plural(n, "rank", "ranks"));
	folders_close(&folders);
	return status;
}
