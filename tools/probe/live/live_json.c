/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "tools/lib/intern.h"
#include "tools/lib/files/json.h"
#include "tools/probe/live/live.h"
#include "tools/probe/live/live_verdict.h"
#include "tools/probe/model/read/calls.h"

/* JSON has no non-finite numbers: they are written as strings, as in alerts.jsonl. */
static void write_live_number(const struct live_number *n)
{
	if (isfinite(n->value))
		json_double(n->name, n->value);
	else
		json_string(n->name, isnan(n->value) ? "nan" : n->value < 0 ? "-inf" : "inf");
}

static void write_live_numbers(const struct live_rank *r)
{
	json_object("numbers");
	for (unsigned i = 0; i < r->nnumber; i++)
		write_live_number(&r->number[i]);
	json_end();
}

static void write_live_ops(const struct live *l, const struct live_rank *r)
{
	char bucket[LIVE_BUCKET_MAX], label[COMM_LABEL_MAX], id[24];

	json_list("operations");
	for (unsigned i = 0; i < r->nop; i++) {
		const struct live_op *o = &r->op[i];

		json_object(NULL);
		json_string("lib", intern_get_name(o->lib));
		json_string("op", intern_get_name(o->op));
		snprintf(id, sizeof(id), "%016llx", (unsigned long long)o->comm);
		json_string("comm", id);
		json_string("comm_name", comm_format_label(&l->comms, o->comm, label));
		if (o->size != NO_NUMBER)
			json_i64("size", o->size);
		json_string("message_size", live_format_bucket(o->bucket, bucket));
		json_u64("calls", o->n);
		if (o->timed) {
			json_double("time_us", o->us / (double)o->timed);
			json_double("algorithm_gbs", exp(o->log_algorithm / (double)o->timed));
			json_double("bus_gbs", exp(o->log_bus / (double)o->timed));
		}
		json_end();
	}
	json_end();
}

static void write_live_rank(const struct live *l, const struct live_rank *r)
{
	json_object(NULL);
	json_i64("rank", r->rank);
	json_string("host", r->dir->meta.owner.host);
	json_i64("pid", r->dir->meta.owner.pid);
	json_string("state", rank_state_get_key(r->dir->state));
	json_u64("step", r->step);
	if (r->dir->alive_ns && r->dir->alive_ns < l->now)
		json_double("silent_s", (double)(l->now - r->dir->alive_ns) / 1e9);
	json_double("iteration_ms", r->mean_ms);
	json_double("exposed_communication", r->exposed);
	json_double("late_ms", r->late_ms);
	json_bool("straggler", r->straggler);
	json_u64("alerts", r->alerts);
	if (r->open) {
		json_string("stands_in", r->open);
		json_double("stands_s", (double)r->open_ns / 1e9);
	}
	if (r->last_call) {
		json_string("last_call", r->last_call);
		json_u64("last_call_step", r->last_step);
		if (l->now > r->last_end_ns)
			json_double("last_call_s", (double)(l->now - r->last_end_ns) / 1e9);
	}
	if (get_nonfinite_of_rank(l->verdict, r->rank) != UINT64_MAX)
		json_u64("nonfinite_tensors", get_nonfinite_of_rank(l->verdict, r->rank));
	json_list("step_ms");
	for (unsigned i = 0; i < r->nms; i++)
		json_double(NULL, r->ms[i]);
	json_end();
	json_u64("calls_seen", r->dir->meta.seen);
	json_u64("calls_recorded", r->dir->meta.recorded);
	write_live_numbers(r);
	write_live_ops(l, r);
	json_end();
}

static void write_live_verdict(const struct live_verdict *v)
{
	if (!v || !v->known)
		return;
	write_json_verdict(&v->verdict);
	json_list("faults");
	for (unsigned i = 0; i < v->n; i++) {
		const struct live_fault *f = &v->fault[i];

		json_object(NULL);
		json_string("kind", f->kind);
		json_string("severity", severity_word(f->severity));
		json_string("ranks", f->ranks);
		if (f->has_step)
			json_u64("step", f->step);
		json_string("text", f->line);
		json_end();
	}
	json_end();
}

void live_print_json(const struct live *l, FILE *f)
{
	json_begin_in(f);
	json_object(NULL);
	json_u64("schema", 1);
	json_string("path", l->folders.path);
	json_string("run", l->folders.run);
	json_i64("world_size", l->folders.world_size);
	json_double("unix_s", (double)l->now / 1e9);
	json_bool("running", l->runs);
	json_u64("step", l->step);
	write_live_verdict(l->verdict);
	json_list("ranks");
	for (unsigned i = 0; i < l->folders.n; i++)
		write_live_rank(l, &l->rank[i]);
	json_end();
	json_list("alerts");
	for (unsigned i = 0; i < l->nalert; i++) {
		const struct live_alert *a = &l->alert[i];

		json_object(NULL);
		json_i64("rank", a->rank);
		json_string("rule", a->rule);
		json_u64("first_step", a->first_step);
		json_u64("last_step", a->last_step);
		json_u64("count", a->count);
		json_string("text", a->text);
		json_end();
	}
	json_end();
	json_end();
}
