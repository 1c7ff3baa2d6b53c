/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink of task grad_probe, in the form of GradientMonitor of mindstudio-probe 8.1.0, for its
 * GradComparator: <dump_path>/rank<R>/grad_summary_<step>.csv, one row per parameter, and next to
 * it step<N>/<parameter>.npy with the signs of the gradient as booleans. Without dump_path they
 * are in the rank's own folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "config/rooms/dump.h"
#include "config/rooms/files.h"
#include "text/text.h"
#include "terms/train_kind.h"
#include "sink/column.h"
#include "formats/dump/dump_tensors.h"
#include "sink/format.h"
#include "sink/places.h"

#define TAG "g:" /* tag of the folder (sink/places.h) */
#define TABLE "grad_summary_"
#define HEADER_BYTES 8192
#define ROW_BYTES 4096
#define FOLDERS_MAX 10000

struct grad_probe {
	struct files *files;
	enum config_grad_level level;
	char *header; /* struct files refers to it */
	char *folder; /* NULL: the rank's own folder */
	bool begun; /* files of an earlier run were moved */
	unsigned lost; /* number of missing files of signs, of a killed process */
};

/* As in GradientMonitor, a process without other ranks is rank 0. */
static char *format_grad_folder(const struct files *f)
{
	const struct dump_keys *keys = get_dump_keys(f->cfg);
	int32_t rank = f->j->head->rank;
	char *path = malloc(strlen(keys->dump_path) + 32);

	if (path)
		snprintf(path, strlen(keys->dump_path) + 32, "%s/rank%d", keys->dump_path,
			rank < 0 ? 0 : rank);
	return path;
}

/* Writes (-inf, -1],"(-1, 0]","(0, inf)",=0. */
static void write_interval_columns(struct text *t, const char *lines)
{
	const char *before = "-inf";
	size_t nbefore = 4;

	for (const char *s = lines; *s; s += nbefore + (s[nbefore] == '\n')) {
		size_t n = strcspn(s, "\n");

		text_add_format(t, "\"(%.*s, %.*s]\",", (int)nbefore, before, (int)n, s);
		before = s;
		nbefore = n;
	}
	if (*lines)
		text_add_format(t, "\"(%.*s, inf)\",", (int)nbefore, before);
	text_add_string(t, "=0,");
}

static char *format_grad_header(const struct config *cfg)
{
	const struct dump_keys *keys = get_dump_keys(cfg);
	char *header = malloc(HEADER_BYTES);

	if (!header)
		return NULL;

	struct text t = text_init(header, HEADER_BYTES);

	text_add_string(&t, "param_name,");
	if (keys->grad_level == GRAD_L0)
		text_add_string(&t, "MD5,");
	if (keys->grad_level == GRAD_L2)
		write_interval_columns(&t, keys->bounds);
	text_add_string(&t, "max,min,norm,shape\n");
	return header;
}

static int open_grad_probe(void *state, struct files *files)
{
	struct grad_probe *g = state;
	const struct config *cfg = files->cfg;

	g->files = files;
	if (!cfg || get_dump_keys(cfg)->task != DUMP_GRAD_PROBE)
		return 0;
	g->level = get_dump_keys(cfg)->grad_level;
	g->header = format_grad_header(cfg);
	if (g->header && *get_dump_keys(cfg)->dump_path) {
		g->folder = format_grad_folder(files);
		return g->folder ? files_place_add(files, TAG[0], g->folder, NULL) : -ENOMEM;
	}
	return g->header ? 0 : -ENOMEM;
}

static bool is_grad_probe_idle(const void *state)
{
	return !((const struct grad_probe *)state)->header;
}

static void close_grad_probe(void *state)
{
	struct grad_probe *g = state;

	free(g->header);
	free(g->folder);
	*g = (struct grad_probe){0};
}

/* ---- the folder ---- */

static bool has_grad_tables(const char *path)
{
	DIR *d = opendir(path);
	bool has = false;

	for (struct dirent *e; d && !has && (e = readdir(d));)
		has = strncmp(e->d_name, TABLE, sizeof(TABLE) - 1) == 0;
	if (d)
		closedir(d);
	return has;
}

/*
 * Moves files of an earlier run to rank<R>.<n>. The rank's own folder is never moved, and nothing
 * is moved if a tool writes the files.
 */
static void handle_earlier_grad_folder(const struct grad_probe *g)
{
	char to[JOURNAL_PATH_MAX + 16];
	struct stat own, there, st;

	if (g->files->j->left || get_files_keys(g->files->cfg)->append_output ||
		lstat(g->folder, &there) < 0 ||
		(fstat(files_get_dir(g->files), &own) == 0 && own.st_dev == there.st_dev &&
			own.st_ino == there.st_ino) ||
		!has_grad_tables(g->folder))
		return;
	for (unsigned n = 1; n < FOLDERS_MAX; n++) {
		snprintf(to, sizeof(to), "%s.%u", g->folder, n);
		if (lstat(to, &st) == 0)
			continue;
		if (rename(g->folder, to) < 0)
			log_loss(LOSS_DUMP,
				"grad_probe: %s of an earlier run cannot be moved: %s; its "
				"files are overwritten",
				g->folder, io_error_text(-errno));
		return;
	}
}

static int start_grad_folder(struct grad_probe *g)
{
	char *now;

	if (g->begun || !g->folder)
		return 0;
	/* The rank may have become known since the last call. */
	now = format_grad_folder(g->files);
	if (!now)
		return -ENOBUFS;
	if (strcmp(now, g->folder))
		files_place_set_path(g->files, TAG[0], now);
	free(g->folder);
	g->folder = now;
	handle_earlier_grad_folder(g);
	g->begun = true;
	return 0;
}

/* Returns the descriptor of the tables' folder; it must not be closed. */
static int find_grad_folder(struct grad_probe *g)
{
	const char *name;

	return g->folder ? files_place_open(g->files, TAG "x", true, &name)
			 : files_get_dir(g->files);
}

/* Opens step<N> in this folder, and makes it if necessary. */
static int open_sign_folder(struct grad_probe *g, uint32_t step)
{
	int dir = find_grad_folder(g);
	char folder[32];
	int fd;

	if (dir < 0)
		return dir;
	snprintf(folder, sizeof(folder), "step%u", step);
	if (mkdirat(dir, folder, IO_FOLDER_MODE) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dir, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void record_lost_signs(struct grad_probe *g, uint32_t step)
{
	char folder[32];

	g->lost++;
	snprintf(folder, sizeof(folder), "step%u", step);
	/* Removes the folder if it was made for this file: one that is not empty stays. */
	unlinkat(find_grad_folder(g), folder, AT_REMOVEDIR);
}

/*
 * Moves the file of signs to its name. If the entry is given again, it has that name already.
 * Signs that a killed process had not written were in its memory, and are lost.
 */
static void write_signs_file(struct grad_probe *g, const struct record_kind *r)
{
	char file[NAME_MAX + 1];
	struct stat st;
	int fd, err;

	dump_tensors_write_copied(g->files);
	fd = open_sign_folder(g, r->kind->step);
	err = fd < 0 ? fd : 0;
	if (!err) {
		dump_tensors_format_file_name(file, sizeof(file), r->name, "npy");
		for (char *s = file; (s = strchr(s, '/'));)
			*s = '_';
		err = dump_tensors_move(g->files, r->kind->step, (uint64_t)r->value[0], fd, file);
		if (err && fstatat(fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
			err = 0;
	}
	if (fd >= 0)
		close(fd);
	if (err == -ENOENT && g->files->j->left)
		record_lost_signs(g, r->kind->step);
	else if (err)
		log_loss(LOSS_DUMP, "grad_probe: the file of signs of %.100s cannot be written: %s",
			r->name, io_error_text(err));
}

/* ---- rows ---- */

/* Writes v as float32, to which GradientMonitor converts before printing. */
static void write_grad_number(struct text *out, double v, uint64_t nans)
{
	if (nans)
		v = __builtin_nan("");
	text_add_double(out, v == 0 ? 0 : (double)(float)v, 17);
	write_comma(out);
}

static void format_grad_row(
	struct text *out, const struct grad_probe *g, const struct record_kind *r)
{
	const struct stats *s = &r->kind->stats;

	csv_add_field_max(out, r->name, ROW_STRING_MAX);
	write_comma(out);
	if (g->level == GRAD_L0) {
		text_add_hex(out, (uint64_t)r->value[1], 8);
		write_comma(out);
	}
	for (unsigned i = 2; i < r->kind->e.n; i++) {
		text_add_double(out, r->value[i], 17);
		write_comma(out);
	}
	write_grad_number(out, s->max.f, s->nans);
	write_grad_number(out, s->min.f, s->nans);
	write_grad_number(out, s->norm, s->nans);
	text_add_string(out, r->kind->ndim > 1 ? "\"[" : "[");
	for (unsigned i = 0; i < r->kind->ndim; i++) {
		text_add_string(out, i ? ", " : "");
		text_add_u64(out, r->dim[i]);
	}
	text_add_string(out, r->kind->ndim > 1 ? "]\"\n" : "]\n");
}

static int write_grad_row(void *state, const struct record_kind *r)
{
	struct grad_probe *g = state;
	struct out_file *o;
	char path[48], *at;
	int err;

	if (r->kind->kind != TK_GRAD_SUMMARY)
		return 0;
	/* The journal is damaged. */
	if (r->kind->e.n < 2 || !(r->value[0] >= 0 && r->value[0] <= UINT32_MAX) ||
		!(r->value[1] >= 0 && r->value[1] <= UINT32_MAX)) {
		g->files->j->head->damaged++;
		return 0;
	}
	err = start_grad_folder(g);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s" TABLE "%u.csv", g->folder ? TAG : "", r->kind->step);
	at = files_get_row_space(g->files, path, g->header, ROW_BYTES, &o, &err);
	if (!at)
		return err;
	if (r->value[0] > 0)
		write_signs_file(g, r);

	struct text row = text_init(at, ROW_BYTES);

	format_grad_row(&row, g, r);
	files_add_length(g->files, o, row.len);
	return 0;
}

static void finish_grad_probe(void *state)
{
	struct grad_probe *g = state;

	dump_tensors_remove_folder(g->files);
	if (g->lost)
		log_loss(LOSS_DUMP,
			"grad_probe: files of signs of %u gradients were in the memory of the "
			"process that was killed: they are lost, their rows are there",
			g->lost);
}

static enum sink_file get_grad_table_kind(const char *path)
{
	unsigned step;
	int used = 0;

	if (strncmp(path, TAG, sizeof(TAG) - 1) == 0)
		path += sizeof(TAG) - 1;
	return sscanf(path, TABLE "%u.csv%n", &step, &used) == 1 && used && !path[used]
		       ? SINK_FILE_LINES
		       : SINK_FILE_OTHER;
}

const struct sink_format grad_probe_format = {
	.formats = FORMAT_BIT(DUMP),
	.state_bytes = sizeof(struct grad_probe),
	.open = open_grad_probe,
	.kind = write_grad_row,
	.finish = finish_grad_probe,
	.close = close_grad_probe,
	.idle = is_grad_probe_idle,
	.owns = get_grad_table_kind,
};
