/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/config/explain.h"
#include "elf/demangle/demangle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/config.h"
#include "config/marker.h"
#include "config/config_value.h"
#include "config/list/import_list.h"
#include "config/list/wraplist.h"
#include "tools/lib/cli.h"
#include "tools/probe/config/cost.h"
#include "tools/probe/model/read/folders.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/run/checked.h"
#include "tools/probe/run/preload.h"

static void print_explained(const char *head, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void print_explained(const char *head, const char *fmt, ...)
{
	va_list ap;

	printf("%-11s", head);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* Returns the value of a key as probe.yaml would contain it; malloc'd. */
static char *format_key_value(const struct config *c, const char *key)
{
	const struct config_key *k = config_key_find(key, strlen(key), false);
	size_t n = (size_t)config_format(c, k, NULL, 0) + 1;
	char *s = tool_alloc(n);

	config_format(c, k, s, n);
	return s;
}

/*
 * Libraries that are wrapped at run time (wrappers/providers.c, entry/user/user_functions.c). The
 * others come from configs/apis.
 */
#define LIBRARIES " " COMPILED_LIBRARIES " c10d aten mindspore acl custom "

static bool has_wrappers(const char *library)
{
	char *word = tool_format(" %s ", library);
	bool is = strstr(LIBRARIES, word) != NULL;

	free(word);
	return is;
}

static unsigned get_section_count(const struct wraplist *w, uint32_t section)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < w->n; i++)
		n += w->entry[i].section == section;
	return n;
}

/* Reports entries on stderr that are not a function of the libraries exported by libprobe.so. */
static unsigned print_unknown_entries(const struct wraplist *w, uint32_t section)
{
	char *word = tool_format(" %s ", wraplist_get_text(w, w->section[section].name));
	unsigned n = 0;

	if (strstr(" " COMPILED_LIBRARIES " ", word))
		for (uint32_t i = 0; i < w->n; i++)
			n += w->entry[i].section == section && !w->entry[i].known;
	free(word);
	return n;
}

static bool has_entries(const struct wraplist *w, const char *library)
{
	uint32_t s = wraplist_find_section(w, library);

	return s != WRAPLIST_NONE && get_section_count(w, s) > 0;
}

/*
 * Prints a list in msprobe's format: its names are Python functions, which select functions of
 * several libraries.
 */
static void print_msprobe_list(const struct wraplist *w)
{
	unsigned sections = 0;

	for (uint32_t s = 0; s < w->nsection; s++)
		sections += get_section_count(w, s) != 0;
	print_explained("functions",
		"in the format of msprobe: %s in %s; the names select the operators of PyTorch and "
		"MindSpore",
		out_format_plural(w->n, "name", "names"),
		out_format_plural(sections, "section", "sections"));
	print_explained("", "and the collectives of every library that these names match");
}

static void print_listed_functions(const struct wraplist *w, bool exports)
{
	const char *head = "functions", *sep = "";
	unsigned bad;

	if (import_list_is(w)) {
		print_msprobe_list(w);
		return;
	}

	for (uint32_t s = 0; s < w->nsection; s++) {
		const char *name = wraplist_get_text(w, w->section[s].name);
		unsigned n = get_section_count(w, s);

		if (!n || !has_wrappers(name))
			continue;
		bad = exports ? print_unknown_entries(w, s) : 0;
		if (bad)
			print_explained(head, "%s: %s, and %s that libprobe does not know", name,
				out_format_plural(n - bad, "entry", "entries"),
				out_format_plural(bad, "name", "names"));
		else
			print_explained(
				head, "%s: %s", name, out_format_plural(n, "entry", "entries"));
		head = "";
	}
	if (*head)
		print_explained(head, "none: nothing is recorded");
	for (uint32_t s = 0; s < w->nsection; s++) {
		const char *name = wraplist_get_text(w, w->section[s].name);

		if (!get_section_count(w, s) || has_wrappers(name))
			continue;
		printf("%s%s", *sep ? sep : "           ", name);
		sep = ", ";
	}
	if (*sep)
		puts(": not recorded, this libprobe has no wrappers for them");
}

static const char *get_ordinal_suffix(uint64_t n)
{
	return n % 100 / 10 == 1 ? "th"
	       : n % 10 == 1	 ? "st"
	       : n % 10 == 2	 ? "nd"
	       : n % 10 == 3	 ? "rd"
				 : "th";
}

/* Prints the numbers of the first steps that the library will record. */
static void print_first_steps(const struct config *c, const char *head)
{
	uint64_t step = config_find_next_step(c, 0);
	unsigned n = 0;

	if (step == UINT64_MAX) {
		print_explained(head,
			"none: no step from %lld on matches all of step, start_step and "
			"step_interval",
			(long long)c->start_iteration);
		return;
	}
	printf("%-11s", head);
	for (; step != UINT64_MAX && n < 4; step = config_find_next_step(c, step + 1))
		printf("%s%llu", n++ ? ", " : "", (unsigned long long)step);
	puts(step == UINT64_MAX ? "" : " ...");
}

/* Warns if the marker is a C function (no :: in its name) that libprobe does not wrap. */
static void check_marker(
	const char *marker, const struct wraplist *w, char *const *export, unsigned nexport)
{
	const uint32_t custom = wraplist_find_section(w, "custom");
	const char *near;

	if (!*marker || strpbrk(marker, ":/.( ") || !nexport)
		return;
	for (unsigned i = 0; i < nexport; i++)
		if (strcmp(export[i], marker) == 0)
			return;
	/* A function described by the user (custom_apis) may have any name. */
	if (custom != WRAPLIST_NONE && get_section_count(w, custom))
		return;
	near = cli_find_nearest(marker, (const char *const *)export, nexport);
	print_explained("", "but libprobe wraps no function %s%s%s%s, so no step would end with it",
		marker, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static void print_step_end(const struct config *c)
{
	const long long count = (long long)c->step_marker_count;
	struct marker m;

	if (!*c->step_marker)
		print_explained("",
			"a step ends with probe_step(), MPI_Pcontrol(2) or a step of PyTorch's "
			"optimizer; without these, all calls are in step %lld",
			(long long)c->start_iteration);
	else if (marker_parse(c->step_marker, strlen(c->step_marker), &m) == NULL &&
		 m.form == MARKER_LANGUAGE)
		print_explained("",
			"a step is %s of %.*s in %.*s (%.*s), as seen in the stacks of recorded "
			"calls; probe_step() and MPI_Pcontrol(2) have priority",
			out_format_plural((uint64_t)count, "call", "calls"), (int)m.nfunction,
			m.function, (int)m.nfile, m.file, (int)m.nlanguage, m.language);
	else
		print_explained("",
			"a step ends with %s%s of %s; probe_step() and MPI_Pcontrol(2) have "
			"priority",
			count > 1 ? "every " : "each ",
			count > 1 ? out_format_plural((uint64_t)count, "call", "calls") : "call",
			c->step_marker);
}

static void print_steps(const struct config *c)
{
	const char *head = "steps";
	char *list = format_key_value(c, "step");

	if (!c->step.n && !c->start_step && c->step_interval <= 1 && !c->collect_times)
		print_explained(head, c->start_iteration ? "all, the first is %lld" : "all",
			(long long)c->start_iteration);
	else
		print_first_steps(c, head);
	head = "  that is";
	if (c->step.n) {
		print_explained(head, "of the list %s", list);
		head = "";
	}
	if (c->step_interval > 1) {
		print_explained(head, "every %lld%s from %lld on", (long long)c->step_interval,
			get_ordinal_suffix((uint64_t)c->step_interval), (long long)c->start_step);
		head = "";
	} else if (c->start_step) {
		print_explained(head, "from %lld on", (long long)c->start_step);
		head = "";
	}
	if (c->collect_times)
		print_explained(head, "at most %s, then no more",
			out_format_plural((uint64_t)c->collect_times, "step", "steps"));
	print_step_end(c);
	if (c->profile_step.n || c->profile_rank.n) {
		char *steps = format_key_value(c, "profile_step");
		char *ranks = format_key_value(c, "profile_rank");

		print_explained("calls", "only in a window: steps %s, ranks %s",
			c->profile_step.n ? steps : "as above",
			c->profile_rank.n ? ranks : "as above");
		free(ranks);
		free(steps);
	}
	free(list);
}

static void print_tensors(const struct config *c)
{
	if (!c->statistics)
		print_explained("tensors", "type and size, no values");
	else if (c->max_bytes)
		print_explained("tensors",
			"min, max, mean, norm, zeros, NaN, Inf; for tensors above %s: type "
			"and size only",
			out_format_bytes((double)c->max_bytes));
	else
		print_explained(
			"tensors", "min, max, mean, norm, zeros (below %g), NaN, Inf", c->eps);
	if (c->min_bytes)
		print_explained("", "calls with less than %s are not recorded",
			out_format_bytes((double)c->min_bytes));
	if (c->max_overhead > 0)
		print_explained("",
			"if libprobe takes more than %g %% of the time: skips the values of the "
			"largest tensors, then records one call in 2, 4, 8 ...",
			c->max_overhead);
	if (c->statistics && c->checksum != CHECKSUM_OFF)
		print_explained("", "and a checksum: %s",
			c->checksum == CHECKSUM_CRC32  ? "CRC-32"
			: c->checksum == CHECKSUM_AUTO ? "XOR, of results that all ranks get alike"
						       : "XOR");
	if (c->statistics)
		print_explained("", "of device memory: %s",
			c->device == CONFIG_DEVICE_COPY	 ? "of a copy"
			: c->device == CONFIG_DEVICE_OFF ? "none"
							 : "by a kernel on the device");
	if (c->nested)
		print_explained("", "calls inside other recorded calls, too");
	if (*c->codeline)
		print_explained("", "only calls with a Python frame that matches codeline");
	if (c->stack)
		print_explained("stacks", "up to %lld native frames, and Python's",
			(long long)c->stack_depth);
	else
		print_explained("stacks", "none");
}

static const char *without_effect;

static void print_useless_key(const char *key, bool set, bool because, const char *why)
{
	if (!set || !because)
		return;
	print_explained(without_effect, "%s: %s", key, why);
	without_effect = "";
}

static void print_useless_keys(const struct config *c, const struct wraplist *w)
{
	struct config d;
	char *const none[] = {NULL};

	config_load_text(&d, "", "", 0, none, "/", NULL, NULL);
	without_effect = "no effect";
#define SET(key) (c->key != d.key)
	static const char no_statistics[] = "statistics is off";

	print_useless_key("eps", c->eps > d.eps || c->eps < d.eps, !c->statistics, no_statistics);
	print_useless_key("checksum", SET(checksum), !c->statistics, no_statistics);
	print_useless_key("stats_isa", SET(stats_isa), !c->statistics, no_statistics);
	print_useless_key("stats_threads", SET(stats_threads), !c->statistics, no_statistics);
	print_useless_key("stats_threads_min_bytes", SET(stats_threads_min_bytes),
		!c->statistics || !c->stats_threads,
		c->statistics ? "stats_threads is 0" : no_statistics);
	print_useless_key("device", SET(device), !c->statistics, no_statistics);
	print_useless_key("device_copy_mib", SET(device_copy_mib),
		!c->statistics || c->device == CONFIG_DEVICE_OFF,
		c->statistics ? "device is off" : no_statistics);
	print_useless_key("max_bytes", SET(max_bytes), !c->statistics, no_statistics);
	print_useless_key("stack_depth", SET(stack_depth), !c->stack, "stack is off");
	print_useless_key("stack_blacklist", *c->stack_blacklist, !c->stack, "stack is off");
	print_useless_key("backward", c->backward, !has_entries(w, "aten"),
		"the list has no entry in the section aten");
	print_useless_key("custom_apis", *c->custom_apis, !has_entries(w, "custom"),
		"the list has no entry in the section custom");
	print_useless_key("start_step", SET(start_step),
		c->step_interval <= 1 && c->start_step <= c->start_iteration,
		"not above start_iteration, the first step");
	print_useless_key("step_marker_count", SET(step_marker_count), !*c->step_marker,
		"step_marker is empty");
	print_useless_key(
		"step_anchor", *c->step_anchor, *c->step_marker, "step_marker defines the step");
	print_useless_key("part_mib", SET(part_mib),
		c->output_limit_mib && c->part_mib >= c->output_limit_mib,
		"not below output_limit_mib, which counts");
#undef SET
	config_free(&d);
}

/* Prints the cost of an earlier run into the same folder, which is better than any estimate. */
static void print_cost(const struct config *c)
{
	struct folders f;
	struct stat st;
	struct cost one, most = {0};

	if (stat(c->output_dir, &st) < 0) {
		print_explained("cost",
			"unknown: record one step, then ask again (%s does not exist)",
			c->output_dir);
		return;
	}
	if (folders_open(&f, c->output_dir))
		return;
	for (unsigned i = 0; i < f.n; i++)
		if (compute_run_cost(&one, &f.dir[i]) && one.step_bytes > most.step_bytes)
			most = one;
	if (most.steps)
		print_explained("cost",
			"%s of files and %s of the job's time in a typical step, %s once, on the "
			"rank with the most (%s of %s)",
			out_format_bytes(most.step_bytes), out_format_duration(most.step_ns),
			out_format_bytes(most.once_bytes),
			out_format_plural(most.steps, "step", "steps"), c->output_dir);
	else
		print_explained("cost", "unknown: the run in %s recorded nothing", c->output_dir);
	folders_close(&f);
}

/* The keys only and skip, which select from the list. */
static void print_only_and_skip(const struct config *c)
{
	char *only = format_key_value(c, "only"), *skip = format_key_value(c, "skip");

	if (*c->only)
		print_explained("", "of these only: %s", only);
	if (*c->skip)
		print_explained("", "of these not: %s", skip);
	free(only);
	free(skip);
}

/* Calls fn for each of the libraries whose functions libprobe.so exports. */
static void handle_compiled_libraries(
	void (*fn)(struct wraplist *w, const char *library, void *arg), struct wraplist *w,
	void *arg)
{
	char word[64];

	for (const char *p = COMPILED_LIBRARIES, *end; *p; p = end + strspn(end, " ")) {
		end = p + strcspn(p, " ");
		snprintf(word, sizeof(word), "%.*s", (int)(end - p), p);
		fn(w, word, arg);
	}
}

struct exports {
	char **name; /* NULL: libprobe.so cannot be read */
	unsigned n;
	config_report_fn *report;
	void *arg;
};

static void set_known_entries(struct wraplist *w, const char *library, void *arg)
{
	struct exports *e = arg;
	char cxx[256];

	/* C++ functions are listed by their qualified names. */
	for (unsigned i = 0; i < e->n; i++)
		wraplist_match(w, library,
			format_cxx_symbol(e->name[i], cxx, sizeof(cxx), NULL) > 0 ? cxx
										  : e->name[i]);
}

static void print_unknown_entry(struct wraplist *w, const char *library, void *arg)
{
	struct exports *e = arg;

	wraplist_emit_unknown(w, library, e->report, e->arg);
}

void print_config_explanation(
	const struct config *c, struct wraplist *list, config_report_fn *report, void *arg)
{
	char *ranks = format_key_value(c, "rank"), *library = preload_find_library();
	struct exports e = {.report = report, .arg = arg};

	e.name = library ? read_library_exports(library, &e.n) : NULL;
	if (e.n)
		handle_compiled_libraries(set_known_entries, list, &e);
	if (c->disable) {
		print_explained("records", "nothing: disable is set");
	} else {
		print_listed_functions(list, e.n > 0);
		print_only_and_skip(c);
		print_explained("ranks", "%s", c->rank.n ? ranks : "all");
		print_steps(c);
		check_marker(c->step_marker, list, e.name, e.n);
		print_tensors(c);
		print_explained("files", "%s/rank<R>, %lld steps a file%s, at most %s a rank",
			c->output_dir, (long long)c->step_count_per_record,
			c->gzip ? " (.csv.gz)" : "",
			c->output_limit_mib
				? out_format_bytes((double)c->output_limit_mib * 1048576)
				: "the disk");
		print_useless_keys(c, list);
		print_cost(c);
	}
	if (e.n)
		handle_compiled_libraries(print_unknown_entry, list, &e);
	for (unsigned i = 0; i < e.n; i++)
		free(e.name[i]);
	free(e.name);
	free(library);
	free(ranks);
}
