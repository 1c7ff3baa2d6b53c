/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `recover`. */
#include "tools/probe/recover/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/lib/cli.h"
#include "tools/probe/recover/clean.h"
#include "tools/probe/recover/fill_steps.h"
#include "tools/probe/model/read/folders.h"
#include "tools/lib/files/json.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"

static const char help[] =
	"usage: probe recover [--force] [--steps] [--clean] [--journals DIR] [--json] "
	"[DIR]\n"
	"\n"
	"Completes the files of processes that were killed from their journals, in place: "
	"all calls that had ended,\n"
	"and those that had not, with the flag `open`. DIR is an output folder (default: "
	"$PROBE_OUTPUT_DIR, else\n"
	"./probe_output) or one rank's folder. It may be interrupted and run again.\n"
	"\n"
	"A folder whose process still runs is not touched, and the exit status is 2. "
	"`probe report` reads running, hung and\n"
	"killed jobs without this.\n"
	"\n"
	"  -f, --force   also completes folders of processes on other hosts, whose state is "
	"not visible from this host\n"
	"      --steps   if no steps were marked: fills the column `step` from the period of "
	"the calls. Files of steps\n"
	"                0-99, 100-199 ... replace the old ones when all are complete\n"
	"      --clean   also removes journals that dead processes of DIR left on this host: "
	"shared memory segments, and\n"
	"                files libprobe-*.journal in /dev/shm and $PROBE_JOURNAL_DIR; without "
	"DIR, those of all jobs. A folder\n"
	"                that needs such a journal is completed first. Journals of running "
	"processes are never touched\n"
	"      --journals DIR\n"
	"                also looks for such files in DIR: the value of key journal_dir in "
	"that run\n"
	"      --json    prints the result as JSON\n"
	"\n"
	"examples:\n"
	"  probe recover /scratch/run7\n"
	"  probe recover /scratch/run7/rank3\n"
	"  probe recover --steps /scratch/run7\n"
	"  probe recover --clean     (at the end of a job, on each node)\n";

enum { OPT_FORCE, OPT_CLEAN, OPT_JOURNALS, OPT_JSON, OPT_STEPS };

static const struct cli_option options[] = {
	[OPT_FORCE] = {"force", 'f', false},
	[OPT_CLEAN] = {"clean", 0, false},
	[OPT_JOURNALS] = {"journals", 0, true},
	[OPT_JSON] = {"json", 0, false},
	[OPT_STEPS] = {"steps", 0, false},
};

struct done {
	char *name;
	int rank; /* -1: the folder's name contains no rank */
	struct recover_info info;
	bool filled; /* `fill` is set */
	struct fill_info fill;
};

struct list {
	struct done *d;
	unsigned n, cap;
	/* Journals outside the folders, and the result for each. */
	struct outside_list outside;
	struct clean_outcome *clean;
};

struct wish {
	bool force, clean, json, steps;
	char *journals; /* NULL: none */
};

static int parse_folder_rank(const char *name)
{
	return strncmp(name, "rank", 4) == 0 && name[4] >= '0' && name[4] <= '9' &&
			       !strpbrk(name, ".-")
		       ? atoi(name + 4)
		       : -1;
}

/* The path has no links, except perhaps in its last part, which must be a folder and no link. */
static void add_recovered_folder(
	struct list *l, const char *path, const char *name, const struct wish *w)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	struct done *d;

	TOOL_GROW(l->d, l->n, l->cap);
	d = &l->d[l->n++];
	*d = (struct done){.name = tool_strdup(name), .rank = parse_folder_rank(name)};
	if (fd < 0) {
		d->info.result = RECOVER_FAILED;
		snprintf(d->info.why, sizeof(d->info.why), "%s",
			lstat(path, &st) == 0 && S_ISLNK(st.st_mode)
				? "a link: give the path of the folder itself"
				: strerror(errno));
		return;
	}
	recover_folder(fd, w->force, &d->info);
	close(fd);
	if (w->steps && d->info.result != RECOVER_LIVES && d->info.result != RECOVER_FAILED) {
		d->filled = true;
		write_missing_steps(path, &d->fill);
	}
}

static int compare_version_names(const void *x, const void *y)
{
	return strverscmp(*(char *const *)x, *(char *const *)y);
}

/*
 * Returns true if the folder has the name of a rank, and nothing but drafts of meta.json: its process was killed, or is now,
 * before it wrote meta.json.
 */
static bool is_unbegun_folder(const char *path, const char *name)
{
	DIR *d = parse_folder_rank(name) >= 0 && !name[4 + strspn(name + 4, "0123456789")]
			 ? opendir(path)
			 : NULL;
	bool only = d != NULL;

	for (struct dirent *e; only && (e = readdir(d));)
		only = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		       strncmp(e->d_name, "meta.json.", 10) == 0;
	if (d)
		closedir(d);
	return only;
}

/* Handles every rank's folder in the output folder, of any run. */
static int add_recovered_folders(struct list *l, const char *path, const struct wish *w)
{
	DIR *d = opendir(path);
	char **name = NULL, *sub;
	unsigned n = 0, cap = 0;

	if (!d) {
		tool_error("recover: %s: %s", path, strerror(errno));
		return STATUS_USAGE;
	}
	for (struct dirent *e; (e = readdir(d));) {
		if (strncmp(e->d_name, "rank", 4) && strncmp(e->d_name, "host-", 5))
			continue;
		TOOL_GROW(name, n, cap);
		name[n++] = tool_strdup(e->d_name);
	}
	closedir(d);
	if (n)
		qsort(name, n, sizeof(*name), compare_version_names);
	for (unsigned i = 0; i < n; i++) {
		sub = tool_format("%s/%s", path, name[i]);
		if (folders_is_rank(sub) || is_unbegun_folder(sub, name[i]))
			add_recovered_folder(l, sub, name[i], w);
		free(sub);
		free(name[i]);
	}
	free(name);
	if (l->n || w->clean)
		return STATUS_DONE;
	tool_error(
		"recover: %s: has no rank folders (rank0, rank1 ...); give the job's output folder",
		path);
	return STATUS_USAGE;
}

/* ---- results ---- */

static const char *const result_name[] = {
	[RECOVER_NOTHING] = "complete",
	[RECOVER_DONE] = "recovered",
	[RECOVER_LIVES] = "alive",
	[RECOVER_FAILED] = "failed",
};

static char *format_recover_result(const struct recover_info *i)
{
	switch (i->result) {
	case RECOVER_NOTHING:
		return tool_strdup(i->why[0] ? i->why : "complete, nothing to do");
	case RECOVER_LIVES:
		return tool_format("left alone: %s", i->why);
	case RECOVER_FAILED:
		return tool_strdup(i->why);
	default:
		break;
	}

	char *all = tool_format("%s added", out_format_plural(i->rows, "row", "rows"));

	if (i->open)
		tool_add_text(&all, ", %s of open calls", out_format_count(i->open));
	if (i->spilled)
		tool_add_text(&all, "; %s lost with the process",
			out_format_plural(
				i->spilled, "asynchronous call was", "asynchronous calls were"));
	if (i->damaged)
		tool_add_text(&all, "; %s",
			out_format_plural(i->damaged, "damaged entry", "damaged entries"));
	return all;
}

static bool is_same_result(const struct recover_info *a, const struct recover_info *b)
{
	if (a->result != b->result || strcmp(a->why, b->why))
		return false;
	return a->result != RECOVER_DONE ||
	       (a->rows == b->rows && a->open == b->open && a->spilled == b->spilled &&
		       a->damaged == b->damaged);
}

/* Prints the result of each folder. Ranks with the same text share a line. */
static void print_recovered(const struct list *l)
{
	bool *printed = tool_alloc(l->n);

	for (unsigned i = 0; i < l->n; i++) {
		int *rank = tool_alloc(l->n * sizeof(*rank));
		unsigned n = 0;
		char *result_text = format_recover_result(&l->d[i].info), *ranks_text;

		for (unsigned k = i; k < l->n && !printed[i] && l->d[i].rank >= 0; k++) {
			if (printed[k] || l->d[k].rank < 0 ||
				!is_same_result(&l->d[i].info, &l->d[k].info))
				continue;
			printed[k] |= k > i;
			rank[n++] = l->d[k].rank;
		}
		if (!printed[i]) {
			ranks_text = n ? out_format_ranks(rank, n) : tool_strdup(l->d[i].name);
			printf("%s: %s\n", ranks_text, result_text);
			free(ranks_text);
		}
		free(result_text);
		free(rank);
	}
	free(printed);
}

static char *format_fill_result(const struct fill_info *f)
{
	switch (f->result) {
	case FILL_MARKED:
		return tool_format("its steps are known (from %s)", f->why);
	case FILL_NO_PERIOD:
		return tool_strdup(
			"its calls have no sufficiently certain period: the rows stay in step 0");
	case FILL_FAILED:
		return tool_strdup(f->why);
	default:
		return tool_format("%s of %s each, by the period of its calls (confidence %s)",
			out_format_plural(f->steps, "step", "steps"),
			out_format_plural(f->calls, "call", "calls"),
			out_format_percent(f->confidence));
	}
}

/* Ranks with the same text share a line. */
static void print_filled(const struct list *l)
{
	char **text = tool_alloc((l->n + 1) * sizeof(*text));
	int *rank = tool_alloc((l->n + 1) * sizeof(*rank));

	for (unsigned i = 0; i < l->n; i++)
		text[i] = l->d[i].filled ? format_fill_result(&l->d[i].fill) : NULL;
	for (unsigned i = 0; i < l->n; i++) {
		char *result_text = text[i], *ranks_text;
		unsigned n = 0;

		if (!result_text)
			continue;
		for (unsigned k = i; k < l->n && l->d[i].rank >= 0; k++)
			if (text[k] && l->d[k].rank >= 0 && strcmp(text[k], result_text) == 0) {
				rank[n++] = l->d[k].rank;
				if (k > i)
					free(text[k]);
				text[k] = NULL;
			}
		ranks_text = n ? out_format_ranks(rank, n) : tool_strdup(l->d[i].name);
		printf("%s: %s\n", ranks_text, result_text);
		free(ranks_text);
		free(result_text);
		text[i] = NULL;
	}
	free(text);
	free(rank);
}

static char *format_owner(const struct outside *o)
{
	return o->blank ? tool_strdup("killed before it recorded a call")
			: tool_format("host %s, pid %lld", o->owner.host, (long long)o->owner.pid);
}

static void print_outside(const struct list *l, bool clean)
{
	for (unsigned i = 0; i < l->outside.n; i++) {
		const struct outside *o = &l->outside.at[i];
		const struct clean_outcome *c = &l->clean[i];
		const char *size = out_format_bytes((double)o->bytes);
		char *owner = format_owner(o), *result_text;

		if (c->result == CLEAN_ORPHAN)
			printf("%s: a journal (%s) of a dead process (%s) whose folder (%s) does "
			       "not exist: `probe recover --clean %s` removes it\n",
				o->path, size, owner, o->folder, o->folder);
		else if (c->result == CLEAN_REMOVED)
			printf("%s: removed (%s): its process (%s) is dead, and its folder (%s) "
			       "does not exist\n",
				o->path, size, owner, o->folder[0] ? o->folder : "not known");
		else if (c->result == CLEAN_FAILED)
			printf("%s: %s\n", o->path, c->why);
		else if (c->result == CLEAN_LIVES && clean)
			printf("%s: left alone: its process (%s) is running, or cannot be seen "
			       "from here\n",
				o->path, owner);
		if (c->result == CLEAN_RECOVERED) {
			result_text = format_recover_result(&c->info);
			printf("%s: %s; %s removed\n", c->folder, result_text, o->path);
			free(result_text);
		}
		free(owner);
	}
}

static void print_json(const struct list *l)
{
	json_begin();
	json_object(NULL);
	json_u64("format", 1);
	json_list("folders");
	for (unsigned i = 0; i < l->n; i++) {
		const struct recover_info *r = &l->d[i].info;

		json_object(NULL);
		json_string("folder", l->d[i].name);
		if (l->d[i].rank >= 0)
			json_i64("rank", l->d[i].rank);
		else
			json_null("rank");
		json_string("result", result_name[r->result]);
		json_u64("rows", r->rows);
		json_u64("open_rows", r->open);
		json_u64("lost", r->spilled);
		json_u64("damaged", r->damaged);
		json_string("why", r->why);
		json_string("owner", r->owner);
		if (l->d[i].filled) {
			const struct fill_info *f = &l->d[i].fill;

			json_object("steps");
			json_string("result", fill_name[f->result]);
			json_u64("steps", f->steps);
			json_u64("calls", f->calls);
			json_double("confidence", f->confidence);
			json_u64("rows", f->rows);
			json_string("why", f->why);
			json_end();
		}
		json_end();
	}
	json_end();
	json_list("journals");
	for (unsigned i = 0; i < l->outside.n; i++) {
		const struct outside *o = &l->outside.at[i];
		const struct clean_outcome *c = &l->clean[i];

		json_object(NULL);
		json_string("journal", o->path);
		json_string("result", clean_name[c->result]);
		json_u64("bytes", o->bytes);
		json_string("folder", c->folder[0] ? c->folder : o->folder);
		json_string("host", o->owner.host);
		json_i64("pid", o->owner.pid);
		json_u64("rows", c->info.rows);
		json_string("why", c->why);
		json_end();
	}
	json_end();
	json_end();
}

/* folder: the output folder or a rank's folder, without links. */
static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 &&
	       (!path[n] || path[n] == '/' || folder[n - 1] == '/');
}

/* Compares with the path as the process knew it, and with the path without links. */
static bool is_journal_of(const struct outside *o, const char *folder)
{
	char *real = realpath(o->folder, NULL);
	bool is = is_below(o->folder, folder) || (real && is_below(real, folder));

	free(real);
	return is;
}

/* Removes the journals of other jobs on this host from the list. They do not belong to this folder. */
static void remove_other_jobs(struct outside_list *o, const char *folder)
{
	unsigned n = 0;

	for (unsigned i = 0; i < o->n; i++)
		if (is_journal_of(&o->at[i], folder)) {
			o->at[n++] = o->at[i];
		} else {
			free(o->at[i].path);
			free(o->at[i].folder);
		}
	o->n = n;
}

/* folder NULL: all journals on this host. */
static void find_outside_journals(struct list *l, const struct wish *w, const char *folder)
{
	outside_find(&l->outside, &w->journals, w->journals != NULL);
	if (folder)
		remove_other_jobs(&l->outside, folder);
	l->clean = tool_alloc((l->outside.n + 1) * sizeof(*l->clean));
	for (unsigned i = 0; i < l->outside.n; i++)
		handle_outside_journal(&l->outside.at[i], w->clean, &l->clean[i]);
}

static void free_list(struct list *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->d[i].name);
	free(l->d);
	for (unsigned i = 0; i < l->outside.n; i++)
		free(l->clean[i].folder);
	free(l->clean);
	outside_free(&l->outside);
}

/* path NULL: none was given. */
static int recover_path(const char *path, const struct wish *w)
{
	struct list l = {0};
	int status = STATUS_DONE;
	char *full = realpath(path ? path : folders_get_default(), NULL), *of = NULL;

	/* A folder that no longer exists may still have journals outside of it. */
	if (!full && (!w->clean || (path && errno != ENOENT))) {
		folders_print_missing("recover: ", path ? path : folders_get_default(), errno);
		return STATUS_USAGE;
	}
	if (full && (path || !w->clean))
		of = tool_strdup(full);
	else if (path)
		of = tool_get_absolute_path(path);
	if (full && folders_is_rank(full))
		add_recovered_folder(&l, full, strrchr(full, '/') + 1, w);
	else if (full)
		status = add_recovered_folders(&l, full, w);
	for (unsigned i = 0; i < l.n; i++)
		if (l.d[i].info.result == RECOVER_LIVES || l.d[i].info.result == RECOVER_FAILED ||
			(l.d[i].filled && l.d[i].fill.result >= FILL_NO_PERIOD))
			status = STATUS_USAGE;
	if (status != STATUS_USAGE || l.n)
		find_outside_journals(&l, w, of);
	for (unsigned i = 0; i < l.outside.n; i++)
		if (l.clean[i].result == CLEAN_FAILED)
			status = STATUS_USAGE;
	if (w->json && (l.n || w->clean)) {
		print_json(&l);
	} else {
		print_recovered(&l);
		print_filled(&l);
		print_outside(&l, w->clean);
	}
	free_list(&l);
	free(full);
	free(of);
	return status;
}

int verb_recover(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	const char *path = NULL;
	char *folder;
	unsigned earlier;
	struct wish w = {0};
	int o, status;

	while ((o = cli_read_argument(&c)) != CLI_END) {
		switch (o) {
		case OPT_FORCE:
			w.force = true;
			break;
		case OPT_STEPS:
			w.steps = true;
			break;
		case OPT_JSON:
			w.json = true;
			break;
		case OPT_CLEAN:
			w.clean = true;
			break;
		case OPT_JOURNALS:
			free(w.journals);
			w.journals = tool_get_absolute_path(c.value);
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		case CLI_OPERAND:
			if (!cli_set_folder("recover", &path, c.value))
				return STATUS_USAGE;
			break;
		default:
			return STATUS_USAGE;
		}
	}
	folder = folders_find(path ? path : folders_get_default(), &earlier);
	if (earlier) {
		tool_error("recover: %s: all runs of a folder are recovered at once; run: probe "
			   "recover %s",
			path, folder);
		status = STATUS_USAGE;
	} else {
		status = recover_path(path, &w);
	}
	free(folder);
	free(w.journals);
	return tool_close_output(status);
}
