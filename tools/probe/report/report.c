/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `report`. */
#include "tools/probe/report/report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/value.h"
#include "tools/probe/cli.h"
#include "tools/probe/out.h"
#include "tools/probe/tool.h"

static const char help[] =
	"usage: probe report [options] [DIR]\n"
	"\n"
	"Says what happened in a run: finished, running, hung or killed. DIR is an output folder "
	"with one folder\n"
	"per rank (default: $PROBE_OUTPUT_DIR, else ./probe_output), or one rank's folder.\n"
	"\n"
	"  --rank LIST      only these ranks: 3, 0-7, 0,4-6\n"
	"  --step LIST      only this step or range of steps: 17, 100-199\n"
	"  --top N          length of each list (10)\n"
	"  --stacks         whole call stacks, with file:line where debug information is found\n"
	"  --json           everything as JSON\n"
	"  --follow         again and again, until no rank runs any more\n"
	"  --interval S     seconds between two reports with --follow (2)\n"
	"  --color WHEN     auto, always or never\n"
	"\n"
	"examples:\n"
	"  probe report\n"
	"  probe report --follow --top 3\n"
	"  probe report --stacks --rank 5 /scratch/run7\n"
	"  probe report --json /scratch/run7 | jq '.open[] | [.rank, .api, .comm_seq, .age_s]'\n";

enum { OPT_RANK, OPT_STEP, OPT_TOP, OPT_STACKS, OPT_JSON, OPT_FOLLOW, OPT_INTERVAL, OPT_COLOR };

static const struct cli_option options[] = {
	[OPT_RANK] = {"rank", 'r', true},
	[OPT_STEP] = {"step", 's', true},
	[OPT_TOP] = {"top", 'n', true},
	[OPT_STACKS] = {"stacks", 0, false},
	[OPT_JSON] = {"json", 0, false},
	[OPT_FOLLOW] = {"follow", 'f', false},
	[OPT_INTERVAL] = {"interval", 0, true},
	[OPT_COLOR] = {"color", 0, true},
};

#define TOP_MAX 10000

struct asked {
	struct gather_options gather;
	bool json, stacks, follow;
	double interval; /* s */
};

static bool set_ranges(struct ranges *r, const char *name, const char *text)
{
	const char *wrong = ranges_add(r, text, strlen(text));

	ranges_finish(r);
	if (!wrong && r->n)
		return true;
	tool_error("report: --%s %s: %s; accepted: 3, 0-7 or 0,4-6", name, text,
		wrong ? wrong : "empty");
	return false;
}

static bool set_steps(struct gather_options *o, const char *text)
{
	struct ranges r = {0};
	bool ok = set_ranges(&r, "step", text);

	if (ok && r.n > 1) {
		tool_error("report: --step %s: only one step or range of steps", text);
		ok = false;
	}
	if (ok) {
		o->step_lo = r.item[0].lo;
		o->step_hi = r.item[0].hi;
	}
	ranges_free(&r);
	return ok;
}

static bool set_top(struct gather_options *o, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > TOP_MAX) {
		tool_error("report: --top %s: accepted: a number from 0 to %d", text, TOP_MAX);
		return false;
	}
	o->top = (unsigned)n;
	return true;
}

static bool set_interval(struct asked *a, const char *text)
{
	char *end;

	a->interval = strtod(text, &end);
	if (end > text && !*end && a->interval >= 0.1 && a->interval <= 86400)
		return true;
	tool_error("report: --interval %s: accepted: a number of seconds from 0.1 to 86400", text);
	return false;
}

/* 0: go on; else the status to end with, + 1. */
static int read_options(struct asked *a, int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	const char *color = "auto";
	int o;

	while ((o = cli_next(&c)) != CLI_END) {
		bool ok = true;

		switch (o) {
		case OPT_RANK:
			ok = set_ranges(&a->gather.ranks, "rank", c.value);
			break;
		case OPT_STEP:
			ok = set_steps(&a->gather, c.value);
			break;
		case OPT_TOP:
			ok = set_top(&a->gather, c.value);
			break;
		case OPT_STACKS:
			a->stacks = true;
			break;
		case OPT_JSON:
			a->json = true;
			break;
		case OPT_FOLLOW:
			a->follow = true;
			break;
		case OPT_INTERVAL:
			ok = set_interval(a, c.value);
			break;
		case OPT_COLOR:
			color = c.value;
			break;
		case CLI_OPERAND:
			ok = !a->gather.path;
			if (!ok)
				tool_error(
					"report: %s: only one folder is read at a time", c.value);
			a->gather.path = c.value;
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
	if (!out_color(color)) {
		tool_error("report: --color %s: accepted: auto, always, never", color);
		return 1 + STATUS_USAGE;
	}
	if (a->follow && a->json) {
		tool_error("report: --follow and --json: one of them; call it again for new JSON");
		return 1 + STATUS_USAGE;
	}
	if (!a->gather.path)
		a->gather.path = folders_default();
	return 0;
}

static bool still_runs(const struct gather *g)
{
	for (unsigned i = 0; i < g->folders.n; i++)
		if (g->folders.dir[i].state == RANK_RUNNING)
			return true;
	return false;
}

/* *runs: a rank's process lives. */
static int report_once(const struct asked *a, bool clear, bool *runs)
{
	struct report *r = tool_alloc(sizeof(*r));
	int status = gather(&r->g, &a->gather);

	*runs = false;
	r->top = a->gather.top;
	r->with_stacks = a->stacks;
	if (!status) {
		stuck_find(&r->stuck, &r->g);
		stacks_init(&r->stacks, &r->g);
		report_findings(r);
		if (clear)
			fputs("\033[H\033[2J", stdout);
		if (a->json)
			report_json(r);
		else
			report_text(r);
		*runs = still_runs(&r->g);
		for (unsigned i = 0; i < r->nfinding; i++)
			free(r->finding[i].text);
		free(r->finding);
		stacks_free(&r->stacks);
		stuck_free(&r->stuck);
		gather_free(&r->g);
	}
	free(r);
	return status;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Reading takes longer the more there is: at most half of the time goes into it. */
static void wait_for_next(double interval, double began)
{
	double took = now_s() - began, s = interval > took ? interval : took;

	nanosleep(&(struct timespec){.tv_sec = (time_t)s,
			  .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)},
		NULL);
}

int verb_report(int argc, char **argv)
{
	struct asked a = {
		.gather = {.top = 10, .step_hi = UINT64_MAX, .progress = true}, .interval = 2};
	int status = read_options(&a, argc, argv);
	bool screen = isatty(STDOUT_FILENO), runs;

	if (status) {
		ranges_free(&a.gather.ranks);
		return tool_finish(status - 1);
	}
	for (;;) {
		double began = now_s();

		status = report_once(&a, a.follow && screen, &runs);
		if (!a.follow || status || !runs || fflush(stdout) || ferror(stdout))
			break;
		/* The progress bar of the first reading tells how long it takes; later it would only flicker. */
		a.gather.progress = false;
		wait_for_next(a.interval, began);
		if (!screen)
			puts("\n----\n");
	}
	ranges_free(&a.gather.ranks);
	return tool_finish(status);
}
