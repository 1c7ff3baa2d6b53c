/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/names/print_groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/files/json.h"
#include "tools/lib/files/json_read.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/names/pipeline.h"

#define PARALLEL_MAX (1u << 20) /* maximum bytes of a parallel.json */

static const char *const way_words[] = {[PIPE_UNKNOWN] = "",
	[PIPE_FORWARD] = "forward",
	[PIPE_BACKWARD] = "backward",
	[PIPE_SETUP] = "set-up"};
static const char *const told_words[] = {
	[PIPE_NOT_TOLD] = "", [PIPE_BY_FRAMES] = "frames", [PIPE_BY_ORDER] = "order"};

/* ---- roles of communicators ---- */

/* A communicator that several ranks list is printed once. */
struct said_comm {
	struct table_key key; /* a: id */
	bool seen;
};

void write_name_cell(struct out_table *t, const char *text)
{
	char *copy = tool_strdup(text ? text : "");

	for (char *c = copy; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	out_add_cell(t, copy);
	free(copy);
}

static void write_comm_roles(struct out_table *t, struct table *said, const struct json_node *top)
{
	const struct json_node *list = json_get_member(top, "communicators");

	for (const struct json_node *n = list && list->kind == JSON_LIST ? list->child : NULL; n;
		n = n->next) {
		const char *id = json_get_text(json_get_member(n, "comm"));
		struct said_comm *s = id ? table_get(said, strtoull(id, NULL, 16), 0) : NULL;
		double sure;
		char text[16] = "";

		if (!s || s->seen)
			continue;
		s->seen = true;
		if (json_get_number(json_get_member(n, "confidence"), &sure))
			snprintf(text, sizeof(text), "%.2f", sure);
		write_name_cell(t, id);
		write_name_cell(t, json_get_text(json_get_member(n, "role")));
		out_add_cell(t, text);
		write_name_cell(t, json_get_text(json_get_member(n, "ranks")));
		write_name_cell(t, json_get_text(json_get_member(n, "mesh")));
		write_name_cell(t, json_get_text(json_get_member(n, "why")));
	}
}

static bool print_comm_roles(const struct folders *f, int64_t rank)
{
	static const char *const head[] = {"comm", "part", "sure", "ranks", "mesh", "why"};
	struct out_table t;
	struct table said;
	bool any;

	table_init(&said, sizeof(struct said_comm), 65536);
	out_start_table(&t, 6, head, "llrlll");
	for (unsigned i = 0; i < f->n; i++) {
		struct json_tree tree = {0};
		char *why = NULL, *path;

		if (rank >= 0 && f->dir[i].rank != rank)
			continue;
		path = tool_format("%s/parallel.json", f->dir[i].path);
		write_comm_roles(&t, &said, json_load_tree(&tree, path, PARALLEL_MAX, &why));
		json_tree_free(&tree);
		free(path);
		free(why);
	}
	any = said.n != 0;
	if (any)
		out_print_heading("Communicators");
	out_print_table(&t);
	table_free(&said);
	return any;
}

/* ---- pipelines ---- */

/* The messages of one stage in the last step that was read. */
struct stage_use {
	uint64_t forward, backward; /* number of messages sent */
	int64_t micro_batches; /* -1: not known */
	uint64_t bytes; /* bytes sent */
};

static struct stage_use compute_stage_use(
	const struct pipelines *p, const struct pipe_stage *s, uint64_t step)
{
	struct stage_use use = {.micro_batches = -1};

	for (size_t i = pipelines_find_message(p, (int)s->key.b); i < p->n; i++) {
		const struct pipe_message *m = &p->message[i];

		if (m->rank != (int)s->key.b)
			break;
		if (m->comm != s->key.a || m->step != step)
			continue;
		if (m->micro_batch >= use.micro_batches)
			use.micro_batches = m->micro_batch + (m->micro_batch >= 0);
		if (!m->send)
			continue;
		use.forward += m->way == PIPE_FORWARD;
		use.backward += m->way == PIPE_BACKWARD;
		use.bytes += m->bytes;
	}
	return use;
}

static int compare_pipeline_stages(const void *a, const void *b)
{
	const struct pipe_stage *x = *(struct pipe_stage *const *)a,
				*y = *(struct pipe_stage *const *)b;

	if (x->key.a != y->key.a)
		return x->key.a < y->key.a ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->at - y->at;
}

static void write_stage(struct out_table *t, const struct pipelines *p, const struct pipe_stage *s,
	const char *label, uint64_t step)
{
	struct stage_use use = compute_stage_use(p, s, step);
	char text[24];

	write_name_cell(t, label);
	snprintf(text, sizeof(text), "%d", s->at);
	out_add_cell(t, text);
	snprintf(text, sizeof(text), "%d", (int)s->key.b);
	out_add_cell(t, text);
	out_add_cell(t, out_format_count(use.forward));
	out_add_cell(t, out_format_count(use.backward));
	out_add_cell(t, use.micro_batches < 0 ? "" : out_format_count((uint64_t)use.micro_batches));
	out_add_cell(t, out_format_bytes((double)use.bytes));
	out_add_cell(t, told_words[s->told]);
}

static bool print_stages(const struct pipelines *p, const struct comms *comms)
{
	static const char *const head[] = {"pipeline", "stage", "rank", "sent forward", "backward",
		"micro-batches", "bytes sent", "told by"};
	struct pipe_stage **order = tool_alloc((p->stage.n + 1) * sizeof(*order));
	struct out_table t;
	uint32_t n = 0;
	uint64_t step = 0;

	for (uint32_t i = 0; i < p->stage.n; i++) {
		struct pipe_stage *s = table_at(&p->stage, i);

		if (s->first >= 0)
			order[n++] = s;
		if (s->step > step)
			step = s->step;
	}
	if (n) {
		char heading[64];

		qsort(order, n, sizeof(*order), compare_pipeline_stages);
		snprintf(heading, sizeof(heading), "Pipelines, in step %" PRIu64, step);
		out_print_heading(heading);
		out_start_table(&t, 8, head, "lrrrrrrl");
		for (uint32_t i = 0; i < n; i++) {
			char label[COMM_LABEL_MAX];
			bool same = i && order[i - 1]->key.a == order[i]->key.a &&
				    order[i - 1]->first == order[i]->first;

			write_stage(&t, p, order[i],
				same ? "" : comm_format_label(comms, order[i]->key.a, label), step);
		}
		out_print_table(&t);
	}
	free(order);
	return n;
}

/* ---- messages ---- */

static void write_message(const struct pipe_message *m)
{
	char comm[24];

	snprintf(comm, sizeof(comm), "%016" PRIx64, m->comm);
	json_object(NULL);
	json_u64("step", m->step);
	json_i64("rank", m->rank);
	json_u64("seq", m->seq);
	json_string("op", m->send ? "send" : "recv");
	json_string("comm", comm);
	json_i64("from", m->from);
	json_i64("to", m->to);
	if (m->from_stage < 0) {
		json_null("from_stage");
		json_null("to_stage");
	} else {
		json_i64("from_stage", m->from_stage);
		json_i64("to_stage", m->to_stage);
	}
	json_string("direction", *way_words[m->way] ? way_words[m->way] : NULL);
	json_string("told_by", *told_words[m->told] ? told_words[m->told] : NULL);
	if (m->micro_batch < 0)
		json_null("micro_batch");
	else
		json_i64("micro_batch", m->micro_batch);
	json_string("dtype", intern_get_name(m->dtype));
	json_u64("count", m->count);
	json_u64("bytes", m->bytes);
	json_end();
}

static void write_pipe_message(struct out_table *t, const struct pipe_message *m)
{
	char step[24], rank[16], seq[24], ranks[32], stages[32] = "", micro[24] = "";

	snprintf(step, sizeof(step), "%" PRIu64, m->step);
	snprintf(rank, sizeof(rank), "%d", m->rank);
	snprintf(seq, sizeof(seq), "%" PRIu64, m->seq);
	snprintf(ranks, sizeof(ranks), "%d to %d", m->from, m->to);
	if (m->from_stage >= 0)
		snprintf(stages, sizeof(stages), "%d to %d", m->from_stage, m->to_stage);
	if (m->micro_batch >= 0)
		snprintf(micro, sizeof(micro), "%" PRId64, m->micro_batch);
	out_add_cell(t, step);
	out_add_cell(t, rank);
	out_add_cell(t, seq);
	out_add_cell(t, m->send ? "send" : "recv");
	out_add_cell(t, ranks);
	out_add_cell(t, stages);
	out_add_cell(t, way_words[m->way]);
	out_add_cell(t, micro);
	out_add_cell(t, out_format_bytes((double)m->bytes));
	out_add_cell(t, told_words[m->told]);
}

static bool print_pipe_messages(const struct pipelines *p, int64_t rank, bool json)
{
	static const char *const head[] = {"step", "rank", "seq", "op", "ranks", "stages",
		"direction", "micro-batch", "bytes", "told by"};
	struct out_table t;
	bool any = false;

	if (json) {
		json_begin();
		json_object(NULL);
		json_u64("left_out", p->left_out);
		json_list("messages");
	} else {
		out_print_heading("Messages of pipelines");
		out_start_table(&t, 10, head, "rrrlrrlrrl");
	}
	for (size_t i = 0; i < p->n; i++) {
		const struct pipe_message *m = &p->message[i];

		if (rank >= 0 && m->rank != rank)
			continue;
		any = true;
		if (json)
			write_message(m);
		else
			write_pipe_message(&t, m);
	}
	if (json) {
		json_end();
		json_end();
	} else {
		out_print_table(&t);
		if (p->left_out)
			printf("  %s more messages: select fewer with --step\n",
				out_format_count(p->left_out));
	}
	return any;
}

bool print_groups(const struct folders *f, int64_t rank, bool groups, bool messages, bool json,
	uint64_t lo, uint64_t hi)
{
	struct comms comms;
	struct pipelines p;
	bool any = false;

	comms_init(&comms);
	for (unsigned i = 0; i < f->n; i++)
		comms_read(&comms, &f->dir[i], NULL);
	comms_set_present_members(&comms, f->dir, f->n);
	pipelines_read(&p, f, &comms, lo, hi);
	if (groups) {
		any |= print_comm_roles(f, rank);
		any |= print_stages(&p, &comms);
	}
	if (messages && p.n)
		any |= print_pipe_messages(&p, rank, json);
	pipelines_free(&p);
	comms_free(&comms);
	return any;
}
