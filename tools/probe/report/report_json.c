/* SPDX-License-Identifier: Apache-2.0 */
/* `probe report --json`: the same as the text, and everything that the text leaves out or puts together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/intern.h"
#include "tools/probe/json.h"
#include "tools/probe/out.h"
#include "tools/probe/report/report.h"
#include "tools/probe/tool.h"

static void seconds(const char *key, double ns)
{
	json_double(key, ns * 1e-9);
}

static void comm(const char *key, uint64_t id)
{
	char buf[20];

	snprintf(buf, sizeof(buf), "%016llx", (unsigned long long)id);
	json_string(key, id ? buf : NULL);
}

static void number(const char *key, int64_t v)
{
	if (v == NO_NUMBER)
		json_null(key);
	else
		json_i64(key, v);
}

static void rank(const struct report *r, const char *key, uint32_t index)
{
	int v = r->g.folders.dir[index].rank;

	if (v < 0)
		json_null(key);
	else
		json_i64(key, v);
}

static void rank_list(const char *key, const int *list, unsigned n)
{
	json_list(key);
	for (unsigned i = 0; i < n; i++)
		json_i64(NULL, list[i]);
	json_end();
}

static void stack(struct report *r, const struct call *c)
{
	char *text =
		stack_whole(&r->stacks, stacks_get(&r->stacks, c->rank, c->stack), r->with_stacks);

	json_string("stack", text);
	free(text);
}

/* What a call is, without braces. */
static void call(struct report *r, const struct call *c)
{
	rank(r, "rank", c->rank);
	json_string("lib", intern_name(c->lib));
	json_string("api", intern_name(c->api));
	json_string("op", intern_name(c->op));
	comm("comm", c->comm);
	number("comm_seq", c->comm_seq);
	json_u64("step", c->step);
	json_u64("seq", c->seq);
	number("peer", c->peer);
	number("root", c->root);
	number("tag", c->tag);
	json_u64("bytes", call_bytes(c));
	json_u64("start_ns", c->start);
	json_bool("async", c->bits & CALL_ASYNC);
}

static void hist(const char *key, const struct hist *h)
{
	json_object(key);
	json_u64("n", h->n);
	seconds("total_s", h->sum);
	seconds("min_s", (double)h->min);
	seconds("median_s", (double)hist_quantile(h, 0.5));
	seconds("p99_s", (double)hist_quantile(h, 0.99));
	seconds("max_s", (double)h->max);
	json_end();
}

/* ---- head ---- */

static void sum_counts(const struct report *r, const char *key, bool skipped)
{
	struct meta_count sum[META_LIST_MAX] = {{0}};
	unsigned n = 0;

	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct meta *m = &r->g.folders.dir[i].meta;
		const struct meta_count *c = skipped ? m->skipped : m->dropped;

		for (unsigned k = 0; k < (skipped ? m->nskipped : m->ndropped); k++) {
			unsigned at = 0;

			while (at < n && strcmp(sum[at].name, c[k].name))
				at++;
			if (at == n && n < META_LIST_MAX)
				sum[n++].name = c[k].name;
			if (at < n)
				sum[at].n += c[k].n;
		}
	}
	json_object(key);
	for (unsigned i = 0; i < n; i++)
		json_u64(sum[i].name, sum[i].n);
	json_end();
}

static void head(const struct report *r)
{
	const struct gather *g = &r->g;
	const struct meta *m = &g->folders.dir[0].meta;
	unsigned n[RANK_STATES] = {0};
	uint64_t seen = 0, recorded = 0, lost = 0, removed = 0, damaged = 0, truncated = 0, now = 0;

	for (unsigned i = 0; i < g->folders.n; i++) {
		const struct meta *k = &g->folders.dir[i].meta;

		n[g->folders.dir[i].state]++;
		seen += k->seen;
		recorded += k->recorded;
		lost += k->lost_rows;
		removed += k->removed_blocks;
		damaged += g->rank[i].damaged;
		truncated += g->rank[i].truncated;
		now = k->step_now > now ? k->step_now : now;
	}
	json_u64("format", 1);
	json_string("version", PROBE_VERSION);
	json_string("path", g->folders.path);
	json_string("run", g->folders.run);
	json_string("program", m->program);
	json_object("libraries");
	for (unsigned i = 0; i < m->nlibraries; i++)
		json_string(m->libraries[i].name, m->libraries[i].text);
	json_end();
	number("world_size", g->folders.world_size < 0 ? NO_NUMBER : g->folders.world_size);
	json_u64("ranks_seen", g->nasked);
	json_object("states");
	for (int s = 0; s < RANK_STATES; s++)
		if (n[s])
			json_u64(s == RANK_UNSEEN ? "unseen" : rank_state_name((enum rank_state)s),
				n[s]);
	json_end();
	json_u64("hosts", g->hosts.nhost);
	json_u64("first_ns", g->first_ns);
	json_u64("last_ns", g->last_ns);
	seconds("duration_s", g->any ? (double)(g->until_ns - g->first_ns) : 0);
	json_object("steps");
	number("first", g->any ? (int64_t)g->first_step : NO_NUMBER);
	number("last", g->any ? (int64_t)g->last_step : NO_NUMBER);
	json_u64("current", now);
	json_string("source", m->step_source);
	report_period_json(r);
	json_end();
	json_u64("calls", g->calls);
	json_u64("rows", g->rows);
	json_u64("bytes", g->bytes);
	json_u64("errors", g->errors);
	json_u64("calls_seen", seen);
	json_u64("calls_recorded", recorded);
	sum_counts(r, "dropped", false);
	sum_counts(r, "skipped", true);
	json_u64("lost_rows", lost);
	json_u64("removed_blocks", removed);
	json_u64("damaged_lines", damaged);
	json_u64("truncated_files", truncated);
	seconds("rank_time_s", g->life_ns);
	seconds("read_s", g->seconds * 1e9);
}

static void findings(const struct report *r)
{
	static const char *const severity[] = {"bad", "warning", "note"};

	json_list("findings");
	for (unsigned i = 0; i < r->nfinding; i++) {
		json_object(NULL);
		json_string("severity", severity[r->finding[i].severity]);
		json_string("kind", r->finding[i].kind);
		json_string("text", r->finding[i].text);
		json_end();
	}
	json_end();
}

/* ---- open calls ---- */

static void open_calls(struct report *r)
{
	json_list("open");
	for (unsigned i = 0; i < r->g.opens.n; i++) {
		const struct open_call *c = &r->g.opens.call[i];

		json_object(NULL);
		call(r, &c->call);
		seconds("age_s", (double)c->age);
		json_bool("waiting", c->waiting);
		json_bool("finished", c->ended_ok);
		json_u64("thread", c->call.thread);
		stack(r, &c->call);
		json_end();
	}
	json_end();
}

static void stuck(struct report *r)
{
	static const char *const why[] = {
		[ABSENT_NEVER] = "never entered",
		[ABSENT_OTHER] = "in another call",
		[ABSENT_PAST] = "left already",
		[ABSENT_ENDED] = "finished",
		[ABSENT_NO_DATA] = "no folder",
	};
	const struct stuck *cause = stuck_cause(&r->stuck, &r->g);

	json_list("stuck");
	for (unsigned i = 0; i < r->stuck.n; i++) {
		const struct stuck *s = &r->stuck.stuck[i];

		json_object(NULL);
		json_string("api", intern_name(s->sample->call.api));
		json_string("op", intern_name(s->sample->call.op));
		comm("comm", s->sample->call.comm);
		number("comm_seq", s->joined ? s->sample->call.comm_seq : NO_NUMBER);
		json_bool("cause", s == cause);
		json_bool("async", s->async);
		json_bool("waiting", s->sample->waiting);
		seconds("age_s", (double)s->age_max);
		rank_list("ranks", s->rank, s->n);
		json_list("absent");
		for (unsigned k = 0; k < s->nabsent; k++) {
			const struct absent *a = &s->absent[k];

			json_object(NULL);
			rank_list("ranks", a->rank, a->n);
			json_string("why", why[a->why]);
			if (a->in || a->last) {
				json_object(a->in ? "in" : "last");
				call(r, a->in ? &a->in->call : a->last);
				json_end();
			}
			json_end();
		}
		json_end();
		json_end();
	}
	json_end();
}

/* ---- values ---- */

static void bad(struct report *r)
{
	const struct bad *b = &r->g.bad;
	const struct bad_row *f = bad_first(b);

	json_object("bad_values");
	json_u64("rows", b->rows);
	json_u64("nan_rows", b->nan_rows);
	json_u64("inf_rows", b->inf_rows);
	json_u64("steps", b->steps + b->steps_beyond);
	json_list("ranks");
	for (unsigned i = 0; i < r->g.folders.n; i++)
		if (b->rank[i].rows)
			rank(r, NULL, i);
	json_end();
	if (!f) {
		json_null("first");
		json_end();
		return;
	}
	json_object("first");
	call(r, &f->call);
	json_string("io", f->out ? "out" : "in");
	number("index", f->index);
	json_string("dtype", f->dtype);
	json_string("shape", f->shape);
	json_string("name", f->name);
	json_u64("count", f->count);
	json_u64("nans", f->nans);
	json_u64("infs", f->infs);
	json_list("same_operation");
	for (unsigned i = 0; i < f->nsame && i < BAD_SAME_MAX; i++)
		rank(r, NULL, f->same[i]);
	json_end();
	stack(r, &f->call);
	json_end();
	json_end();
}

static void terms(const struct report *r, const char *key, const struct terms *t)
{
	json_object(key);
	rank(r, "rank", t->rank);
	json_string("api", intern_name(t->api));
	json_string("op", intern_name(t->op));
	json_string("redop", intern_name(t->redop));
	json_string("dtype", intern_name(t->dtype));
	number("root", t->root);
	json_u64("bytes", t->bytes);
	json_end();
}

static void unlike(const struct report *r)
{
	const struct unlike *u = &r->g.unlike;

	if (!u->any) {
		json_null("mismatch");
		return;
	}
	json_object("mismatch");
	json_string("differ_in", meet_unlike_name(u->what));
	comm("comm", u->comm);
	number("comm_seq", u->seq);
	json_u64("step", u->step);
	terms(r, "one", &u->a);
	terms(r, "other", &u->b);
	json_end();
}

/* ---- tables ---- */

static void operation(const struct report *r, const struct op_stat *s)
{
	json_object(NULL);
	json_string("lib", intern_name(s->lib));
	json_string("api", intern_name(s->api));
	json_string("op", intern_name(s->op));
	comm("comm", s->comm);
	json_u64("calls", s->calls);
	json_u64("rows", s->rows);
	json_u64("bytes", s->bytes);
	json_u64("open", s->open);
	json_u64("errors", s->errors);
	json_u64("async", s->async);
	json_u64("first_step", s->first_step);
	json_u64("last_step", s->last_step);
	hist("duration", &s->dur);
	seconds("wait_s", s->wait_ns);
	json_double("bytes_per_s", s->dur.sum > 0 ? (double)s->bytes / s->dur.sum * 1e9 : 0);
	json_double("share", r->g.life_ns > 0 ? s->blocked_ns / r->g.life_ns : 0);
	json_end();
}

static void slowest(struct report *r)
{
	json_list("slowest");
	for (unsigned i = 0; i < r->g.slow.n; i++) {
		const struct slow_call *s = &r->g.slow.top[i];

		json_object(NULL);
		call(r, &s->call);
		seconds("duration_s", (double)s->call.dur);
		json_u64("ranks", s->ranks);
		rank(r, "last_rank", s->last_rank);
		seconds("last_after_s", (double)s->behind);
		stack(r, &s->call);
		json_end();
	}
	json_end();
}

static void late(const struct report *r)
{
	const struct table *t = &r->g.late.comms;

	json_list("late");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct late_comm *c = table_at(t, i);
		struct straggler s = report_straggler(r, c);

		json_object(NULL);
		comm("comm", c->key.a);
		json_u64("operations", c->meetings);
		json_u64("incomplete", c->incomplete);
		json_u64("mismatches", c->unlike);
		hist("last_behind", &c->behind);
		hist("durations_differ", &c->spread);
		seconds("wait_s", c->wait_ns);
		seconds("stood_open_s", c->stood_ns);
		json_double("wait_share", s.cost);
		if (c->most) {
			rank(r, "most_often_last", (uint32_t)c->most->key.b);
			json_u64("times_last", c->most->last);
			hist("its_behind", &c->most->behind);
		}
		if (c->costly)
			rank(r, "most_waited_for", (uint32_t)c->costly->key.b);
		json_bool("straggler", s.matters);
		json_end();
	}
	json_end();
}

static void comms(const struct report *r)
{
	const struct table *t = &r->g.comms.table;

	json_list("comms");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct comm_info *c = table_at(t, i);

		json_object(NULL);
		comm("comm", c->key.a);
		json_string("lib", intern_name(c->lib));
		json_string("kind", intern_name(c->kind));
		json_string("name", intern_name(c->name));
		number("size", c->size < 0 ? NO_NUMBER : c->size);
		comm("parent", c->parent);
		json_string("world_ranks", c->ranks);
		json_end();
	}
	json_end();
}

static void ranks(struct report *r)
{
	json_list("ranks");
	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];
		const struct rank_info *k = &r->g.rank[i];

		json_object(NULL);
		rank(r, "rank", i);
		json_string("folder", d->name);
		json_string(
			"state", d->state == RANK_UNSEEN ? "unseen" : rank_state_name(d->state));
		json_string("host", d->meta.owner.host);
		json_i64("pid", d->meta.owner.pid);
		json_u64("calls", k->calls);
		json_u64("rows", k->rows);
		json_u64("damaged_lines", k->damaged);
		json_u64("last_step", k->last_step);
		json_i64("clock_correction_ns", r->g.skew[i]);
		json_double("own_s", d->meta.own_calls_s);
		json_double("writer_s", d->meta.own_writer_s);
		json_object("missing");
		for (unsigned m = 0; m < d->meta.nmissing; m++)
			json_string(d->meta.missing[m].name, d->meta.missing[m].text);
		json_end();
		if (k->last.rows) {
			json_object("last_call");
			call(r, &k->last);
			seconds("duration_s", (double)k->last.dur);
			json_end();
		}
		json_end();
	}
	json_end();
}

void report_json(struct report *r)
{
	const struct gather *g = &r->g;

	json_begin();
	json_object(NULL);
	head(r);
	json_list("left_out");
	for (unsigned i = 0; i < g->folders.nout; i++) {
		json_object(NULL);
		json_string("folder", g->folders.out[i].name);
		json_string("why", g->folders.out[i].why);
		json_end();
	}
	json_end();
	findings(r);
	open_calls(r);
	stuck(r);
	bad(r);
	unlike(r);
	json_list("operations");
	for (uint32_t i = 0; i < g->ops.table.n; i++)
		operation(r, table_at(&g->ops.table, i));
	if (g->ops.rest.calls)
		operation(r, &g->ops.rest);
	json_end();
	slowest(r);
	late(r);
	comms(r);
	ranks(r);
	json_end();
}
