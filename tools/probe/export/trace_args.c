/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/export/trace_args.h"

#include <stdio.h>

#include "tools/lib/intern.h"

static void write_number_arg(struct target *t, const char *key, int64_t v)
{
	if (v != NO_NUMBER)
		target_print(t, ",\"%s\":%lld", key, (long long)v);
}

void write_text_arg(struct target *t, const char *key, const char *v)
{
	if (!*v)
		return;
	target_print(t, ",\"%s\":", key);
	target_write_json(t, v);
}

static void write_stats_arg(struct target *t, const char *key, const struct walk_stats *s)
{
	if (!s->known)
		return;
	target_print(t, ",\"%s\":{\"min\":", key);
	target_write_double(t, s->min);
	target_write_text(t, ",\"max\":");
	target_write_double(t, s->max);
	target_write_text(t, ",\"mean\":");
	target_write_double(t, s->mean);
	target_write_text(t, ",\"norm\":");
	target_write_double(t, s->norm);
	target_print(t, ",\"nans\":%llu,\"infs\":%llu}", (unsigned long long)s->nans,
		(unsigned long long)s->infs);
}

/* Writes the data of a collective with the names that PyTorch's profiler uses. */
void write_collective_args(struct export *e, struct target *t, const struct walk_call *w)
{
	const struct call *c = &w->call;
	const struct comm_info *k = comms_find(&e->report.g.comms, c->comm);
	char label[COMM_LABEL_MAX], id[20];

	if (!c->comm)
		return;
	snprintf(id, sizeof(id), "%016llx", (unsigned long long)c->comm);
	write_text_arg(t, "Collective name", intern_get_name(c->op));
	target_print(t, ",\"In msg nelems\":%llu,\"Out msg nelems\":%llu",
		(unsigned long long)w->in_count, (unsigned long long)w->out_count);
	write_number_arg(t, "Group size", c->size);
	write_text_arg(t, "Process Group Name", id);
	write_text_arg(t, "Process Group Description",
		comm_format_label(&e->report.g.comms, c->comm, label));
	if (k && k->ranks && *k->ranks) {
		target_write_text(t, ",\"Process Group Ranks\":\"");
		target_write_text(t, k->ranks);
		target_write_text(t, "\"");
	}
}

void write_call_args(struct export *e, struct target *t, const struct walk_call *w)
{
	const struct call *c = &w->call;

	target_print(t, ",\"args\":{\"External id\":%llu,\"step\":%llu", (unsigned long long)c->seq,
		(unsigned long long)c->step);
	write_text_arg(t, "op", intern_get_name(c->op));
	write_text_arg(t, "lib", intern_get_name(c->lib));
	write_collective_args(e, t, w);
	write_text_arg(t, "dtype", intern_get_name(c->dtype));
	write_text_arg(t, "shape", w->has_shape ? w->shape : "");
	write_number_arg(t, "comm_seq", c->comm_seq);
	write_text_arg(t, "redop", intern_get_name(c->redop));
	write_number_arg(t, "root", c->root);
	write_number_arg(t, "peer", c->peer);
	write_number_arg(t, "tag", c->tag);
	target_print(t, ",\"bytes\":%llu", (unsigned long long)call_get_bytes(c));
	if (c->bits & CALL_WAITED) {
		target_write_text(t, ",\"wait_us\":");
		target_write_us(t, (int64_t)c->wait);
	}
	if (c->bits & CALL_OPEN)
		target_write_text(t, ",\"open\":true");
	if (c->bits & CALL_ERROR)
		target_print(t, ",\"error\":%lld", (long long)c->error);
	write_text_arg(t, "phase", intern_get_name(w->phase));
	if (e->level >= 2) {
		write_stats_arg(t, "in", &w->in);
		write_stats_arg(t, "out", &w->out);
	}
	write_text_arg(t, "called from", export_get_stack(e, c->rank, c->stack));
	target_write_text(t, "}}");
}
