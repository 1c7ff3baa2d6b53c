/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/config/explain.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/marker.h"
#include "config/value.h"
#include "config/wraplist.h"
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

static void functions(const struct wraplist *w)
{
	const char *head = "functions";

	for (uint32_t s = 0; s < w->nsection; s++) {
		unsigned names = 0;

		for (uint32_t i = 0; i < w->n; i++)
			names += w->entry[i].section == s;
		if (!names)
			continue;
		line(head, "%s: %s", wraplist_text(w, w->section[s].name),
			out_plural(names, "entry", "entries"));
		head = "";
	}
	if (*head)
		line(head, "none: the list is empty, nothing is recorded");
}

static void steps(const struct config *c)
{
	char *list = value_of(c, "step");
	unsigned long long first = (unsigned long long)c->start_step;

	if (c->step.n)
		line("steps", "those of %s", list);
	if (c->step_interval > 1)
		line(c->step.n ? "  of these" : "steps",
			"every %lldth from %llu on: %llu, %llu, %llu ...",
			(long long)c->step_interval, first, first,
			first + (unsigned long long)c->step_interval,
			first + 2 * (unsigned long long)c->step_interval);
	else if (c->start_step)
		line(c->step.n ? "  of these" : "steps", "from %llu on", first);
	else if (!c->step.n)
		line("steps", "all");
	if (c->collect_times)
		line("", "at most %lld of them, then no more", (long long)c->collect_times);
	struct marker m;

	if (marker_parse(c->step_marker, strlen(c->step_marker), &m) == NULL &&
		m.form == MARKER_LANGUAGE)
		line("",
			"a step is %s of %.*s in %.*s (%.*s), as recorded calls show, unless "
			"probe_step() or MPI_Pcontrol(2) says so",
			out_plural((uint64_t)c->step_marker_count, "call", "calls"),
			(int)m.nfunction, m.function, (int)m.nfile, m.file, (int)m.nlanguage,
			m.language);
	else if (*c->step_marker && c->step_marker_count > 1)
		line("",
			"a step ends with every %lld calls of %s, unless probe_step() or "
			"MPI_Pcontrol(2) says so",
			(long long)c->step_marker_count, c->step_marker);
	else if (*c->step_marker)
		line("",
			"a step ends with each call of %s, unless probe_step() or MPI_Pcontrol(2) "
			"says so",
			c->step_marker);
	else
		line("", "a step ends where probe_step() or MPI_Pcontrol(2) says so; without: one "
			 "step 0");
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
	if (c->stack)
		line("stacks", "up to %lld native frames", (long long)c->stack_depth);
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

static void no_effect(const struct config *c)
{
	struct config d;
	char *const none[] = {NULL};

	config_load_text(&d, "", "", 0, none, "/", NULL, NULL);
	without_effect = "no effect";
	useless("eps", c->eps > d.eps || c->eps < d.eps, !c->statistics, "statistics is off");
	useless("max_bytes", c->max_bytes != d.max_bytes, !c->statistics, "statistics is off");
	useless("stack_depth", c->stack_depth != d.stack_depth, !c->stack, "stack is off");
	useless("step_marker_count", c->step_marker_count != d.step_marker_count, !*c->step_marker,
		"step_marker is empty");
	useless("max_bytes", c->max_bytes != d.max_bytes,
		c->max_bytes && c->min_bytes >= c->max_bytes && c->statistics,
		"not above min_bytes: no call has statistics");
	useless("part_mib", c->part_mib != d.part_mib,
		c->output_limit_mib && c->part_mib >= c->output_limit_mib,
		"not below output_limit_mib, which counts");
	config_free(&d);
}

/* Bytes of the files in a folder that stay. */
static double folder_bytes(const char *path)
{
	DIR *d = opendir(path);
	struct stat st;
	double n = 0;

	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, "journal.bin") &&
			fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode))
			n += (double)st.st_size;
	if (d)
		closedir(d);
	return n;
}

/* What an earlier run into the same folder cost says more than any estimate. */
static void expect(const struct config *c)
{
	struct folders f;
	struct stat st;
	double bytes = 0, own = 0, steps = 0;

	if (stat(c->output_dir, &st) < 0) {
		line("cost", "unknown: run one step, then ask again (%s does not exist)",
			c->output_dir);
		return;
	}
	if (folders_open(&f, c->output_dir))
		return;
	for (unsigned i = 0; i < f.n; i++) {
		const struct meta *m = &f.dir[i].meta;

		bytes += folder_bytes(f.dir[i].path);
		own += m->own_calls_s * 1e9;
		steps += (double)(m->step_last + 1);
	}
	if (steps > 0)
		line("cost", "%s of files and %s of the job's time per step and rank, as in %s",
			out_bytes(bytes / steps), out_time(own / steps), c->output_dir);
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
		no_effect(c);
		expect(c);
	}
	free(ranks);
}
