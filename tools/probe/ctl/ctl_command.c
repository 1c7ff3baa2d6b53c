/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `ctl`: changes what a running job records, through a file in its output folder. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "config/config_value.h"
#include "config/load/ctl_file.h"
#include "config/reader.h"
#include "tools/lib/cli.h"
#include "tools/lib/files/json.h"
#include "tools/lib/out.h"
#include "tools/lib/target.h"
#include "tools/lib/tool.h"
#include "tools/probe/ctl/restart_need.h"
#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/read/meta_config.h"
#include "tools/probe/run/words.h"

#define STEPS_LEAST 10

static const char help[] =
	"usage: probe ctl DIR on | off [--now] | status [--json] | set KEY=VALUE...\n"
	"\n"
	"Changes what a running job records, without signals and without communication. It "
	"writes ctl.yaml into the output\n"
	"folder DIR. All ranks check for this file once a second, and all of them switch at "
	"the same step. The file overrides\n"
	"the configuration file and the environment. A rank that reads it too late switches "
	"at its next step, which its\n"
	"meta.json then shows.\n"
	"\n"
	"  on, off         recording on and off; communicators are always tracked\n"
	"  set KEY=VALUE   any key of the configuration (`probe config` lists them); KEY= "
	"restores the configured value\n"
	"  status          the current state of each rank, and pending changes\n"
	"\n"
	"      --now       each rank switches as soon as it reads the file, within two "
	"seconds, in the middle of a step\n"
	"      --at STEP   the first step with the new settings; default: ctl_margin_s "
	"seconds (90) and at least 10 steps from now\n"
	"      --margin S  uses S seconds in place of ctl_margin_s\n"
	"      --wait      returns when all visible ranks have switched\n"
	"      --json      prints the status as JSON\n"
	"\n"
	"Exit status: 0 done; 1 with --wait a rank was late; 2 usage, or no running job.\n"
	"\n"
	"examples:\n"
	"  probe ctl /scratch/run7 off\n"
	"  probe ctl /scratch/run7 set step_interval=10 "
	"'kinds=[param_origin,grad_reduced]'\n"
	"  probe ctl /scratch/run7 set collect_times=5 --at 12000 --wait\n"
	"  probe ctl /scratch/run7 off --now\n";

enum { OPT_NOW, OPT_AT, OPT_MARGIN, OPT_WAIT, OPT_JSON };

static const struct cli_option options[] = {
	[OPT_NOW] = {"now", 0, false},
	[OPT_AT] = {"at", 0, true},
	[OPT_MARGIN] = {"margin", 0, true},
	[OPT_WAIT] = {"wait", 0, false},
	[OPT_JSON] = {"json", 0, false},
};

#define WORDS_MAX 64

struct ctl {
	const char *dir, *word[WORDS_MAX];
	unsigned nword;
	bool now, wait, json;
	int64_t at; /* -1: not given */
	double margin; /* s; < 0: as configured */
	struct folders f;
	struct ctl_file file; /* the present ctl.yaml */
	struct ctl_change next;
};

/* ---- the job ---- */

static bool is_rank_alive(const struct rank_dir *r)
{
	return r->state == RANK_RUNNING || r->state == RANK_UNSEEN;
}

static uint64_t get_newest_step(const struct folders *f)
{
	uint64_t step = 0;

	for (unsigned i = 0; i < f->n; i++)
		if (is_rank_alive(&f->dir[i]) && f->dir[i].meta.step_now > step)
			step = f->dir[i].meta.step_now;
	return step;
}

static unsigned count_alive_ranks(const struct folders *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++)
		n += is_rank_alive(&f->dir[i]);
	return n;
}

static double read_clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void wait_seconds(double s)
{
	nanosleep(&(struct timespec){.tv_sec = (time_t)s, .tv_nsec = (long)((s - floor(s)) * 1e9)},
		NULL);
}

/* Returns the mean time of a step since the start of the job, s; 0: not known. */
static double compute_mean_step_s(const struct folders *f)
{
	double s = 0;

	for (unsigned i = 0; i < f->n; i++) {
		const struct meta *m = &f->dir[i].meta;
		uint64_t steps = m->step_now - m->cfg_start_iteration;

		if (!is_rank_alive(&f->dir[i]) || !steps || m->step_now < m->cfg_start_iteration ||
			m->clock_last_ns <= m->clock_first_ns)
			continue;
		double mean = (double)(m->clock_last_ns - m->clock_first_ns) * 1e-9 / (double)steps;

		s = s == 0 || mean < s ? mean : s;
	}
	return s;
}

/*
 * Returns the duration of a step in s: the smaller of the mean so far and the current duration; 0: not
 * known. The mean alone is too long after a slow start. Then the chosen step would come too early, and
 * some rank could miss it.
 */
static double measure_step_s(struct ctl *c)
{
	double mean = compute_mean_step_s(&c->f), began = read_clock_s(), took, now;
	uint64_t first_step = get_newest_step(&c->f), steps;

	wait_seconds(2.2); /* meta.json is written once a second or more often */
	folders_close(&c->f);
	if (folders_open(&c->f, c->dir))
		exit(STATUS_USAGE);
	took = read_clock_s() - began;
	steps = get_newest_step(&c->f) - first_step;
	if (get_newest_step(&c->f) <= first_step)
		return mean;
	now = took / (double)steps;
	return mean == 0 || now < mean ? now : mean;
}

static double get_margin_s(const struct ctl *c)
{
	double s = 0;

	if (c->margin >= 0)
		return c->margin;
	for (unsigned i = 0; i < c->f.n; i++)
		if (is_rank_alive(&c->f.dir[i]) && (double)c->f.dir[i].meta.cfg_ctl_margin_s > s)
			s = (double)c->f.dir[i].meta.cfg_ctl_margin_s;
	return s;
}

/* Returns the first step with the new recording. */
static uint64_t find_switch_step(struct ctl *c)
{
	double step_s, ahead = STEPS_LEAST, margin;
	uint64_t after = 0, step;

	for (unsigned i = 0; i < c->file.n; i++)
		if (c->file.change[i].effective_step >= after)
			after = c->file.change[i].effective_step + 1;
	if (c->at >= 0)
		return (uint64_t)c->at;
	if (c->now)
		return get_newest_step(&c->f);
	step_s = measure_step_s(c);
	margin = get_margin_s(c);
	if (step_s > 0 && margin / step_s > ahead)
		ahead = ceil(margin / step_s);
	step = get_newest_step(&c->f) + (uint64_t)(ahead < 1e9 ? ahead : 1e9);
	/* Earlier requests are applied first. */
	return step > after || after > step + 1000000 ? step : after;
}

/* ---- ctl.yaml ---- */

static char *format_ctl_file_path(const struct ctl *c)
{
	return tool_format("%s/" CTL_FILE, c->dir);
}

static void print_ctl_problem(void *arg, const char *line)
{
	(void)arg;
	tool_warn("ctl: %s", line);
}

/* Returns true if the file was written for this run. */
static bool is_file_of_run(const struct ctl *c)
{
	uint64_t first = UINT64_MAX;

	if (c->file.run[0] && c->f.run && *c->f.run)
		return strcmp(c->file.run, c->f.run) == 0;
	for (unsigned i = 0; i < c->f.n; i++)
		if (c->f.dir[i].meta.clock_first_ns && c->f.dir[i].meta.clock_first_ns < first)
			first = c->f.dir[i].meta.clock_first_ns;
	return c->file.written_ns >= first;
}

static void read_ctl_file(struct ctl *c)
{
	char *path = format_ctl_file_path(c), *text = NULL;
	size_t len;

	if (reader_read_file(path, &text, &len) == 0 &&
		(ctl_parse(&c->file, path, text, len, print_ctl_problem, NULL) ||
			!is_file_of_run(c)))
		ctl_free(&c->file);
	free(text);
	free(path);
}

static void write_change(struct target *t, const struct ctl_change *change, const char *indent)
{
	char name[64];

	target_print(t, "effective_step: %u\n", change->effective_step);
	if (change->now)
		target_print(t, "%snow: true\n", indent);
	for (size_t at = 0; at < change->len; at += strlen(change->keys + at) + 1) {
		const char *key = change->keys + at + 6, *value = strchr(key, '=') + 1;
		size_t n = 0;

		for (; key[n] != '=' && n + 1 < sizeof(name); n++)
			name[n] = get_lower_case(key[n]);
		name[n] = 0;
		target_print(t, "%s%s: ", indent, name);
		target_write_json(t, value);
		target_write_text(t, "\n");
	}
}

static int write_ctl_file(struct ctl *c)
{
	char *path = format_ctl_file_path(c);
	struct timespec now;
	struct target t;
	uint64_t step = get_newest_step(&c->f);
	unsigned from = 0;
	int status = target_open(&t, path);

	free(path);
	if (status)
		return status;
	clock_gettime(CLOCK_REALTIME, &now);
	target_write_text(&t,
		"# Written by `probe ctl`: what the running job records, and from which "
		"step on.\n");
	write_change(&t, &c->next, "");
	target_write_text(&t, "run: ");
	target_write_json(&t, c->f.run ? c->f.run : "");
	target_print(&t, "\nworld_size: %d\nwritten_ns: %llu\n", c->f.world_size,
		(unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec);
	/* A slow rank may still need the present or a pending setting, so these are kept. */
	for (unsigned i = 0; i < c->file.n; i++)
		if (c->file.change[i].effective_step <= step)
			from = i;
	for (unsigned i = from; i < c->file.n && !c->now; i++) {
		if (i == from)
			target_write_text(&t, "earlier:\n");
		target_write_text(&t, "  - ");
		write_change(&t, &c->file.change[i], "    ");
	}
	return target_close(&t, true);
}

/* Begins new settings with the keys in use and the pending ones. */
static void init_change(struct ctl *c)
{
	const struct ctl_change *last = c->file.n ? &c->file.change[c->file.n - 1] : NULL;

	c->next = (struct ctl_change){.now = c->now};
	if (!last)
		return;
	c->next.len = last->len;
	c->next.keys = tool_alloc(last->len + 1);
	if (last->len)
		memcpy(c->next.keys, last->keys, last->len);
}

static void set_changed_key(struct ctl *c, const char *key, const char *value)
{
	if (ctl_set(&c->next, key, value, strlen(value))) {
		tool_error("ctl: out of memory");
		exit(STATUS_USAGE);
	}
}

/*
 * Reports words of the keys skip and only that name nothing in the list of functions with which the
 * job runs: KEY=VALUE as `probe run` does it before the job starts. Returns how many there are.
 */
static unsigned report_misspelt_words(
	const struct ctl *c, const struct config_key *k, const char *word, const char *value)
{
	static const char *const keys[] = {"skip", "only"};
	char *json = NULL, *place;
	struct config job;
	unsigned n = 0;

	if (strcmp(k->name, "skip") && strcmp(k->name, "only"))
		return 0;
	for (unsigned i = 0; i < c->f.n && !json; i++)
		if (is_rank_alive(&c->f.dir[i]))
			json = meta_read_config(c->f.dir[i].path);
	place = tool_format("set %s", word);
	if (json && config_load_text(
			    &job, "meta.json", json, strlen(json), NULL, "/", NULL, NULL) == 0) {
		/* The words that the job has were checked when it started. */
		for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			config_set(&job, config_key_find(keys[i], strlen(keys[i]), false), "[]", 2,
				NULL);
		config_set(&job, k, value, strlen(value), NULL);
		n = print_unknown_list_words(&job, place, NULL, print_ctl_problem, NULL);
		config_free(&job);
	}
	free(place);
	free(json);
	return n;
}

/* Applies KEY=VALUE. Returns 0 or STATUS_USAGE (reported). */
static int parse_change(struct ctl *c, const char *word)
{
	const char *eq = strchr(word, '='), *wrong = NULL;
	const struct config_key *k = eq ? config_key_find(word, (size_t)(eq - word), false) : NULL;
	const struct config_key *near;
	char accepted[CONFIG_ACCEPTED_MAX], *cwd = tool_get_absolute_path(".");
	struct path_base base = {.cwd = cwd, .home = getenv("HOME")};
	struct config scratch = {0}, started = {.backward = true};
	char *path = NULL;

	if (!eq) {
		tool_error("ctl: set %s: accepted: KEY=VALUE", word);
	} else if (!k) {
		near = config_find_similar_key(word, (size_t)(eq - word));
		if (near)
			tool_error("ctl: set %s: no such key; did you mean %s?", word, near->name);
		else
			tool_error("ctl: set %s: no such key; `probe config` lists the keys", word);
	} else if (eq[1] && (wrong = config_set(&scratch, k, eq + 1, strlen(eq + 1), &base))) {
		tool_error("ctl: set %s: %s; accepted: %s", word, wrong,
			config_accepted(k, accepted, sizeof(accepted)));
		k = NULL;
	} else if (config_key_fixed(k, &started, &scratch)) {
		tool_error("ctl: set %s: %s cannot change while the program runs: set it in the "
			   "configuration and start the job again",
			word, k->name);
		k = NULL;
	} else if (report_misspelt_words(c, k, word, eq + 1)) {
		k = NULL;
	} else if (k->type == KEY_PATH && eq[1]) {
		/* Makes the path absolute, because the job has another working directory. */
		path = tool_strdup(*(char **)config_get_member(&scratch, k));
	}
	if (k)
		set_changed_key(c, k->name, path ? path : eq + 1);
	free(path);
	free(cwd);
	config_free(&scratch);
	return k ? 0 : STATUS_USAGE;
}

/* ---- status ---- */

static const char *get_recording_text(const struct ctl_change *change, bool otherwise)
{
	for (size_t at = 0; change && at < change->len; at += strlen(change->keys + at) + 1)
		if (strncmp(change->keys + at, "PROBE_DYNAMIC_ON=", 17) == 0)
			return strcmp(change->keys + at + 17, "false") ? "on" : "off";
	return otherwise ? "on" : "off";
}

static void print_status_text(const struct ctl *c)
{
	static const char *const head[] = {"rank", "state", "step", "recording", "since step", ""};
	struct out_table t;
	char text[64];

	out_start_table(&t, 6, head, "rlrlrl");
	for (unsigned i = 0; i < c->f.n; i++) {
		const struct rank_dir *r = &c->f.dir[i];

		snprintf(text, sizeof(text), "%d", r->rank);
		out_add_cell(&t, r->rank < 0 ? r->name : text);
		out_add_cell(&t, rank_state_get_name(r->state));
		out_add_cell(&t, out_format_count(r->meta.step_now));
		out_add_cell(&t, r->meta.cfg_dynamic_on ? "on" : "off");
		out_add_cell(&t, out_format_count(r->meta.config_from_step));
		snprintf(text, sizeof(text), "late: asked for %llu",
			(unsigned long long)r->meta.switch_asked);
		out_add_cell(&t, r->meta.switch_late ? text : "");
	}
	out_print_table(&t);
	for (unsigned i = 0; i < c->file.n; i++) {
		const struct ctl_change *change = &c->file.change[i];

		printf("%s step %u: %s",
			change->effective_step > get_newest_step(&c->f) ? "from" : "since",
			change->effective_step, get_recording_text(change, true));
		for (size_t at = 0; at < change->len; at += strlen(change->keys + at) + 1)
			printf(", %s", change->keys + at + 6);
		putchar('\n');
	}
}

static void print_status_json(const struct ctl *c)
{
	json_begin();
	json_object(NULL);
	json_u64("schema", 1);
	json_list("ranks");
	for (unsigned i = 0; i < c->f.n; i++) {
		const struct rank_dir *r = &c->f.dir[i];

		json_object(NULL);
		json_i64("rank", r->rank);
		json_string("state", rank_state_get_key(r->state));
		json_u64("step", r->meta.step_now);
		json_bool("on", r->meta.cfg_dynamic_on);
		json_u64("since_step", r->meta.config_from_step);
		json_u64("switches", r->meta.switches);
		if (r->meta.switch_asked)
			json_u64("effective_step", r->meta.switch_asked);
		json_bool("late", r->meta.switch_late);
		json_end();
	}
	json_end();
	json_list("changes");
	for (unsigned i = 0; i < c->file.n; i++) {
		const struct ctl_change *change = &c->file.change[i];

		json_object(NULL);
		json_u64("effective_step", change->effective_step);
		json_bool("now", change->now);
		json_object("keys");
		for (size_t at = 0; at < change->len; at += strlen(change->keys + at) + 1) {
			char name[64];
			const char *key = change->keys + at + 6;
			size_t n = 0;

			for (; key[n] != '=' && n + 1 < sizeof(name); n++)
				name[n] = get_lower_case(key[n]);
			name[n] = 0;
			json_string(name, key + n + 1);
		}
		json_end();
		json_end();
	}
	json_end();
	json_end();
}

/* ---- waiting ---- */

/* Waits until each rank with a folder has switched or ended. Returns an exit status. */
static int wait_for_switch(struct ctl *c)
{
	uint64_t asked = c->next.effective_step;
	int status = STATUS_DONE;

	for (;;) {
		unsigned waiting = 0;

		wait_seconds(1);
		folders_close(&c->f);
		if (folders_open(&c->f, c->dir))
			return STATUS_USAGE;
		status = STATUS_DONE;
		for (unsigned i = 0; i < c->f.n; i++) {
			const struct meta *m = &c->f.dir[i].meta;
			bool done = m->switch_asked >= asked && m->config_from_step >= asked;

			if (c->now)
				done = m->switch_asked == asked;
			waiting += is_rank_alive(&c->f.dir[i]) && !done;
			if (done && m->switch_late && !c->now)
				status = STATUS_PROBLEM;
		}
		if (!waiting)
			return status;
		fprintf(stderr, "\rprobe: ctl: step %llu of %llu, %u of %u ranks have switched ",
			(unsigned long long)get_newest_step(&c->f), (unsigned long long)asked,
			c->f.n - waiting, c->f.n);
	}
}

/* ---- the verb ---- */

static int handle_ctl_action(struct ctl *c)
{
	const char *verb = c->word[0];
	int status = 0;

	if (!count_alive_ranks(&c->f)) {
		tool_error("ctl: %s: all of its %u ranks have ended", c->dir, c->f.n);
		return STATUS_USAGE;
	}
	init_change(c);
	if (strcmp(verb, "set") == 0) {
		for (unsigned i = 1; i < c->nword && !status; i++)
			status = parse_change(c, c->word[i]);
	} else {
		set_changed_key(c, "dynamic_on", strcmp(verb, "on") == 0 ? "true" : "false");
	}
	if (status)
		return status;
	print_restart_warnings(&c->f, &c->next);
	if (c->file.n == CTL_CHANGES_MAX &&
		c->file.change[1].effective_step > get_newest_step(&c->f)) {
		tool_error("ctl: %s: %d changes are already pending; wait for the first one",
			c->dir, CTL_CHANGES_MAX - 1);
		return STATUS_USAGE;
	}
	c->next.effective_step = (uint32_t)find_switch_step(c);
	c->next.effective_step +=
		!c->next.effective_step; /* step 0 is over, so the earliest possible step is 1 */
	status = write_ctl_file(c);
	if (status)
		return status;
	if (c->now)
		printf("%u ranks switch as soon as they read the file\n", count_alive_ranks(&c->f));
	else
		printf("%u ranks switch at step %u (now: %llu)\n", count_alive_ranks(&c->f),
			c->next.effective_step, (unsigned long long)get_newest_step(&c->f));
	fflush(stdout);
	return c->wait ? wait_for_switch(c) : STATUS_DONE;
}

static bool check_ctl_operands(const struct ctl *c)
{
	const char *verb = c->nword ? c->word[0] : NULL;

	if (!c->dir || !verb) {
		tool_error(
			"ctl: no job or no action given; accepted: probe ctl DIR on|off|status|set "
			"KEY=VALUE...");
		return false;
	}
	if (strcmp(verb, "on") && strcmp(verb, "off") && strcmp(verb, "status") &&
		strcmp(verb, "set")) {
		tool_error("ctl: %s: accepted: on, off, status, set", verb);
		return false;
	}
	if ((strcmp(verb, "set") == 0) != (c->nword > 1)) {
		tool_error(c->nword > 1 ? "ctl: %s: one argument too many; accepted: probe ctl DIR "
					  "on|off|status, and KEY=VALUE only after set"
					: "ctl: %s: no keys given; accepted: KEY=VALUE...",
			c->nword > 1 ? c->word[1] : verb);
		return false;
	}
	if (c->now && c->at >= 0) {
		tool_error("ctl: --now and --at cannot be used together");
		return false;
	}
	return true;
}

static bool read_ctl_option_number(const char *option, const char *text, double max, double *number)
{
	char *end;
	double v = strtod(text, &end);

	if (*text && !*end && v >= 0 && v <= max) {
		*number = v;
		return true;
	}
	tool_error("ctl: --%s %s: accepted: a number from 0 to %.0f", option, text, max);
	return false;
}

static bool read_ctl_option(struct ctl *c, int o, const char *value)
{
	double v;

	switch (o) {
	case OPT_NOW:
		c->now = true;
		return true;
	case OPT_WAIT:
		c->wait = true;
		return true;
	case OPT_JSON:
		c->json = true;
		return true;
	case OPT_AT:
		if (!read_ctl_option_number("at", value, UINT32_MAX - 1.0, &v))
			return false;
		c->at = (int64_t)v;
		return true;
	case OPT_MARGIN:
		return read_ctl_option_number("margin", value, 86400, &c->margin);
	case CLI_OPERAND:
		if (!c->dir)
			c->dir = value;
		else if (c->nword < WORDS_MAX)
			c->word[c->nword++] = value;
		return true;
	default:
		return false;
	}
}

int verb_ctl(int argc, char **argv)
{
	struct cli cli = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	struct ctl c = {.at = -1, .margin = -1};
	int o, status = STATUS_DONE;

	while ((o = cli_read_argument(&cli)) != CLI_END) {
		if (o == CLI_HELP) {
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		}
		if (!read_ctl_option(&c, o, cli.value))
			return STATUS_USAGE;
	}
	if (!check_ctl_operands(&c) || folders_open(&c.f, c.dir))
		return STATUS_USAGE;
	if (c.f.single) {
		tool_error("ctl: %s: is the folder of one rank; give its parent folder", c.dir);
		status = STATUS_USAGE;
	} else {
		read_ctl_file(&c);
		if (strcmp(c.word[0], "status"))
			status = handle_ctl_action(&c);
		else if (c.json)
			print_status_json(&c);
		else
			print_status_text(&c);
	}
	ctl_free(&c.file);
	free(c.next.keys);
	folders_close(&c.f);
	return tool_close_output(status);
}
