/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome trace, object form. One file for all ranks (for people: Perfetto's page, chrome://tracing, MindStudio Insight), with a
 * track per rank and thread, one per communicator, and flows between messages. Or one file per rank, as programs (HTA,
 * torch_tb_profiler) read them: these also have each collective as a `kernel` event on the communicator's stream, named so that
 * HTA recognises it as communication (^nccl.*Kernel).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "terms/scalar.h"
#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/export/export.h"
#include "tools/probe/export/trace_args.h"
#include "tools/probe/model/read/scalar_rows.h"

#define LANES 128u /* maximum number of concurrent asynchronous calls of a thread */
#define LANE_TID 10000000u /* larger than any thread id */
#define STREAM_TID 5000000u /* Linux's thread ids are below 2^22 */
#define STREAM_LANE 10000u /* maximum number of streams: communicators of a rank */
#define COMMS_PID 1000000000u
#define COMM_STREAM 7u
#define MESSAGES_KEPT 2000000u

/* A thread of a rank, with lanes for its asynchronous calls, which overlap. */
struct trace_thread {
	struct table_key key; /* a: folder; b: thread */
	uint64_t lane_end[LANES];
	uint32_t lanes;
};

struct trace_end {
	uint64_t at, bytes;
};

struct trace_rank {
	bool any, named;
	uint64_t step, step_begin, step_tid, last_end;
	uint32_t phase;
	uint64_t phase_begin, phase_end, phase_tid;
	struct trace_end *end; /* a heap of the calls in flight, the earliest end first */
	unsigned n, cap;
	uint64_t in_flight;
};

/* The send or the receive of a message whose other call has not been read yet. */
struct trace_message {
	struct table_key key;
	bool matched;
	bool send;
	uint32_t rank;
	uint64_t tid, at;
};

struct trace {
	struct export *e;
	struct target t;
	struct trace_rank *rank;
	struct table threads, comms, messages, streams;
	struct meet meet;
	uint64_t events, flows;
	int only; /* folder, in a file of one rank; -1: all folders */
};

/* ---- pieces of events ---- */

static void start_event(struct trace *x, const char *ph, const char *cat, const char *name)
{
	target_write_text(&x->t, x->events++ ? ",\n" : "\n");
	target_print(&x->t, "{\"ph\":\"%s\",\"cat\":\"%s\",\"name\":", ph, cat);
	target_write_json(&x->t, name);
}

static void write_place(struct trace *x, uint64_t pid, uint64_t tid, uint64_t time_ns)
{
	target_print(&x->t, ",\"pid\":%llu,\"tid\":%llu,\"ts\":", (unsigned long long)pid,
		(unsigned long long)tid);
	target_write_us(&x->t, (int64_t)(time_ns - x->e->base_ns));
}

static void write_duration(struct trace *x, uint64_t ns)
{
	target_write_text(&x->t, ",\"dur\":");
	target_write_us(&x->t, (int64_t)ns);
}

static void write_track_name(
	struct trace *x, const char *event_name, uint64_t pid, uint64_t tid, const char *name)
{
	target_write_text(&x->t, x->events++ ? ",\n" : "\n");
	target_print(&x->t,
		"{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%llu,\"tid\":%llu,\"args\":{\"name\":",
		event_name, (unsigned long long)pid, (unsigned long long)tid);
	target_write_json(&x->t, name);
	target_write_text(&x->t, "}}");
}

static void write_sort_index(struct trace *x, uint64_t pid, uint64_t index)
{
	target_write_text(&x->t, x->events++ ? ",\n" : "\n");
	target_print(&x->t,
		"{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%llu,\"tid\":0,\"args\":{"
		"\"sort_index\":"
		"%llu}}",
		(unsigned long long)pid, (unsigned long long)index);
}

static uint64_t get_trace_pid(const struct trace *x, uint32_t folder_index)
{
	int rank = x->e->report.g.folders.dir[folder_index].rank;

	return rank < 0 ? COMMS_PID / 2 + folder_index : (uint64_t)rank;
}

static void write_rank_name(struct trace *x, uint32_t folder_index)
{
	const struct rank_dir *d = &x->e->report.g.folders.dir[folder_index];
	uint64_t pid = get_trace_pid(x, folder_index);
	char *text;

	if (x->rank[folder_index].named)
		return;
	x->rank[folder_index].named = true;
	text = tool_format("%s (%s)", d->label, d->meta.owner.host);
	write_track_name(x, "process_name", pid, 0, text);
	write_sort_index(x, pid, pid);
	free(text);
}

/* ---- tracks ---- */

/*
 * Returns the track of a call: that of its thread, or an additional lane for calls that overlap
 * others.
 */
static uint64_t add_call_track(struct trace *x, const struct call *c, uint64_t start, uint64_t end)
{
	struct trace_thread *t = table_get(&x->threads, c->rank, c->thread);
	bool async = c->bits & CALL_ASYNC;
	char name[64];
	unsigned i = 0;

	if (!t)
		return c->thread;
	if (!t->lanes) {
		t->lanes = 1;
		snprintf(name, sizeof(name), "thread %u", c->thread);
		write_track_name(x, "thread_name", get_trace_pid(x, c->rank), c->thread, name);
	}
	if (!async)
		return c->thread;
	for (i = 1; i < t->lanes; i++)
		if (t->lane_end[i] <= start)
			break;
	if (i == LANES)
		i = LANES - 1;
	if (i == t->lanes) {
		t->lanes++;
		snprintf(name, sizeof(name), "thread %u: asynchronous %u", c->thread, i);
		write_track_name(x, "thread_name", get_trace_pid(x, c->rank),
			c->thread + (uint64_t)i * LANE_TID, name);
	}
	if (end > t->lane_end[i])
		t->lane_end[i] = end;
	return c->thread + (uint64_t)i * LANE_TID;
}

struct trace_comm {
	struct table_key key;
	unsigned number, lanes;
	uint64_t lane_end[LANES];
};

static unsigned add_comm_number(struct trace *x, uint64_t comm)
{
	struct trace_comm *c = table_get(&x->comms, comm, 0);
	char label[COMM_LABEL_MAX];

	if (!c)
		return 0;
	if (!c->number) {
		c->number = x->comms.n;
		if (x->only < 0) {
			if (c->number == 1) {
				write_track_name(x, "process_name", COMMS_PID, 0, "communicators");
				write_sort_index(x, COMMS_PID, COMMS_PID);
			}
			write_track_name(x, "thread_name", COMMS_PID, c->number,
				comm_format_label(&x->e->report.g.comms, comm, label));
		}
	}
	return c->number;
}

/*
 * ---- steps, phases, counters ----
 *
 * Readers add ts and dur as doubles, and torch_tb_profiler drops an event that ends after the one that encloses it, by however
 * little: an enclosing event ends 1 ns after the last one inside and before the next one.
 */
static void close_trace_phase(struct trace *x, uint32_t folder_index)
{
	struct trace_rank *r = &x->rank[folder_index];

	if (r->phase && r->phase_end > r->phase_begin) {
		start_event(x, "X", "user_annotation", intern_get_name(r->phase));
		write_place(x, get_trace_pid(x, folder_index), r->phase_tid, r->phase_begin);
		write_duration(x, r->phase_end - r->phase_begin + 1);
		target_write_text(&x->t, "}");
	}
	r->phase = 0;
}

static void close_trace_step(struct trace *x, uint32_t folder_index, uint64_t end)
{
	struct trace_rank *r = &x->rank[folder_index];
	char name[48];

	close_trace_phase(x, folder_index);
	if (!r->any)
		return;
	snprintf(name, sizeof(name), "ProfilerStep#%llu", (unsigned long long)r->step);
	start_event(x, "X", "user_annotation", name);
	write_place(x, get_trace_pid(x, folder_index), r->step_tid, r->step_begin);
	write_duration(x, end > r->step_begin ? end - r->step_begin : 0);
	target_print(&x->t, ",\"args\":{\"step\":%llu}}", (unsigned long long)r->step);
}

static void record_step(struct trace *x, const struct walk_call *w)
{
	struct trace_rank *r = &x->rank[w->call.rank];
	uint64_t end;

	if (!r->any || w->call.step != r->step) {
		close_trace_step(x, w->call.rank, w->start - 1);
		r->any = true;
		r->step = w->call.step;
		r->step_begin = w->start;
		r->step_tid = w->call.thread;
	}
	if (w->phase != r->phase || (r->phase && w->call.thread != r->phase_tid)) {
		close_trace_phase(x, w->call.rank);
		r->phase = w->phase;
		r->phase_begin = r->phase_end = w->start;
		r->phase_tid = w->call.thread;
	}
	/* An asynchronous call has another track. A call may be inside one that ends later. */
	end = w->start + (w->call.bits & CALL_ASYNC ? 0 : w->call.dur);
	if (end > r->phase_end)
		r->phase_end = end;
}

static void write_counter(struct trace *x, uint32_t folder_index, uint64_t time_ns)
{
	start_event(x, "C", "memory", "bytes in flight");
	write_place(x, get_trace_pid(x, folder_index), 0, time_ns);
	target_print(&x->t, ",\"args\":{\"bytes\":%llu}}",
		(unsigned long long)x->rank[folder_index].in_flight);
}

struct memory_of {
	struct trace *x;
	uint32_t index;
};

static void write_memory_counter(
	void *arg, uint64_t step, const struct csv_text *name, double v, uint64_t wall_ns)
{
	static const struct {
		enum scalar which;
		const char *track;
	} list[] = {
		{SCALAR_MEMORY_RSS, "resident set"}, {SCALAR_MEMORY_ALLOCATOR, "allocator's peak"}};
	struct memory_of *m = arg;
	uint64_t at = clock_set_right(&m->x->e->report.g.skew[m->index], wall_ns);

	for (unsigned i = 0; i < sizeof(list) / sizeof(*list) && wall_ns; i++) {
		const char *wanted = scalar_names[list[i].which];

		if (strlen(wanted) != name->n || memcmp(wanted, name->s, name->n))
			continue;
		start_event(m->x, "C", "memory", list[i].track);
		write_place(m->x, get_trace_pid(m->x, m->index), 0, at);
		target_print(&m->x->t, ",\"args\":{\"bytes\":%.0f,\"step\":%llu}}", v,
			(unsigned long long)step);
	}
}

/* Writes the scalars of the steps (key `scalars`), each at the end of its step. */
static void write_memory_of_rank(struct trace *x, uint32_t folder_index)
{
	struct memory_of m = {x, folder_index};
	const struct gather *g = &x->e->report.g;

	if (x->e->want[folder_index] && (x->only < 0 || (uint32_t)x->only == folder_index))
		read_scalar_rows(g->folders.dir[folder_index].path, &g->rank[folder_index].overlay,
			x->e->step_lo, x->e->step_hi, write_memory_counter, &m);
}

static void close_flights(struct trace *x, uint32_t folder_index, uint64_t until)
{
	struct trace_rank *r = &x->rank[folder_index];

	while (r->n && r->end[0].at <= until) {
		struct trace_end first = r->end[0], last = r->end[--r->n];
		unsigned i = 0;

		for (unsigned k; (k = 2 * i + 1) < r->n; i = k) {
			if (k + 1 < r->n && r->end[k + 1].at < r->end[k].at)
				k++;
			if (r->end[k].at >= last.at)
				break;
			r->end[i] = r->end[k];
		}
		r->end[i] = last;
		r->in_flight -= first.bytes;
		if (!r->n || r->end[0].at != first.at)
			write_counter(x, folder_index, first.at);
	}
}

static void open_flight(
	struct trace *x, uint32_t folder_index, uint64_t start, uint64_t end, uint64_t bytes)
{
	struct trace_rank *r = &x->rank[folder_index];
	unsigned i;

	close_flights(x, folder_index, start);
	if (!bytes)
		return;
	TOOL_GROW(r->end, r->n, r->cap);
	for (i = r->n++; i && r->end[(i - 1) / 2].at > end; i = (i - 1) / 2)
		r->end[i] = r->end[(i - 1) / 2];
	r->end[i] = (struct trace_end){end, bytes};
	r->in_flight += bytes;
	write_counter(x, folder_index, start);
}

/* ---- messages ---- */

static void write_flow(struct trace *x, const struct trace_message *m, const char *ph, uint64_t id)
{
	start_event(x, ph, "message", "message");
	target_print(
		&x->t, ",\"id\":%llu%s", (unsigned long long)id, *ph == 'f' ? ",\"bp\":\"e\"" : "");
	write_place(x, get_trace_pid(x, m->rank), m->tid, m->at);
	target_write_text(&x->t, "}");
}

/* from, to: ranks of the communicator. */
static void record_message(
	struct trace *x, struct trace_message now, uint64_t comm, const int64_t id[4])
{
	struct trace_message *m;
	uint64_t a = hash_u64(comm, (uint64_t)id[0]), b = hash_u64(~comm, (uint64_t)id[3]);

	if (!comm || id[0] == NO_NUMBER || id[1] == NO_NUMBER || id[3] == NO_NUMBER || x->only >= 0)
		return;
	a = hash_u64(hash_u64(a, (uint64_t)id[1]), (uint64_t)id[2]);
	b = hash_u64(b, a);
	m = table_get(&x->messages, a, b);
	if (!m)
		return;
	if (!m->key.a || m->matched || !m->at) {
		now.key = m->key;
		now.matched = m->matched;
		if (!m->matched)
			*m = now;
		return;
	}
	if (m->send == now.send)
		return;
	m->matched = true;
	x->flows++;
	write_flow(x, m->send ? m : &now, "s", x->flows);
	write_flow(x, m->send ? &now : m, "f", x->flows);
}

static void record_messages(struct trace *x, const struct walk_call *w, uint64_t tid, uint64_t end)
{
	const struct call *c = &w->call;
	const char *op = intern_get_name(c->op);
	bool send = strncmp(op, "send", 4) == 0, recv = strcmp(op, "recv") == 0;
	struct trace_message m = {.rank = c->rank, .tid = tid};
	/*
	 * The flow's point must be inside the slice of its call. For a received message: just before
	 * the end of the slice.
	 */
	uint64_t arrives = end > w->start ? end - 1 : end;

	if (c->bits & CALL_OPEN)
		return;
	if (send && (w->in_rows || strcmp(op, "send") == 0)) {
		m.send = true;
		m.at = w->start;
		record_message(
			x, m, c->comm, (int64_t[]){c->comm_rank, c->peer, c->tag, c->comm_seq});
	}
	m.send = false;
	m.at = arrives;
	if (recv)
		record_message(
			x, m, c->comm, (int64_t[]){c->peer, c->comm_rank, c->tag, c->comm_seq});
	else if (send && w->source != NO_NUMBER)
		record_message(x, m, c->comm,
			(int64_t[]){w->source, c->comm_rank, w->source_tag, w->source_seq});
}

/* ---- calls ---- */

/* Returns the stream of a communicator, or an additional one if work on that stream would overlap. */
static unsigned add_stream_track(
	struct trace *x, const struct call *c, uint64_t start, uint64_t end)
{
	unsigned stream = COMM_STREAM + add_comm_number(x, c->comm), i = 0;
	struct trace_comm *s = table_get(&x->streams, c->comm, 0);
	char label[COMM_LABEL_MAX + 32], name[COMM_LABEL_MAX];

	if (!s)
		return stream;
	while (i + 1 < LANES && i < s->lanes && s->lane_end[i] > start)
		i++;
	stream += i * STREAM_LANE;
	if (i >= s->lanes) {
		s->lanes = i + 1;
		comm_format_label(&x->e->report.g.comms, c->comm, name);
		if (i)
			snprintf(label, sizeof(label), "%s: %u", name, i + 1);
		write_track_name(x, "thread_name", get_trace_pid(x, c->rank), STREAM_TID + stream,
			i ? label : name);
	}
	if (end > s->lane_end[i])
		s->lane_end[i] = end;
	return stream;
}

/*
 * Writes two events for HTA: the launch on the track of the call, and the kernel on the stream. The
 * kernel must begin in a later microsecond than the launch: HTA counts queued work in whole
 * microseconds, and could otherwise treat either as the first.
 */
static void write_kernel(struct trace *x, const struct walk_call *w, uint64_t tid, uint64_t dur)
{
	const struct call *c = &w->call;
	uint64_t pid = get_trace_pid(x, c->rank), launch = dur < 2000 ? dur / 2 : 1000;
	unsigned stream = add_stream_track(x, c, w->start + launch, w->start + dur);
	char *name;

	start_event(x, "X", "cuda_runtime", "cudaLaunchKernel");
	write_place(x, pid, tid, w->start);
	write_duration(x, launch);
	target_print(&x->t, ",\"args\":{\"External id\":%llu,\"correlation\":%llu}}",
		(unsigned long long)c->seq, (unsigned long long)c->seq);
	name = tool_format("ncclKernel_%s (%s)", intern_get_name(c->op), intern_get_name(c->api));
	start_event(x, "X", "kernel", name);
	free(name);
	write_place(x, pid, STREAM_TID + stream, w->start + launch);
	write_duration(x, dur - launch);
	target_print(&x->t,
		",\"args\":{\"External "
		"id\":%llu,\"correlation\":%llu,\"stream\":%u,\"device\":%llu",
		(unsigned long long)c->seq, (unsigned long long)c->seq, stream,
		(unsigned long long)pid);
	write_collective_args(x->e, &x->t, w);
	write_text_arg(&x->t, "dtype", intern_get_name(c->dtype));
	target_write_text(&x->t, "}}");
}

static void write_trace_call(struct trace *x, const struct walk_call *w)
{
	const struct call *c = &w->call;
	bool open = c->bits & CALL_OPEN;
	uint64_t until = x->e->report.g.until_ns, dur = c->dur, tid;
	char *name;

	if (open)
		dur = until > c->start ? until - c->start : 0;
	write_rank_name(x, c->rank);
	record_step(x, w);
	tid = add_call_track(x, c, w->start, w->start + dur);
	name = open ? tool_format("%s (open)", intern_get_name(c->api)) : NULL;
	start_event(x, "X", "cpu_op", open ? name : intern_get_name(c->api));
	free(name);
	write_place(x, get_trace_pid(x, c->rank), tid, w->start);
	write_duration(x, dur);
	if (open || c->bits & CALL_ERROR)
		target_write_text(&x->t, ",\"cname\":\"terrible\"");
	write_call_args(x->e, &x->t, w);
	if (x->only >= 0 && c->comm && !(c->bits & CALL_NESTED))
		write_kernel(x, w, tid, dur);
	if (c->comm)
		open_flight(x, c->rank, w->start, w->start + dur, call_get_bytes(c));
	record_messages(x, w, tid, w->start + dur);
	if (w->start + dur > x->rank[c->rank].last_end)
		x->rank[c->rank].last_end = w->start + dur;
	if (x->only < 0 && c->comm && c->comm_seq != NO_NUMBER &&
		!(c->bits & (CALL_P2P | CALL_LOCAL | CALL_NESTED)))
		meet_add(&x->meet, c);
	x->e->calls++;
}

/*
 * Returns the communicator's track for an operation, or an additional track while the previous operation is
 * still in progress. A rank may enter an operation before another rank has left the previous one: then sets
 * *begin to the end of the previous one.
 */
static uint64_t add_comm_track(
	struct trace *x, uint64_t comm, uint64_t last, uint64_t *begin, uint64_t end)
{
	uint64_t number = add_comm_number(x, comm);
	struct trace_comm *c = table_get(&x->comms, comm, 0);
	char label[COMM_LABEL_MAX + 32], name[COMM_LABEL_MAX];
	unsigned i = 0;

	if (!c)
		return number;
	while (i + 1 < LANES && i < c->lanes && c->lane_end[i] > last)
		i++;
	if (i >= c->lanes) {
		c->lanes = i + 1;
		snprintf(label, sizeof(label), "%s: %u",
			comm_format_label(&x->e->report.g.comms, comm, name), i + 1);
		if (i)
			write_track_name(x, "thread_name", COMMS_PID, number + i * LANE_TID, label);
	}
	if (*begin < c->lane_end[i])
		*begin = c->lane_end[i] < end ? c->lane_end[i] : end;
	if (end > c->lane_end[i])
		c->lane_end[i] = end;
	return number + i * LANE_TID;
}

/*
 * Writes a collective with all its ranks to the communicator's track, from the first arrival to the
 * last end.
 */
static void write_meeting(void *arg, const struct meeting *m, bool complete)
{
	struct trace *x = arg;
	const struct gather *g = &x->e->report.g;
	uint64_t begin = UINT64_MAX, last = 0, end = 0, shown, track;
	uint32_t last_rank = 0;
	char *name;

	for (unsigned i = 0; i < m->n; i++) {
		const struct arrival *a = &m->a[i];
		uint64_t arrived = clock_set_right(&g->skew[a->rank], a->start);
		uint64_t left_at = a->dur == UINT64_MAX ? g->until_ns : arrived + a->dur;

		if (arrived < begin)
			begin = arrived;
		if (arrived >= last) {
			last = arrived;
			last_rank = a->rank;
		}
		if (left_at > end)
			end = left_at;
	}
	if (!m->n)
		return;
	shown = begin;
	track = add_comm_track(x, m->comm, last, &shown, end);
	name = tool_format("%s #%lld", intern_get_name(m->longest.op), (long long)m->seq);
	start_event(x, "X", "collective", name);
	free(name);
	write_place(x, COMMS_PID, track, shown);
	write_duration(x, end > shown ? end - shown : 0);
	if (m->mismatch || m->open || !complete)
		target_write_text(&x->t, ",\"cname\":\"terrible\"");
	target_print(&x->t,
		",\"args\":{\"step\":%llu,\"comm_seq\":%lld,\"ranks\":%u,\"ranks "
		"expected\":%u,\"last rank\":%d,"
		"\"last came after us\":",
		(unsigned long long)m->step, (long long)m->seq, m->n, m->want,
		g->folders.dir[last_rank].rank);
	target_write_us(&x->t, (int64_t)(last - begin));
	target_print(&x->t, ",\"bytes\":%llu", (unsigned long long)call_get_bytes(&m->longest));
	if (m->mismatch)
		write_text_arg(&x->t, "ranks differ in", meet_mismatch_name(m->mismatch));
	if (m->open)
		target_print(&x->t, ",\"open\":%u", m->open);
	target_write_text(&x->t, "}}");
	if (complete && !m->open && end > last && call_get_bytes(&m->longest)) {
		char label[COMM_LABEL_MAX + 16];
		char comm[COMM_LABEL_MAX];

		snprintf(label, sizeof(label), "GB/s %s",
			comm_format_label(&g->comms, m->comm, comm));
		start_event(x, "C", "bandwidth", label);
		write_place(x, COMMS_PID, track, last);
		target_write_text(&x->t, ",\"args\":{\"GB/s\":");
		target_write_double(
			&x->t, (double)call_get_bytes(&m->longest) / (double)(end - last));
		target_write_text(&x->t, "}}");
	}
}

/* The open calls of a running process are not in its files yet. */
static void write_open_calls(struct trace *x)
{
	const struct opens *o = &x->e->report.g.opens;

	for (unsigned i = 0; i < o->n; i++) {
		const struct open_call *c = &o->call[i];
		struct walk_call w = {.call = c->call,
			.start = clock_set_right(&x->e->report.g.skew[c->call.rank], c->call.start),
			.source = NO_NUMBER};

		if (c->call.rows || !x->e->want[c->call.rank] ||
			(x->only >= 0 && (uint32_t)x->only != c->call.rank))
			continue;
		if (c->call.step < x->e->step_lo || c->call.step > x->e->step_hi)
			continue;
		w.call.bits |= CALL_OPEN;
		if (c->waiting)
			w.call.comm = 0;
		write_trace_call(x, &w);
	}
}

static void write_trace_head(struct trace *x)
{
	const struct export *e = x->e;
	const struct folders *f = &e->report.g.folders;
	uint32_t first = 0;

	while (first + 1 < f->n && !e->want[first])
		first++;
	if (x->only >= 0)
		first = (uint32_t)x->only;
	/* HTA finds the rank by the string `"rank": ` with a blank. */
	target_print(&x->t,
		"{\n\"schemaVersion\": 1,\n\"distributedInfo\": {\"backend\": \"\", \"rank\": %d, "
		"\"world_size\": %d},\n\"baseTimeNanoseconds\": %llu,\n\"displayTimeUnit\": "
		"\"ms\",\n",
		f->dir[first].rank < 0 ? 0 : f->dir[first].rank,
		f->world_size < 0 ? (int)f->n : f->world_size, (unsigned long long)e->base_ns);
	target_print(&x->t, "\"probe\": {\"version\": \"%s\", \"path\": ", PROBE_VERSION);
	target_write_json(&x->t, f->path);
	target_write_text(&x->t, ", \"findings\": [");
	for (unsigned i = 0; i < e->report.nfinding && i < 20; i++) {
		target_write_text(&x->t, i ? ", " : "");
		target_write_json(&x->t, e->report.finding[i].text);
	}
	target_write_text(&x->t, "]},\n\"traceEvents\": [");
}

/* path: the output file. only: index of the only folder to write; -1: all. Returns 0 or STATUS_USAGE. */
static int write_trace(struct export *e, const char *path, int only)
{
	struct trace x = {.e = e, .only = only};
	unsigned n = e->report.g.folders.n;
	const struct walk_call *c;
	struct walk w;
	int status = target_open(&x.t, path);
	bool on = true;

	if (status)
		return status;
	x.rank = tool_alloc((n + 1) * sizeof(*x.rank));
	table_init(&x.threads, sizeof(struct trace_thread), 1u << 20);
	table_init(&x.comms, sizeof(struct trace_comm), 1u << 20);
	table_init(&x.streams, sizeof(struct trace_comm), 1u << 20);
	table_init(&x.messages, sizeof(struct trace_message), MESSAGES_KEPT);
	if (only < 0) {
		meet_init(&x.meet, &e->report.g.comms, n, write_meeting, &x);
		export_open_walk(e, &w);
	} else {
		export_open_rank_walk(e, &w, (unsigned)only);
	}
	progress_start(&e->bar, true, w.bytes);
	write_trace_head(&x);
	for (uint64_t i = 0; on && (c = walk_next(&w)); i++) {
		write_trace_call(&x, c);
		on = i % 256 || export_can_continue(e, &x.t, &w, c->call.step);
	}
	if (on) {
		write_open_calls(&x);
		on = export_can_continue(e, &x.t, &w, e->step_hi);
	}
	for (unsigned i = 0; i < n; i++) {
		if (on) {
			close_flights(&x, i, UINT64_MAX);
			close_trace_step(&x, i, x.rank[i].last_end + 1);
			write_memory_of_rank(&x, i);
		}
		free(x.rank[i].end);
	}
	if (only < 0)
		meet_end(&x.meet);
	target_write_text(&x.t, "\n]\n}\n");
	progress_stop(&e->bar);
	walk_close(&w);
	e->written += x.t.bytes;
	status = target_close(&x.t, on);
	free(x.rank);
	table_free(&x.threads);
	table_free(&x.comms);
	table_free(&x.streams);
	table_free(&x.messages);
	return on ? status : STATUS_USAGE;
}

int export_write_rank_trace(struct export *e, const char *path, int folder_index)
{
	return write_trace(e, path, folder_index);
}

static int write_rank_traces(struct export *e)
{
	char *dir = export_format_path(e, "trace");
	int status = 0;

	for (unsigned i = 0; !status && i < e->report.g.folders.n; i++) {
		char *path;

		if (!e->want[i])
			continue;
		path = tool_format(
			"%s/rank%d.pt.trace.json.gz", dir, e->report.g.folders.dir[i].rank);
		status = write_trace(e, path, (int)i);
		free(path);
	}
	if (!status) {
		char *part = export_format_part(e);

		printf("%s: a file for each rank: %s\n", dir, part);
		free(part);
	}
	free(dir);
	return status;
}

int export_write_trace(struct export *e)
{
	char *path;
	int status;

	if (e->per_rank)
		return write_rank_traces(e);
	path = export_format_path(e, "trace.json.gz");
	status = write_trace(e, path, -1);
	if (!status) {
		char *part = export_format_part(e);

		fprintf(strcmp(path, "-") ? stdout : stderr,
			"%s: %s; https://ui.perfetto.dev or chrome://tracing shows it\n", path,
			part);
		free(part);
	}
	free(path);
	return status;
}
