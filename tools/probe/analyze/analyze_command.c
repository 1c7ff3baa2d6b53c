/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb `analyze`: the report with an exit status; with --anomalies, the first of many alerts instead.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/analyze/anomaly_order.h"
#include "tools/probe/model/read/folders.h"

static const char help[] =
	"usage: probe analyze [options of probe report] [DIR]\n"
	"       probe analyze --anomalies [-k N] [-s STEPS] [-o DIR] [DIR]\n"
	"\n"
	"Without --anomalies: probe report --check.\n"
	"With it: reads anomaly_detected/rank<R>/anomaly.json below DIR (written with "
	"`anomaly_json: true`, or by msprobe's\n"
	"monitor), sorts the anomalies of all ranks so that a possible cause comes before "
	"its effects, prints the first\n"
	"ones and writes them into anomaly_analyse.json. The order is that of msprobe's "
	"anomaly_processor: step, micro step,\n"
	"forward before backward before optimizer; in the forward pass from the first "
	"pipeline stage to the last, else\n"
	"from the last to the first; then the order of calls. DIR: an output folder, or a "
	"folder that contains rank<R>/.\n"
	"\n"
	"  -a, --anomalies     sorts anomalies instead of printing the report\n"
	"  -k, --top N         prints the first N anomalies (8)\n"
	"  -s, --step STEPS    only anomalies of these steps: 3, 0-4, [1,2]\n"
	"  -o, --output DIR    folder of anomaly_analyse.json (default: the folder that "
	"contains rank<R>/)\n"
	"      --json          prints the anomalies as JSON\n"
	"\n"
	"Exit status: 0 nothing found; 1 a finding or an anomaly; 2 usage, or input that "
	"cannot be read.\n"
	"\n"
	"examples:\n"
	"  probe analyze --anomalies /scratch/run7\n"
	"  probe analyze --anomalies -k 20 -s [100,101] /scratch/run7\n";

enum { OPT_ANOMALIES, OPT_TOP, OPT_STEP, OPT_OUTPUT, OPT_JSON };

static const struct cli_option options[] = {
	[OPT_ANOMALIES] = {"anomalies", 'a', false},
	[OPT_TOP] = {"top", 'k', true},
	[OPT_STEP] = {"step", 's', true},
	[OPT_OUTPUT] = {"output", 'o', true},
	[OPT_JSON] = {"json", 0, false},
};

static int report_and_check(int argc, char **argv)
{
	char **more = tool_alloc(((size_t)argc + 2) * sizeof(*more));
	int status;

	more[0] = argv[0];
	more[1] = (char *)"--check";
	memcpy(more + 2, argv + 1, (size_t)argc * sizeof(*more));
	status = verb_report(argc + 1, more);
	free(more);
	return status;
}

static bool has_anomalies_option(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--anomalies") == 0 || strcmp(argv[i], "-a") == 0)
			return true;
	return false;
}

static bool set_anomaly_count(unsigned *top, const char *text)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || v < 1 || v > 1000000) {
		tool_error("analyze: -k %s: accepted: a number from 1 to 1000000", text);
		return false;
	}
	*top = (unsigned)v;
	return true;
}

/* 3, 0-4, [1, 2, 5-7] */
static bool set_anomaly_steps(struct anomaly_query *q, const char *text)
{
	const char *p = text;
	bool good = true;

	while (*p && good) {
		struct anomaly_span span;
		char *end;

		p += strspn(p, "[], ");
		if (!*p)
			break;
		good = *p >= '0' && *p <= '9';
		span.lo = span.hi = strtoull(p, &end, 10);
		p = end;
		if (good && *p == '-') {
			good = p[1] >= '0' && p[1] <= '9';
			span.hi = strtoull(p + 1, &end, 10);
			p = end;
		}
		good = good && span.hi >= span.lo && (!*p || strchr("], ", *p));
		if (good) {
			TOOL_GROW(q->span, q->nspan, q->cap);
			q->span[q->nspan++] = span;
		}
	}
	if (!good)
		tool_error("analyze: -s %s: accepted: steps such as 3, 0-4, [1,2]", text);
	return good;
}

int verb_analyze(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	struct anomaly_query q = {.top = 8};
	const char *dir = NULL;
	bool json = false;
	int o, status;

	if (!has_anomalies_option(argc, argv) &&
		!(argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)))
		return report_and_check(argc, argv);
	while ((o = cli_read_argument(&c)) != CLI_END) {
		bool ok = true;

		switch (o) {
		case OPT_ANOMALIES:
			break;
		case OPT_TOP:
			ok = set_anomaly_count(&q.top, c.value);
			break;
		case OPT_STEP:
			ok = set_anomaly_steps(&q, c.value);
			break;
		case OPT_OUTPUT:
			q.output = c.value;
			break;
		case OPT_JSON:
			json = true;
			break;
		case CLI_OPERAND:
			ok = cli_set_folder("analyze", &dir, c.value);
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		default:
			ok = false;
		}
		if (!ok)
			return STATUS_USAGE;
	}
	status = print_first_anomalies(&q, dir ? dir : folders_get_default(), json);
	free(q.span);
	return tool_close_output(status);
}
