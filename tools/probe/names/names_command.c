/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `names`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/lib/range_option.h"
#include "tools/lib/tool.h"
#include "tools/probe/names/print_groups.h"
#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/read/names.h"

static const char help[] =
	"usage: probe names [--rank R] [--modules] [--buckets] [--groups] [DIR]\n"
	"       probe names --messages [--step A-B] [--rank R] [--json] [DIR]\n"
	"\n"
	"Prints the parameters of a training that was recorded with `names: true`: number, "
	"name, shape, type, optimizer\n"
	"and group; then the contents of its buckets, and its modules if they were recorded "
	"(`print_struct: true`); then the\n"
	"roles of its communicators, and the stages of its pipelines. DIR is an output "
	"folder (default:\n"
	"$PROBE_OUTPUT_DIR, else ./probe_output) or one rank's folder.\n"
	"\n"
	"  -r, --rank R     the rank; default: the lowest one that has names\n"
	"      --modules    prints only the modules\n"
	"      --buckets    prints only the buckets\n"
	"      --groups     prints only the communicators\n"
	"      --messages   prints each message of a pipeline: its stages, direction and "
	"micro-batch, and how the direction was\n"
	"                   determined\n"
	"  -s, --step A-B   only messages of these steps; default: the first three steps "
	"with messages\n"
	"      --json       prints messages as JSON\n"
	"\n"
	"examples:\n"
	"  probe names /scratch/run7\n"
	"  probe names --buckets --rank 3 /scratch/run7\n"
	"  probe names --messages --step 12 /scratch/run7\n";

enum { OPT_RANK, OPT_MODULES, OPT_BUCKETS, OPT_GROUPS, OPT_MESSAGES, OPT_STEP, OPT_JSON };

static const struct cli_option options[] = {
	[OPT_RANK] = {"rank", 'r', true},
	[OPT_MODULES] = {"modules", 0, false},
	[OPT_BUCKETS] = {"buckets", 0, false},
	[OPT_GROUPS] = {"groups", 0, false},
	[OPT_MESSAGES] = {"messages", 0, false},
	[OPT_STEP] = {"step", 's', true},
	[OPT_JSON] = {"json", 0, false},
};

/* One bit for each part to print. */
enum {
	SHOW_PARAMS = 1,
	SHOW_BUCKETS = 2,
	SHOW_MODULES = 4,
	SHOW_GROUPS = 8,
	SHOW_MESSAGES = 16,
	SHOW_NAMES = SHOW_PARAMS | SHOW_BUCKETS | SHOW_MODULES,
};

static void write_number_cell(struct out_table *t, int64_t v)
{
	char text[24] = "";

	if (v >= 0)
		snprintf(text, sizeof(text), "%lld", (long long)v);
	out_add_cell(t, text);
}

static void print_params(const struct names *names)
{
	static const char *const head[] = {
		"number", "name", "shape", "type", "optimizer", "group", "chunk", "flags"};
	struct out_table t;

	out_print_heading("Parameters");
	out_start_table(&t, 8, head, "rllllrrl");
	for (unsigned i = 0; i < names->n; i++) {
		const struct name_row *r = &names->row[i];

		if (r->what != NAME_PARAM)
			continue;
		write_number_cell(&t, (int64_t)r->id);
		write_name_cell(&t, r->name);
		write_name_cell(&t, r->shape);
		write_name_cell(&t, r->dtype);
		write_number_cell(&t, r->optimizer);
		write_number_cell(&t, r->group);
		write_number_cell(&t, r->vpp_stage);
		write_name_cell(&t, r->flags);
	}
	out_print_table(&t);
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
	out_print_heading("Buckets");
	out_start_table(&t, 4, head, "rrrl");
	for (unsigned i = 0; i < names->n; i++) {
		const struct name_row *r = &names->row[i];

		if (r->what != NAME_PART)
			continue;
		write_number_cell(&t, (int64_t)r->bucket);
		out_add_cell(&t, out_format_count(r->offset));
		out_add_cell(&t, out_format_count(r->count));
		write_name_cell(&t, r->name);
	}
	out_print_table(&t);
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
	out_print_heading("Modules");
	out_start_table(&t, 3, head, "rll");
	for (unsigned i = 0; i < names->n; i++) {
		const struct name_row *r = &names->row[i];

		if (r->what != NAME_MODULE)
			continue;
		write_number_cell(&t, r->vpp_stage);
		write_name_cell(&t, *r->name ? r->name : "(the outermost)");
		write_name_cell(&t, r->type);
	}
	out_print_table(&t);
}

/* Returns false if the rank (with rank -1: every rank) has no names. */
static bool print_names_of(const struct folders *f, int64_t rank, unsigned show)
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
		if (show & SHOW_PARAMS)
			print_params(&names);
		if (show & SHOW_BUCKETS)
			print_buckets(&names);
		if (show & SHOW_MODULES)
			print_modules(&names);
		names_free(&names);
		return true;
	}
	return false;
}

static bool read_rank(const char *text, int64_t *rank)
{
	char *end;

	*rank = strtoll(text, &end, 10);
	if (*text && !*end && *rank >= 0)
		return true;
	tool_error("names: --rank %s: accepted: the number of a rank, 0 or more", text);
	return false;
}

static int print_parts(
	const struct folders *f, int64_t rank, unsigned show, const char *steps, bool json)
{
	uint64_t lo = 1, hi = 0; /* the first steps that have messages */
	bool named = false, groups = false;

	if (steps && !parse_steps_option("names", steps, &lo, &hi))
		return STATUS_USAGE;
	if (show & SHOW_NAMES)
		named = print_names_of(f, rank, show);
	if (show & (SHOW_GROUPS | SHOW_MESSAGES))
		groups = print_groups(
			f, rank, show & SHOW_GROUPS, show & SHOW_MESSAGES, json, lo, hi);
	if (show & SHOW_NAMES && !named) {
		if (rank >= 0)
			tool_error("names: %s: no names of rank %lld; record with names: true",
				f->path, (long long)rank);
		else
			tool_error("names: %s: no names.csv; record with names: true", f->path);
	} else if (!named && !groups && show == SHOW_MESSAGES && rank >= 0) {
		tool_error("names: %s: no messages of a pipeline on rank %lld", f->path,
			(long long)rank);
	} else if (!named && !groups) {
		tool_error("names: %s: no parallel.json with %s; it is written for a training "
			   "once the roles of its communicators are known",
			f->path, show & SHOW_MESSAGES ? "a pipeline" : "communicators");
	}
	return named || groups ? STATUS_DONE : STATUS_USAGE;
}

int verb_names(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	const char *dir = NULL, *steps = NULL;
	struct folders f;
	int64_t rank = -1;
	unsigned show = 0;
	bool json = false;
	int o, status;

	while ((o = cli_read_argument(&c)) != CLI_END) {
		switch (o) {
		case OPT_RANK:
			if (!read_rank(c.value, &rank))
				return STATUS_USAGE;
			break;
		case OPT_MODULES:
			show |= SHOW_MODULES;
			break;
		case OPT_BUCKETS:
			show |= SHOW_BUCKETS;
			break;
		case OPT_GROUPS:
			show |= SHOW_GROUPS;
			break;
		case OPT_MESSAGES:
			show |= SHOW_MESSAGES;
			break;
		case OPT_STEP:
			steps = c.value;
			break;
		case OPT_JSON:
			json = true;
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		case CLI_OPERAND:
			if (!cli_set_folder("names", &dir, c.value))
				return STATUS_USAGE;
			break;
		default:
			return STATUS_USAGE;
		}
	}
	if ((steps || json) && show != SHOW_MESSAGES) {
		tool_error(
			"names: %s can only be used with --messages", steps ? "--step" : "--json");
		return STATUS_USAGE;
	}
	if (folders_open(&f, dir ? dir : folders_get_default()))
		return STATUS_USAGE;
	status = print_parts(&f, rank, show ? show : SHOW_NAMES | SHOW_GROUPS, steps, json);
	folders_close(&f);
	return tool_close_output(status);
}
