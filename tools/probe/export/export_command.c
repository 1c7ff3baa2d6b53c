/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `export`. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_value.h"
#include "tools/lib/cli.h"
#include "tools/lib/range_option.h"
#include "tools/lib/tool.h"
#include "tools/probe/export/export.h"
#include "tools/probe/export/feed.h"
#include "tools/probe/export/tb_files.h"

static const char help[] =
	"usage: probe export --format FORMAT [options] [DIR]\n"
	"\n"
	"Converts a part of a run for other programs. DIR is an output folder (default: "
	"$PROBE_OUTPUT_DIR, else\n"
	"./probe_output), of a job that is finished, running, hung or killed.\n"
	"\n"
	"  -F, --format FORMAT  trace            Chrome trace: Perfetto, chrome://tracing, "
	"MindStudio Insight; with\n"
	"                                        --per-rank: HTA, torch_tb_profiler\n"
	"                       flight-recorder  a pickle for each rank, for torchfrtrace\n"
	"                       insight          a profile of each rank, for MindStudio "
	"Insight and msprof-analyze\n"
	"                       dot              the calls of one step and their "
	"dependencies, for Graphviz\n"
	"                       dump, monitor,   the formats that key `format` writes while "
	"the job runs, made\n"
	"                       tensorboard      from the CSV files\n"
	"  -s, --step A[-B]     only these steps (default: those of the run's key "
	"profile_step, else three steps\n"
	"                       around the first finding, else the last steps)\n"
	"  -r, --rank LIST      only these ranks: 3, 0-7, 0,4-6 (default: profile_rank, else "
	"at most 64: those of the\n"
	"                       first finding and their peers). flight-recorder, dump, "
	"monitor, tensorboard: default all\n"
	"                       ranks and steps\n"
	"  -o, --output PATH    the file or folder to write; -: stdout. Default, in DIR: "
	"trace.json.gz, trace/,\n"
	"                       flight_recorder/, profile/rank_<r>/ (insight); dot: stdout\n"
	"      --per-rank       trace: a file for each rank, in the folder --output. Implied "
	"if PATH ends neither\n"
	"                       in .json nor in .gz\n"
	"      --level N        0: without stacks, 1: with stacks, 2: also with statistics of "
	"tensors (default: the\n"
	"                       level of the recorded profile_step window, else 1)\n"
	"      --layout NAME    tensorboard: live, as the job writes it, or csv2tb, as "
	"msprobe's\n"
	"                       csv2tensorboard_by_step (default for the folders of its "
	"monitor)\n"
	"      --from TIME      tensorboard: only runs that began at this time or later: "
	"Nov22_18-03-59\n"
	"      --to TIME        tensorboard: only runs that began at this time or earlier\n"
	"      --kinds LIST     tensorboard: only these statistics: grad_reduced,exp_avg\n"
	"  -a, --all            exports all steps and ranks that --step and --rank do not "
	"exclude, without a size limit;\n"
	"                       otherwise an output above 200 MB (before compression) is an "
	"error\n"
	"\n"
	"examples:\n"
	"  probe export --format trace                    # ./probe_output/trace.json.gz\n"
	"  probe export --format trace --step 100-105 --rank 0-7 -o run7.json.gz "
	"/scratch/run7\n"
	"  probe export --format trace --per-rank -o hta /scratch/run7\n"
	"  probe export --format flight-recorder -o fr /scratch/run7\n"
	"  python -m torch.distributed.flight_recorder.fr_trace fr\n"
	"  probe export --format tensorboard --from Nov22_00-00-00 --kinds grad_reduced "
	"monitor_output\n"
	"  probe export --format dot --step 12 /scratch/run7 | dot -Tsvg >step12.svg\n";

enum {
	OPT_FORMAT,
	OPT_STEP,
	OPT_RANK,
	OPT_OUTPUT,
	OPT_PER_RANK,
	OPT_LEVEL,
	OPT_LIMIT,
	OPT_ALL,
	OPT_FROM,
	OPT_TO,
	OPT_KINDS,
	OPT_LAYOUT
};

static const struct cli_option options[] = {
	[OPT_FORMAT] = {"format", 'F', true},
	[OPT_STEP] = {"step", 's', true},
	[OPT_RANK] = {"rank", 'r', true},
	[OPT_OUTPUT] = {"output", 'o', true},
	[OPT_PER_RANK] = {"per-rank", 0, false},
	[OPT_LEVEL] = {"level", 0, true},
	[OPT_LIMIT] = {"limit", 0, true},
	[OPT_ALL] = {"all", 'a', false},
	[OPT_FROM] = {"from", 0, true},
	[OPT_TO] = {"to", 0, true},
	[OPT_KINDS] = {"kinds", 0, true},
	[OPT_LAYOUT] = {"layout", 0, true},
};

static const struct {
	const char *name;
	int (*write)(struct export *e);
	bool all_ranks; /* only for all ranks together */
	enum output_format
		sink; /* if `write` is NULL: the format whose sink is fed from the files */
} formats[] = {
	{"trace", export_write_trace, false, 0},
	{"flight-recorder", export_write_flight_recorder, true, 0},
	{"dot", export_write_dot, false, 0},
	{"insight", export_write_insight, false, 0},
	{"dump", NULL, true, FORMAT_DUMP},
	{"monitor", NULL, true, FORMAT_MONITOR},
	{"tensorboard", NULL, true, FORMAT_TENSORBOARD},
};

#define FORMAT_WORDS "trace, flight-recorder, dot, insight, dump, monitor, tensorboard"
#define NFORMATS (sizeof(formats) / sizeof(*formats))

static int find_format(const char *name)
{
	const char *names[NFORMATS], *near;

	for (unsigned i = 0; i < NFORMATS; i++) {
		names[i] = formats[i].name;
		if (strcmp(names[i], name) == 0)
			return (int)i;
	}
	near = cli_find_nearest(name, names, NFORMATS);
	tool_error("export: --format %s: no such format; accepted: " FORMAT_WORDS "%s%s", name,
		near ? "; did you mean " : "", near ? near : "");
	return -1;
}

static bool set_export_limit(struct export *e, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !n || n > 1000000) {
		tool_error("export: --limit %s: accepted: a number of MB from 1 to 1000000", text);
		return false;
	}
	e->limit = n * UINT64_C(1000000);
	return true;
}

static bool set_export_time(uint64_t *time, const char *text)
{
	*time = parse_folder_time(text, strlen(text));
	if (!*time)
		tool_error("export: %s: accepted: a time such as Nov22_18-03-59", text);
	return *time != 0;
}

static bool set_export_layout(struct tb_export *tb, const char *text)
{
	if (strcmp(text, "live") == 0)
		tb->layout = TB_LAYOUT_LIVE;
	else if (strcmp(text, "csv2tb") == 0)
		tb->layout = TB_LAYOUT_CSV2TB;
	else
		tool_error("export: --layout %s: accepted: live, csv2tb", text);
	return tb->layout != TB_LAYOUT_AUTO;
}

/* Returns 0 to continue, else the exit status + 1. */
static int read_export_options(
	struct export *e, struct gather_options *g, int *format, int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	int o;

	while ((o = cli_read_argument(&c)) != CLI_END) {
		bool ok = true;

		switch (o) {
		case OPT_FORMAT:
			*format = find_format(c.value);
			ok = *format >= 0;
			break;
		case OPT_STEP:
			ok = parse_steps_option("export", c.value, &g->step_lo, &g->step_hi);
			e->asked_steps = true;
			break;
		case OPT_RANK:
			ok = parse_ranges_option("export", &g->ranks, "rank", c.value);
			e->asked_ranks = true;
			break;
		case OPT_OUTPUT:
			e->output = c.value;
			break;
		case OPT_FROM:
		case OPT_TO:
			ok = set_export_time(o == OPT_FROM ? &e->tb.from : &e->tb.to, c.value);
			break;
		case OPT_KINDS:
			e->tb.kinds = c.value;
			break;
		case OPT_LAYOUT:
			ok = set_export_layout(&e->tb, c.value);
			break;
		case OPT_PER_RANK:
			e->per_rank = true;
			break;
		case OPT_LEVEL:
			ok = c.value[0] >= '0' && c.value[0] <= '2' && !c.value[1];
			if (!ok)
				tool_error("export: --level %s: accepted: 0, 1, 2", c.value);
			e->level = (unsigned)(c.value[0] - '0');
			e->asked_level = true;
			break;
		case OPT_LIMIT:
			ok = set_export_limit(e, c.value);
			break;
		case OPT_ALL:
			e->all = true;
			break;
		case CLI_OPERAND:
			ok = cli_set_folder("export", &e->dir, c.value);
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return 1 + STATUS_DONE;
		default:
			ok = false;
		}
		if (!ok)
			return 1 + STATUS_USAGE;
	}
	if (*format < 0) {
		tool_error("export: --format is missing; accepted: " FORMAT_WORDS);
		return 1 + STATUS_USAGE;
	}
	/* A name without the extension of a file names a folder. */
	if (formats[*format].write == export_write_trace && e->output && strcmp(e->output, "-") &&
		fnmatch("*.json", e->output, 0) && fnmatch("*.gz", e->output, 0))
		e->per_rank = true;
	if (e->per_rank && e->output && strcmp(e->output, "-") == 0) {
		tool_error("export: --per-rank writes several files: --output names a folder");
		return 1 + STATUS_USAGE;
	}
	return 0;
}

static void free_export(struct export *e)
{
	for (uint32_t i = 0; i < e->brief.n; i++)
		free(*(char **)((struct table_key *)table_at(&e->brief, i) + 1));
	table_free(&e->brief);
	free(e->want);
	free(e->overlay);
	free(e->chosen.dir);
	report_free(&e->report);
}

/* Writes a format of the running job from the files, for the steps and ranks that were selected. */
static int feed_format(
	const struct export *e, const struct gather_options *g, enum output_format format)
{
	struct feed_options o = {.dir = e->dir,
		.output = e->output,
		.step_lo = g->step_lo,
		.step_hi = g->step_hi,
		.ranks = g->ranks,
		.format = format};

	if (e->output && strcmp(e->output, "-") == 0) {
		tool_error("export: --format %s writes several files: --output names a folder",
			output_format_names[format]);
		return STATUS_USAGE;
	}
	if (format == FORMAT_TENSORBOARD) {
		struct tb_export tb = e->tb;

		tb.feed = o;
		return export_write_tensorboard(&tb);
	}
	return feed_folders(&o);
}

int verb_export(int argc, char **argv)
{
	struct export *e = tool_alloc(sizeof(*e));
	struct gather_options g = {.top = 10, .step_hi = UINT64_MAX, .progress = true};
	int format = -1, status;

	e->level = 1;
	e->limit = 200000000;
	status = read_export_options(e, &g, &format, argc, argv);
	if (status) {
		ranges_free(&g.ranks);
		free(e);
		return tool_close_output(status - 1);
	}
	if (!e->dir)
		e->dir = folders_get_default();
	if (!formats[format].write) {
		status = feed_format(e, &g, formats[format].sink);
		ranges_free(&g.ranks);
		free(e);
		return tool_close_output(status);
	}
	g.path = e->dir;
	e->step_lo = g.step_lo;
	e->step_hi = g.step_hi;
	e->format = formats[format].name;
	if (formats[format].all_ranks)
		e->asked_ranks = true;
	status = report_gather(&e->report, &g);
	if (!status) {
		/* The clock differences cannot be measured well from a few steps. */
		if (e->asked_steps)
			skew_estimate(&e->report.g.hosts, e->report.g.skew, &e->report.g.folders, 0,
				UINT64_MAX, 1);
		export_set_part(e);
		status = e->asked_steps || !e->report.g.any ? export_check_part(e) : 0;
		if (!status)
			status = formats[format].write(e);
		free_export(e);
		if (gather_stop_signal())
			gather_end_by_signal();
	}
	ranges_free(&g.ranks);
	free(e);
	return tool_close_output(status);
}
