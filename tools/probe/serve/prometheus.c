/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of collectives and messages are those of NCCL's Inspector (its exporter for Prometheus, in NCCL 2.28 and later):
 * nccl_bus_bandwidth_gbs, nccl_algorithm_bandwidth_gbs, nccl_collective_exec_time_microseconds, nccl_p2p_bus_bandwidth_gbs,
 * nccl_p2p_exec_time_microseconds, with its labels, so that its dashboards show them. All other names begin with probe_.
 */
#include "tools/probe/serve/prometheus.h"
#include "tools/probe/live/live_verdict.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"
#include "tools/lib/intern.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/calls.h"

static const struct {
	char unit[12];
	const char *help;
} scalar_texts[SCALARS] = {
#define SCALAR(id, name, ranks, unit, source, help) {unit, help},
#include "terms/scalars.def"
};

/* ---- text ---- */

static void write_metric_head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s ", name);
	for (; *help; help++) {
		if (*help == '\\' || *help == '\n')
			putc('\\', f);
		putc(*help == '\n' ? 'n' : *help, f);
	}
	fprintf(f, "\n# TYPE %s %s\n", name, type);
}

/* Labels are UTF-8. Invalid bytes and control characters become a question mark. */
static void write_label(FILE *f, const char *sep, const char *key, const char *value)
{
	fprintf(f, "%s%s=\"", sep, key);
	while (*value) {
		int n = text_measure_utf8(value);

		if (*value == '\\' || *value == '"') {
			putc('\\', f);
			putc(*value++, f);
		} else if (*value == '\n') {
			fputs("\\n", f);
			value++;
		} else if (n < 1 || (unsigned char)*value < 0x20) {
			putc('?', f);
			value++;
		} else {
			fwrite(value, 1, (size_t)n, f);
			value += n;
		}
	}
	putc('"', f);
}

static void write_rank_label(FILE *f, const char *sep, const struct live_rank *r)
{
	char number[24] = "";

	if (r->rank >= 0)
		snprintf(number, sizeof(number), "%d", r->rank);
	/* Processes without a rank are distinguished by their folder, so that each has its own series. */
	write_label(f, sep, "rank", r->rank >= 0 ? number : r->dir->label);
}

static void write_sample_value(FILE *f, double v)
{
	if (isnan(v))
		fputs("} NaN\n", f);
	else if (isinf(v))
		fputs(v < 0 ? "} -Inf\n" : "} +Inf\n", f);
	else
		fprintf(f, "} %.15g\n", v);
}

/* ---- metrics of ranks ---- */

struct rank_metric {
	const char *name, *type, *help;
	/* NAN: the rank has no value */
	double (*value)(const struct live *l, const struct live_rank *r);
};

static double get_step_value(const struct live *l, const struct live_rank *r)
{
	(void)l;
	return (double)r->step;
}

static double get_alive_value(const struct live *l, const struct live_rank *r)
{
	(void)l;
	return r->dir->alive_ns ? (double)r->dir->alive_ns / 1e9 : (double)NAN;
}

static double get_mean_time_value(const struct live *l, const struct live_rank *r)
{
	(void)l;
	return r->mean_ms / 1e3;
}

static double get_exposed_value(const struct live *l, const struct live_rank *r)
{
	(void)l;
	return r->exposed;
}

static double get_late_value(const struct live *l, const struct live_rank *r)
{
	(void)l;
	return r->late_ms / 1e3;
}

static double get_straggler_value(const struct live *l, const struct live_rank *r)
{
	(void)l;
	return r->met ? r->straggler : (double)NAN;
}

static double get_open_value(const struct live *l, const struct live_rank *r)
{
	(void)l;
	return (double)r->open_ns / 1e9;
}

static double get_alerts_value(const struct live *l, const struct live_rank *r)
{
	(void)l;
	return (double)r->alerts;
}

static double get_seen_value(const struct live *l, const struct live_rank *r)
{
	(void)l;
	return (double)r->dir->meta.seen;
}

static double get_recorded_value(const struct live *l, const struct live_rank *r)
{
	(void)l;
	return (double)r->dir->meta.recorded;
}

static const struct rank_metric rank_metrics[] = {
	{"probe_step", "gauge", "Current step of the rank", get_step_value},
	{"probe_alive_timestamp_seconds", "gauge", "Last sign of life of the rank, Unix epoch",
		get_alive_value},
	{"probe_step_time_mean_seconds", "gauge", "Time of a step, mean of the latest 64",
		get_mean_time_value},
	{"probe_exposed_communication_ratio", "gauge",
		"Share of the time in which the training's thread was blocked in communication",
		get_exposed_value},
	{"probe_late_seconds", "gauge",
		"Delay after the first rank at the start of collectives, mean of the latest",
		get_late_value},
	{"probe_straggler", "gauge", "1: the other ranks wait for this rank", get_straggler_value},
	{"probe_open_call_seconds", "gauge", "Age of the oldest call that blocks the rank, 0: none",
		get_open_value},
	{"probe_alerts_total", "counter", "How often rules fired", get_alerts_value},
	{"probe_calls_seen_total", "counter", "Calls of recorded functions", get_seen_value},
	{"probe_calls_recorded_total", "counter", "Calls that were recorded", get_recorded_value},
};

static void write_rank_metrics(const struct live *l, FILE *f)
{
	for (unsigned i = 0; i < sizeof(rank_metrics) / sizeof(*rank_metrics); i++) {
		const struct rank_metric *m = &rank_metrics[i];

		write_metric_head(f, m->name, m->type, m->help);
		for (unsigned k = 0; k < l->folders.n; k++) {
			double v = m->value(l, &l->rank[k]);

			if (isnan(v))
				continue;
			fputs(m->name, f);
			write_rank_label(f, "{", &l->rank[k]);
			write_sample_value(f, v);
		}
	}
	write_metric_head(f, "probe_rank_info", "gauge", "Host, process and state of a rank");
	for (unsigned k = 0; k < l->folders.n; k++) {
		fputs("probe_rank_info", f);
		write_rank_label(f, "{", &l->rank[k]);
		write_label(f, ",", "node", l->rank[k].dir->meta.owner.host);
		write_label(f, ",", "state", rank_state_get_key(l->rank[k].dir->state));
		write_label(f, ",", "version",
			l->rank[k].dir->meta.version ? l->rank[k].dir->meta.version : "");
		write_sample_value(f, 1);
	}
	write_metric_head(f, "probe_running", "gauge", "1: a rank of the job runs");
	fprintf(f, "probe_running %d\n", l->runs);
}

/* ---- numbers of the training ---- */

/*
 * Formats the metric of a scalar: loss is probe_loss, iteration-time is
 * probe_iteration_time_milliseconds.
 */
static void format_scalar_metric(char *buf, size_t cap, enum scalar scalar_id)
{
	const char *unit = scalar_texts[scalar_id].unit;

	snprintf(buf, cap, "probe_%s%s", scalar_names[scalar_id],
		strcmp(unit, "ms") == 0	     ? "_milliseconds"
		: strcmp(unit, "bytes") == 0 ? "_bytes"
					     : "");
	for (char *p = buf; *p; p++)
		*p = isalnum((unsigned char)*p) ? (char)tolower((unsigned char)*p) : '_';
}

static void write_scalar_sample(
	FILE *f, const char *name, const struct live_rank *r, const struct live_number *n)
{
	const char *part = strchr(n->name, '/');

	fputs(name, f);
	write_rank_label(f, "{", r);
	if (part)
		write_label(f, ",", "part", part + 1);
	write_sample_value(f, n->value);
}

static void write_scalar_metrics(const struct live *l, FILE *f)
{
	char name[96];

	for (unsigned s = 0; s < SCALARS; s++) {
		if (!live_get_job_number(l, (enum scalar)s))
			continue;
		format_scalar_metric(name, sizeof(name), (enum scalar)s);
		write_metric_head(f, name, "gauge", scalar_texts[s].help);
		for (unsigned k = 0; k < l->folders.n; k++)
			for (unsigned i = 0; i < l->rank[k].nnumber; i++)
				if (l->rank[k].number[i].which == s)
					write_scalar_sample(
						f, name, &l->rank[k], &l->rank[k].number[i]);
	}
}

/* ---- operations ---- */

/* Formats the name of an operation as NCCL does: AllReduce for all_reduce. */
static void format_collective_name(char *buf, size_t cap, const char *op)
{
	bool upper = true;
	size_t n = 0;

	for (; *op && n + 1 < cap; op++) {
		if (*op != '_')
			buf[n++] = upper ? (char)toupper((unsigned char)*op) : *op;
		upper = *op == '_';
	}
	buf[n] = 0;
}

/*
 * Returns the number of nodes of the communicator's members, or of all ranks if the members are not
 * known.
 */
static unsigned compute_op_nodes(const struct live *l, const struct live_op *o)
{
	const struct comm_info *c = comms_find(&l->comms, o->comm);
	unsigned n = 0;

	for (unsigned i = 0; i < l->folders.n; i++) {
		const char *host = l->rank[i].dir->meta.owner.host;
		bool known = c && c->nmember && !comm_has(c, l->rank[i].rank);

		for (unsigned k = 0; k < i && !known; k++)
			known = (!c || !c->nmember || comm_has(c, l->rank[k].rank)) &&
				strcmp(l->rank[k].dir->meta.owner.host, host) == 0;
		n += !known;
	}
	return n ? n : 1;
}

/* Maximum number of communicators in the cache. For others, the nodes are counted each time. */
#define COMMS_COUNTED (1u << 16)
/* Cache of the number of nodes of a communicator, which many operations, ranks and metrics need. */
struct node_count {
	struct table_key key; /* a: communicator */
	unsigned n; /* 0: not counted yet */
};

static unsigned get_op_nodes(const struct live *l, struct table *nodes, const struct live_op *o)
{
	struct node_count *k = table_get(nodes, o->comm, 0);

	if (!k)
		return compute_op_nodes(l, o);
	if (!k->n)
		k->n = compute_op_nodes(l, o);
	return k->n;
}

static void write_op_labels(const struct live *l, FILE *f, struct table *nodes,
	const struct live_rank *r, const struct live_op *o)
{
	char text[COMM_LABEL_MAX], bucket[LIVE_BUCKET_MAX];
	const char *run = l->folders.run && *l->folders.run ? l->folders.run : "unknown";

	write_label(f, "{", "version", r->dir->meta.version ? r->dir->meta.version : "");
	write_label(f, ",", "slurm_job_id", run);
	write_label(f, ",", "node", r->dir->meta.owner.host);
	write_rank_label(f, ",", r);
	snprintf(text, sizeof(text), "%016" PRIx64, o->comm);
	write_label(f, ",", "comm_id", text);
	write_label(f, ",", "comm_name", comm_format_label(&l->comms, o->comm, text));
	snprintf(text, sizeof(text), "%u", get_op_nodes(l, nodes, o));
	write_label(f, ",", "n_nodes", text);
	snprintf(text, sizeof(text), "%lld", (long long)(o->size == NO_NUMBER ? 0 : o->size));
	write_label(f, ",", "nranks", text);
	format_collective_name(text, sizeof(text), intern_get_name(o->op));
	write_label(f, ",", o->p2p ? "p2p_operation" : "collective", text);
	write_label(f, ",", "message_size", live_format_bucket(o->bucket, bucket));
	write_label(f, ",", "lib", intern_get_name(o->lib));
}

static double get_op_bus_gbs(const struct live_op *o)
{
	return exp(o->log_bus / (double)o->timed);
}

static double get_op_algorithm_gbs(const struct live_op *o)
{
	return exp(o->log_algorithm / (double)o->timed);
}

static double get_op_time_us(const struct live_op *o)
{
	return o->us / (double)o->timed;
}

static const struct {
	const char *name, *help;
	double (*value)(const struct live_op *o);
	bool p2p;
} op_metrics[] = {
	{"nccl_bus_bandwidth_gbs", "Bus bandwidth of the latest collectives, GB/s", get_op_bus_gbs,
		false},
	{"nccl_algorithm_bandwidth_gbs", "Algorithm bandwidth of the latest collectives, GB/s",
		get_op_algorithm_gbs, false},
	{"nccl_collective_exec_time_microseconds", "Time of the latest collectives", get_op_time_us,
		false},
	{"nccl_p2p_bus_bandwidth_gbs", "Bandwidth of the latest messages, GB/s", get_op_bus_gbs,
		true},
	{"nccl_p2p_exec_time_microseconds", "Time of the latest messages", get_op_time_us, true},
};

static void write_op_metrics(const struct live *l, FILE *f)
{
	struct table nodes;

	table_init(&nodes, sizeof(struct node_count), COMMS_COUNTED);
	for (unsigned m = 0; m < sizeof(op_metrics) / sizeof(*op_metrics); m++) {
		write_metric_head(f, op_metrics[m].name, "gauge", op_metrics[m].help);
		for (unsigned k = 0; k < l->folders.n; k++)
			for (unsigned i = 0; i < l->rank[k].nop; i++) {
				const struct live_op *o = &l->rank[k].op[i];

				if (!o->timed || o->p2p != op_metrics[m].p2p)
					continue;
				fputs(op_metrics[m].name, f);
				write_op_labels(l, f, &nodes, &l->rank[k], o);
				write_sample_value(f, op_metrics[m].value(o));
			}
	}
	table_free(&nodes);
}

/* ---- the verdict ---- */

static void write_verdict_metrics(const struct live_verdict *v, FILE *f)
{
	char step[24];

	if (!v || !v->known)
		return;
	write_metric_head(f, "probe_faults", "gauge", "Faults that probe report finds");
	fprintf(f, "probe_faults %u\n", v->verdict.faults);
	write_metric_head(f, "probe_warnings", "gauge", "Warnings of probe report");
	fprintf(f, "probe_warnings %u\n", v->verdict.warnings);
	write_metric_head(f, "probe_verdict_incomplete", "gauge",
		"1: something that should have been recorded or read is missing");
	fprintf(f, "probe_verdict_incomplete %d\n", v->verdict.incomplete);
	write_metric_head(f, "probe_verdict_info", "gauge", "The first line of probe report");
	fputs("probe_verdict_info", f);
	write_label(f, "{", "text", v->text);
	write_sample_value(f, 1);
	write_metric_head(f, "probe_fault_info", "gauge",
		"A fault or a warning, and the ranks that it names");
	for (unsigned i = 0; i < v->n; i++) {
		snprintf(step, sizeof(step), "%llu", (unsigned long long)v->fault[i].step);
		fputs("probe_fault_info", f);
		write_label(f, "{", "kind", v->fault[i].kind);
		write_label(f, ",", "severity", severity_word(v->fault[i].severity));
		write_label(f, ",", "ranks", v->fault[i].ranks);
		write_label(f, ",", "step", v->fault[i].has_step ? step : "");
		/* Two findings of one kind become two series. */
		write_label(f, ",", "text", v->fault[i].line);
		write_sample_value(f, 1);
	}
}

/* A rank is one series for each kind, however many findings of that kind name it. */
static bool is_finding_repeated(const struct live_verdict *v, unsigned fault, int rank)
{
	for (unsigned i = 0; i < fault; i++) {
		if (strcmp(v->fault[i].kind, v->fault[fault].kind) != 0)
			continue;
		if (rank < 0 && !v->fault[i].nrank)
			return true;
		for (unsigned k = 0; k < v->fault[i].nrank; k++)
			if (v->fault[i].rank[k] == rank)
				return true;
	}
	return false;
}

static void write_finding_metric(const struct live_verdict *v, FILE *f, unsigned fault, int rank)
{
	char number[24] = "";

	if (is_finding_repeated(v, fault, rank))
		return;
	if (rank >= 0)
		snprintf(number, sizeof(number), "%d", rank);
	fputs("probe_finding", f);
	write_label(f, "{", "kind", v->fault[fault].kind);
	write_label(f, ",", "rank", number);
	write_label(f, ",", "severity", severity_word(v->fault[fault].severity));
	write_sample_value(f, 1);
}

static void write_finding_metrics(const struct live *l, FILE *f)
{
	const struct live_verdict *v = l->verdict;

	if (!v || !v->known)
		return;
	write_metric_head(f, "probe_finding", "gauge",
		"1: a fault or a warning of this kind names this rank; without a rank, none");
	for (unsigned i = 0; i < v->n; i++) {
		for (unsigned k = 0; k < v->fault[i].nrank; k++)
			write_finding_metric(v, f, i, v->fault[i].rank[k]);
		if (!v->fault[i].nrank)
			write_finding_metric(v, f, i, -1);
	}
	write_metric_head(f, "probe_nonfinite_tensors_total", "counter",
		"Recorded tensors with a NaN or an Inf");
	for (unsigned i = 0; i < l->folders.n; i++) {
		uint64_t n = get_nonfinite_of_rank(v, l->rank[i].rank);

		if (n == UINT64_MAX)
			continue;
		fputs("probe_nonfinite_tensors_total", f);
		write_rank_label(f, "{", &l->rank[i]);
		write_sample_value(f, (double)n);
	}
}

void prometheus_print(const struct live *l, FILE *f)
{
	write_verdict_metrics(l->verdict, f);
	write_finding_metrics(l, f);
	write_rank_metrics(l, f);
	write_scalar_metrics(l, f);
	write_op_metrics(l, f);
}
