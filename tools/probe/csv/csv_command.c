/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb `csv`: writes the CSV files that `format: csv` would have written instead of the compact
 * ones.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "journal/columns.h"
#include "sink/calls_csv.h"
#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/compact_read.h"
#include "tools/probe/model/read/meta_config.h"

#define PART_MIB 256 /* used if meta.json does not contain it */
#define BUFFER (1u << 18)
#define TMP ".tmp"

static const char help[] =
	"usage: probe csv [-o OUT] [DIR]\n"
	"\n"
	"Writes calls_<a>-<b>.csv of each calls_<a>-<b>.compact (key format: [compact]), "
	"byte for byte as format: csv\n"
	"would have. DIR is an output folder (default: $PROBE_OUTPUT_DIR, else "
	"./probe_output) or one rank's folder.\n"
	"The compact files are kept. Every verb reads them directly; if both exist, it "
	"reads the CSV files.\n"
	"\n"
	"  -o, --output OUT   writes to OUT/rank<R>/, together with the other files of the "
	"rank's folder. Default: the\n"
	"                     folder of the compact files, if the process has ended and the "
	"folder is complete (probe recover)\n"
	"\n"
	"examples:\n"
	"  probe csv /scratch/run7\n"
	"  probe csv -o /tmp/run7.csv /scratch/run7\n";

enum { OPT_OUTPUT };

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', true},
};

/* The CSV files of one block of steps. They have temporary names until all are complete. */
struct csv_files {
	const char *folder;
	uint64_t first, last, part_bytes;
	unsigned part;
	uint64_t bytes; /* bytes of the current part */
	FILE *file;
	uint64_t rows;
	int err;
};

static char *format_part_name(const struct csv_files *f, unsigned part, const char *end)
{
	return part ? tool_format("%s/calls_%" PRIu64 "-%" PRIu64 ".%u.csv%s", f->folder, f->first,
			      f->last, part, end)
		    : tool_format("%s/calls_%" PRIu64 "-%" PRIu64 ".csv%s", f->folder, f->first,
			      f->last, end);
}

static void close_part(struct csv_files *f)
{
	if (!f->file)
		return;
	if ((ferror(f->file) || fflush(f->file) || fsync(fileno(f->file)) < 0) && !f->err)
		f->err = errno ? errno : EIO;
	if (fclose(f->file) && !f->err)
		f->err = errno;
	f->file = NULL;
}

static void open_part(struct csv_files *f)
{
	char *path = format_part_name(f, f->part, TMP);
	int fd;

	unlink(path);
	fd = io_create_file(AT_FDCWD, path);
	f->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f->file) {
		f->err = fd < 0 ? -fd : errno;
		if (fd >= 0)
			close(fd);
	} else {
		fputs(ROW_HEADER, f->file);
	}
	f->bytes = strlen(ROW_HEADER);
	free(path);
}

/*
 * Begins a new part where the writer would: it reserves space for the longest possible rows
 * (files_get_calls_space()).
 */
static void write_rows(struct csv_files *f, const char *text, size_t n, unsigned rows)
{
	if (f->file && f->bytes + rows * (uint64_t)ROW_MAX > f->part_bytes) {
		close_part(f);
		f->part++;
	}
	if (!f->file && !f->err)
		open_part(f);
	if (f->err)
		return;
	fwrite(text, 1, n, f->file);
	f->bytes += n;
	f->rows += rows;
}

/*
 * Renames the temporary files, the first part last: readers ignore the CSV files of a block as long as
 * the first part is missing.
 */
static void set_part_names(struct csv_files *f)
{
	for (unsigned i = f->part + 1; i-- > 0;) {
		char *tmp = format_part_name(f, i, TMP), *path = format_part_name(f, i, "");

		if (f->err)
			unlink(tmp);
		else if (rename(tmp, path) < 0)
			f->err = errno;
		free(tmp);
		free(path);
	}
}

/* Converts one compact file. If it is damaged, sets *wrong to its path. */
static void write_csv_of_file(
	struct csv_files *f, const struct calls_file *compact_file, const char **bad_path)
{
	struct compact_reader *r = compact_reader_open();
	struct source s;
	const char *text;
	unsigned rows;
	size_t n;
	int got = source_open(&s, compact_file->path, compact_file->limit, true);

	while (got >= 0 && !f->err && (got = compact_read_call(r, &s, &text, &n, &rows)) > 0)
		write_rows(f, text, n, rows);
	if (got < 0 && !f->err)
		f->err = -got;
	if (s.damaged || s.truncated)
		*bad_path = compact_file->path;
	source_close(&s);
	compact_reader_free(r);
}

static uint64_t read_part_bytes(const char *folder)
{
	static const char key[] = "\"part_mib\": ";
	char *config = meta_read_config(folder), *at = config ? strstr(config, key) : NULL;
	uint64_t mib = at ? strtoull(at + sizeof(key) - 1, NULL, 10) : 0;

	free(config);
	return (mib ? mib : PART_MIB) << 20;
}

/*
 * Copies under a temporary name, so that an existing file stays intact until the copy is complete.
 */
static int copy_file(int from_fd, int to_fd, const char *name)
{
	char *tmp = tool_format("%s" TMP, name), *buf = tool_alloc(BUFFER);
	int in = io_open_regular(from_fd, name, O_RDONLY, 0), out = -1, err = in < 0 ? in : 0;
	ssize_t n = 0;

	if (!err) {
		unlinkat(to_fd, tmp, 0);
		out = io_create_file(to_fd, tmp);
		err = out < 0 ? out : 0;
	}
	while (!err && (n = read(in, buf, BUFFER)) > 0)
		err = io_write_all(out, buf, (size_t)n);
	if (!err && n < 0)
		err = -errno;
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) < 0 && !err)
		err = -errno;
	if (!err && renameat(to_fd, tmp, to_fd, name) < 0)
		err = -errno;
	free(tmp);
	free(buf);
	return err;
}

/* Copies the files of a rank's folder, except compact files and journals. */
static int copy_other_files(const char *from_folder, const char *to_folder)
{
	int in = open(from_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    out = open(to_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *d = in < 0 ? NULL : fdopendir(dup(in));
	struct stat st;

	if (!d || out < 0)
		err = -errno;
	for (struct dirent *e; !err && (e = readdir(d));)
		if (!is_compact_name(e->d_name) && strcmp(e->d_name, "journal.bin") &&
			fstatat(in, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode))
			err = copy_file(in, out, e->d_name);
	if (d)
		closedir(d);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return err;
}

/* Returns false (reported) if not everything could be written. */
static bool write_csv_of_folder(
	const struct rank_dir *dir, const char *output, uint64_t *files, uint64_t *rows)
{
	struct csv_files f = {.folder = output, .part_bytes = read_part_bytes(dir->path)};
	const char *bad_path = NULL;
	struct calls s;
	bool done = true;

	calls_open(&s, dir, 0, NULL);
	for (unsigned i = 0; i < s.nfile && !f.err; i++) {
		const struct calls_file *from = &s.file[i];

		if (!from->compact)
			continue;
		if (f.first != from->first || !f.file) {
			close_part(&f);
			f.first = from->first;
			f.last = from->last;
			f.part = 0;
		}
		write_csv_of_file(&f, from, &bad_path);
		++*files;

		const struct calls_file *next = i + 1 < s.nfile ? &s.file[i + 1] : NULL;

		if (!next || next->first != f.first || f.err) {
			close_part(&f);
			set_part_names(&f);
		}
	}
	*rows += f.rows;
	if (f.err) {
		tool_error("csv: %s: %s", output, strerror(f.err));
		done = false;
	} else if (bad_path) {
		tool_error(
			"csv: %s: damaged or truncated: its remaining rows are not in a CSV file",
			bad_path);
		done = false;
	}
	calls_close(&s);
	return done;
}

/*
 * Returns true if CSV files may be written into the folder. In an incomplete folder they would hide
 * compact rows that are added later.
 */
static bool is_folder_complete(const struct rank_dir *d)
{
	if (d->state == RANK_FINISHED || d->state == RANK_RECOVERED)
		return true;
	tool_error("csv: %s: %s; %s", d->path, rank_state_get_name(d->state),
		d->state == RANK_RUNNING ? "-o OUT writes what is there so far to another folder"
					 : "complete it with probe recover first, or use -o OUT");
	return false;
}

static bool write_csv_of_rank(
	const struct rank_dir *d, const char *output, uint64_t *files, uint64_t *rows)
{
	char *to;
	bool done;
	int err;

	if (!output)
		return is_folder_complete(d) && write_csv_of_folder(d, d->path, files, rows);
	to = tool_format("%s/%s", output, d->name);
	err = io_add_folders(to);
	if (!err)
		err = copy_other_files(d->path, to);
	if (err)
		tool_error("csv: %s: %s", to, io_error_text(err));
	done = !err && write_csv_of_folder(d, to, files, rows);
	free(to);
	return done;
}

int verb_csv(int argc, char **argv)
{
	struct cli c = {.argc = argc, .argv = argv, .options = options, .noptions = 1, .at = 1};
	const char *dir = NULL, *out = NULL;
	uint64_t files = 0, rows = 0;
	struct folders f;
	bool done = true;
	int opt;

	while ((opt = cli_read_argument(&c)) != CLI_END) {
		switch (opt) {
		case OPT_OUTPUT:
			out = c.value;
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		case CLI_OPERAND:
			if (!cli_set_folder("csv", &dir, c.value))
				return STATUS_USAGE;
			break;
		default:
			return STATUS_USAGE;
		}
	}
	if (folders_open(&f, dir ? dir : folders_get_default()))
		return STATUS_USAGE;
	for (unsigned i = 0; i < f.n; i++)
		done &= write_csv_of_rank(&f.dir[i], out, &files, &rows);
	printf("%s, %s\n", out_format_plural(files, "compact file", "compact files"),
		out_format_plural(rows, "row", "rows"));
	folders_close(&f);
	return tool_close_output(done ? STATUS_DONE : STATUS_USAGE);
}
