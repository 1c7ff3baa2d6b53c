/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `watch`: reports findings while a job runs, and starts a command for each. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/views/focus.h"
#include "tools/probe/watch/watch_alerts.h"

static const char help[] =
	"usage: probe watch [options] [DIR]\n"
	"\n"
	"Watches a job until none of its ranks runs any more, prints each new finding and "
	"each new alert (key alerts) once,\n"
	"and starts a command for it. DIR is an output folder (default: $PROBE_OUTPUT_DIR, "
	"else ./probe_output); if it\n"
	"does not exist yet, it is waited for. A wrong result is reported up to 10 s later "
	"if a running rank has\n"
	"not recorded its input yet.\n"
	"\n"
	"  -e, --exec CMD      run by /bin/sh for each new finding; it is not waited for. "
	"It has in its environment\n"
	"                      PROBE_FINDING_KIND, PROBE_FINDING_SEVERITY, "
	"PROBE_FINDING_TEXT, and where known\n"
	"                      PROBE_FINDING_STEP, PROBE_FINDING_RANKS (0-3,8: the "
	"culprits only), PROBE_FINDING_OTHERS\n"
	"                      (the other ranks concerned); PROBE_FINDING_DIR: the folder; "
	"PROBE_VERDICT: the first line of\n"
	"                      `probe report`\n"
	"                      For an alert whose rule has `action: exec` it is run, too, "
	"with the alert as JSON on its\n"
	"                      standard input, and PROBE_FINDING_KIND=alert.\n"
	"      --severity WORD the lowest severity: bad (default), warn, note\n"
	"      --once          ends at the first one\n"
	"      --interval S    seconds between two checks (2)\n"
	"\n"
	"At its end it prints the verdict, the first line of `probe report`, on stderr.\n"
	"\n"
	"Exit status: 0 nothing was found, 1 something was, 2 usage, or input that cannot "
	"be read.\n"
	"\n"
	"examples:\n"
	"  probe watch --exec 'mail -s \"$PROBE_FINDING_KIND in $PROBE_FINDING_DIR\" me "
	"<<<\"$PROBE_FINDING_TEXT\"' /scratch/run7\n"
	"  probe watch --once /scratch/run7 || scancel $JOB\n";

enum { OPT_EXEC, OPT_SEVERITY, OPT_ONCE, OPT_INTERVAL };

static const struct cli_option options[] = {
	[OPT_EXEC] = {"exec", 'e', true},
	[OPT_SEVERITY] = {"severity", 0, true},
	[OPT_ONCE] = {"once", 0, false},
	[OPT_INTERVAL] = {"interval", 0, true},
};

/* s; for how long a finding is held back if a running rank has not written its data yet. */
#define AWAITED_S 10

struct watch {
	const char *path, *command;
	enum severity severity;
	bool once;
	double interval; /* s */
	struct watch_alerts *alerts;
	uint64_t *known; /* hashes of the findings that were reported */
	unsigned n, cap;
	bool found;
	char *verdict; /* the first line of the latest report; NULL: no report yet */
	char *detail; /* what it checked, one line each */
	double awaits_until; /* s, monotonic: until then findings are held back; 0: none is */
};

/*
 * Two findings are the same if they are about the same call; their texts contain numbers that grow.
 * A recurring delay is the same if its ranks are the same, because the call in which it shows most
 * may change.
 */
static uint64_t compute_finding_hash(const struct finding *f, const struct focus *at)
{
	uint64_t h = hash_str(0, f->kind);

	if (at->known) {
		if (f->event)
			h = hash_u64(h, at->step);
		for (unsigned i = 0; !f->event && i < f->nrank; i++)
			h = hash_u64(h, (uint64_t)f->rank[i]);
		return hash_u64(h, at->comm);
	}
	for (const char *p = f->text; *p && *p != '\n'; p++)
		if ((*p < '0' || *p > '9') && *p != '.' && *p != ',')
			h = hash_u64(h, (unsigned char)*p);
	return h;
}

static bool is_finding_new(struct watch *w, uint64_t hash)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->known[i] == hash)
			return false;
	TOOL_GROW(w->known, w->n, w->cap);
	w->known[w->n++] = hash;
	return true;
}

/*
 * Removes the variable if there is no rank, because an inherited value would belong to another
 * finding.
 */
static void set_rank_list(const char *name, int *rank, unsigned n)
{
	if (n)
		setenv(name, out_format_rank_range(rank, n), 1);
	else
		unsetenv(name);
}

/*
 * Sets the culprits separately from the other ranks: a script that drains nodes must not drain
 * those of the whole job.
 */
static void set_rank_variables(const struct finding *f)
{
	int *other = tool_alloc((f->nother + 1) * sizeof(*other));
	unsigned n = 0;

	for (unsigned i = 0; i < f->nother; i++) {
		bool culprit = false;

		for (unsigned k = 0; k < f->nrank; k++)
			culprit |= f->rank[k] == f->other[i];
		if (!culprit)
			other[n++] = f->other[i];
	}
	set_rank_list("PROBE_FINDING_RANKS", f->rank, f->nrank);
	set_rank_list("PROBE_FINDING_OTHERS", other, n);
	free(other);
}

static void start_command(const struct watch *w, const struct finding *f, const struct focus *at)
{
	char step[24];
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		tool_warn("watch: %s was not started: %s", w->command, strerror(errno));
		return;
	}
	if (pid)
		return;
	signal(SIGPIPE, SIG_DFL);
	setenv("PROBE_FINDING_KIND", f->kind, 1);
	setenv("PROBE_FINDING_SEVERITY", severity_word(f->severity), 1);
	setenv("PROBE_FINDING_TEXT", f->text, 1);
	setenv("PROBE_FINDING_DIR", w->path, 1);
	setenv("PROBE_VERDICT", w->verdict, 1);
	if (at->known) {
		snprintf(step, sizeof(step), "%llu", (unsigned long long)at->step);
		setenv("PROBE_FINDING_STEP", step, 1);
	}
	set_rank_variables(f);
	execl("/bin/sh", "sh", "-c", w->command, (char *)NULL);
	_exit(127);
}

/* Holds a finding back if the next report may name another rank. */
static bool is_held_back(struct watch *w, const struct finding *f)
{
	double now = read_monotonic_s();

	if (!f->awaited)
		return false;
	if (!w->awaits_until)
		w->awaits_until = now + AWAITED_S;
	return now < w->awaits_until;
}

static void print_new_finding(struct watch *w, const struct report *r, const struct finding *f)
{
	struct focus at;
	struct tm tm;
	time_t now = time(NULL);
	char *text;

	report_get_focus(r, f, &at);
	if (is_finding_new(w, compute_finding_hash(f, &at))) {
		localtime_r(&now, &tm);
		text = format_finding(f);
		printf("%02d:%02d:%02d %s: %s\n", tm.tm_hour, tm.tm_min, tm.tm_sec, f->kind, text);
		free(text);
		fflush(stdout);
		w->found = true;
		if (w->command)
			start_command(w, f, &at);
	}
	free(at.rank);
}

/* *runs: whether the job still runs. Returns an exit status. */
static int check_job(struct watch *w, bool *runs)
{
	struct report *r = tool_alloc(sizeof(*r));
	struct gather_options o = {.path = w->path, .top = 0, .step_hi = UINT64_MAX};
	int status = report_gather(r, &o);

	*runs = false;
	w->found |= watch_alerts_read(w->alerts, w->once);
	if (!status) {
		free(w->verdict);
		w->verdict = format_verdict(&r->verdict);
		free(w->detail);
		w->detail = format_verdict_detail(&r->verdict);
		for (unsigned i = 0; i < r->nfinding && !(w->once && w->found); i++)
			if (r->finding[i].severity <= w->severity &&
				!is_held_back(w, &r->finding[i]))
				print_new_finding(w, r, &r->finding[i]);
		*runs = report_is_running(r) && !(w->once && w->found);
		report_free(r);
	}
	free(r);
	return status;
}

static void wait_for_seconds(double s)
{
	nanosleep(&(struct timespec){.tv_sec = (time_t)s,
			  .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)},
		NULL);
}

/* The mark that a watcher exists must be renewed during the wait. */
static void wait_for_next_check(const struct watch *w, double s)
{
	for (; s > 0; s -= 20) {
		watch_alerts_write_mark(w->alerts);
		wait_for_seconds(s < 20 ? s : 20);
	}
}

/* Waits until the first rank has a folder. */
static void wait_for_folder(const struct watch *w)
{
	bool said = false;

	while (!folders_has_rank(w->path)) {
		if (!said)
			fprintf(stderr,
				"probe: watch: waiting for %s: it has no rank folder yet; a "
				"process makes one at its first recorded call\n",
				w->path);
		said = true;
		wait_for_seconds(w->interval < 1 ? w->interval : 1);
	}
}

/*
 * Waits for a rank's folder, prints new findings and alerts until the job has ended, then the verdict, and waits for the
 * commands that alerts have started. Returns an exit status.
 */
static int print_findings_until_end(struct watch *w)
{
	int status, left;
	bool runs = true;

	wait_for_folder(w);
	watch_alerts_write_mark(w->alerts);
	do {
		double began = read_monotonic_s(), took;

		status = check_job(w, &runs);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (status || !runs)
			break;
		/* At most half of the time is spent on reading. */
		took = read_monotonic_s() - began;
		wait_for_next_check(w, took > w->interval ? took : w->interval - took);
	} while (runs);
	/* Also reports what the ranks wrote when they ended. */
	if (!status && !(w->once && w->found))
		w->found |= watch_alerts_read(w->alerts, w->once);
	watch_alerts_remove_mark(w->alerts);
	if (w->verdict)
		fprintf(stderr, "probe: watch: %s: %s\n%s", w->path, w->verdict, w->detail);
	while ((left = waitpid(-1, NULL, 0)) > 0 || (left < 0 && errno == EINTR))
		;
	return status ? status : w->found ? STATUS_PROBLEM : STATUS_DONE;
}

static bool set_watch_severity(struct watch *w, const char *word)
{
	for (enum severity s = FIND_BAD; s <= FIND_NOTE; s++)
		if (strcmp(word, severity_word(s)) == 0) {
			w->severity = s;
			return true;
		}
	tool_error("watch: --severity %s: accepted: bad, warn, note", word);
	return false;
}

static bool set_watch_interval(struct watch *w, const char *text)
{
	char *end;

	w->interval = strtod(text, &end);
	if (end > text && !*end && w->interval >= 0.1 && w->interval <= 86400)
		return true;
	tool_error("watch: --interval %s: accepted: a number of seconds from 0.1 to 86400", text);
	return false;
}

int verb_watch(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	struct watch w = {.interval = 2, .severity = FIND_BAD};
	int o, status;

	while ((o = cli_read_argument(&c)) != CLI_END) {
		bool ok = true;

		switch (o) {
		case OPT_EXEC:
			w.command = c.value;
			break;
		case OPT_SEVERITY:
			ok = set_watch_severity(&w, c.value);
			break;
		case OPT_ONCE:
			w.once = true;
			break;
		case OPT_INTERVAL:
			ok = set_watch_interval(&w, c.value);
			break;
		case CLI_OPERAND:
			ok = cli_set_folder("watch", &w.path, c.value);
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
	if (!w.path)
		w.path = folders_get_default();
	w.alerts = watch_alerts_init(w.path, w.command);
	status = print_findings_until_end(&w);
	watch_alerts_free(w.alerts);
	free(w.verdict);
	free(w.detail);
	free(w.known);
	return tool_close_output(status);
}
