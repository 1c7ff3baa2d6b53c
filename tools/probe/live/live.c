/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/live/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/io.h"
#include "tools/lib/files/csv.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/alert_lines.h"
#include "tools/probe/model/read/opens.h"

#define TAIL_BYTES ((uint64_t)64 << 10) /* read from the end of a scalars file */

/* ---- numbers ---- */

/* Returns the path of scalars_<a>-<b>.csv with the largest a, malloc'd, or NULL. */
static char *find_last_scalars(const char *folder, uint64_t *bytes)
{
	DIR *d = opendir(folder);
	unsigned long long most = 0, a, b;
	char *found = NULL;
	struct stat st;

	for (struct dirent *e; d && (e = readdir(d));) {
		int used = 0;

		if (sscanf(e->d_name, "scalars_%llu-%llu.csv%n", &a, &b, &used) != 2 || !used ||
			e->d_name[used] || (found && a < most) ||
			fstatat(dirfd(d), e->d_name, &st, 0))
			continue;
		free(found);
		found = tool_format("%s/%s", folder, e->d_name);
		most = a;
		*bytes = (uint64_t)st.st_size;
	}
	if (d)
		closedir(d);
	return found;
}

static bool find_scalar_of_name(const struct csv_text *t, enum scalar *which)
{
	const char *slash = memchr(t->s, '/', t->n);
	struct csv_text head = {t->s, slash ? (size_t)(slash - t->s) : t->n};

	for (unsigned i = 0; i < SCALARS; i++)
		if (csv_is(&head, scalar_names[i])) {
			*which = (enum scalar)i;
			return true;
		}
	return false;
}

static void add_live_number(
	struct live_rank *r, const struct csv_text *name, uint64_t step, double v)
{
	struct live_number *n = NULL;
	enum scalar which;

	if (!find_scalar_of_name(name, &which))
		return;
	for (unsigned i = 0; i < r->nnumber && !n; i++)
		if (csv_is(name, r->number[i].name))
			n = &r->number[i];
	if (!n) {
		TOOL_GROW(r->number, r->nnumber, r->cap_number);
		n = &r->number[r->nnumber++];
		*n = (struct live_number){.name = csv_copy_field(name), .which = which};
	}
	n->step = step;
	n->value = v;
	if (which != SCALAR_ITERATION_TIME || !(v >= 0))
		return;
	if (r->nms == LIVE_TIMES)
		memmove(r->ms, r->ms + 1, --r->nms * sizeof(*r->ms));
	r->ms[r->nms++] = v;
}

static void read_live_numbers(struct live_rank *r)
{
	uint64_t bytes = 0, step;
	char *path = find_last_scalars(r->dir->path, &bytes);
	struct csv c;
	double v;

	if (path && csv_open(&c, path, UINT64_MAX, false, TAIL_BYTES) == 0) {
		int at_step = csv_find_column(&c, "step"), at_name = csv_find_column(&c, "name"),
		    at_value = csv_find_column(&c, "value");

		if (bytes > TAIL_BYTES)
			csv_set_position(&c, bytes - TAIL_BYTES);
		while (csv_read_row(&c))
			if (csv_parse_u64(csv_get_field(&c, at_step), &step) &&
				csv_parse_double(csv_get_field(&c, at_value), &v))
				add_live_number(r, csv_get_field(&c, at_name), step, v);
	}
	if (path)
		csv_close(&c);
	free(path);
}

const struct live_number *live_get_number(const struct live_rank *r, enum scalar which)
{
	for (unsigned i = 0; i < r->nnumber; i++)
		if (r->number[i].which == which)
			return &r->number[i];
	return NULL;
}

const struct live_number *live_get_job_number(const struct live *l, enum scalar which)
{
	const struct live_number *n;

	for (unsigned i = 0; i < l->folders.n; i++)
		if ((n = live_get_number(&l->rank[i], which)))
			return n;
	return NULL;
}

/* ---- alerts ---- */

struct taking_alerts {
	struct live *live;
	struct live_rank *rank;
};

static void add_live_alert(void *arg, const struct alert_line *a)
{
	const struct taking_alerts *t = arg;
	struct live *l = t->live;

	TOOL_GROW(l->alert, l->nalert, l->cap_alert);
	l->alert[l->nalert++] = (struct live_alert){.rank = t->rank->rank,
		.first_step = a->first_step,
		.last_step = a->last_step,
		.count = a->count,
		.rule = tool_strdup(a->rule),
		.text = tool_strdup(a->text)};
	t->rank->alerts += a->count;
}

static void read_live_alerts(struct live *l, struct live_rank *r)
{
	read_alert_lines(r->dir->path, add_live_alert, &(struct taking_alerts){l, r});
}

static int by_newest_alert(const void *x, const void *y)
{
	const struct live_alert *a = x, *b = y;

	if (a->last_step != b->last_step)
		return a->last_step > b->last_step ? -1 : 1;
	return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : strcmp(a->text, b->text);
}

/* ---- calls that block ranks ---- */

static void read_live_opens(struct live *l)
{
	struct opens o;
	char label[COMM_LABEL_MAX];

	opens_init(&o);
	for (unsigned i = 0; i < l->folders.n; i++)
		if (l->folders.dir[i].state != RANK_FINISHED &&
			l->folders.dir[i].state != RANK_RECOVERED)
			free(opens_read_journal(&o, &l->folders.dir[i], i, true));
	for (unsigned i = 0; i < o.n; i++) {
		const struct open_call *c = &o.call[i];
		struct live_rank *r = &l->rank[c->call.rank];

		if (c->ended_ok || c->age <= r->open_ns || c->call.bits & CALL_ASYNC)
			continue;
		r->open_ns = c->age;
		r->open_stack = c->call.stack;
		free(r->open);
		r->open = c->call.comm ? tool_format("%s on %s", intern_get_name(c->call.api),
						 comm_format_label(&l->comms, c->call.comm, label))
				       : tool_strdup(intern_get_name(c->call.api));
	}
	opens_free(&o);
}

/* ---- the whole state ---- */

static void compute_rank_state(struct live *l, struct live_rank *r)
{
	const struct live_number *comm = live_get_number(r, SCALAR_COMM_TIME);
	const struct live_number *step = live_get_number(r, SCALAR_ITERATION_TIME);
	double sum = 0;

	for (unsigned i = 0; i < r->nms; i++)
		sum += r->ms[i];
	r->mean_ms = r->nms ? sum / r->nms : (double)NAN;
	/* The job's own value, if it has one. */
	if (comm && step && step->value > 0 && comm->step == step->step)
		r->exposed = comm->value / step->value;
	if (r->exposed > 1)
		r->exposed = 1;
	for (unsigned i = 0; i < r->nnumber; i++)
		if (r->number[i].step >= r->step)
			r->step = r->number[i].step + 1;
	if (r->step > l->step)
		l->step = r->step;
	l->runs |= r->dir->state == RANK_RUNNING ||
		   (r->dir->state == RANK_UNSEEN && r->dir->alive_ns + 60000000000u > l->now);
}

int live_read(struct live *l, const char *path)
{
	int status;

	*l = (struct live){.now = clock_ns(CLOCK_REALTIME)};
	status = folders_open(&l->folders, path);
	if (status)
		return status;
	l->rank = tool_alloc((l->folders.n + 1) * sizeof(*l->rank));
	comms_init(&l->comms);
	for (unsigned i = 0; i < l->folders.n; i++) {
		struct live_rank *r = &l->rank[i];

		r->dir = &l->folders.dir[i];
		r->rank = r->dir->rank >= 0 ? r->dir->rank : r->dir->meta.rank;
		r->step = r->dir->meta.step_now;
		r->exposed = r->late_ms = (double)NAN;
		comms_read(&l->comms, r->dir, NULL);
		read_live_numbers(r);
		read_live_alerts(l, r);
	}
	comms_set_present_members(&l->comms, l->folders.dir, l->folders.n);
	live_read_calls(l);
	read_live_opens(l);
	for (unsigned i = 0; i < l->folders.n; i++)
		compute_rank_state(l, &l->rank[i]);
	if (l->nalert)
		qsort(l->alert, l->nalert, sizeof(*l->alert), by_newest_alert);
	return STATUS_DONE;
}

void live_free(struct live *l)
{
	for (unsigned i = 0; l->rank && i < l->folders.n; i++) {
		struct live_rank *r = &l->rank[i];

		for (unsigned k = 0; k < r->nnumber; k++)
			free(r->number[k].name);
		free(r->number);
		free(r->op);
		free(r->open);
		free(r->last_call);
	}
	for (unsigned i = 0; i < l->nalert; i++) {
		free(l->alert[i].rule);
		free(l->alert[i].text);
	}
	if (l->rank)
		comms_free(&l->comms);
	free(l->alert);
	free(l->rank);
	folders_close(&l->folders);
	*l = (struct live){0};
}
