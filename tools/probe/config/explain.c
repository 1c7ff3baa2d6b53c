/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/config/explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/marker.h"
#include "config/value.h"
#include "config/wraplist.h"
#include "tools/probe/config/cost.h"
#include "tools/probe/read/folders.h"
#include "tools/probe/out.h"
#include "tools/probe/tool.h"

static void line(const char *head, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void line(const char *head, const char *fmt, ...)
{
	va_list ap;

	printf("%-11s", head);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* The value of a member as probe.yaml writes it; malloc'd. */
static char *value_of(const struct config *c, const char *key)
{
	const struct config_key *k = config_key_find(key, strlen(key), false);
	size_t n = (size_t)config_format(c, k, NULL, 0) + 1;
	char *s = tool_alloc(n);

	config_format(c, k, s, n);
	return s;
}

/* Those that are wrapped at run time (wrappers/providers.c, entry/custom.c); the others come from configs/apis. */
#define LIBRARIES " " COMPILED_LIBRARIES " c10d aten custom "

static bool has_wrappers(const char *library)
{
	char *word = tool_format(" %s ", library);
	bool is = strstr(LIBRARIES, word) != NULL;

	free(word);
	return is;
}

static unsigned entries(const struct wraplist *w, uint32_t section)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < w->n; i++)
		n += w->entry[i].section == section;
	return n;
}

static bool has_entries(const struct wraplist *w, const char *library)
{
	uint32_t s = wraplist_section(w, library);

	return s != WRAPLIST_NONE && entries(w, s) > 0;
}

static void functions(const struct wraplist *w)
{
	const char *head = "functions", *sep = "";

	for (uint32_t s = 0; s < w->nsection; s++) {
		const char *name = wraplist_text(w, w->section[s].name);
		unsigned n = entries(w, s);

		if (!n || !has_wrappers(name))
			continue;
		line(head, "%s: %s", name, out_plural(n, "entry", "entries"));
		head = "";
	}
	if (*head)
		line(head, "none: nothing is recorded");
	for (uint32_t s = 0; s < w->nsection; s++) {
		const char *name = wraplist_text(w, w->section[s].name);

		if (!entries(w, s) || has_wrappers(name))
			continue;
		printf("%s%s", *sep ? sep : "           ", name);
		sep = ", ";
	}
	if (*sep)
		puts(": nothing, this libprobe has no wrappers for them");
}

static const char *nth(uint64_t n)
{
	return n % 100 / 10 == 1 ? "th"
	       : n % 10 == 1	 ? "st"
	       : n % 10 == 2	 ? "nd"
	       : n % 10 == 3	 ? "rd"
				 : "th";
}

/* The first of them, as the library chooses them. */
static void first_steps(const struct config *c, const char *head)
{
	uint64_t step = config_step_next(c, 0);
	unsigned n = 0;

	if (step == UINT64_MAX) {
		line(head,
			"none: no step from %lld on fits all of step, start_step and step_interval",
			(long long)c->start_iteration);
		return;
	}
	printf("%-11s", head);
	for (; step != UINT64_MAX && n < 4; step = config_step_next(c, step + 1))
		printf("%s%llu", n++ ? ", " : "", (unsigned long long)step);
	puts(step == UINT64_MAX ? "" : " ...");
}

static void what_ends_a_step(const struct config *c)
{
	const long long count = (long long)c->step_marker_count;
	struct marker m;

	if (!*c->step_marker)
		line("",
			"a step ends where probe_step(), MPI_Pcontrol(2) or PyTorch's optimizer "
			"says so; without: one step %lld",
			(long long)c->start_iteration);
	else if (marker_parse(c->step_marker, strlen(c->step_marker), &m) == NULL &&
		 m.form == MARKER_LANGUAGE)
		line("",
			"a step is %s of %.*s in %.*s (%.*s), as recorded calls show, unless "
			"probe_step() or MPI_Pcontrol(2) says so",
			out_plural((uint64_t)count, "call", "calls"), (int)m.nfunction, m.function,
			(int)m.nfile, m.file, (int)m.nlanguage, m.language);
	else
		line("",
			"a step ends with %s%s of %s, unless probe_step() or MPI_Pcontrol(2) says "
			"so",
			count > 1 ? "every " : "each ",
			count > 1 ? out_plural((uint64_t)count, "call", "calls") : "call",
			c->step_marker);
}

static void steps(const struct config *c)
{
	const char *head = "steps";
	char *list = value_of(c, "step");

	if (!c->step.n && !c->start_step && c->step_interval <= 1 && !c->collect_times)
		line(head, c->start_iteration ? "all, the first is %lld" : "all",
			(long long)c->start_iteration);
	else
		first_steps(c, head);
	head = "  that is";
	if (c->step.n) {
		line(head, "of the list %s", list);
		head = "";
	}
	if (c->step_interval > 1) {
		line(head, "every %lld%s from %lld on", (long long)c->step_interval,
			nth((uint64_t)c->step_interval), (long long)c->start_step);
		head = "";
	} else if (c->start_step) {
		line(head, "from %lld on", (long long)c->start_step);
		head = "";
	}
	if (c->collect_times)
		line(head, "at most %s, then no more",
			out_plural((uint64_t)c->collect_times, "step", "steps"));
	what_ends_a_step(c);
	free(list);
}

static void tensors(const struct config *c)
{
	if (!c->statistics)
		line("tensors", "type and size, no values");
	else if (c->max_bytes)
		line("tensors",
			"min, max, mean, norm, zeros, NaN, Inf; of more than %s: type and size "
			"only",
			out_bytes((double)c->max_bytes));
	else
		line("tensors", "min, max, mean, norm, zeros (below %g), NaN, Inf", c->eps);
	if (c->min_bytes)
		line("", "calls with less than %s are not recorded",
			out_bytes((double)c->min_bytes));
	if (c->statistics && c->checksum != CHECKSUM_OFF)
		line("", "and a checksum: %s", c->checksum == CHECKSUM_CRC32 ? "CRC-32" : "XOR");
	if (c->statistics && c->device == CONFIG_DEVICE_COPY)
		line("", "of device memory: of a copy");
	if (c->nested)
		line("", "calls inside other recorded calls, too");
	if (*c->codeline)
		line("", "only calls with a Python frame that fits codeline");
	if (c->stack)
		line("stacks", "up to %lld native frames, and Python's", (long long)c->stack_depth);
	else
		line("stacks", "none");
}

static const char *without_effect;

static void useless(const char *key, bool set, bool because, const char *why)
{
	if (!set || !because)
		return;
	line(without_effect, "%s: %s", key, why);
	without_effect = "";
}

static void no_effect(const struct config *c, const struct wraplist *w)
{
	struct config d;
	char *const none[] = {NULL};

	config_load_text(&d, "", "", 0, none, "/", NULL, NULL);
	without_effect = "no effect";
#define SET(key) (c->key != d.key)
	static const char no_statistics[] = "statistics is off";

	useless("eps", c->eps > d.eps || c->eps < d.eps, !c->statistics, no_statistics);
	useless("checksum", SET(checksum), !c->statistics, no_statistics);
	useless("stats_isa", SET(stats_isa), !c->statistics, no_statistics);
	useless("stats_threads", SET(stats_threads), !c->statistics, no_statistics);
	useless("stats_threads_min_bytes", SET(stats_threads_min_bytes),
		!c->statistics || !c->stats_threads,
		c->statistics ? "stats_threads is 0" : no_statistics);
	useless("device", SET(device), !c->statistics, no_statistics);
	useless("max_bytes", SET(max_bytes), !c->statistics, no_statistics);
	useless("stack_depth", SET(stack_depth), !c->stack, "stack is off");
	useless("stack_blacklist", *c->stack_blacklist, !c->stack, "stack is off");
	useless("backward", c->backward, !has_entries(w, "aten"),
		"the list has no entry in the section aten");
	useless("custom_apis", *c->custom_apis, !has_entries(w, "custom"),
		"the list has no entry in the section custom");
	useless("start_step", SET(start_step),
		c->step_interval <= 1 && c->start_step <= c->start_iteration,
		"not above start_iteration, the first step");
	useless("step_marker_count", SET(step_marker_count), !*c->step_marker,
		"step_marker is empty");
	useless("step_anchor", *c->step_anchor, *c->step_marker, "step_marker says what a step is");
	useless("part_mib", SET(part_mib),
		c->output_limit_mib && c->part_mib >= c->output_limit_mib,
		"not below output_limit_mib, which counts");
#undef SET
	config_free(&d);
}

/* What an earlier run into the same folder cost says more than any estimate. */
static void expect(const struct config *c)
{
	struct folders f;
	struct stat st;
	struct cost one, most = {0};

	if (stat(c->output_dir, &st) < 0) {
		line("cost", "unknown: run one step, then ask again (%s does not exist)",
			c->output_dir);
		return;
	}
	if (folders_open(&f, c->output_dir))
		return;
	for (unsigned i = 0; i < f.n; i++)
		if (cost_of(&one, &f.dir[i]) && one.step_bytes > most.step_bytes)
			most = one;
	if (most.steps)
		line("cost",
			"%s of files and %s of the job's time in a typical step, %s once, on the "
			"rank with the most (%s of %s)",
			out_bytes(most.step_bytes), out_time(most.step_ns),
			out_bytes(most.once_bytes), out_plural(most.steps, "step", "steps"),
			c->output_dir);
	else
		line("cost", "unknown: the run in %s recorded nothing", c->output_dir);
	folders_close(&f);
}

void explain(const struct config *c, const struct wraplist *list)
{
	char *ranks = value_of(c, "rank");

	if (c->disable) {
		line("records", "nothing: disable is set");
	} else {
		functions(list);
		line("ranks", "%s", c->rank.n ? ranks : "all");
		steps(c);
		tensors(c);
		line("files", "%s/rank<R>, %lld steps a file%s, at most %s a rank", c->output_dir,
			(long long)c->step_count_per_record, c->gzip ? " (.csv.gz)" : "",
			c->output_limit_mib ? out_bytes((double)c->output_limit_mib * 1048576)
					    : "the disk");
		no_effect(c, list);
		expect(c);
	}
	free(ranks);
}
