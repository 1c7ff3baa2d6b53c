/* SPDX-License-Identifier: Apache-2.0 */
/* `probe report --json`: the contents of the text, and also what the text omits or summarises. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/files/json.h"
#include "tools/lib/out.h"
#include "tools/probe/rules/measured.h"
#include "tools/probe/rules/report.h"
#include "tools/lib/tool.h"

static void write_seconds(const char *key, double ns)
{
	json_double(key, ns * 1e-9);
}

static void write_comm_id(const char *key, uint64_t id)
{
	char buf[20];

	snprintf(buf, sizeof(buf), "%016llx", (unsigned long long)id);
	json_string(key, id ? buf : NULL);
}

static void write_number_or_null(const char *key, int64_t v)
{
	if (v == NO_NUMBER)
		json_null(key);
	else
		json_i64(key, v);
}

static void write_rank_number(const struct report *r, const char *key, uint32_t index)
{
	int v = r->g.folders.dir[index].rank;

	if (v < 0)
		json_null(key);
	else
		json_i64(key, v);
}

static void write_rank_list(const char *key, const int *list, unsigned n)
{
	json_list(key);
	for (unsigned i = 0; i < n; i++)
		json_i64(NULL, list[i]);
	json_end();
}

static void write_json_stack(struct report *r, const struct call *c)
{
	char *text =
		stack_whole(&r->stacks, stacks_get(&r->stacks, c->rank, c->stack), r->with_stacks);

	json_string("stack", text);
	free(text);
}

/* Writes what a call is: without braces, its stack, its end and its values. */
static void write_call_description(struct report *r, const struct call *c)
{
	write_rank_number(r, "rank", c->rank);
	json_string("lib", intern_get_name(c->lib));
	json_string("api", intern_get_name(c->api));
	json_string("op", intern_get_name(c->op));
	write_comm_id("comm", c->comm);
	write_number_or_null("comm_seq", c->comm_seq);
	json_u64("step", c->step);
	json_u64("seq", c->seq);
	write_number_or_null("peer", c->peer);
	write_number_or_null("root", c->root);
	write_number_or_null("tag", c->tag);
	json_string("redop", intern_get_name(c->redop));
	json_string("dtype", intern_get_name(c->dtype));
	write_number_or_null("count", c->dtype ? (int64_t)c->count : NO_NUMBER);
	/* While a call's record is in the journal, its bytes may not be known. */
	write_number_or_null(
		"bytes", c->rows || call_get_bytes(c) ? (int64_t)call_get_bytes(c) : NO_NUMBER);
	json_u64("start_ns", c->start);
	json_bool("async", c->bits & CALL_ASYNC);
}

static void write_durations(const char *key, const struct hist *h)
{
	json_object(key);
	json_u64("n", h->n);
	write_seconds("total_s", h->sum);
	write_seconds("min_s", (double)h->min);
	write_seconds("median_s", (double)hist_quantile(h, 0.5));
	write_seconds("p99_s", (double)hist_quantile(h, 0.99));
	write_seconds("max_s", (double)h->max);
	json_end();
}

/* ---- head ---- */

static void write_count_sums(const struct report *r, const char *key, bool skipped)
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

static void write_json_head(const struct report *r)
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
	json_u64("schema", 1);
	json_u64("format", 1); /* the name of `schema` before 0.1.0; it goes with 0.2.0 */
	json_string("version", PROBE_VERSION);
	json_string("path", g->folders.path);
	json_string("run", g->folders.run);
	json_string("program", m->program);
	json_object("libraries");
	for (unsigned i = 0; i < m->nlibraries; i++)
		json_string(m->libraries[i].name, m->libraries[i].text);
	json_end();
	write_number_or_null(
		"world_size", g->folders.world_size < 0 ? NO_NUMBER : g->folders.world_size);
	json_u64("ranks_seen", g->nasked);
	json_object("states");
	for (int s = 0; s < RANK_STATES; s++)
		if (n[s])
			json_u64(rank_state_get_key((enum rank_state)s), n[s]);
	json_end();
	json_u64("hosts", g->hosts.nhost);
	json_u64("first_ns", g->first_ns);
	json_u64("last_ns", g->last_ns);
	write_seconds("duration_s", g->any ? (double)(g->until_ns - g->first_ns) : 0);
	json_object("steps");
	write_number_or_null("first", g->any ? (int64_t)g->first_step : NO_NUMBER);
	write_number_or_null("last", g->any ? (int64_t)g->last_step : NO_NUMBER);
	json_u64("current", now);
	json_string("source", m->step_source);
	report_period_json(r);
	json_end();
	json_u64("calls", g->calls);
	json_u64("rows", g->rows);
	json_u64("journal_bytes", folders_get_journal_bytes(&g->folders));
	json_u64("bytes", g->bytes);
	json_u64("errors", g->errors);
	json_u64("calls_seen", seen);
	json_u64("calls_recorded", recorded);
	write_count_sums(r, "dropped", false);
	write_count_sums(r, "skipped", true);
	json_u64("lost_rows", lost);
	json_u64("removed_blocks", removed);
	json_u64("damaged_lines", damaged);
	json_u64("truncated_files", truncated);
	write_seconds("rank_time_s", g->life_ns);
	write_seconds("read_s", g->seconds * 1e9);
}

/* Writes the finding's position in the program and in the run. Unknown members are null. */
static void write_finding_place(struct report *r, const struct finding *f)
{
	const struct call *c = f->has_call ? &f->call : NULL;
	const bool made = c && c->api; /* false: a rank and a step are known, but no call */
	char file[512];
	unsigned line = 0;
	bool known;

	write_number_or_null("step", c ? (int64_t)c->step : NO_NUMBER);
	write_comm_id("comm", c ? c->comm : 0);
	write_number_or_null("comm_seq", c ? c->comm_seq : NO_NUMBER);
	json_string("op", made && *intern_get_name(c->op) ? intern_get_name(c->op) : NULL);
	json_string("api", made ? intern_get_name(c->api) : NULL);
	write_number_or_null("seq", made ? (int64_t)c->seq : NO_NUMBER);
	known = c && c->stack &&
		stack_line(&r->stacks, stacks_get(&r->stacks, c->rank, c->stack), file,
			sizeof(file), &line);
	json_string("file", known ? file : NULL);
	write_number_or_null("line", known ? (int64_t)line : NO_NUMBER);
}

/* Writes null if the kind was not measured. */
static void write_measurement(const struct finding *f)
{
	const struct measurement *m =
		find_measurement(measurements, f->kind, severity_word(f->severity));

	json_double("confidence", compute_right_share(m));
	if (!m) {
		json_null("measured");
		return;
	}
	json_object("measured");
	json_u64("right", m->right);
	json_u64("wrong", m->wrong);
	json_u64("runs", m->runs);
	json_u64("programs", m->programs);
	json_string("set", name_measured_set(m->set));
	json_u64("clean_runs", m->clean_runs);
	json_u64("clean_programs", m->clean_programs);
	json_u64("clean_accused", m->clean_accused);
	json_end();
}

/* Writes an object with the reason for each kind in this state. */
static void write_reasons(const struct run_verdict *v, const char *key, enum check_state state)
{
	json_object(key);
	for (unsigned i = 0; i < CHECKED_KINDS; i++)
		if (v->check[i].state == state)
			json_string(v->check[i].kind, v->check[i].reason);
	json_end();
}

static void write_verdict_detail(const struct run_verdict *v)
{
	char *detail = format_verdict_detail(v), *rest;

	json_list("detail");
	for (char *line = strtok_r(detail, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		json_string(NULL, line);
	json_end();
	free(detail);
}

static void write_verdict_alerts(const struct alert_rules *a)
{
	json_list("alert_rules");
	for (unsigned i = 0; i < a->n; i++) {
		const struct ran_rule *r = &a->rule[i];

		json_object(NULL);
		json_string("rule", r->word);
		if (r->checked == ALERT_CHECKED_UNKNOWN)
			json_null("checked");
		else
			json_bool("checked", r->checked == ALERT_CHECKED_VALUES);
		json_u64("alerts", r->alerts);
		json_u64("count", r->count);
		if (r->alerts)
			json_u64("first_step", r->first_step);
		json_list("ranks");
		for (unsigned k = 0; k < r->nrank; k++)
			json_i64(NULL, r->rank[k]);
		json_end();
		json_end();
	}
	json_end();
}

void write_json_verdict(const struct run_verdict *v)
{
	char *text = format_verdict(v);

	json_object("verdict");
	json_string("text", text);
	json_u64("faults", v->faults);
	json_u64("warnings", v->warnings);
	json_bool("incomplete", v->incomplete);
	json_list("checked");
	for (unsigned i = 0; i < CHECKED_KINDS; i++)
		if (v->check[i].state == CHECKED)
			json_string(NULL, v->check[i].kind);
	json_end();
	write_reasons(v, "partly", CHECKED_PARTLY);
	write_reasons(v, "not_checked", NOT_CHECKED);
	write_verdict_detail(v);
	write_verdict_alerts(&v->alerts);
	json_end();
	free(text);
}

static void write_bad_end(const char *name, const struct bad_end *e)
{
	if (e->rank < 0)
		return;
	json_object(name);
	json_i64("rank", e->rank);
	json_u64("at_ns", e->at_ns);
	json_string("how", e->how);
	json_end();
}

static void write_attempts(const struct attempts *a)
{
	json_list("attempts");
	for (unsigned i = 0; i < a->n; i++) {
		const struct attempt *t = &a->at[i];

		json_object(NULL);
		json_string("attempt", t->name);
		json_i64("world_size", t->world_size);
		json_u64("ranks", t->ranks);
		json_u64("last_step", t->last_step);
		json_bool("running", t->runs);
		write_bad_end("ended", &t->first);
		write_bad_end("ended_next", &t->second);
		if (t->first.rank >= 0 && is_first_end_clear(t))
			json_i64("first_rank", t->first.rank);
		json_end();
	}
	json_end();
}

static void write_json_findings(
	struct report *r, const char *key, const struct finding *finding, unsigned n)
{
	json_list(key);
	for (unsigned i = 0; i < n; i++) {
		const struct finding *f = &finding[i];

		json_object(NULL);
		json_string("severity", severity_word(f->severity));
		json_string("kind", f->kind);
		json_string("text", f->text);
		write_measurement(f);
		json_string("what", f->what);
		write_rank_list("ranks", f->rank, f->nrank);
		write_rank_list("others", f->other, f->nother);
		write_finding_place(r, f);
		json_string("evidence", f->evidence);
		json_string("next", f->next);
		if (finding == r->finding)
			write_json_findings(r, "consequences", f->consequence, f->nconsequence);
		json_end();
	}
	json_end();
}

/* ---- open calls ---- */

static void write_json_open_calls(struct report *r)
{
	json_list("open");
	for (unsigned i = 0; i < r->g.opens.n; i++) {
		const struct open_call *c = &r->g.opens.call[i];

		json_object(NULL);
		write_call_description(r, &c->call);
		write_seconds("age_s", (double)c->age);
		json_bool("waiting", c->waiting);
		json_bool("finished", c->ended_ok);
		json_u64("thread", c->call.thread);
		write_json_stack(r, &c->call);
		json_end();
	}
	json_end();
}

static void write_stuck_calls(struct report *r)
{
	static const char *const why[] = {
		[ABSENT_NEVER] = "never entered",
		[ABSENT_OTHER] = "in another call",
		[ABSENT_PAST] = "left already",
		[ABSENT_ENDED] = "finished",
		[ABSENT_NO_DATA] = "no folder",
		[ABSENT_UNREAD] = "not read",
		[ABSENT_THINNED] = "calls skipped",
	};
	const struct stuck *cause = stuck_cause(&r->stuck, &r->g);

	json_list("stuck");
	for (unsigned i = 0; i < r->stuck.n; i++) {
		const struct stuck *s = &r->stuck.stuck[i];

		json_object(NULL);
		json_string("api", intern_get_name(s->sample->call.api));
		json_string("op", intern_get_name(s->sample->call.op));
		write_comm_id("comm", s->sample->call.comm);
		write_number_or_null("comm_seq", s->joined ? s->sample->call.comm_seq : NO_NUMBER);
		json_bool("cause", s == cause);
		json_bool("async", s->async);
		json_bool("waiting", s->sample->waiting);
		write_seconds("age_s", (double)s->took_max);
		write_rank_list("ranks", s->rank, s->n);
		json_list("absent");
		for (unsigned k = 0; k < s->nabsent; k++) {
			const struct absent *a = &s->absent[k];

			json_object(NULL);
			write_rank_list("ranks", a->rank, a->n);
			json_string("why", why[a->why]);
			if (a->in || a->last) {
				json_object(a->in ? "in" : "last");
				write_call_description(r, a->in ? &a->in->call : a->last);
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

static void write_bad_values(struct report *r)
{
	const struct bad *b = &r->g.bad;
	const struct bad_row *f = bad_find_first(b);

	json_object("bad_values");
	json_u64("rows", b->rows);
	json_u64("nan_rows", b->nan_rows);
	json_u64("inf_rows", b->inf_rows);
	json_u64("steps", b->steps + b->steps_beyond);
	json_list("ranks");
	for (unsigned i = 0; i < r->g.folders.n; i++)
		if (b->rank[i].rows)
			write_rank_number(r, NULL, i);
	json_end();
	if (!f) {
		json_null("first");
		json_end();
		return;
	}
	json_object("first");
	write_call_description(r, &f->call);
	json_string("io", f->out ? "out" : "in");
	write_number_or_null("index", f->index);
	json_string("dtype", f->dtype);
	json_string("shape", f->shape);
	json_string("name", f->name);
	json_u64("count", f->count);
	json_u64("nans", f->nans);
	json_u64("infs", f->infs);
	json_list("same_operation");
	for (unsigned i = 0; i < f->nsame && i < BAD_SAME_MAX; i++)
		write_rank_number(r, NULL, f->same[i]);
	json_end();
	write_json_stack(r, &f->call);
	json_end();
	json_end();
}

static void write_json_terms(const struct report *r, const char *key, const struct terms *t)
{
	json_object(key);
	write_rank_number(r, "rank", t->rank);
	json_string("api", intern_get_name(t->api));
	json_string("op", intern_get_name(t->op));
	json_string("redop", intern_get_name(t->redop));
	json_string("dtype", intern_get_name(t->dtype));
	write_number_or_null("root", t->root);
	write_number_or_null("bytes", t->open && !t->bytes ? NO_NUMBER : (int64_t)t->bytes);
	json_end();
}

static void write_mismatch(const struct report *r)
{
	const struct mismatch *u = &r->g.mismatch;

	if (!u->any) {
		json_null("mismatch");
		return;
	}
	json_object("mismatch");
	json_string("differ_in", meet_mismatch_name(u->what));
	write_comm_id("comm", u->comm);
	write_number_or_null("comm_seq", u->seq);
	json_u64("step", u->step);
	write_json_terms(r, "one", &u->a);
	write_json_terms(r, "other", &u->b);
	json_end();
}

/* ---- tables ---- */

static void write_operation(const struct report *r, const struct op_stat *s)
{
	json_object(NULL);
	json_string("lib", intern_get_name(s->lib));
	json_string("api", intern_get_name(s->api));
	json_string("op", intern_get_name(s->op));
	write_comm_id("comm", s->comm);
	json_u64("calls", s->calls);
	json_u64("rows", s->rows);
	json_u64("bytes", s->bytes);
	json_u64("open", s->open);
	json_u64("errors", s->errors);
	json_u64("async", s->async);
	json_u64("first_step", s->first_step);
	json_u64("last_step", s->last_step);
	write_durations("duration", &s->dur);
	write_seconds("wait_s", s->waited || !s->async ? s->wait_ns : NAN);
	json_double("bytes_per_s", s->dur.sum > 0 ? (double)s->bytes / s->dur.sum * 1e9 : 0);
	if (s->on_device) {
		json_u64("on_device", s->on_device);
		write_seconds("device_s", s->device_ns);
		json_double("algorithm_bytes_per_s", s->device_bytes / s->device_ns * 1e9);
		json_double("bus_bytes_per_s", s->bus_bytes / s->device_ns * 1e9);
	}
	json_double(
		"share", ops_blocked_known(s) || !s->async ? s->blocked_ns / r->g.life_ns : NAN);
	json_end();
}

static void write_slowest_calls(struct report *r)
{
	json_list("slowest");
	for (unsigned i = 0; i < r->g.slow.n; i++) {
		const struct slow_call *s = &r->g.slow.top[i];

		json_object(NULL);
		write_call_description(r, &s->call);
		write_seconds("duration_s", (double)s->call.dur);
		json_u64("ranks", s->ranks);
		write_rank_number(r, "last_rank", s->last_rank);
		write_seconds("last_after_s", (double)s->lag);
		write_json_stack(r, &s->call);
		json_end();
	}
	json_end();
}

static void write_late_ranks(const struct report *r)
{
	const struct table *t = &r->g.late.comms;

	json_list("late");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct late_comm *c = table_at(t, i);
		struct straggler s = report_straggler(r, c);

		json_object(NULL);
		write_comm_id("comm", c->key.a);
		json_u64("operations", c->meetings);
		json_u64("waited_in", c->held);
		json_u64("incomplete", c->incomplete);
		json_u64("mismatches", c->mismatch);
		write_durations("last_behind", &c->lag);
		write_durations("durations_differ", &c->spread);
		write_seconds("wait_s", c->wait_ns);
		write_seconds("stood_open_s", c->stood_ns);
		json_double("wait_share", s.cost);
		if (c->most) {
			write_rank_number(r, "most_often_last", (uint32_t)c->most->key.b);
			json_u64("times_last", c->most->last);
			write_durations("its_behind", &c->most->lag);
		}
		if (c->costly)
			write_rank_number(r, "most_waited_for", (uint32_t)c->costly->key.b);
		json_bool("straggler", s.matters);
		json_end();
	}
	json_end();
}

static void write_json_comms(const struct report *r)
{
	const struct table *t = &r->g.comms.table;

	json_list("comms");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct comm_info *c = table_at(t, i);

		json_object(NULL);
		write_comm_id("comm", c->key.a);
		json_string("lib", intern_get_name(c->lib));
		json_string("kind", intern_get_name(c->kind));
		json_string("name", intern_get_name(c->name));
		write_number_or_null("size", c->size < 0 ? NO_NUMBER : c->size);
		write_comm_id("parent", c->parent);
		json_string("world_ranks", c->ranks);
		json_end();
	}
	json_end();
}

static void write_ranks(struct report *r)
{
	json_list("ranks");
	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];
		const struct rank_info *k = &r->g.rank[i];

		json_object(NULL);
		write_rank_number(r, "rank", i);
		json_string("folder", d->name);
		json_string("state", rank_state_get_key(d->state));
		json_string("host", d->meta.owner.host);
		json_i64("pid", d->meta.owner.pid);
		json_u64("calls", k->calls);
		json_u64("rows", k->rows);
		json_u64("damaged_lines", k->damaged);
		json_u64("last_step", k->last_step);
		json_i64("clock_correction_ns", -r->g.skew[i].ahead);
		json_u64("clock_at_ns", r->g.skew[i].at);
		json_double("clock_drift_ppm", r->g.skew[i].drift * 1e6);
		json_double("clock_error_ns", r->g.skew[i].error_ns);
		json_double("own_s", d->meta.own_calls_s);
		json_double("writer_s", d->meta.own_writer_s);
		json_object("missing");
		for (unsigned m = 0; m < d->meta.nmissing; m++)
			json_string(d->meta.missing[m].name, d->meta.missing[m].text);
		json_end();
		if (k->last.rows) {
			json_object("last_call");
			write_call_description(r, &k->last);
			write_seconds("duration_s", (double)k->last.dur);
			json_end();
		}
		json_end();
	}
	json_end();
}

void print_report_json(struct report *r)
{
	const struct gather *g = &r->g;

	json_begin();
	json_object(NULL);
	write_json_head(r);
	write_attempts(&r->attempts);
	json_list("left_out");
	for (unsigned i = 0; i < g->folders.nout; i++) {
		json_object(NULL);
		json_string("folder", g->folders.out[i].name);
		json_string("why", g->folders.out[i].why);
		json_end();
	}
	json_end();
	write_json_verdict(&r->verdict);
	write_json_findings(r, "findings", r->finding, r->nfinding);
	write_json_open_calls(r);
	write_stuck_calls(r);
	write_bad_values(r);
	write_mismatch(r);
	json_list("operations");
	for (uint32_t i = 0; i < g->ops.table.n; i++)
		write_operation(r, table_at(&g->ops.table, i));
	if (g->ops.rest.calls)
		write_operation(r, &g->ops.rest);
	json_end();
	write_slowest_calls(r);
	write_late_ranks(r);
	step_numbers_json(&r->numbers, g);
	write_json_comms(r);
	write_ranks(r);
	json_end();
}
