/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one step as a graph for Graphviz. It has a node for each operation or message, and
 * an edge from each call of a rank's thread to the next call of that thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/export/export.h"

#define NODES_MAX 20000u
#define EDGES_MAX 100000u

struct dot_node {
	struct table_key key;
	bool made, open;
	uint32_t number, op, api, ranks;
	uint64_t comm, bytes;
	int64_t seq, from, to, tag;
	int first; /* world rank */
	char *where;
};

struct dot_edge {
	struct table_key key; /* numbers of the two nodes */
	uint32_t ranks;
	int first;
};

struct dot_thread {
	struct table_key key; /* a: folder; b: thread */
	uint32_t last; /* number of the node + 1 */
};

struct dot {
	struct export *e;
	struct table nodes, edges, threads;
	uint64_t more;
};

static struct dot_node *find_node(struct dot *d, const struct walk_call *w)
{
	const struct call *c = &w->call;
	bool message = c->bits & CALL_P2P && c->peer != NO_NUMBER;
	uint64_t a = c->comm, b;

	if (!c->comm || c->comm_seq == NO_NUMBER || c->bits & CALL_LOCAL) {
		/* A call that involves only this rank. */
		a = UINT64_C(0xffffffff00000000) | c->rank;
		b = c->seq;
	} else if (message) {
		bool send = strcmp(intern_get_name(c->op), "recv") != 0;
		int64_t from = send ? c->comm_rank : c->peer, to = send ? c->peer : c->comm_rank;

		b = hash_u64(hash_u64((uint64_t)from, (uint64_t)to), (uint64_t)c->tag);
		b = hash_u64(b, (uint64_t)c->comm_seq) | UINT64_C(1) << 63;
	} else {
		b = (uint64_t)c->comm_seq;
	}
	return table_get(&d->nodes, a, b);
}

static void add_dot_call(struct dot *d, const struct walk_call *w)
{
	const struct call *c = &w->call;
	struct dot_node *n = find_node(d, w);
	struct dot_thread *t = table_get(&d->threads, c->rank, c->thread);
	struct dot_edge *edge;
	int rank = d->e->report.g.folders.dir[c->rank].rank;

	if (!n || !t) {
		d->more++;
		return;
	}
	if (!n->made) {
		bool send = strcmp(intern_get_name(c->op), "recv") != 0;

		n->made = true;
		n->number = d->nodes.n;
		n->op = c->op;
		n->api = c->api;
		n->comm = c->comm;
		n->seq = c->comm_seq;
		n->tag = c->tag;
		n->from = c->bits & CALL_P2P ? (send ? c->comm_rank : c->peer) : NO_NUMBER;
		n->to = c->bits & CALL_P2P ? (send ? c->peer : c->comm_rank) : NO_NUMBER;
		n->first = rank;
		n->where = tool_strdup(export_get_stack(d->e, c->rank, c->stack));
	}
	n->ranks++;
	n->open |= c->bits & CALL_OPEN;
	if (call_get_bytes(c) > n->bytes)
		n->bytes = call_get_bytes(c);
	if (t->last && t->last != n->number) {
		edge = table_get(&d->edges, t->last, n->number);
		if (edge && !edge->ranks++)
			edge->first = rank;
	}
	t->last = n->number;
	d->e->calls++;
}

/*
 * Graphviz interprets \ and " in a text;
 *  is a new line.
 */
static void write_dot_text(struct target *t, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			target_write(t, "\\", 1);
		target_write(t, (unsigned char)*s < 32 ? " " : s, 1);
	}
}

static void write_dot_node(struct dot *d, struct target *t, const struct dot_node *n)
{
	char label[COMM_LABEL_MAX];
	const char *arrow = " <- ", *end = strstr(n->where, arrow);
	char *first =
		end ? tool_strndup(n->where, (size_t)(end - n->where)) : tool_strdup(n->where);

	target_print(t, "  n%u [label=\"", n->number);
	write_dot_text(t, intern_get_name(n->op));
	if (n->from != NO_NUMBER && n->to != NO_NUMBER)
		target_print(t, " %lld to %lld", (long long)n->from, (long long)n->to);
	if (n->seq != NO_NUMBER)
		target_print(t, " #%lld", (long long)n->seq);
	if (n->comm) {
		target_write_text(t, "\\n");
		write_dot_text(t, comm_format_label(&d->e->report.g.comms, n->comm, label));
	}
	target_print(t, "\\n%s, %s",
		n->ranks == 1 ? "1 rank" : out_format_plural(n->ranks, "rank", "ranks"),
		out_format_bytes((double)n->bytes));
	if (*first) {
		target_write_text(t, "\\n");
		write_dot_text(t, first);
	}
	target_print(t, "%s\"%s];\n", n->open ? "\\nopen" : "",
		n->open ? ", color=red, fontcolor=red" : "");
	free(first);
}

static void write_dot(struct dot *d, struct target *t)
{
	target_write_text(
		t, "digraph step {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n");
	target_print(t, "  label=\"step %llu\";\n", (unsigned long long)d->e->step_lo);
	for (uint32_t i = 0; i < d->nodes.n; i++)
		write_dot_node(d, t, table_at(&d->nodes, i));
	for (uint32_t i = 0; i < d->edges.n; i++) {
		const struct dot_edge *x = table_at(&d->edges, i);

		target_print(t, "  n%llu -> n%llu [label=\"", (unsigned long long)x->key.a,
			(unsigned long long)x->key.b);
		if (x->ranks == 1)
			target_print(t, "rank %d\"];\n", x->first);
		else
			target_print(t, "%u ranks\"];\n", x->ranks);
	}
	target_write_text(t, "}\n");
}

int export_write_dot(struct export *e)
{
	struct dot d = {.e = e};
	const struct walk_call *c;
	struct target t;
	struct walk w;
	char *path;
	int status;
	bool on = true;

	/* Without --step, the step of the first finding is exported. */
	if (!e->asked_steps && !e->all && e->step_hi != UINT64_MAX)
		e->step_lo = e->step_hi = e->step_hi - (e->step_hi > e->step_lo);
	if (e->step_lo != e->step_hi && e->report.g.first_step != e->report.g.last_step) {
		tool_error("export: --format dot exports a single step: use --step %llu",
			(unsigned long long)e->report.g.first_step);
		return STATUS_USAGE;
	}
	path = tool_strdup(e->output ? e->output : "-");
	status = target_open(&t, path);
	if (status) {
		free(path);
		return status;
	}
	table_init(&d.nodes, sizeof(struct dot_node), NODES_MAX);
	table_init(&d.edges, sizeof(struct dot_edge), EDGES_MAX);
	table_init(&d.threads, sizeof(struct dot_thread), 1u << 20);
	export_open_walk(e, &w);
	progress_start(&e->bar, true, w.bytes);
	while (on && (c = walk_next(&w))) {
		add_dot_call(&d, c);
		on = e->calls % 256 || export_can_continue(e, &t, &w, c->call.step);
	}
	progress_stop(&e->bar);
	walk_close(&w);
	if (on)
		write_dot(&d, &t);
	status = target_close(&t, on);
	if (d.more)
		tool_warn("export: %s beyond the first %u operations are skipped",
			out_format_plural(d.more, "call", "calls"), NODES_MAX);
	if (!status && on && strcmp(path, "-")) {
		char *part = export_format_part(e);

		printf("%s: %s\n", path, part);
		free(part);
	}
	for (uint32_t i = 0; i < d.nodes.n; i++)
		free(((struct dot_node *)table_at(&d.nodes, i))->where);
	table_free(&d.nodes);
	table_free(&d.edges);
	table_free(&d.threads);
	free(path);
	return on ? status : STATUS_USAGE;
}
