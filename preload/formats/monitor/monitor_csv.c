/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink of format monitor: the files of msprobe's training monitor, for its tools. First version: a folder
 * {%b%d_%H-%M-%S}-rank{r}-{8 hex digits} with <kind>_<a>-<b>.csv and other_<a>-<b>.csv (communication, mg_direction).
 * Second version: a folder rank_{r} with <monitor>_step<a>-<b>.csv.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/rooms/calls.h"
#include "config/rooms/kinds.h"
#include "config/rooms/monitor.h"
#include "config/rooms/steps.h"
#include "sink/column.h"
#include "formats/monitor/monitor_comm.h"
#include "formats/monitor/monitor_folder.h"
#include "formats/monitor/monitor_owner.h"
#include "formats/monitor/comm_places.h"
#include "formats/monitor/monitor_row.h"
#include "sink/places.h"

#define TAG 'm'
#define HEADERS_MAX 16

struct monitor_header_text {
	uint32_t ops;
	bool micro;
	char text[MONITOR_HEADER_MAX];
};

struct monitor {
	struct files *files;
	struct monitor_style style;
	struct monitor_comm *comm; /* NULL: communication is not requested */
	bool no_comm; /* communication is not measured, permanently or at present */
	struct comm_places *log; /* NULL: cc_log_only is not set */
	struct monitor_header_text header[HEADERS_MAX]; /* struct files refers to them */
	uint32_t ops; /* statistics of key ops */
	uint32_t start_step;
	int32_t rank; /* the rank in the folder's name */
};

/* The second version's file for a kind, and the kind's scope in it. "": none. */
static const struct {
	char file[12], scope[16];
} v2_places[TRAIN_KINDS] = {
	[TK_PARAM_ORIGIN] = {"param", "param_origin"},
	[TK_PARAM_UPDATED] = {"param", "param_updated"},
	[TK_GRAD_UNREDUCED] = {"weight_grad", "unreduced"},
	[TK_GRAD_REDUCED] = {"weight_grad", "reduced"},
	[TK_EXP_AVG] = {"optimizer", "exp_avg"},
	[TK_EXP_AVG_SQ] = {"optimizer", "exp_avg_sq"},
	[TK_ACTV] = {"module", "forward"},
	[TK_ACTV_GRAD] = {"module", "backward"},
};

/* ---- the folder ---- */

/* If the rank has become known: renames the folder. */
static void update_monitor_rank(struct monitor *m)
{
	char old[JOURNAL_PATH_MAX], new[JOURNAL_PATH_MAX];
	int32_t rank = m->files->j->head->rank;

	if (rank == m->rank)
		return;
	format_monitor_folder(m->files, m->style.v2, m->rank, old, sizeof(old));
	m->rank = rank;
	if (m->style.v2)
		init_ranks_monitor_folder(m->files, rank);
	/* Renamed last, because the name may belong to a living process. */
	format_monitor_folder(m->files, m->style.v2, m->rank, new, sizeof(new));
	if (rename(old, new) == 0 || errno == ENOENT)
		files_place_set_path(m->files, TAG, new);
}

/* Marks the folder as used by this process. Files that a tool makes later have no owner. */
static int register_monitor_folder(struct files *files)
{
	char text[MONITOR_OWNER_MAX];

	if (files->j->kind == JK_MEMORY || files->j->left || files->from_files)
		return 0;
	text[format_monitor_owner(text, sizeof(text) - 1, files->j)] = 0;
	return files_place_set_first(files, TAG, MONITOR_OWNER_FILE, text);
}

/* True for the lowest monitored rank: only this rank prints the line about cc_log_only. */
static bool is_lowest_rank(const struct config *c, int32_t rank)
{
	const struct steps_keys *keys = get_steps_keys(c);

	return rank < 0 || (uint64_t)rank == (keys->rank.n ? keys->rank.item[0].lo : 0);
}

static int open_monitor(void *state, struct files *files)
{
	const struct config *c = files->cfg;
	struct monitor *m = state;
	char path[JOURNAL_PATH_MAX];
	int err;

	m->files = files;
	m->rank = files->j->head->rank;
	m->style.ndigits = c ? (int)get_monitor_keys(c)->ndigits : -1;
	m->style.v2 = c && get_monitor_keys(c)->monitor_layout == MONITOR_V2;
	m->start_step = m->style.v2 ? (uint32_t)get_steps_keys(c)->start_step : 0;
	m->ops = c ? parse_ops(get_kinds_keys(c)->ops) : TO_NORM;
	if (!m->ops)
		m->ops = TO_NORM;
	err = init_monitor_folder(files, m->style.v2, m->rank);
	/* Done last, because the folder may belong to an earlier run. */
	format_monitor_folder(files, m->style.v2, m->rank, path, sizeof(path));
	if (!err)
		err = files_place_add(files, TAG, path, NULL);
	if (!err)
		err = register_monitor_folder(files);
	if (!err && c && get_monitor_keys(c)->cc_distribution && get_monitor_keys(c)->cc_log_only) {
		/* If the process has ended, the file that it has written is kept. */
		m->log = files->j->left ? NULL : comm_places_init(is_lowest_rank(c, m->rank));
		err = m->log || files->j->left ? 0 : -ENOMEM;
	} else if (!err && c && get_monitor_keys(c)->cc_distribution) {
		m->comm = monitor_comm_init(get_monitor_keys(c)->cc_pre_hook);
		err = m->comm ? 0 : -ENOMEM;
	}
	return err;
}

static void close_monitor(void *state)
{
	struct monitor *m = state;

	monitor_comm_free(m->comm);
	m->comm = NULL;
	comm_places_free(m->log);
	m->log = NULL;
}

/* ---- files ---- */

/* Returns NULL if there are too many different headers. */
static const char *get_monitor_header(struct monitor *m, uint32_t ops, bool micro)
{
	for (unsigned i = 0; i < HEADERS_MAX; i++) {
		struct monitor_header_text *h = &m->header[i];

		if (!h->text[0]) {
			struct text t = text_init(h->text, sizeof(h->text));

			h->ops = ops;
			h->micro = micro;
			monitor_write_header(&t, ops, micro, &m->style);
			return h->text;
		}
		if (h->ops == ops && h->micro == micro)
			return h->text;
	}
	return NULL;
}

/*
 * Writes the name of the file for a row. v1: <kind>_0-9.csv; v2: <monitor>_step3-12.csv, in
 * blocks from start_step on.
 */
static void format_monitor_file_name(
	const struct monitor *m, const char *word, uint32_t step, char *buf, size_t cap)
{
	uint32_t n = m->files->j->head->block_steps ? m->files->j->head->block_steps : 1;
	uint64_t first = m->start_step <= step ? m->start_step : 0;
	uint64_t a = first + (step - first) / n * n;

	snprintf(buf, cap, "%c:%s_%s%llu-%llu.csv", TAG, word, m->style.v2 ? "step" : "",
		(unsigned long long)a, (unsigned long long)a + n - 1);
}

/* Returns space for a row. If NULL, *err is -ENOBUFS, or 0 if the row is lost (counted). */
static char *get_monitor_space(struct monitor *m, const char *word, uint32_t step, uint32_t ops,
	bool micro, size_t cap, struct out_file **o, int *err)
{
	const char *header = get_monitor_header(m, ops, micro);
	char path[48];

	format_monitor_file_name(m, word, step, path, sizeof(path));
	if (header)
		return files_get_row_space(m->files, path, header, cap, o, err);
	m->files->j->head->lost_rows++;
	*err = 0;
	return NULL;
}

/* ---- kinds ---- */

/* Returns the statistics of a tensor with the single element v, for a kind with one number. */
static struct stats init_number_stats(double v, double eps)
{
	return (struct stats){.n = 1,
		.zeros = fabs(v) < eps,
		.nans = isnan(v),
		.min.f = v,
		.max.f = v,
		.mean = v,
		.norm = fabs(v)};
}

static int write_monitor_kind(void *state, const struct record_kind *r)
{
	struct monitor *m = state;
	const struct journal_kind_row *k = r->kind;
	bool number = train_kinds[k->kind].form == KIND_VALUE && k->kind == TK_MG_DIRECTION;
	bool micro = k->micro_step != UINT32_MAX || k->kind == TK_ACTV || k->kind == TK_ACTV_GRAD;
	const char *word = number ? "other" : m->style.v2 ? v2_places[k->kind].file : r->word;
	size_t cap = MONITOR_ROW_MAX + 24 * (size_t)k->ndim +
		     CSV_FIELD_SPACE * (strnlen(r->name, ROW_STRING_MAX) +
					       strnlen(r->dtype_prefix, ROW_STRING_MAX));
	struct monitor_row row = {.vpp_stage = k->vpp_stage,
		.step = k->step,
		.micro_step = !micro			    ? UINT32_MAX
			      : k->micro_step == UINT32_MAX ? 0
							    : k->micro_step,
		.name = r->name,
		.scope = v2_places[k->kind].scope};
	struct stats one;
	struct out_file *o;
	char *at;
	int err;

	update_monitor_rank(m);
	if (!*word || strlen(word) > 20 || strchr(word, '/') ||
		(!number && train_kinds[k->kind].form != KIND_OPS) || (number && m->style.v2))
		return 0;
	at = get_monitor_space(m, word, k->step, m->ops, micro, cap, &o, &err);
	if (!at)
		return err;

	struct text t = text_init(at, cap);

	if (number)
		one = init_number_stats(k->e.n ? r->value[0] : NAN,
			m->files->cfg ? get_calls_keys(m->files->cfg)->eps : 1e-8);
	monitor_start_row(&t, &row, &m->style);
	monitor_write_statistics(&t, m->ops, number ? &one : &k->stats, number ? 1 : k->count,
		number ? DT_FLOAT32 : k->dtype, &m->style);
	monitor_close_row(&t, r->dim, number ? 0 : k->ndim, r->dtype_prefix,
		get_dtype_info(number ? DT_FLOAT32 : k->dtype)->name, &m->style);
	files_add_length(m->files, o, t.len);
	return 0;
}

/* ---- stacks ---- */

/* Writes "a.py:12 f <- b.py:3 g" as lines "File a.py, line 12, in f, ", as msprobe does. */
static void write_stack_lines(struct text *t, const char *frames)
{
	for (const char *p = frames; *p;) {
		const char *end = strstr(p, " <- "), *next = end ? end + 4 : p + strlen(p);
		size_t n = end ? (size_t)(end - p) : strlen(p);
		const char *blank = memchr(p, ' ', n),
			   *colon = blank ? memrchr(p, ':', (size_t)(blank - p)) : NULL;

		if (colon) {
			text_add_string(t, "File ");
			text_add_bytes(t, p, (size_t)(colon - p));
			text_add_string(t, ", line ");
			text_add_bytes(t, colon + 1, (size_t)(blank - colon - 1));
			text_add_string(t, ", in ");
			text_add_bytes(t, blank + 1, n - (size_t)(blank + 1 - p));
			text_add_string(t, ", \n");
		} else {
			text_add_bytes(t, p, n);
			text_add_char(t, '\n');
		}
		p = next;
	}
}

static int write_monitor_stack(void *state, const struct record_stack *e)
{
	static const char path[] = {
		TAG, ':', 's', 't', 'a', 'c', 'k', '_', 'i', 'n', 'f', 'o', '.', 'c', 's', 'v', 0};
	const char *frames = *e->python ? e->python : e->native;
	struct monitor *m = state;
	size_t lines = 4 * strlen(frames) + 64,
	       cap = CSV_FIELD_SPACE * (lines + ROW_STRING_MAX) + 64;
	struct out_file *o;
	char *at, *all;
	int err;

	if (m->log)
		comm_places_add_stack(m->log, e);
	if (!m->files->cfg || !get_monitor_keys(m->files->cfg)->stack_info || m->style.v2)
		return 0;
	at = files_get_row_space(m->files, path, "module_name,stack_info\n", cap, &o, &err);
	if (!at)
		return err;
	all = malloc(lines);
	if (!all)
		return -ENOBUFS;

	struct text stack = text_init(all, lines), t = text_init(at, cap);

	write_stack_lines(&stack, frames);
	csv_add_field_max(&t, e->api, ROW_STRING_MAX);
	write_comma(&t);
	csv_add_field(&t, all);
	text_add_char(&t, '\n');
	free(all);
	files_add_length(m->files, o, t.len);
	return 0;
}

/* ---- communication ---- */

static int write_monitor_record(void *state, const struct record *r)
{
	struct monitor *m = state;

	if (m->comm && !m->no_comm)
		monitor_comm_add(m->comm, r);
	if (m->log)
		comm_places_record(m->log, r);
	return 0;
}

static int record_monitor_comm(void *state, const struct record_comm *e)
{
	struct monitor *m = state;

	if (m->log)
		comm_places_add_comm(m->log, e);
	return 0;
}

static int write_comm_sum(struct monitor *m, const struct monitor_sum *s)
{
	char name[96];
	struct monitor_row row = {
		.step = s->step, .micro_step = UINT32_MAX, .name = name, .scope = "comm"};
	struct stats all = monitor_sum_compute_stats(s);
	struct out_file *o;
	char *at;
	int err;

	snprintf(name, sizeof(name), "%s/rank%d/%s_%u", s->op, m->rank < 0 ? 0 : m->rank,
		s->io == IO_IN ? "pre" : "post", s->index);
	at = get_monitor_space(m, m->style.v2 ? "cc" : "other", s->step, m->ops, false,
		MONITOR_ROW_MAX + 256, &o, &err);
	if (!at)
		return err;

	struct text t = text_init(at, MONITOR_ROW_MAX + 256);

	monitor_start_row(&t, &row, &m->style);
	monitor_write_statistics(&t, m->ops, &all, s->count, DT_FLOAT64, &m->style);
	monitor_close_row(&t, &s->count, s->alike ? 1 : 255,
		s->dtype == DT_OTHER ? "nan" : "torch.",
		s->dtype == DT_OTHER ? "" : get_dtype_info(s->dtype)->name, &m->style);
	files_add_length(m->files, o, t.len);
	return 0;
}

/*
 * The configuration has changed: decimals may differ, or communication is no longer requested.
 * Sums so far are written in any case.
 */
static void update_monitor_config(struct monitor *m)
{
	const struct config *c = m->files->cfg;

	if (!c)
		return;
	m->style.ndigits = (int)get_monitor_keys(c)->ndigits;
	if (get_monitor_keys(c)->cc_distribution && !get_monitor_keys(c)->cc_log_only && !m->comm &&
		!m->log)
		m->comm = monitor_comm_init(get_monitor_keys(c)->cc_pre_hook);
	m->no_comm = !get_monitor_keys(c)->cc_distribution;
}

static int close_monitor_step(void *state, uint32_t next)
{
	struct monitor *m = state;
	const struct monitor_sum *s;
	int err = 0;

	update_monitor_rank(m);
	if (m->log)
		comm_places_handle_step_end(m->log, next);
	update_monitor_config(m);
	if (!m->comm)
		return 0;
	for (unsigned i = 0; !err && (s = monitor_comm_get_sum(m->comm, i)); i++)
		if (s->step < next)
			err = write_comm_sum(m, s);
	if (!err)
		monitor_comm_remove_written(m->comm, next);
	return err;
}

static void remove_monitor_row(void *state)
{
	struct monitor *m = state;

	if (m->comm)
		monitor_comm_reset_last(m->comm);
}

static void write_comm_places(struct monitor *m)
{
	static const char path[] = {TAG, ':', 'l', 'o', 'g', 0};
	char folder[JOURNAL_PATH_MAX];
	const char *name;
	int dir = files_place_open(m->files, path, true, &name);

	format_monitor_folder(m->files, m->style.v2, m->rank, folder, sizeof(folder));
	if (dir >= 0)
		comm_places_write(m->log, dir, folder);
}

static void handle_monitor_written(void *state, bool written)
{
	struct monitor *m = state;

	/*
	 * Between the time when the rank is known and the renaming of the folder, no step may
	 * end.
	 */
	if (written)
		update_monitor_rank(m);
	if (m->comm)
		monitor_comm_commit(m->comm, written);
	if (m->log && written)
		write_comm_places(m);
}

static void handle_monitor_end(void *state)
{
	static const char any[] = {TAG, ':', 0};
	struct monitor *m = state;
	const char *name;
	int dir = files_place_open(m->files, any, false, &name);

	if (dir >= 0)
		remove_monitor_owner(dir, m->files->j);
}

static enum sink_file get_monitor_file_kind(const char *path)
{
	size_t n = strlen(path);

	return path[0] == TAG && path[1] == ':' && n > 6 && strcmp(path + n - 4, ".csv") == 0
		       ? SINK_FILE_LINES
		       : SINK_FILE_OTHER;
}

const struct sink_format monitor_format = {
	.formats = FORMAT_BIT(MONITOR),
	.state_bytes = sizeof(struct monitor),
	.open = open_monitor,
	.record = write_monitor_record,
	.kind = write_monitor_kind,
	.stack = write_monitor_stack,
	.comm = record_monitor_comm,
	.step = close_monitor_step,
	.retract = remove_monitor_row,
	.commit = handle_monitor_written,
	.finish = handle_monitor_end,
	.close = close_monitor,
	.owns = get_monitor_file_kind,
};
