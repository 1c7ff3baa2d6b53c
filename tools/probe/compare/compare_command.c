/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `compare`. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/config_value.h"
#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/lib/range_option.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/arrays/checkpoints.h"
#include "tools/probe/compare/entries/compare.h"
#include "tools/probe/compare/curves.h"
#include "tools/probe/compare/arrays/gradients.h"
#include "tools/probe/compare/entries/mapping.h"
#include "tools/probe/compare/setup.h"
#include "tools/probe/compare/weights.h"

static const char help[] =
	"usage: probe compare [options] A B\n"
	"\n"
	"Finds where two runs differ, and the first call that differs: its input or "
	"output, its line and parameter.\n"
	"A and B are output folders, folders of dumps (step<N>/rank<R>/dump.json, of "
	"libprobe.so or of msprobe) or single\n"
	"dump.json files. B is the reference (\"Bench\" in the tables). OUTPUT@1 is the run "
	"before the newest one in OUTPUT.\n"
	"\n"
	"  -o, --output DIR       writes a table for each rank into DIR: "
	"compare_result_rank<R>_<time>.csv, msprobe's columns\n"
	"      --merge            one table for all ranks and steps instead\n"
	"      --metric COMMAND   with -o, for dumps with tensors: runs COMMAND FILE_A "
	"FILE_B for each pair and writes the first\n"
	"                         line of its output to column Metric\n"
	"      --exact            bit by bit: any difference is an error; by checksums "
	"where both have them\n"
	"      --by-name          pairs calls of dumps by their numbers alone, as msprobe "
	"does\n"
	"      --data-mapping F   YAML: names of tensors in A and what they are called in "
	"B\n"
	"      --layer-mapping F  YAML: parts of the model in A and what they are called "
	"in B; \"auto\": without rules.\n"
	"                         Needs stack.json and construct.json\n"
	"      --ckpt             A and B are checkpoints: safetensors, files of "
	"torch.save(), or folders of them\n"
	"      --grad             compares signs of gradients, "
	"rank<R>/step<N>/<parameter>.npy: prints the share of equal signs\n"
	"      --weights          A is a training, B a server of its weights: prints which "
	"tensors B has, by checksum and name,\n"
	"                         and which ones the last transfer skipped. Both record "
	"with PROBE_CHECKSUM=crc32\n"
	"      --config-check     compares the initial state of two output folders: "
	"program, libraries, configuration,\n"
	"                         environment, packages, seeds, arguments, first weights "
	"and inputs, random operators\n"
	"      --html FILE        writes one page for a browser with curves of both runs "
	"over their steps, and the step at\n"
	"                         which they first diverge: scalars, statistics of "
	"parameters, norms of communicated tensors\n"
	"      --series REGEX     with --html: only curves whose names match\n"
	"      --of WHAT          calls or dump, for folders that contain both; default: "
	"dump\n"
	"  -r, --rank RANKS       only these ranks: 0-3,8\n"
	"  -s, --step STEPS       only these steps: 4-6\n"
	"      --json             prints JSON\n"
	"      --color WHEN       auto, always or never\n"
	"\n"
	"Exit status: 0 no significant difference; 1 differences; 2 usage, or input that "
	"cannot be read.\n"
	"\n"
	"examples:\n"
	"  probe compare /scratch/good /scratch/bad\n"
	"  probe compare -o diff --rank 0 /scratch/gpu/step0 /scratch/npu/step0\n"
	"  probe compare --exact --json run1 run2\n"
	"  probe compare probe_output probe_output@1\n"
	"  probe compare --ckpt ckpt/iter_100 other/iter_100\n"
	"  probe compare --weights train/probe_output serve/probe_output\n"
	"  probe compare --html curves.html --series 'loss|grad_reduced/.*norm' run1 run2\n";

enum {
	OPT_OUTPUT,
	OPT_MERGE,
	OPT_METRIC,
	OPT_EXACT,
	OPT_BY_NAME,
	OPT_DATA_MAPPING,
	OPT_LAYER_MAPPING,
	OPT_CKPT,
	OPT_GRAD,
	OPT_WEIGHTS,
	OPT_CONFIG_CHECK,
	OPT_HTML,
	OPT_SERIES,
	OPT_OF,
	OPT_RANK,
	OPT_STEP,
	OPT_JSON,
	OPT_COLOR
};

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', true},
	[OPT_MERGE] = {"merge", 0, false},
	[OPT_METRIC] = {"metric", 0, true},
	[OPT_EXACT] = {"exact", 0, false},
	[OPT_BY_NAME] = {"by-name", 0, false},
	[OPT_DATA_MAPPING] = {"data-mapping", 0, true},
	[OPT_LAYER_MAPPING] = {"layer-mapping", 0, true},
	[OPT_CKPT] = {"ckpt", 0, false},
	[OPT_GRAD] = {"grad", 0, false},
	[OPT_WEIGHTS] = {"weights", 0, false},
	[OPT_CONFIG_CHECK] = {"config-check", 0, false},
	[OPT_HTML] = {"html", 0, true},
	[OPT_SERIES] = {"series", 0, true},
	[OPT_OF] = {"of", 0, true},
	[OPT_RANK] = {"rank", 'r', true},
	[OPT_STEP] = {"step", 's', true},
	[OPT_JSON] = {"json", 0, false},
	[OPT_COLOR] = {"color", 0, true},
};

void add_compare_note(struct comparison *c, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	for (unsigned i = 0; text && i < c->nnote; i++)
		if (strcmp(c->note[i], text) == 0) {
			free(text);
			return;
		}
	if (!text)
		return;
	TOOL_GROW(c->note, c->nnote, c->cap_note);
	c->note[c->nnote++] = text;
}

struct rank_sums *add_rank_sums(struct comparison *c, int64_t step, int64_t rank)
{
	TOOL_GROW(c->sums, c->nsums, c->cap_sums);
	c->sums[c->nsums] = (struct rank_sums){.step = step, .rank = rank};
	return &c->sums[c->nsums++];
}

bool is_number_wanted(const struct ranges *r, int64_t n)
{
	return n < 0 || ranges_has(r, (uint64_t)n);
}

static void free_comparison(struct comparison *c)
{
	for (unsigned i = 0; i < c->nsums; i++) {
		free_first_diff(&c->sums[i].first);
		for (unsigned k = 0; k < c->sums[i].norigin; k++)
			free_first_diff(&c->sums[i].origin[k]);
		free_first_diff(&c->sums[i].blamed);
		free(c->sums[i].table);
	}
	for (unsigned i = 0; i < c->nnote; i++)
		free(c->note[i]);
	free(c->note);
	free(c->sums);
	free(c->merged_path);
	free_mapping(c->mapping);
	free_odd_inputs(c);
	free(c->kind_name);
	ranges_free(&c->ranks);
	ranges_free(&c->steps);
	free_side(&c->a);
	free_side(&c->b);
}

/* Returns the values of --of for a set of contents, as text. */
static const char *find_contents_text(unsigned contents)
{
	static const char *const text[] = {[CONTENT_CALLS] = "calls",
		[CONTENT_DUMP] = "dumps",
		[CONTENT_CALLS | CONTENT_DUMP] = "calls and dumps"};

	return text[contents & (CONTENT_CALLS | CONTENT_DUMP)];
}

/* Returns the kinds of data that both folders contain and that the user asked for. */
static unsigned find_common_contents(struct comparison *c, unsigned wanted)
{
	unsigned both = c->a.contents & c->b.contents & (wanted ? wanted : ~0u);

	if (!both && !(c->a.contents && c->b.contents))
		tool_error("compare: %s: contains nothing to compare: no rank<R> folder of an "
			   "output folder, no step<N>/rank<R>/dump.json",
			c->a.contents ? c->b.path : c->a.path);
	else if (!both && (c->a.contents & c->b.contents))
		tool_error("compare: %s and %s: both have %s, and --of selects %s", c->a.path,
			c->b.path, find_contents_text(c->a.contents & c->b.contents),
			find_contents_text(wanted));
	else if (!both)
		tool_error("compare: nothing in common: %s has %s, %s has %s", c->a.path,
			find_contents_text(c->a.contents), c->b.path,
			find_contents_text(c->b.contents));
	return both;
}

static int run_comparison(struct comparison *c, unsigned wanted)
{
	time_t now = time(NULL);
	struct tm tm;
	unsigned both;
	int status;

	if (find_side_contents(&c->a, c->a.path) || find_side_contents(&c->b, c->b.path))
		return STATUS_USAGE;
	both = find_common_contents(c, wanted);
	if (!both)
		return STATUS_USAGE;
	localtime_r(&now, &tm);
	strftime(c->stamp, sizeof(c->stamp), "%Y%m%d%H%M%S", &tm);
	if ((both & CONTENT_DUMP) && (both & CONTENT_CALLS))
		add_compare_note(c, "the folders also have calls: --of calls compares them");
	status = both & CONTENT_DUMP ? compare_dump_folders(c) : compare_run_folders(c);
	if (c->merged_open && target_close(&c->merged, true))
		status = STATUS_USAGE;
	if (status != STATUS_DONE && !c->nsums)
		return status;

	int found = c->json ? print_comparison_json(c) : print_comparison(c);

	return status == STATUS_DONE ? found : status;
}

int verb_compare(int argc, char **argv)
{
	struct cli cli = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	struct comparison c = {0};
	const char *color = "auto", *html = NULL, *series = NULL;
	unsigned want = 0;
	bool ckpt = false, grad = false, setup = false, weights = false;
	int o, status = STATUS_USAGE;

	while ((o = cli_read_argument(&cli)) != CLI_END) {
		switch (o) {
		case OPT_OUTPUT:
			c.out = cli.value;
			break;
		case OPT_MERGE:
			c.merge = true;
			break;
		case OPT_METRIC:
			c.metric = cli.value;
			break;
		case OPT_EXACT:
			c.exact = true;
			break;
		case OPT_BY_NAME:
			c.by_name = true;
			break;
		case OPT_DATA_MAPPING:
			free_mapping(c.mapping);
			if (!(c.mapping = read_data_mapping(cli.value)))
				goto out;
			break;
		case OPT_LAYER_MAPPING:
			c.layer_mapping = strcmp(cli.value, "auto") == 0 ? "" : cli.value;
			break;
		case OPT_CKPT:
			ckpt = true;
			break;
		case OPT_GRAD:
			grad = true;
			break;
		case OPT_WEIGHTS:
			weights = true;
			break;
		case OPT_CONFIG_CHECK:
			setup = true;
			break;
		case OPT_HTML:
			html = cli.value;
			break;
		case OPT_SERIES:
			series = cli.value;
			break;
		case OPT_OF:
			want = strcmp(cli.value, "calls") == 0	? CONTENT_CALLS
			       : strcmp(cli.value, "dump") == 0 ? CONTENT_DUMP
								: 0;
			if (want)
				break;
			tool_error("compare: --of %s: accepted: calls, dump", cli.value);
			goto out;
		case OPT_RANK:
			if (!parse_ranges_option("compare", &c.ranks, "rank", cli.value))
				goto out;
			break;
		case OPT_STEP:
			if (!parse_ranges_option("compare", &c.steps, "step", cli.value))
				goto out;
			break;
		case OPT_JSON:
			c.json = true;
			break;
		case OPT_COLOR:
			color = cli.value;
			break;
		case CLI_HELP:
			fputs(help, stdout);
			status = tool_close_output(STATUS_DONE);
			goto out;
		case CLI_OPERAND:
			if (c.b.path) {
				tool_error("compare: %s: more than two folders; only A and B "
					   "are compared",
					cli.value);
				goto out;
			}
			*(c.a.path ? &c.b.path : &c.a.path) = cli.value;
			break;
		default:
			goto out;
		}
	}
	if (!out_set_color(color)) {
		tool_error("compare: --color %s: accepted: auto, always, never", color);
		goto out;
	}
	if (!c.b.path) {
		tool_error("compare: two folders are needed, A and B; `probe compare --help` has "
			   "examples");
		goto out;
	}
	if (c.merge && !c.out) {
		tool_error("compare: --merge writes a table and needs its folder: -o DIR");
		goto out;
	}
	if (c.metric && (ckpt || grad || setup || weights || html)) {
		tool_error("compare: --metric measures tensors of dumps; not with --ckpt, --grad, "
			   "--weights, --config-check, --html");
		goto out;
	}
	if (c.metric && !c.out) {
		tool_error("compare: --metric fills a column of the table, which needs a folder: "
			   "-o DIR");
		goto out;
	}
	if (ckpt)
		status = compare_checkpoints(c.a.path, c.b.path, c.out, c.json);
	else if (grad)
		status = compare_gradients(c.a.path, c.b.path, c.out);
	else if (weights)
		status = check_weights(c.a.path, c.b.path, &c.ranks, &c.steps, c.json);
	else if (setup)
		status = compare_setups(c.a.path, c.b.path, c.json);
	else if (html)
		status = compare_curves(c.a.path, c.b.path, html, series, &c.ranks, &c.steps);
	else
		status = run_comparison(&c, want);
	status = tool_close_output(status);
out:
	free_comparison(&c);
	return status;
}
