/* SPDX-License-Identifier: Apache-2.0 */
/* The probe command: finds the verb and runs it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tools/lib/cli.h"
#include "tools/lib/tool.h"

static const char help[] =
	"usage: probe VERB [options] ...\n"
	"\n"
	"  probe run [-c FILE] [-o DIR] [--] CMD...   runs a command under libprobe.so, "
	"which records it\n"
	"  probe check [--] CMD...                    lists the functions that would be "
	"recorded, and why others would not\n"
	"  probe report [DIR]                         reports what happened; also in a "
	"running or hung job\n"
	"  probe recover [DIR]                        completes the files of a job that "
	"was killed\n"
	"  probe export --format FORMAT [DIR]         converts a part of a run for "
	"Perfetto, HTA, torchfrtrace, Graphviz\n"
	"  probe compare A B                          finds the first difference between "
	"two runs\n"
	"  probe watch [--exec CMD] [DIR]             reports findings while a job runs, "
	"and starts a command for each\n"
	"  probe top [DIR]                            shows the current state of a job in "
	"the terminal, refreshed\n"
	"  probe serve [--port N] [DIR]               serves this state to Prometheus, and "
	"as JSON, over HTTP\n"
	"  probe ctl DIR on|off|status|set KEY=VALUE  changes what a running job records, on "
	"all ranks at one step\n"
	"  probe analyze [--anomalies] [DIR]          report --check; or prints the first of "
	"many alerts\n"
	"  probe ckpt DIR [CHECKPOINTS...]            finds the healthy checkpoints, and the "
	"newest of them\n"
	"  probe stub -o FILE CMD                     writes the object to preload for "
	"functions of your own libraries\n"
	"  probe config [-c FILE]                     prints the configuration in effect\n"
	"  probe names [DIR]                          prints a training's parameters and "
	"buckets\n"
	"  probe csv [-o OUT] [DIR]                   converts compact files to CSV\n"
	"  probe sql [DIR] [QUERY]                    starts DuckDB with the files as "
	"tables\n"
	"  probe bundle [DIR]                         packs a run's report and evidence "
	"into one archive\n"
	"  probe columns [TABLE...]                   explains the files and their "
	"columns\n"
	"\n"
	"`probe VERB --help` prints details and examples. `probe --version` prints the "
	"version.\n"
	"Exit status: 0 done; 1 check or watch found a problem; 2 usage, or input that "
	"cannot be read.\n";

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	bool starts; /* starts another command */
} verbs[] = {
	{"run", verb_run, true},
	{"check", verb_check, true},
	{"report", verb_report, false},
	{"recover", verb_recover, false},
	{"config", verb_config, false},
	{"columns", verb_columns, false},
	{"names", verb_names, false},
	{"csv", verb_csv, false},
	{"stub", verb_stub, true},
	{"export", verb_export, false},
	{"compare", verb_compare, false},
	{"watch", verb_watch, false},
	{"ctl", verb_ctl, false},
	{"analyze", verb_analyze, false},
	{"ckpt", verb_ckpt, false},
	{"top", verb_top, false},
	{"serve", verb_serve, false},
	{"sql", verb_sql, true},
	{"bundle", verb_bundle, false},
};

#define NVERBS (sizeof(verbs) / sizeof(*verbs))

/* The verbs have names of fewer than 14 letters. */
static const char *format_verb_list(char text[static 16 * NVERBS])
{
	size_t n = 0;

	for (unsigned i = 0; i < NVERBS; i++)
		n += (size_t)snprintf(text + n, 16, "%s%.13s", i ? ", " : "", verbs[i].name);
	return text;
}

static int report_unknown_verb(const char *word)
{
	const char *names[NVERBS + 2], *near;
	char text[16 * NVERBS];
	unsigned n = 0;

	for (unsigned i = 0; i < NVERBS; i++)
		names[n++] = verbs[i].name;
	if (word[0] == '-') {
		names[n++] = "--help";
		names[n++] = "--version";
	}
	near = cli_find_nearest(word, names, n);
	if (near)
		tool_error("%s: no such verb; did you mean %s?", word, near);
	else
		tool_error("%s: no such verb; accepted: %s", word, format_verb_list(text));
	return STATUS_USAGE;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;

	if (!word) {
		fputs(help, stderr);
		return STATUS_USAGE;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
		/* `probe help report` */
		for (unsigned i = 0; argc > 2 && i < NVERBS; i++)
			if (strcmp(argv[2], verbs[i].name) == 0)
				return verbs[i].run(2, (char *[]){argv[2], (char *)"--help", NULL});
		fputs(help, stdout);
		return tool_close_output(STATUS_DONE);
	}
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		printf("probe %s\n", PROBE_VERSION);
		return tool_close_output(STATUS_DONE);
	}
	for (unsigned i = 0; i < NVERBS; i++)
		if (strcmp(word, verbs[i].name) == 0) {
			/*
			 * A closed pager ends the output, not the command. A command started by
			 * `probe` keeps its own signal handling.
			 */
			if (!verbs[i].starts)
				signal(SIGPIPE, SIG_IGN);
			return verbs[i].run(argc - 1, argv + 1);
		}
	return report_unknown_verb(word);
}
