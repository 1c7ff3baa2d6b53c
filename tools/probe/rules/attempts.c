/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/attempts.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "journal/ending.h"
#include "tools/lib/out.h"
#include "tools/lib/signal_name.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/last_words.h"

#define FOLDERS_MAX 8192u /* maximum number of folders of earlier attempts that are read */
#define WORDS_MAX 120
#define CLEAR_NS UINT64_C(1000000000) /* ns: clocks that NTP sets differ by less */

/*
 * Describes how a rank ended, if it did not end normally. Returns NULL if it ended normally or
 * still runs. malloc'd.
 */
static char *describe_bad_end(const struct rank_dir *d)
{
	const struct meta_ending *e = &d->meta.end;
	const char *name = e->signal == ENDING_NONE ? NULL : get_signal_name(e->signal);

	if (strcmp(e->how, "signal") == 0 && name)
		return tool_format("by SIG%s", name);
	if (strcmp(e->how, "exception") == 0 || strcmp(e->how, "abort") == 0 ||
		(e->code != ENDING_NONE && e->code))
		return last_words_text(e, WORDS_MAX);
	if (strcmp(e->how, "signal") == 0 || d->state == RANK_KILLED ||
		(d->state == RANK_RECOVERED && !*e->how))
		return tool_strdup("without a message: by a signal");
	return NULL;
}

/*
 * Returns the number that the folder's name got when it was moved; for launchers that do not count
 * restarts.
 */
static const char *find_suffix(const struct rank_dir *d)
{
	const char *dot = strrchr(d->name, '.');

	return *d->meta.attempt || !dot ? "" : dot;
}

struct collecting {
	struct attempts *list;
	const struct folders *folders;
	char **suffix; /* of each attempt: see find_suffix() */
	unsigned cap_suffix;
};

static struct attempt *get_attempt(struct collecting *c, const struct rank_dir *d)
{
	struct attempts *l = c->list;
	unsigned n = l->n;

	for (unsigned i = 0; i < l->n; i++)
		if (strcmp(l->at[i].name, d->meta.attempt) == 0 &&
			l->at[i].world_size == d->meta.world_size &&
			strcmp(c->suffix[i], find_suffix(d)) == 0)
			return &l->at[i];
	TOOL_GROW(l->at, l->n, l->cap);
	TOOL_GROW(c->suffix, n, c->cap_suffix);
	c->suffix[l->n] = tool_strdup(find_suffix(d));
	l->at[l->n] = (struct attempt){.name = tool_strdup(d->meta.attempt),
		.world_size = d->meta.world_size,
		.first = {.rank = -1, .how = tool_strdup("")},
		.second = {.rank = -1, .how = tool_strdup("")}};
	return &l->at[l->n++];
}

/* Keeps the two earliest bad ends. Takes ownership of end.how. */
static void add_bad_end(struct attempt *a, struct bad_end end)
{
	struct bad_end last = end;

	if (a->first.rank < 0 || end.at_ns < a->first.at_ns) {
		last = a->first;
		a->first = end;
	}
	if (last.rank >= 0 && (a->second.rank < 0 || last.at_ns < a->second.at_ns)) {
		end = a->second;
		a->second = last;
		last = end;
	}
	free(last.how);
}

static void take_folder(void *arg, const struct rank_dir *d)
{
	struct collecting *c = arg;
	struct attempt *a;
	char *end;

	if (d->meta_wrong || strcmp(d->meta.run, c->folders->run))
		return;
	a = get_attempt(c, d);
	a->ranks++;
	a->runs |= d->state == RANK_RUNNING || d->state == RANK_UNSEEN;
	if (d->meta.step_now > a->last_step)
		a->last_step = d->meta.step_now;
	if (!a->start_ns || (d->start_ns && d->start_ns < a->start_ns))
		a->start_ns = d->start_ns;
	end = describe_bad_end(d);
	/*
	 * The time of the failure: the process may have ended seconds later, after other ranks had
	 * failed because of it.
	 */
	if (end)
		add_bad_end(a, (struct bad_end){(int)d->rank,
				       d->meta.end.at_ns ? d->meta.end.at_ns : d->end_ns, end});
}

static int by_attempt_start(const void *x, const void *y)
{
	const struct attempt *a = x, *b = y;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

void read_attempts(struct attempts *a, const struct folders *f)
{
	struct collecting c = {.list = a, .folders = f};

	*a = (struct attempts){0};
	if (!f->n || f->single || (!*f->run && !*f->dir[0].meta.attempt))
		return;
	for (unsigned i = 0; i < f->n; i++)
		take_folder(&c, &f->dir[i]);
	folders_each_unused(f, FOLDERS_MAX, take_folder, &c);
	for (unsigned i = 0; i < a->n; i++)
		free(c.suffix[i]);
	free(c.suffix);
	if (a->n)
		qsort(a->at, a->n, sizeof(*a->at), by_attempt_start);
}

void free_attempts(struct attempts *a)
{
	for (unsigned i = 0; i < a->n; i++) {
		free(a->at[i].name);
		free(a->at[i].first.how);
		free(a->at[i].second.how);
	}
	free(a->at);
	*a = (struct attempts){0};
}

bool is_first_end_clear(const struct attempt *a)
{
	return a->second.rank < 0 || a->second.at_ns - a->first.at_ns >= CLEAR_NS;
}

char *format_attempt(const struct attempt *a)
{
	char *of = a->world_size >= 0 ? tool_format(" of %d", a->world_size) : tool_strdup(""),
	     *how, *all;

	if (a->first.rank >= 0 && !is_first_end_clear(a))
		how = tool_format("rank %d ended %s; %s later rank %d ended %s", a->first.rank,
			a->first.how,
			out_format_duration((double)(a->second.at_ns - a->first.at_ns)),
			a->second.rank, a->second.how);
	else if (a->first.rank >= 0)
		how = tool_format("rank %d ended%s %s", a->first.rank,
			a->ranks > 1 ? " first," : "", a->first.how);
	else
		how = tool_strdup(a->runs ? "it runs" : "it ended properly");
	all = tool_format("%u%s ranks, to step %llu; %s", a->ranks, of,
		(unsigned long long)a->last_step, how);
	free(of);
	free(how);
	return all;
}
