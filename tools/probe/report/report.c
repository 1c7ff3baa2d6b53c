/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `report`. */
#include "tools/probe/views/html.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "config/config_value.h"
#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/lib/range_option.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/waits.h"

static const char help[] =
	"usage: probe report [options] [DIR]\n"
	"\n"
	"Reports what happened in a run that finished, is running, hangs or was killed. "
	"DIR is an output folder with one folder\n"
	"per rank (default: $PROBE_OUTPUT_DIR, else ./probe_output), or one rank's "
	"folder. If DIR has several\n"
	"runs, the newest is read; DIR@1 is the run before it, DIR@2 the one before that.\n"
	"\n"
	"  -r, --rank LIST  only these ranks: 3, 0-7, 0,4-6\n"
	"  -s, --step LIST  only this step or range of steps: 17, 100-199\n"
	"  -n, --top N      length of each list (10)\n"
	"  --stacks         complete call stacks, with file:line where debug information "
	"is found\n"
	"  --json           everything as JSON\n"
	"  --check          exit status 1 if a finding is bad\n"
	"  --html FILE      a page for a browser, in one file: findings, timelines around "
	"them, time per step by\n"
	"                   rank, statistics over steps, communicators\n"
	"  -j, --jobs N     N threads read the files (1)\n"
	"  --part K/N       this is process K (from 0) of N on any hosts, each of which "
	"reads its share of the\n"
	"                   ranks; the last one reports. Default under srun and mpirun\n"
	"  --parts DIR      folder for partial results, visible to all hosts (default: "
	"DIR)\n"
	"  -f, --follow     repeats the report until no rank runs any more\n"
	"  --interval S     seconds between two reports with --follow (2)\n"
	"  --color WHEN     auto, always or never\n"
	"\n"
	"examples:\n"
	"  probe report\n"
	"  probe report --follow --top 3\n"
	"  probe report --html run7.html /scratch/run7\n"
	"  probe report --stacks --rank 5 /scratch/run7\n"
	"  probe report -j 8 /scratch/run7\n"
	"  srun -n 64 probe report /scratch/run7\n"
	"  probe report --json /scratch/run7 | jq '.open[] | [.rank, .api, .comm_seq, "
	".age_s]'\n";

enum {
	OPT_RANK,
	OPT_STEP,
	OPT_TOP,
	OPT_STACKS,
	OPT_JSON,
	OPT_CHECK,
	OPT_FOLLOW,
	OPT_INTERVAL,
	OPT_COLOR,
	OPT_HTML,
	OPT_JOBS,
	OPT_PART,
	OPT_PARTS
};

static const struct cli_option options[] = {
	[OPT_RANK] = {"rank", 'r', true},
	[OPT_STEP] = {"step", 's', true},
	[OPT_TOP] = {"top", 'n', true},
	[OPT_STACKS] = {"stacks", 0, false},
	[OPT_JSON] = {"json", 0, false},
	[OPT_CHECK] = {"check", 0, false},
	[OPT_FOLLOW] = {"follow", 'f', false},
	[OPT_INTERVAL] = {"interval", 0, true},
	[OPT_COLOR] = {"color", 0, true},
	[OPT_HTML] = {"html", 0, true},
	[OPT_JOBS] = {"jobs", 'j', true},
	[OPT_PART] = {"part", 0, true},
	[OPT_PARTS] = {"parts", 0, true},
};

#define TOP_MAX 10000

struct asked {
	struct gather_options gather;
	bool json, stacks, follow, check;
	double interval; /* s */
	const char *html; /* NULL: no page */
};

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

static bool set_jobs(struct division *d, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '1' || *text > '9' || *end || n > PARTS_MAX) {
		tool_error("report: --jobs %s: accepted: a number from 1 to %u", text, PARTS_MAX);
		return false;
	}
	d->jobs = (unsigned)n;
	return true;
}

static bool set_part(struct division *d, const char *text)
{
	if (division_parse(d, text))
		return true;
	tool_error("report: --part %s: accepted: K/N with K from 0 to N - 1, N up to %u", text,
		PARTS_MAX);
	return false;
}

/* Hashes the options that all parts of a report must have in common. */
static uint64_t compute_options_hash(const struct asked *a)
{
	uint64_t h = hash_u64(hash_u64(a->gather.top, a->gather.step_lo), a->gather.step_hi);

	h = hash_u64(h, (uint64_t)a->json << 2 | (uint64_t)a->stacks << 1 | a->check);
	for (size_t i = 0; i < a->gather.ranks.n; i++)
		h = hash_u64(hash_u64(h, a->gather.ranks.item[i].lo), a->gather.ranks.item[i].hi);
	return a->html ? hash_str(h, a->html) : h;
}

/* Returns 0 to continue, else the exit status + 1. */
static int read_options(struct asked *a, int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	const char *color = "auto";
	int o;

	while ((o = cli_read_argument(&c)) != CLI_END) {
		bool ok = true;

		switch (o) {
		case OPT_RANK:
			ok = parse_ranges_option("report", &a->gather.ranks, "rank", c.value);
			break;
		case OPT_STEP:
			ok = parse_steps_option(
				"report", c.value, &a->gather.step_lo, &a->gather.step_hi);
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
		case OPT_CHECK:
			a->check = true;
			break;
		case OPT_FOLLOW:
			a->follow = true;
			break;
		case OPT_INTERVAL:
			ok = set_interval(a, c.value);
			break;
		case OPT_HTML:
			a->html = c.value;
			break;
		case OPT_JOBS:
			ok = set_jobs(&a->gather.division, c.value);
			break;
		case OPT_PART:
			ok = set_part(&a->gather.division, c.value);
			break;
		case OPT_PARTS:
			a->gather.division.folder = c.value;
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
	if (!out_set_color(color)) {
		tool_error("report: --color %s: accepted: auto, always, never", color);
		return 1 + STATUS_USAGE;
	}
	if (a->follow && a->json) {
		tool_error(
			"report: --follow and --json cannot be used together; run it again for new "
			"JSON");
		return 1 + STATUS_USAGE;
	}
	if (a->html && (a->follow || a->json)) {
		tool_error("report: --html and %s cannot be used together",
			a->follow ? "--follow" : "--json");
		return 1 + STATUS_USAGE;
	}
	if (!a->gather.path)
		a->gather.path = folders_get_default();
	if (!a->gather.division.parts && !a->follow)
		division_by_launcher(&a->gather.division);
	if (a->gather.division.parts > 1 && a->follow) {
		tool_error("report: --follow and --part cannot be used together");
		return 1 + STATUS_USAGE;
	}
	a->gather.division.options = compute_options_hash(a);
	return 0;
}

bool report_is_running(const struct report *r)
{
	const struct gather *g = &r->g;

	for (unsigned i = 0; i < g->folders.n; i++)
		if (g->folders.dir[i].state == RANK_RUNNING ||
			(g->folders.dir[i].state == RANK_UNWRITTEN && g->folders.dir[i].lives))
			return true;
	return false;
}

int report_gather(struct report *r, const struct gather_options *o)
{
	int status = gather_calls(&r->g, o);

	if (status)
		return status;
	r->top = o->top;
	stuck_find(&r->stuck, &r->g);
	stacks_init(&r->stacks, &r->g);
	step_numbers_read(&r->numbers, &r->g, o->step_lo, o->step_hi);
	parameters_read(&r->parameters, &r->g, o->step_lo, o->step_hi);
	unequals_read(&r->unequals, &r->g, &r->parameters, o->step_lo, o->step_hi);
	read_odd_losses(&r->odd_losses, &r->g, o->step_lo, o->step_hi);
	r->steps_chosen = o->step_lo || o->step_hi != UINT64_MAX;
	read_alert_rules(&r->verdict.alerts, &r->g.folders);
	report_findings(r);
	compute_verdict(r);
	read_attempts(&r->attempts, &r->g.folders);
	return 0;
}

void report_free(struct report *r)
{
	for (unsigned i = 0; i < r->nfinding; i++)
		free_finding(&r->finding[i]);
	free(r->finding);
	free(r->hang_reason);
	free_verdict(&r->verdict);
	free_attempts(&r->attempts);
	stacks_free(&r->stacks);
	kernel_log_free(&r->kernel_log);
	step_numbers_free(&r->numbers);
	free_odd_losses(&r->odd_losses);
	unequals_free(&r->unequals);
	parameters_free(&r->parameters);
	free_wait_graph(r->waits);
	stuck_free(&r->stuck);
	gather_free(&r->g);
}

/* *runs: the process of a rank still runs. */
static int print_report_once(const struct asked *a, bool clear, bool *runs)
{
	struct report *r = tool_alloc(sizeof(*r));
	int status;

	*runs = false;
	r->with_stacks = a->stacks;
	status = report_gather(r, &a->gather);
	if (!status) {
		if (clear)
			fputs("\033[H\033[2J", stdout);
		if (a->html)
			status = write_report_html(r, &a->gather, a->html);
		else if (a->json)
			print_report_json(r);
		else
			print_report_text(r);
		*runs = report_is_running(r);
		if (!status && a->check && r->verdict.faults)
			status = STATUS_PROBLEM;
		report_free(r);
		if (a->html && gather_stop_signal())
			gather_end_by_signal();
	}
	free(r);
	/* Another process prints the report. */
	return status == GATHER_LEFT ? STATUS_DONE : status;
}

/* Waits at least as long as the last report took, so that at most half of the time is spent on reading. */
static void wait_for_next(double interval, double started)
{
	double took = read_monotonic_s() - started, s = interval > took ? interval : took;

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
		return tool_close_output(status - 1);
	}
	for (;;) {
		double began = read_monotonic_s();

		status = print_report_once(&a, a.follow && screen, &runs);
		if (!a.follow || status == STATUS_USAGE || !runs || fflush(stdout) ||
			ferror(stdout))
			break;
		/*
		 * The progress bar of the first reading shows how long reading takes. Later it
		 * would only flicker.
		 */
		a.gather.progress = false;
		wait_for_next(a.interval, began);
		if (!screen)
			puts("\n----\n");
	}
	ranges_free(&a.gather.ranks);
	return tool_close_output(status);
}
