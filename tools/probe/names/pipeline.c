/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/names/pipeline.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "journal/columns.h"

#define MESSAGES_MAX (1u << 21)
#define STAGES_MAX (1u << 20)
#define KINDS_MAX (1u << 20) /* maximum number of kinds of messages in the selected steps */
#define STEPS_SHOWN 3

/* ---- frames ---- */

/*
 * Functions of schedules between the program and the message: Megatron-LM's p2p_communication,
 * DeepSpeed's pipeline engine, and PyTorch's schedules. In PyTorch one function serves both
 * directions. Only the exchange before the first micro-batch has a function of its own.
 */
static const struct {
	const char *function;
	enum pipe_way send, recv;
} schedule_frames[] = {
	{"send_forward", PIPE_FORWARD, PIPE_FORWARD},
	{"recv_forward", PIPE_FORWARD, PIPE_FORWARD},
	{"send_backward", PIPE_BACKWARD, PIPE_BACKWARD},
	{"recv_backward", PIPE_BACKWARD, PIPE_BACKWARD},
	{"send_forward_recv_backward", PIPE_FORWARD, PIPE_BACKWARD},
	{"send_backward_recv_forward", PIPE_BACKWARD, PIPE_FORWARD},
	{"send_forward_recv_forward", PIPE_FORWARD, PIPE_FORWARD},
	{"send_backward_recv_backward", PIPE_BACKWARD, PIPE_BACKWARD},
	{"_exec_send_activations", PIPE_FORWARD, PIPE_FORWARD},
	{"_exec_recv_activations", PIPE_FORWARD, PIPE_FORWARD},
	{"_exec_send_grads", PIPE_BACKWARD, PIPE_BACKWARD},
	{"_exec_recv_grads", PIPE_BACKWARD, PIPE_BACKWARD},
	{"_communicate_shapes", PIPE_SETUP, PIPE_SETUP},
	{"_send_tensor_meta", PIPE_SETUP, PIPE_SETUP},
	{"_recv_tensor_meta", PIPE_SETUP, PIPE_SETUP},
	{"_warmup_p2p", PIPE_SETUP, PIPE_SETUP},
	{"_initialize_stage", PIPE_SETUP, PIPE_SETUP},
	{"_initialize_stages", PIPE_SETUP, PIPE_SETUP},
	{"send_object_list", PIPE_SETUP, PIPE_SETUP},
	{"recv_object_list", PIPE_SETUP, PIPE_SETUP},
};

enum pipe_way find_pipe_way(const char *frames, size_t n, bool send)
{
	enum pipe_way way = PIPE_UNKNOWN;

	/*
	 * "file:line Class.function <- ...": names end at a blank or at the end. A shape that is sent within send_forward is
	 * not a micro-batch, so a set-up function takes precedence.
	 */
	for (size_t at = 0; at < n;) {
		size_t len = 0;

		while (at + len < n && frames[at + len] != ' ' && frames[at + len] != '.')
			len++;
		if (at + len == n || frames[at + len] == ' ')
			for (size_t i = 0; i < sizeof(schedule_frames) / sizeof(*schedule_frames);
				i++) {
				const char *name = schedule_frames[i].function;
				enum pipe_way here =
					send ? schedule_frames[i].send : schedule_frames[i].recv;

				if (strlen(name) == len && memcmp(frames + at, name, len) == 0 &&
					(way == PIPE_UNKNOWN || here == PIPE_SETUP))
					way = here;
			}
		at += len + 1;
	}
	return way;
}

/* Directions of the messages with one stack, for both sides. */
struct stack_ways {
	struct table_key key; /* a: stack id */
	enum pipe_way way[2]; /* for receives, and for sends */
};

static void read_stack_ways(struct table *ways, const struct rank_dir *dir)
{
	char *path = tool_format("%s/stack_info.csv", dir->path);
	struct csv c;
	uint64_t id;

	if (csv_open(&c, path, UINT64_MAX, true, 65536) == 0) {
		int col[STACK_COLUMNS];

		csv_find_columns(&c, STACK_HEADER, col);
		while (csv_read_row(&c)) {
			const struct csv_text *t = csv_get_field(&c, col[STACK_COL_python_stack]);
			struct stack_ways *w;

			if (!csv_parse_u64(csv_get_field(&c, col[STACK_COL_stack_id]), &id) ||
				!id || !t->n)
				continue;
			w = table_get(ways, id, 0);
			for (int send = 0; w && send < 2; send++)
				w->way[send] = find_pipe_way(t->s, t->n, send);
		}
	}
	csv_close(&c);
	free(path);
}

/* ---- messages ---- */

static bool is_op(uint32_t op, const char *name)
{
	return strcmp(intern_get_name(op), name) == 0;
}

/* Returns false if the call is not a message of a pipeline. */
static bool init_message(
	struct pipe_message *m, const struct call *c, const struct comms *comms, int rank)
{
	const struct comm_info *k = comms_find(comms, c->comm);
	bool send = is_op(c->op, "send");
	int peer;

	if (!k || !k->role || strcmp(intern_get_name(k->role), "pipeline") != 0)
		return false;
	if ((!send && !is_op(c->op, "recv")) || (c->bits & (CALL_NESTED | CALL_ERROR)))
		return false;
	peer = comm_get_member(k, c->peer);
	if (c->peer < 0 || peer < 0 || peer == rank)
		return false;
	*m = (struct pipe_message){.step = c->step,
		.seq = c->seq,
		.comm = c->comm,
		.count = c->count,
		.bytes = call_get_bytes(c),
		.start = c->start,
		.op = c->op,
		.dtype = c->dtype,
		.stack = c->stack,
		.rank = rank,
		.from = send ? rank : peer,
		.to = send ? peer : rank,
		.send = send,
		.from_stage = -1,
		.to_stage = -1,
		.micro_batch = -1};
	return true;
}

static void add_pipe_message(struct pipelines *p, const struct pipe_message *m)
{
	if (p->n == MESSAGES_MAX) {
		p->left_out++;
		return;
	}
	if (p->n == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 1024;
		p->message = tool_realloc(p->message, p->cap * sizeof(*p->message));
	}
	p->message[p->n++] = *m;
}

/*
 * Returns true if the rank takes part in a communicator that carries a pipeline. The files of other
 * ranks are not read.
 */
static bool is_in_pipeline(const struct comms *comms, int rank)
{
	for (uint32_t i = 0; i < comms->table.n; i++) {
		const struct comm_info *k = table_at(&comms->table, i);

		if (k->role && strcmp(intern_get_name(k->role), "pipeline") == 0 &&
			(!k->member || comm_has(k, rank)))
			return true;
	}
	return false;
}

static void read_rank_messages(struct pipelines *p, const struct folders *f, unsigned folder_index,
	const struct comms *comms)
{
	const struct rank_dir *dir = &f->dir[folder_index];
	struct table ways;
	struct calls s;
	struct call c;
	struct pipe_message m;
	bool any = p->step_lo <= p->step_hi;

	table_init(&ways, sizeof(struct stack_ways), 1u << 16);
	read_stack_ways(&ways, dir);
	calls_open(&s, dir, folder_index, NULL);
	if (any) {
		s.step_lo = p->step_lo;
		s.step_hi = p->step_hi;
	}
	while (calls_read_next(&s, &c)) {
		const struct stack_ways *w;

		if (any && (c.step < p->step_lo || c.step > p->step_hi))
			continue;
		if (!init_message(&m, &c, comms, dir->rank))
			continue;
		if (!any) {
			any = true;
			p->step_lo = c.step;
			p->step_hi = s.step_hi = c.step + STEPS_SHOWN - 1;
		}
		w = m.stack ? table_find(&ways, m.stack, 0) : NULL;
		m.way = w ? w->way[m.send] : PIPE_UNKNOWN;
		m.told = m.way == PIPE_UNKNOWN ? PIPE_NOT_TOLD : PIPE_BY_FRAMES;
		add_pipe_message(p, &m);
	}
	calls_close(&s);
	table_free(&ways);
}

/* Sorts by rank, step and seq: in the order in which the program made the calls. */
static int compare_issue_order(const void *a, const void *b)
{
	const struct pipe_message *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* ---- stages ---- */

/*
 * Finds the previous stage of a rank from the first message that it makes in a step. If the steps
 * disagree, the last step counts: in the first step, ranks also exchange set-up messages.
 */
static void handle_first_message(struct pipelines *p, const struct pipe_message *m)
{
	struct pipe_stage *s = table_get(&p->stage, m->comm, (uint64_t)m->rank);

	if (s && !s->seen)
		s->first = -1;
	if (!s || m->way == PIPE_SETUP || (s->seen && s->step == m->step))
		return;
	s->seen = true;
	s->step = m->step;
	s->told = m->told == PIPE_BY_FRAMES ? PIPE_BY_FRAMES : PIPE_BY_ORDER;
	/*
	 * If the stack shows that the first message goes backward, the messages of the forward passes
	 * were not recorded.
	 */
	s->before = m->way == PIPE_BACKWARD ? INT_MIN : m->send ? -1 : m->from;
}

static struct pipe_stage *find_pipe_stage(const struct pipelines *p, uint64_t comm, int rank)
{
	return table_find(&p->stage, comm, (uint64_t)rank);
}

const struct pipe_stage *pipelines_find_stage(const struct pipelines *p, uint64_t comm, int rank)
{
	const struct pipe_stage *s = find_pipe_stage(p, comm, rank);

	return s && s->first >= 0 ? s : NULL;
}

size_t pipelines_find_message(const struct pipelines *p, int rank)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t at = lo + (hi - lo) / 2;

		if (p->message[at].rank < rank)
			lo = at + 1;
		else
			hi = at;
	}
	return lo;
}

/*
 * Follows the previous stages back to the first one. A stage gets no position if it is in a circle,
 * after a gap, or one of two successors of the same stage.
 */
static void set_stage_position(struct pipelines *p, struct pipe_stage *s)
{
	const struct pipe_stage *k = s;
	unsigned at = 0;

	while (k && k->seen && k->before >= 0 && at < p->stage.n) {
		k = find_pipe_stage(p, s->key.a, k->before);
		at++;
	}
	if (!k || !k->seen || k->before != -1)
		return;
	s->first = (int)k->key.b;
	s->at = (int)at;
}

/* The number of stages at one position. */
struct place_use {
	struct table_key key; /* a: hash of communicator and first stage; b: position */
	uint32_t n;
};

static struct pipe_stage *get_first_stage(const struct pipelines *p, const struct pipe_stage *s)
{
	return s->first < 0 ? NULL : find_pipe_stage(p, s->key.a, s->first);
}

/*
 * If two stages have the same position, the order of messages does not show the stages. Then nothing
 * is reported for the pipeline.
 */
static void reset_forked_pipelines(struct pipelines *p)
{
	struct table places;

	table_init(&places, sizeof(struct place_use), STAGES_MAX);
	for (uint32_t i = 0; i < p->stage.n; i++) {
		const struct pipe_stage *s = table_at(&p->stage, i);
		struct pipe_stage *head = get_first_stage(p, s);
		struct place_use *use =
			head ? table_get(&places, hash_u64(s->key.a, head->key.b), (uint64_t)s->at)
			     : NULL;

		if (head && (!use || use->n++))
			head->doubtful = true;
	}
	table_free(&places);
	for (uint32_t i = 0; i < p->stage.n; i++) {
		struct pipe_stage *s = table_at(&p->stage, i);
		const struct pipe_stage *head = get_first_stage(p, s);

		if (head && head->doubtful)
			s->first = -1;
	}
}

/* ---- direction and micro-batch ---- */

static void set_message_direction(struct pipelines *p, struct pipe_message *m)
{
	const struct pipe_stage *from = pipelines_find_stage(p, m->comm, m->from),
				*to = pipelines_find_stage(p, m->comm, m->to);

	if (!from || !to || from->first != to->first)
		return;
	m->from_stage = from->at;
	m->to_stage = to->at;
	if (m->told == PIPE_BY_FRAMES)
		return;
	if (to->at == from->at + 1)
		m->way = PIPE_FORWARD;
	else if (to->at == from->at - 1)
		m->way = PIPE_BACKWARD;
	else
		return;
	m->told = PIPE_BY_ORDER;
}

/*
 * Records that the last stage sends forward to the first one: then each rank has several parts of the
 * model.
 */
static void record_wrap(struct pipelines *p, const struct pipe_message *m)
{
	int first_stage = m->way == PIPE_FORWARD ? m->to_stage : m->from_stage;
	int other = m->way == PIPE_FORWARD ? m->from_stage : m->to_stage;
	struct pipe_stage *head;

	if (m->from_stage < 0 || m->told == PIPE_NOT_TOLD || m->way == PIPE_SETUP ||
		first_stage != 0 || other < 1)
		return;
	head = get_first_stage(p, pipelines_find_stage(p, m->comm, m->from));
	head->wraps = true;
}

/* Messages that differ only in their micro-batch. */
struct message_kind {
	struct table_key key;
	int64_t n;
};

static void set_micro_batch(struct pipelines *p, struct table *kinds, struct pipe_message *m)
{
	const struct pipe_stage *from = pipelines_find_stage(p, m->comm, m->from);
	const struct pipe_stage *head = from ? get_first_stage(p, from) : NULL;
	struct message_kind *k;

	if (m->way != PIPE_FORWARD && m->way != PIPE_BACKWARD)
		return;
	/* The schedule decides which part of the model comes next. */
	if (head && head->wraps)
		return;
	k = table_get(kinds,
		hash_u64(hash_u64(hash_u64(m->comm, m->step), m->count),
			(uint64_t)m->dtype << 2 | m->way),
		hash_u64(hash_u64((uint64_t)m->rank << 1 | m->send, (uint64_t)m->from),
			(uint64_t)m->to));
	if (k)
		m->micro_batch = k->n++;
}

void pipelines_read(struct pipelines *p, const struct folders *f, const struct comms *comms,
	uint64_t step_lo, uint64_t step_hi)
{
	struct table kinds;

	*p = (struct pipelines){.step_lo = step_lo, .step_hi = step_hi};
	table_init(&p->stage, sizeof(struct pipe_stage), STAGES_MAX);
	for (unsigned i = 0; i < f->n; i++)
		if (f->dir[i].rank >= 0 && is_in_pipeline(comms, f->dir[i].rank))
			read_rank_messages(p, f, i, comms);
	if (p->n)
		qsort(p->message, p->n, sizeof(*p->message), compare_issue_order);
	for (size_t i = 0; i < p->n; i++)
		handle_first_message(p, &p->message[i]);
	for (uint32_t i = 0; i < p->stage.n; i++)
		set_stage_position(p, table_at(&p->stage, i));
	reset_forked_pipelines(p);
	for (size_t i = 0; i < p->n; i++)
		set_message_direction(p, &p->message[i]);
	for (size_t i = 0; i < p->n; i++)
		record_wrap(p, &p->message[i]);
	table_init(&kinds, sizeof(struct message_kind), KINDS_MAX);
	for (size_t i = 0; i < p->n; i++)
		set_micro_batch(p, &kinds, &p->message[i]);
	table_free(&kinds);
}

void pipelines_free(struct pipelines *p)
{
	free(p->message);
	table_free(&p->stage);
	*p = (struct pipelines){0};
}
