/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `names`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/read/folders.h"
#include "tools/probe/read/names.h"

static const char help[] =
	"usage: probe names [--rank R] [--modules] [--buckets] [DIR]\n"
	"\n"
	"Prints the parameters of a training that was recorded with `names: true`: number, name, "
	"shape, type, optimizer\n"
	"and group; then what its buckets hold, and the modules where `print_struct: true` had "
	"them written. DIR is an\n"
	"output folder (default: $PROBE_OUTPUT_DIR, else ./probe_output) or one rank's folder.\n"
	"\n"
	"  -r, --rank R   of that rank; default: the lowest one that has names\n"
	"      --modules  the modules alone\n"
	"      --buckets  the buckets alone\n"
	"\n"
	"examples:\n"
	"  probe names /scratch/run7\n"
	"  probe names --buckets --rank 3 /scratch/run7\n";

enum { OPT_RANK, OPT_MODULES, OPT_BUCKETS };

static const struct cli_option options[] = {
	[OPT_RANK] = {"rank", 'r', true},
	[OPT_MODULES] = {"modules", 0, false},
	[OPT_BUCKETS] = {"buckets", 0, false},
};

/* A cell; control characters are blanks, for names come from the recorded program. */
static void put_cell(struct out_table *t, const char *text)
{
	char *copy = tool_strdup(text);

	for (char *c = copy; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	out_cell(t, copy);
	free(copy);
}

static void put_number_cell(struct out_table *t, int64_t v)
{
	char text[24] = "";

	if (v >= 0)
		snprintf(text, sizeof(text), "%lld", (long long)v);
	out_cell(t, text);
}

static void print_params(const struct names *names)
{
	static const char *const head[] = {
		"number", "name", "shape", "type", "optimizer", "group", "chunk", "flags"};
	struct out_table t;

	out_heading("Parameters");
	out_table_begin(&t, 8, head, "rllllrrl");
	for (unsigned i = 0; i < names->n; i++) {
		const struct name_row *r = &names->row[i];

		if (r->what != NAME_PARAM)
			continue;
		put_number_cell(&t, (int64_t)r->id);
		put_cell(&t, r->name);
		put_cell(&t, r->shape);
		put_cell(&t, r->dtype);
		put_number_cell(&t, r->optimizer);
		put_number_cell(&t, r->group);
		put_number_cell(&t, r->vpp_stage);
		put_cell(&t, r->flags);
	}
	out_table_end(&t);
}

static void print_buckets(const struct names *names)
{
	static const char *const head[] = {"bucket", "offset", "elements", "holds"};
	struct out_table t;
	unsigned n = 0;

	for (unsigned i = 0; i < names->n; i++)
		n += names->row[i].what == NAME_PART;
	if (!n)
		return;
	out_heading("Buckets");
	out_table_begin(&t, 4, head, "rrrl");
	for (unsigned i = 0; i < names->n; i++) {
		const struct name_row *r = &names->row[i];

		if (r->what != NAME_PART)
			continue;
		put_number_cell(&t, (int64_t)r->bucket);
		out_cell(&t, out_count(r->offset));
		out_cell(&t, out_count(r->count));
		put_cell(&t, r->name);
	}
	out_table_end(&t);
}

static void print_modules(const struct names *names)
{
	static const char *const head[] = {"chunk", "module", "class"};
	struct out_table t;
	unsigned n = 0;

	for (unsigned i = 0; i < names->n; i++)
		n += names->row[i].what == NAME_MODULE;
	if (!n)
		return;
	out_heading("Modules");
	out_table_begin(&t, 3, head, "rll");
	for (unsigned i = 0; i < names->n; i++) {
		const struct name_row *r = &names->row[i];

		if (r->what != NAME_MODULE)
			continue;
		put_number_cell(&t, r->vpp_stage);
		put_cell(&t, *r->name ? r->name : "(the outermost)");
		put_cell(&t, r->type);
	}
	out_table_end(&t);
}

/* rank -1: the lowest that has names. */
static int print_names_of(const struct folders *f, int64_t rank, bool modules, bool buckets)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct names names;

		if (rank >= 0 && f->dir[i].rank != rank)
			continue;
		if (names_read(&names, f->dir[i].path)) {
			names_free(&names);
			continue;
		}
		printf("rank %d, %s\n", f->dir[i].rank, f->dir[i].path);
		if (!modules && !buckets)
			print_params(&names);
		if (!modules)
			print_buckets(&names);
		if (!buckets)
			print_modules(&names);
		names_free(&names);
		return STATUS_DONE;
	}
	if (rank >= 0)
		tool_error("names: %s: no names of rank %lld; record with names: true", f->path,
			(long long)rank);
	else
		tool_error("names: %s: no names.csv; record with names: true", f->path);
	return STATUS_USAGE;
}

int verb_names(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	const char *dir = NULL;
	struct folders f;
	int64_t rank = -1;
	bool modules = false, buckets = false;
	int o, status;
	char *end;

	while ((o = cli_next(&c)) != CLI_END) {
		switch (o) {
		case OPT_RANK:
			rank = strtoll(c.value, &end, 10);
			if (!*c.value || *end || rank < 0) {
				tool_error("names: --rank %s: not a rank", c.value);
				return STATUS_USAGE;
			}
			break;
		case OPT_MODULES:
			modules = true;
			break;
		case OPT_BUCKETS:
			buckets = true;
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_finish(STATUS_DONE);
		case CLI_OPERAND:
			if (dir) {
				tool_error("names: %s: more than one folder", c.value);
				return STATUS_USAGE;
			}
			dir = c.value;
			break;
		default:
			return STATUS_USAGE;
		}
	}
	if (folders_open(&f, dir ? dir : folders_default()))
		return STATUS_USAGE;
	status = print_names_of(&f, rank, modules, buckets);
	folders_close(&f);
	return tool_finish(status);
}
