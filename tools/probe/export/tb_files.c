/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/export/tb_files.h"

#include <dirent.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "text/text.h"
#include "config/rooms/room.h"
#include "formats/tensorboard/tb_tags.h"
#include "formats/tensorboard/tfevent.h"
#include "tools/lib/out.h"
#include "tools/lib/target.h"
#include "tools/lib/tool.h"

/* ---- times in names of folders ---- */

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

uint64_t parse_folder_time(const char *text, size_t n)
{
	unsigned v[4], month;
	char copy[32];
	const char *m;
	int used = 0;

	if (n < 14 || n >= sizeof(copy))
		return 0;
	memcpy(copy, text, n);
	copy[n] = 0;
	if (sscanf(copy + 3, "%2u_%2u-%2u-%2u%n", &v[0], &v[1], &v[2], &v[3], &used) != 4 ||
		copy[3 + used] || !v[0] || v[0] > 31 || v[1] > 23 || v[2] > 59 || v[3] > 61)
		return 0;
	copy[3] = 0;
	m = strstr(months, copy);
	if (!m || (m - months) % 3)
		return 0;
	month = (unsigned)(m - months) / 3 + 1;
	return (((month * UINT64_C(32) + v[0]) * 24 + v[1]) * 60 + v[2]) * 62 + v[3];
}

static void format_folder_time(time_t time, char out[32])
{
	struct tm tm;

	localtime_r(&time, &tm);
	snprintf(out, 32, "%.3s%02d_%02d-%02d-%02d", months + 3 * (size_t)tm.tm_mon, tm.tm_mday,
		tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* ---- folders ---- */

struct tb_folder {
	char *path, *name;
	unsigned rank;
	uint64_t time; /* 0: not known */
};

struct tb_folders {
	struct tb_folder *at;
	unsigned n, cap;
	bool monitor; /* a folder of msprobe's monitor */
};

static bool is_wanted_folder(const struct tb_export *o, unsigned rank, uint64_t time)
{
	return ranges_has(&o->feed.ranks, rank) && (!o->from || time >= o->from) &&
	       (!o->to || time <= o->to);
}

/* Keeps the newest folder of each rank. */
static void add_tb_folder(
	struct tb_folders *f, const char *path, const char *name, unsigned rank, uint64_t time)
{
	struct tb_folder one = {tool_strdup(path), tool_strdup(name), rank, time}, *was = NULL;

	for (unsigned i = 0; i < f->n; i++)
		if (f->at[i].rank == rank)
			was = &f->at[i];
	if (was) {
		struct tb_folder older = one.time > was->time ? *was : one;

		if (one.time > was->time)
			*was = one;
		tool_warn("export: %s is skipped: there is a newer folder of rank %u", older.name,
			rank);
		free(older.path);
		free(older.name);
		return;
	}
	TOOL_GROW(f->at, f->n, f->cap);
	f->at[f->n++] = one;
}

/* Parses {time}-rank{r}-... Returns false for other names. */
static bool parse_monitor_name(const char *name, unsigned *rank, uint64_t *time)
{
	regmatch_t m[3];
	regex_t re;
	bool is;

	/* MonitorConst.OUTPUT_DIR_PATTERN, matched at the start of the name. */
	if (regcomp(&re, "^([A-Za-z0-9_-]{0,20})-rank([0-9]{1,5})-", REG_EXTENDED))
		return false;
	is = regexec(&re, name, 3, m, 0) == 0;
	regfree(&re);
	if (!is)
		return false;
	*rank = (unsigned)strtoul(name + m[2].rm_so, NULL, 10);
	*time = parse_folder_time(name, (size_t)m[1].rm_eo);
	return true;
}

static void find_monitor_folders(struct tb_folders *f, const struct tb_export *o)
{
	char *whole = tool_get_absolute_path(o->feed.dir), *last = strrchr(whole, '/');
	unsigned rank;
	uint64_t time;
	DIR *d;

	if (last && parse_monitor_name(last + 1, &rank, &time)) {
		f->monitor = true;
		add_tb_folder(f, o->feed.dir, last + 1, rank, time);
		free(whole);
		return;
	}
	free(whole);
	d = opendir(o->feed.dir);
	for (struct dirent *e; d && (e = readdir(d));) {
		char *path;

		if (!parse_monitor_name(e->d_name, &rank, &time))
			continue;
		f->monitor = true;
		if (!is_wanted_folder(o, rank, time))
			continue;
		path = tool_format("%s/%s", o->feed.dir, e->d_name);
		add_tb_folder(f, path, e->d_name, rank, time);
		free(path);
	}
	if (d)
		closedir(d);
}

static int find_rank_folders(struct tb_folders *f, const struct tb_export *o)
{
	struct folders all;
	int status = folders_open(&all, o->feed.dir);

	for (unsigned i = 0; !status && i < all.n; i++) {
		const struct rank_dir *d = &all.dir[i];
		unsigned rank = d->rank < 0 ? 0 : (unsigned)d->rank;
		char text[32];
		uint64_t time;

		format_folder_time((time_t)(d->meta.clock_first_ns / 1000000000), text);
		time = parse_folder_time(text, strlen(text));
		if (is_wanted_folder(o, rank, time))
			add_tb_folder(f, d->path, d->name, rank, time);
	}
	folders_close(&all);
	return status;
}

static void free_tb_folders(struct tb_folders *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		free(f->at[i].path);
		free(f->at[i].name);
	}
	free(f->at);
}

static int compare_tb_folders(const void *a, const void *b)
{
	const struct tb_folder *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* ---- parameter statistics ---- */

/* The statistics that csv2tensorboard_by_step knows. */
static const uint8_t monitor_kinds[] = {TK_ACTV, TK_ACTV_GRAD, TK_EXP_AVG, TK_EXP_AVG_SQ,
	TK_GRAD_UNREDUCED, TK_GRAD_REDUCED, TK_PARAM_ORIGIN, TK_PARAM_UPDATED};

#define NKINDS (sizeof(monitor_kinds) / sizeof(*monitor_kinds))

bool is_kind_in_list(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; p && *p;) {
		size_t n = strcspn(p, ",");

		if (n == len && memcmp(p, word, n) == 0)
			return true;
		p += n + (p[n] == ',');
	}
	return !list;
}

static int check_tb_kinds(const struct tb_export *o)
{
	for (const char *p = o->kinds; p && *p;) {
		size_t n = strcspn(p, ",");
		bool known = n == 7 && memcmp(p, "scalars", n) == 0;

		for (unsigned i = 0; i < NKINDS; i++)
			known |= strlen(train_kinds[monitor_kinds[i]].word) == n &&
				 memcmp(train_kinds[monitor_kinds[i]].word, p, n) == 0;
		if (o->layout != TB_LAYOUT_CSV2TB)
			known |= find_kind_mask(p, n) != 0;
		if (!known) {
			tool_error("export: --kinds %.*s: accepted: actv, actv_grad, exp_avg, "
				   "exp_avg_sq, grad_unreduced, grad_reduced, param_origin, "
				   "param_updated",
				(int)n, p);
			return STATUS_USAGE;
		}
		p += n + (p[n] == ',');
	}
	return 0;
}

/* ---- rows to events ---- */

static const char *const ops[] = {"norm", "min", "max", "zeros", "nans", "id", "mean"};
#define NOPS (sizeof(ops) / sizeof(*ops))

struct tb_writer {
	const struct tb_export *o;
	const struct tb_folder *folder;
	const char *word; /* first word of the statistic's file names */
	struct tfevents events;
	struct target to;
	bool open;
	uint64_t *seen; /* hashes of the rows that were written */
	uint64_t nseen, capseen;
	double wall;
	uint64_t rows, damaged;
};

/* Returns false if this row of this step was added before. */
static bool add_seen_row(struct tb_writer *w, uint64_t h)
{
	h |= h == 0;
	if (2 * w->nseen >= w->capseen) {
		uint64_t cap = w->capseen ? 4 * w->capseen : 4096, *old = w->seen;

		w->seen = tool_alloc(cap * sizeof(*w->seen));
		for (uint64_t i = 0; i < w->capseen; i++)
			if (old[i]) {
				uint64_t at = old[i] & (cap - 1);

				while (w->seen[at])
					at = (at + 1) & (cap - 1);
				w->seen[at] = old[i];
			}
		free(old);
		w->capseen = cap;
	}
	for (uint64_t at = h & (w->capseen - 1);; at = (at + 1) & (w->capseen - 1)) {
		if (w->seen[at] == h)
			return false;
		if (!w->seen[at]) {
			w->seen[at] = h;
			w->nseen++;
			return true;
		}
	}
}

static void write_pending_events(struct tb_writer *w)
{
	target_write(&w->to, w->events.at, w->events.len);
	w->events.len = 0;
}

static int open_tb_target(struct tb_writer *w, const char *output)
{
	char host[72] = "localhost", *dir, *path;
	struct stat st;
	int status;

	gethostname(host, sizeof(host) - 1);
	dir = w->o->layout == TB_LAYOUT_CSV2TB
		      ? tool_format("%s/rank%u/%s", output, w->folder->rank, w->word)
		      : tool_format("%s/rank%u", output, w->folder->rank);
	if (stat(dir, &st) == 0) {
		tool_error("export: %s exists already; give another --output", dir);
		free(dir);
		return STATUS_USAGE;
	}
	path = tool_format("%s/events.out.tfevents.%010lld.%s", dir, (long long)w->wall, host);
	status = target_open(&w->to, path);
	free(path);
	free(dir);
	w->open = !status;
	if (w->open)
		tfevent_write_version(&w->events, w->wall);
	return status;
}

static uint64_t update_field_hash(uint64_t h, const struct csv_text *t)
{
	for (size_t i = 0; i < t->n; i++)
		h = hash_u64(h, (unsigned char)t->s[i]);
	return hash_u64(h, t->n + 256);
}

/* Writes the part of the tag before the statistic. */
static void write_row_tag(struct tb_writer *w, struct text *t, const struct csv_text *vpp,
	const struct csv_text *name, const struct csv_text *micro)
{
	bool live = w->o->layout == TB_LAYOUT_LIVE;

	text_add_string(t, live ? "" : "vp");
	text_add_bytes(t, vpp->s, vpp->n);
	text_add_char(t, ':');
	text_add_bytes(t, name->s, name->n);
	if (micro->n) {
		text_add_string(t, live ? ":" : ":micro");
		text_add_bytes(t, micro->s, micro->n);
	}
	if (live)
		text_add_format(t, "/rank%u/%s_", w->folder->rank, tb_get_monitor_word(w->word));
	else
		text_add_char(t, '/');
}

/* Returns 0 or STATUS_USAGE (reported). */
static int write_tb_row(struct tb_writer *w, const struct csv *c, const int column[4],
	const int *op_at, unsigned nop)
{
	const struct csv_text *vpp = csv_get_field(c, column[0]),
			      *name = csv_get_field(c, column[1]),
			      *micro = csv_get_field(c, column[3]);
	uint64_t step,
		h = update_field_hash(update_field_hash(update_field_hash(1, vpp), name), micro);
	char tag[2048];

	if (!csv_parse_u64(csv_get_field(c, column[2]), &step)) {
		w->damaged++;
		return 0;
	}
	if (step < w->o->feed.step_lo || step > w->o->feed.step_hi)
		return 0;
	if (!add_seen_row(w, hash_u64(h, step))) {
		tool_error("export: %s: %s: %.*s has step %llu twice: does it contain two runs?",
			w->folder->path, w->word, (int)name->n, name->s, (unsigned long long)step);
		return STATUS_USAGE;
	}
	for (unsigned i = 0; i < nop; i++) {
		struct text t = text_init(tag, sizeof(tag));
		double v;

		if (op_at[i] < 0)
			continue;
		if (!csv_parse_double(csv_get_field(c, op_at[i]), &v))
			v = (double)NAN;
		write_row_tag(w, &t, vpp, name, micro);
		text_add_string(&t, ops[i]);
		tfevent_write_scalar(&w->events, w->wall, (int64_t)step, tag, (float)v);
	}
	w->rows++;
	if (w->events.len > 1u << 20)
		write_pending_events(w);
	return 0;
}

static int write_tb_file(struct tb_writer *w, const char *path, const char *output)
{
	static const char *const names[] = {"vpp_stage", "name", "step", "micro_step"};
	int column[4], op_at[NOPS], status = 0;
	struct csv c;

	if (csv_open(&c, path, UINT64_MAX, true, 65536)) {
		tool_warn("export: %s cannot be read and is skipped", path);
		csv_close(&c);
		return 0;
	}
	for (unsigned i = 0; i < 4; i++)
		column[i] = csv_find_column(&c, names[i]);
	for (unsigned i = 0; i < NOPS; i++)
		op_at[i] = csv_find_column(&c, ops[i]);
	if (column[0] < 0 || column[1] < 0 || column[2] < 0) {
		tool_warn("export: %s is skipped: a file of a parameter statistic has the columns "
			  "vpp_stage, name and step",
			path);
		csv_close(&c);
		return 0;
	}
	while (!status && csv_read_row(&c)) {
		if (!w->open)
			status = open_tb_target(w, output);
		if (!status)
			status = write_tb_row(w, &c, column, op_at, NOPS);
	}
	w->damaged += c.damaged;
	csv_close(&c);
	return status;
}

struct tb_block {
	char *path;
	uint64_t first;
};

static int compare_blocks(const void *a, const void *b)
{
	const struct tb_block *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Reads <word>_<a>-<b>.csv in the order of their steps. */
static int write_tb_kind(struct tb_writer *w, const char *output)
{
	size_t len = strlen(w->word);
	struct tb_block *block = NULL;
	unsigned n = 0, cap = 0;
	DIR *d = opendir(w->folder->path);
	int status = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		unsigned long long a, b;
		int used = 0;

		if (strncmp(e->d_name, w->word, len) ||
			sscanf(e->d_name + len, "_%llu-%llu.csv%n", &a, &b, &used) != 2 || !used ||
			e->d_name[len + (size_t)used])
			continue;
		TOOL_GROW(block, n, cap);
		block[n++] = (struct tb_block){tool_format("%s/%s", w->folder->path, e->d_name), a};
	}
	if (d)
		closedir(d);
	if (n)
		qsort(block, n, sizeof(*block), compare_blocks);
	for (unsigned i = 0; i < n; i++) {
		if (!status)
			status = write_tb_file(w, block[i].path, output);
		free(block[i].path);
	}
	free(block);
	return status;
}

static int close_tb_target(struct tb_writer *w, bool keep)
{
	if (!w->open)
		return 0;
	write_pending_events(w);
	w->open = false;
	return target_close(&w->to, keep);
}

static int write_tb_rank(const struct tb_export *o, const struct tb_folder *folder,
	const char *output, uint64_t *rows)
{
	struct tb_writer w = {.o = o, .folder = folder, .wall = (double)time(NULL)};
	int status = 0;

	for (unsigned i = 0; !status && i < NKINDS; i++) {
		w.word = train_kinds[monitor_kinds[i]].word;
		if (!is_kind_in_list(o->kinds, w.word))
			continue;
		w.nseen = 0;
		if (w.seen)
			memset(w.seen, 0, w.capseen * sizeof(*w.seen));
		status = write_tb_kind(&w, output);
		if (status || o->layout == TB_LAYOUT_CSV2TB)
			status |= close_tb_target(&w, !status);
	}
	status |= close_tb_target(&w, !status);
	if (w.damaged)
		tool_warn("export: %s: %s could not be read and are skipped", folder->name,
			out_format_plural(w.damaged, "row", "rows"));
	*rows += w.rows;
	tfevents_free(&w.events);
	free(w.seen);
	return status;
}

static int write_tb_folders(const struct tb_export *o, struct tb_folders *f)
{
	char time_text[32], *out, *folder;
	uint64_t rows = 0;
	unsigned earlier;
	int status = 0;

	folder = folders_find(o->feed.dir, &earlier);

	format_folder_time(time(NULL), time_text);
	out = o->feed.output ? tool_strdup(o->feed.output)
			     : tool_format("%s/%s-%s", folder, time_text,
				       o->layout == TB_LAYOUT_CSV2TB ? "csv2tensorboard_by_step"
								     : "tensorboard");
	free(folder);
	qsort(f->at, f->n, sizeof(*f->at), compare_tb_folders);
	for (unsigned i = 0; !status && i < f->n; i++)
		status = write_tb_rank(o, &f->at[i], out, &rows);
	if (!status && !rows) {
		tool_error("export: %s: no rows of parameter statistics in the selected folders, "
			   "steps and times",
			o->feed.dir);
		status = STATUS_USAGE;
	}
	if (!status)
		printf("%s: %s of kinds of %s; tensorboard --logdir %s\n", out,
			out_format_plural(rows, "row", "rows"),
			out_format_plural(f->n, "rank", "ranks"), out);
	free(out);
	return status;
}

int export_write_tensorboard(struct tb_export *o)
{
	struct tb_folders f = {0};
	int status;

	find_monitor_folders(&f, o);
	if (o->layout == TB_LAYOUT_AUTO)
		o->layout = f.monitor ? TB_LAYOUT_CSV2TB : TB_LAYOUT_LIVE;
	status = check_tb_kinds(o);
	if (!status && !f.monitor)
		status = find_rank_folders(&f, o);
	if (!status && !f.n) {
		tool_error("export: %s: no folder with the selected ranks and times", o->feed.dir);
		status = STATUS_USAGE;
	}
	o->feed.kinds = o->kinds;
	if (!status)
		status = !f.monitor && o->layout == TB_LAYOUT_LIVE ? feed_folders(&o->feed)
								   : write_tb_folders(o, &f);
	free_tb_folders(&f);
	return status;
}
