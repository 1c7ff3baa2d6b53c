/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile of each rank as MindStudio Insight and `msprof-analyze cluster` read it: rank<R>_ascend_pt/ with
 * profiler_info_<R>.json, profiler_metadata.json and ASCEND_PROFILER_OUTPUT/{trace_view.json, step_trace_time.csv,
 * communication.json, communication_matrix.json} (msprof_analyze 26.2.0, cluster_analyse/); insight_memory.c adds memory.
 *
 * For a step: communication counts as overlapped while an operator of the step ran. Computing is the time in which operators
 * ran; the remaining time is free. If no operators were recorded, the time for which the rank's thread was blocked in calls is
 * communication that was not overlapped, and the remaining time is computing. For an operation: the wait time lasts until its
 * last rank arrived, the transit time from then on. The links that it used are not known, so a collective has one link, from
 * the rank to itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/export/export.h"
#include "tools/probe/model/join/shared_wait.h"

#define OPERATIONS_KEPT 4000000u

/* The time at which the last rank entered an operation. */
struct insight_last {
	struct table_key key;
	uint64_t start;
};

struct insight_op {
	uint64_t step, start, dur, wait, bytes, comm;
	int64_t seq;
	uint32_t op;
	int from, to; /* world ranks of a message; -1: a collective */
};

struct insight_step {
	uint64_t step, begin, end, blocked, received;
	/*
	 * Lengths of the unions of all calls in flight and of all operators, the ends of both so
	 * far, and the length of their intersection.
	 */
	uint64_t flight, flight_end, compute, compute_end, both;
};

struct insight {
	struct export *e;
	struct table last;
	struct insight_op *op;
	struct insight_step *step;
	struct shared_waits waits;
	unsigned nop, capop, nstep, capstep;
};

static bool is_insight_joined(const struct call *c)
{
	return c->comm && c->comm_seq != NO_NUMBER &&
	       !(c->bits & (CALL_P2P | CALL_LOCAL | CALL_NESTED));
}

static void record_last_arrival(struct insight *x, const struct walk_call *w)
{
	struct insight_last *l;

	if (!is_insight_joined(&w->call))
		return;
	l = table_get(&x->last, w->call.comm, (uint64_t)w->call.comm_seq);
	if (l && w->start > l->start)
		l->start = w->start;
}

/*
 * Adds [start, end) to a union of intervals, which come sorted by start. Only the part that is new
 * counts.
 */
static void add_interval(uint64_t start, uint64_t end, uint64_t *sum, uint64_t *sum_end,
	uint64_t other_end, uint64_t *both)
{
	uint64_t from = start > *sum_end ? start : *sum_end, to = end < other_end ? end : other_end;

	if (end <= *sum_end)
		return;
	*sum += end - from;
	*sum_end = end;
	/*
	 * The other union has no gap between `from` and its end: the interval that reaches beyond
	 * `from` began before it.
	 */
	if (to > from)
		*both += to - from;
}

/* Returns true for the sections whose functions compute. */
static bool is_computing_call(const struct call *c)
{
	static const char *const libs[] = {"aten", "mindspore", "blas", "cblas", "cublas", "acl"};

	for (size_t i = 0; !c->comm && i < sizeof(libs) / sizeof(*libs); i++)
		if (strcmp(intern_get_name(c->lib), libs[i]) == 0)
			return true;
	return false;
}

static void record_insight_step(struct insight *x, const struct walk_call *w, uint64_t end)
{
	const struct call *c = &w->call;
	struct insight_step *s = x->nstep ? &x->step[x->nstep - 1] : NULL;
	uint64_t held;

	if (!s || s->step != c->step) {
		if (s)
			s->end = w->start;
		TOOL_GROW(x->step, x->nstep, x->capstep);
		s = &x->step[x->nstep++];
		*s = (struct insight_step){.step = c->step, .begin = w->start};
	}
	if (end > s->end)
		s->end = end;
	if (is_computing_call(c))
		add_interval(w->start, end, &s->compute, &s->compute_end, s->flight_end, &s->both);
	if (!c->comm || c->bits & CALL_NESTED)
		return;
	held = add_held_time(&x->waits, c);
	s->blocked += held;
	if (strcmp(intern_get_name(c->op), "recv") == 0)
		s->received += held;
	add_interval(w->start, end, &s->flight, &s->flight_end, s->compute_end, &s->both);
}

static void record_insight_call(struct insight *x, const struct walk_call *w)
{
	const struct call *c = &w->call;
	const struct insight_last *l;
	struct insight_op *o;
	uint64_t dur = c->dur;

	if (c->bits & CALL_OPEN && x->e->report.g.until_ns > c->start)
		dur = x->e->report.g.until_ns - c->start;
	record_insight_step(x, w, w->start + dur);
	x->e->calls++;
	if (!c->comm || c->bits & CALL_NESTED)
		return;
	TOOL_GROW(x->op, x->nop, x->capop);
	o = &x->op[x->nop++];
	*o = (struct insight_op){.step = c->step,
		.start = w->start,
		.dur = dur,
		.bytes = call_get_bytes(c),
		.comm = c->comm,
		.seq = c->comm_seq,
		.op = c->op,
		.from = -1,
		.to = -1};
	if (c->bits & CALL_P2P) {
		bool recv = strcmp(intern_get_name(c->op), "recv") == 0;
		int me = x->e->report.g.folders.dir[c->rank].rank;
		int other = export_get_world_rank(x->e, c->comm, c->peer);

		o->from = recv ? other : me;
		o->to = recv ? me : other;
		return;
	}
	l = is_insight_joined(c) ? table_find(&x->last, c->comm, (uint64_t)c->comm_seq) : NULL;
	if (l && l->start > w->start)
		o->wait = l->start - w->start < dur ? l->start - w->start : dur;
}

/* ---- files ---- */

static double get_ms(uint64_t ns)
{
	return (double)ns * 1e-6;
}

static double get_mb(uint64_t bytes)
{
	return (double)bytes * 1e-6;
}

static void write_op_times(
	struct target *t, const struct export *e, uint64_t start, uint64_t dur, uint64_t wait)
{
	target_print(t,
		"\"Communication Time Info\": {\"Start Timestamp(us)\": %.3f, \"Elapse Time(ms)\": "
		"%.6f, \"Transit Time(ms)\": %.6f, \"Wait Time(ms)\": %.6f, \"Synchronization "
		"Time(ms)\": %.6f, \"Idle Time(ms)\": 0.0, \"Wait Time Ratio\": %.4f, "
		"\"Synchronization Time Ratio\": %.4f}",
		(double)(int64_t)(start - e->base_ns) * 1e-3, get_ms(dur), get_ms(dur - wait),
		get_ms(wait), get_ms(wait), dur ? (double)wait / (double)dur : 0,
		dur ? (double)wait / (double)dur : 0);
}

static void write_bandwidth(struct target *t, uint64_t bytes, uint64_t ns)
{
	static const char *const link[] = {"RDMA", "HCCS", "PCIE", "SDMA", "SIO"};

	target_write_text(t, "\"Communication Bandwidth Info\": {");
	for (unsigned i = 0; i < sizeof(link) / sizeof(*link); i++) {
		bool ours = i == 1 && bytes;

		target_print(t,
			"%s\"%s\": {\"Transit Size(MB)\": %.6f, \"Transit Time(ms)\": %.6f, "
			"\"Bandwidth(GB/s)\": %.6f, \"Large Packet Ratio\": 0.0, \"Size "
			"Distribution\": {",
			i ? ", " : "", link[i], ours ? get_mb(bytes) : 0, ours ? get_ms(ns) : 0,
			ours && ns ? (double)bytes / (double)ns : 0);
		if (ours)
			target_print(t, "\"%.6f\": [1, %.6f]", get_mb(bytes), get_ms(ns));
		target_write_text(t, "}}");
	}
	target_write_text(t, "}");
}

static void write_op_name(struct target *t, const struct insight_op *o, const char *suffix)
{
	target_print(t, "\"%s%s", intern_get_name(o->op), suffix);
	if (o->from >= 0 || o->to >= 0)
		target_print(t, "_%d_%d", o->from, o->to);
	if (!*suffix && o->seq != NO_NUMBER)
		target_print(t, "_%lld_%llu", (long long)o->seq, (unsigned long long)o->start);
	target_print(t, "@%016llx\": ", (unsigned long long)o->comm);
}

/* Writes the operations of one step, either messages or collectives. */
static void write_comm_ops(const struct insight *x, struct target *t, uint64_t step, bool messages)
{
	uint64_t bytes = 0, dur = 0, wait = 0, start = 0;
	bool some = false;

	target_print(t, "\"%s\": {", messages ? "p2p" : "collective");
	for (unsigned i = 0; i < x->nop; i++) {
		const struct insight_op *o = &x->op[i];

		if (o->step != step || messages != (o->from >= 0 || o->to >= 0))
			continue;
		target_write_text(t, some ? ",\n" : "\n");
		write_op_name(t, o, "");
		target_write_text(t, "{");
		write_op_times(t, x->e, o->start, o->dur, o->wait);
		target_write_text(t, ", ");
		write_bandwidth(t, o->bytes, o->dur - o->wait);
		target_write_text(t, "}");
		if (!some)
			start = o->start;
		some = true;
		bytes += o->bytes;
		dur += o->dur;
		wait += o->wait;
	}
	if (some) {
		target_write_text(t, ",\n\"Total Op Info\": {");
		write_op_times(t, x->e, start, dur, wait);
		target_write_text(t, ", ");
		write_bandwidth(t, bytes, dur - wait);
		target_write_text(t, "}");
	}
	target_write_text(t, "}");
}

/* Writes sums over the operations of one kind and communicator, from the first of them on. */
static void write_matrix_ops(
	const struct insight *x, struct target *t, uint64_t step, bool messages, int rank)
{
	bool some = false, *done = tool_alloc((x->nop + 1) * sizeof(*done));

	target_print(t, "\"%s\": {", messages ? "p2p" : "collective");
	for (unsigned i = 0; i < x->nop; i++) {
		const struct insight_op *o = &x->op[i];
		uint64_t bytes = 0, ns = 0;

		if (done[i] || o->step != step || messages != (o->from >= 0 || o->to >= 0))
			continue;
		for (unsigned k = i; k < x->nop && x->op[k].step == step; k++)
			if (x->op[k].op == o->op && x->op[k].comm == o->comm &&
				x->op[k].from == o->from && x->op[k].to == o->to) {
				done[k] = true;
				bytes += x->op[k].bytes;
				ns += x->op[k].dur - x->op[k].wait;
			}
		target_write_text(t, some ? ",\n" : "\n");
		some = true;
		write_op_name(t, o, "-total");
		target_print(t,
			"{\"%d-%d\": {\"Transport Type\": \"%s\", \"Transit Size(MB)\": %.6f, "
			"\"Transit Time(ms)\": %.6f, \"Bandwidth(GB/s)\": %.6f, \"op_name\": ",
			messages ? o->from : rank, messages ? o->to : rank,
			messages ? "HCCS" : "LOCAL", get_mb(bytes), get_ms(ns),
			ns ? (double)bytes / (double)ns : 0);
		target_write_json(t, intern_get_name(o->op));
		target_write_text(t, "}}");
	}
	target_write_text(t, "}");
	free(done);
}

static void write_step_times(const struct insight *x, struct target *t)
{
	target_write_text(t,
		"Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,"
		"Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing\n");
	for (unsigned i = 0; i < x->nstep; i++) {
		const struct insight_step *s = &x->step[i];
		uint64_t all = s->end > s->begin ? s->end - s->begin : 0;
		uint64_t blocked = s->blocked < all ? s->blocked : all;
		uint64_t received = s->received < blocked ? s->received : blocked;
		uint64_t flight = s->flight < all ? s->flight : all;
		uint64_t most = flight > blocked ? flight : blocked, free_ns = 0;
		uint64_t compute = all - blocked, exposed = blocked;

		if (s->compute) {
			compute = s->compute < all ? s->compute : all;
			exposed = most > s->both ? most - s->both : 0;
			exposed = exposed < all - compute ? exposed : all - compute;
			free_ns = all - compute - exposed;
			received = received < exposed ? received : exposed;
		}
		target_print(t, "%llu,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,0.000\n",
			(unsigned long long)s->step, get_ms(compute) * 1e3, get_ms(exposed) * 1e3,
			get_ms(most - exposed) * 1e3, get_ms(most) * 1e3, get_ms(free_ns) * 1e3,
			get_ms(all) * 1e3, get_ms(received) * 1e3,
			get_ms(exposed - received) * 1e3);
	}
}

static void write_step_files(const struct insight *x, struct target *t, bool matrix, int rank)
{
	target_write_text(t, "{");
	for (unsigned i = 0; i < x->nstep; i++) {
		target_print(t, "%s\"step%llu\": {", i ? ",\n" : "\n",
			(unsigned long long)x->step[i].step);
		for (int messages = 1; messages >= 0; messages--) {
			if (matrix)
				write_matrix_ops(x, t, x->step[i].step, messages, rank);
			else
				write_comm_ops(x, t, x->step[i].step, messages);
			target_write_text(t, messages ? ",\n" : "}");
		}
	}
	target_write_text(t, "\n}\n");
}

static void write_metadata(const struct insight *x, struct target *t, int rank)
{
	const struct gather *g = &x->e->report.g;
	int world = g->folders.world_size < 0 ? (int)g->folders.n : g->folders.world_size;
	bool some = false;

	target_print(t,
		"{\n\"distributed_args\": {\"tensor_model_parallel_size\": 1, "
		"\"pipeline_model_parallel_size\": 1, \"data_parallel_size\": %d, "
		"\"context_parallel_size\": 1, \"expert_model_parallel_size\": 1, "
		"\"world_size\": %d},\n\"parallel_group_info\": {",
		world, world);
	for (uint32_t i = 0; i < g->comms.table.n; i++) {
		const struct comm_info *c = table_at(&g->comms.table, i);
		int64_t at = -1;

		if (!c->member || !comm_has(c, rank))
			continue;
		for (unsigned k = 0; k < c->nmember; k++)
			at = c->member[k] == rank ? (int64_t)k : at;
		target_print(t, "%s\"%016llx\": {\"group_name\": ", some ? ",\n" : "\n",
			(unsigned long long)c->key.a);
		some = true;
		target_write_json(t, *intern_get_name(c->name) ? intern_get_name(c->name)
							       : intern_get_name(c->kind));
		target_print(t, ", \"group_rank\": %lld, \"global_ranks\": [", (long long)at);
		for (unsigned k = 0; k < c->nmember; k++)
			target_print(t, "%s%d", k ? ", " : "", c->member[k]);
		target_write_text(t, "]}");
	}
	target_write_text(t, "}\n}\n");
}

enum insight_file { FILE_TIMES, FILE_COMM, FILE_MATRIX, FILE_META, FILE_INFO, INSIGHT_FILES };

static int write_insight_file(struct insight *x, enum insight_file file, const char *dir, int rank)
{
	static const char *const name[] = {
		[FILE_TIMES] = "ASCEND_PROFILER_OUTPUT/step_trace_time.csv",
		[FILE_COMM] = "ASCEND_PROFILER_OUTPUT/communication.json",
		[FILE_MATRIX] = "ASCEND_PROFILER_OUTPUT/communication_matrix.json",
		[FILE_META] = "profiler_metadata.json",
		[FILE_INFO] = "profiler_info_",
	};
	char *path = file == FILE_INFO ? tool_format("%s/%s%d.json", dir, name[file], rank)
				       : tool_format("%s/%s", dir, name[file]);
	struct target t;
	int status = target_open(&t, path);

	free(path);
	if (status)
		return status;
	switch (file) {
	case FILE_TIMES:
		write_step_times(x, &t);
		break;
	case FILE_COMM:
	case FILE_MATRIX:
		write_step_files(x, &t, file == FILE_MATRIX, rank);
		break;
	case FILE_META:
		write_metadata(x, &t, rank);
		break;
	default:
		target_print(&t, "{\"rank_id\": %d, \"libprobe_version\": \"%s\"}\n", rank,
			PROBE_VERSION);
	}
	x->e->written += t.bytes;
	return target_close(&t, true);
}

static int write_insight_rank(struct insight *x, unsigned folder_index, const char *top)
{
	struct export *e = x->e;
	int rank = e->report.g.folders.dir[folder_index].rank, status;
	char *below = e->output ? tool_strdup("") : tool_format("rank_%d/", rank);
	char *dir = tool_format("%s/%srank%d_ascend_pt", top, below, rank);
	char *trace = tool_format("%s/ASCEND_PROFILER_OUTPUT/trace_view.json", dir);
	const struct walk_call *c;
	struct walk w;
	uint64_t calls;

	x->nop = x->nstep = 0;
	x->waits = (struct shared_waits){0};
	export_open_rank_walk(e, &w, folder_index);
	while ((c = walk_next(&w)))
		record_insight_call(x, c);
	walk_close(&w);
	calls = e->calls;
	status = export_write_rank_trace(e, trace, (int)folder_index);
	e->calls = calls;
	for (int i = 0; !status && i < INSIGHT_FILES; i++)
		status = write_insight_file(x, (enum insight_file)i, dir, rank);
	if (!status)
		status = write_insight_memory(e, dir, folder_index);
	free(below);
	free(dir);
	free(trace);
	return status;
}

int export_write_insight(struct export *e)
{
	struct insight x = {.e = e};
	const struct walk_call *c;
	struct walk w;
	char *top;
	int status = 0;

	if (e->output && strcmp(e->output, "-") == 0) {
		tool_error(
			"export: --format insight writes several files: --output names a folder");
		return STATUS_USAGE;
	}
	table_init(&x.last, sizeof(struct insight_last), OPERATIONS_KEPT);
	export_open_walk(e, &w);
	progress_start(&e->bar, true, w.bytes);
	while (!gather_stop_signal() && (c = walk_next(&w)))
		record_last_arrival(&x, c);
	progress_stop(&e->bar);
	walk_close(&w);
	top = export_format_path(e, "profile");
	for (unsigned i = 0; !status && !gather_stop_signal() && i < e->report.g.folders.n; i++)
		if (e->want[i] && e->report.g.folders.dir[i].rank >= 0)
			status = write_insight_rank(&x, i, top);
	if (!status && !gather_stop_signal()) {
		char *part = export_format_part(e);

		printf("%s: a profile of each rank: %s; MindStudio Insight and `msprof-analyze "
		       "cluster -m all -d %s` read it\n",
			top, part, top);
		free(part);
	}
	table_free(&x.last);
	free(x.op);
	free(x.step);
	free(top);
	return status;
}
