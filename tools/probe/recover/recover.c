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

#include "tools/probe/cli.h"
#include "tools/probe/read/folders.h"
#include "tools/probe/json.h"
#include "tools/probe/out.h"
#include "tools/probe/tool.h"

static const char help[] =
	"usage: probe recover [--force] [--json] [DIR]\n"
	"\n"
	"Completes the files of processes that were killed from their journals, in place: all "
	"calls that had ended,\n"
	"and those that had not, with the flag `open`. DIR is an output folder (default: "
	"$PROBE_OUTPUT_DIR, else\n"
	"./probe_output) or one rank's folder. It may be interrupted and run again.\n"
	"\n"
	"A folder whose process lives is left alone, and the exit status is 2. `probe report` "
	"reads running, hung and\n"
	"killed jobs without this.\n"
	"\n"
	"      --force   also folders of processes on other hosts, whose state cannot be seen from "
	"here\n"
	"      --json    what was done as JSON\n"
	"\n"
	"examples:\n"
	"  probe recover /scratch/run7\n"
	"  probe recover /scratch/run7/rank3\n";

enum { OPT_FORCE, OPT_JSON };

static const struct cli_option options[] = {
	[OPT_FORCE] = {"force", 'f', false},
	[OPT_JSON] = {"json", 0, false},
};

struct done {
	char *name;
	int rank; /* -1: none in its name */
	struct recover_info info;
};

struct list {
	struct done *d;
	unsigned n, cap;
};

static int rank_of(const char *name)
{
	return strncmp(name, "rank", 4) == 0 && name[4] >= '0' && name[4] <= '9' &&
			       !strpbrk(name, ".-")
		       ? atoi(name + 4)
		       : -1;
}

static void recover_one(struct list *l, const char *path, const char *name, bool force)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct done *d;

	TOOL_GROW(l->d, l->n, l->cap);
	d = &l->d[l->n++];
	*d = (struct done){.name = tool_strdup(name), .rank = rank_of(name)};
	if (fd < 0) {
		d->info.result = RECOVER_FAILED;
		snprintf(d->info.why, sizeof(d->info.why), "%s", strerror(errno));
		return;
	}
	recover_folder(fd, force, &d->info);
	close(fd);
}

static int by_name(const void *x, const void *y)
{
	return strverscmp(*(char *const *)x, *(char *const *)y);
}

/* Every folder in the output folder that is a rank's, whichever run it belongs to. */
static int recover_all(struct list *l, const char *path, bool force)
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
		qsort(name, n, sizeof(*name), by_name);
	for (unsigned i = 0; i < n; i++) {
		sub = tool_format("%s/%s", path, name[i]);
		if (folders_is_rank(sub))
			recover_one(l, sub, name[i], force);
		free(sub);
		free(name[i]);
	}
	free(name);
	if (l->n)
		return STATUS_DONE;
	tool_error("recover: %s: no rank folders (rank0, rank1 ...) are in it", path);
	return STATUS_USAGE;
}

/* ---- what was done ---- */

static const char *const result_name[] = {
	[RECOVER_NOTHING] = "complete",
	[RECOVER_DONE] = "recovered",
	[RECOVER_LIVES] = "alive",
	[RECOVER_FAILED] = "failed",
};

static char *text(const struct recover_info *i)
{
	switch (i->result) {
	case RECOVER_NOTHING:
		return tool_strdup("complete, nothing to do");
	case RECOVER_LIVES:
		return tool_format("left alone: %s", i->why);
	case RECOVER_FAILED:
		return tool_strdup(i->why);
	default:
		break;
	}

	char *all = tool_format("%s added", out_plural(i->rows, "row", "rows")), *was;

	if (i->open) {
		was = all;
		all = tool_format("%s, %s of open calls", was, out_count(i->open));
		free(was);
	}
	if (i->spilled) {
		was = all;
		all = tool_format("%s; %s lost with the process", was,
			out_plural(i->spilled, "asynchronous call was", "asynchronous calls were"));
		free(was);
	}
	if (i->damaged) {
		was = all;
		all = tool_format(
			"%s; %s", was, out_plural(i->damaged, "damaged entry", "damaged entries"));
		free(was);
	}
	return all;
}

static bool same(const struct recover_info *a, const struct recover_info *b)
{
	if (a->result != b->result || strcmp(a->why, b->why))
		return false;
	return a->result != RECOVER_DONE ||
	       (a->rows == b->rows && a->open == b->open && a->spilled == b->spilled &&
		       a->damaged == b->damaged);
}

/* Ranks with the same words share a line. */
static void print(const struct list *l)
{
	bool *said = tool_alloc(l->n);

	for (unsigned i = 0; i < l->n; i++) {
		int *rank = tool_alloc(l->n * sizeof(*rank));
		unsigned n = 0;
		char *what = text(&l->d[i].info), *who;

		for (unsigned k = i; k < l->n && !said[i] && l->d[i].rank >= 0; k++) {
			if (said[k] || l->d[k].rank < 0 || !same(&l->d[i].info, &l->d[k].info))
				continue;
			said[k] |= k > i;
			rank[n++] = l->d[k].rank;
		}
		if (!said[i]) {
			who = n ? out_ranks(rank, n) : tool_strdup(l->d[i].name);
			printf("%s: %s\n", who, what);
			free(who);
		}
		free(what);
		free(rank);
	}
	free(said);
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
		json_end();
	}
	json_end();
	json_end();
}

static int recover(const char *path, bool force, bool json)
{
	struct list l = {0};
	int status = STATUS_DONE;
	char *full = realpath(path, NULL);

	if (!full) {
		tool_error("recover: %s: %s", path, strerror(errno));
		return STATUS_USAGE;
	}
	if (folders_is_rank(full))
		recover_one(&l, full, strrchr(full, '/') + 1, force);
	else
		status = recover_all(&l, full, force);
	for (unsigned i = 0; i < l.n; i++)
		if (l.d[i].info.result == RECOVER_LIVES || l.d[i].info.result == RECOVER_FAILED)
			status = STATUS_USAGE;
	if (json && l.n)
		print_json(&l);
	else
		print(&l);
	for (unsigned i = 0; i < l.n; i++)
		free(l.d[i].name);
	free(l.d);
	free(full);
	return status;
}

int verb_recover(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	const char *path = NULL;
	bool force = false, json = false;
	int o;

	while ((o = cli_next(&c)) != CLI_END) {
		switch (o) {
		case OPT_FORCE:
			force = true;
			break;
		case OPT_JSON:
			json = true;
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_finish(STATUS_DONE);
		case CLI_OPERAND:
			if (path) {
				tool_error("recover: %s: only one folder at a time", c.value);
				return STATUS_USAGE;
			}
			path = c.value;
			break;
		default:
			return STATUS_USAGE;
		}
	}
	return tool_finish(recover(path ? path : folders_default(), force, json));
}
