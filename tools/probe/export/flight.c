/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes PyTorch's Flight Recorder format: a pickle for each rank, of version 2.10, as its analyser (torchfrtrace, PyTorch
 * 2.13: torch/distributed/flight_recorder) reads it. The analyser compares the entries of one group with the same
 * collective_seq_id over the ranks by operation, sizes, types and state, and names ranks that are missing or different. Sizes
 * are numbers of elements, because many libraries have no shapes; if ranks may have different ones (v-forms), none are written.
 * A message gets a group of its two ranks, because the other ranks of the communicator do not take part in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/export/export.h"
#include "tools/lib/files/pickle.h"

#define OPERATIONS_MAX 4000000u
#define PAIRS_MAX 1000000u
#define FRAMES_MAX 16u

/*
 * An operation of the exported part. It supplies the data that open calls of other ranks lack, and
 * shows which messages were only sent or only received.
 */
struct flight_op {
	struct table_key key;
	uint64_t in, out;
	uint32_t in_dtype, out_dtype, sides; /* sides, for a message: 1 sent, 2 received */
	bool known;
};

struct flight_pair {
	struct table_key key;
	uint64_t comm;
	int from, to;
	int64_t tag;
};

enum flight_sizes { SIZES_NONE, SIZES_BOTH, SIZES_OUT, SIZES_IN };

struct flight {
	struct export *e;
	struct table ops, pairs;
	uint64_t unsupported, unpaired;
};

/* The operations that the analyser knows. Others are not written. */
static const struct flight_name {
	const char *op, *name;
	/*
	 * SIZES_OUT, SIZES_IN: both sizes are those of the output or of the input. Some ranks have only
	 * one of the two buffers.
	 */
	enum flight_sizes sizes;
} flight_names[] = {
	{"all_reduce", "all_reduce", SIZES_BOTH},
	{"scan", "all_reduce", SIZES_BOTH},
	{"exscan", "all_reduce", SIZES_IN},
	{"reduce", "reduce", SIZES_IN},
	{"broadcast", "broadcast", SIZES_OUT},
	{"all_gather", "all_gather", SIZES_BOTH},
	{"all_gather_v", "all_gather_v", SIZES_NONE},
	{"gather", "gather", SIZES_IN},
	{"gather_v", "gather", SIZES_NONE},
	{"scatter", "scatter", SIZES_OUT},
	{"scatter_v", "scatter", SIZES_NONE},
	{"reduce_scatter", "reduce_scatter", SIZES_BOTH},
	{"reduce_scatter_v", "reduce_scatter_v", SIZES_NONE},
	{"all_to_all", "all_to_all", SIZES_BOTH},
	{"all_to_all_v", "all_to_all_v_single", SIZES_NONE},
	{"barrier", "barrier", SIZES_NONE},
};

static const struct flight_name *find_flight_name(uint32_t op)
{
	for (unsigned i = 0; i < sizeof(flight_names) / sizeof(*flight_names); i++)
		if (strcmp(intern_get_name(op), flight_names[i].op) == 0)
			return &flight_names[i];
	return NULL;
}

static bool is_flight_message(const struct call *c)
{
	return strcmp(intern_get_name(c->op), "send") == 0 ||
	       strcmp(intern_get_name(c->op), "recv") == 0;
}

/* Finds the two world ranks of a message. Returns false if they are not known. */
static bool find_pair(const struct export *e, const struct call *c, int *sender, int *receiver)
{
	int me = e->report.g.folders.dir[c->rank].rank;
	int other = export_get_world_rank(e, c->comm, c->peer);
	bool send = strcmp(intern_get_name(c->op), "send") == 0;

	*sender = send ? me : other;
	*receiver = send ? other : me;
	return me >= 0 && other >= 0 && other != me;
}

/* Returns NULL if the operation is not written. message: the ranks of the message. */
static struct flight_op *find_flight_op(
	struct flight *f, const struct call *c, int *sender, int *receiver, bool *message)
{
	uint64_t b;

	*message = is_flight_message(c);
	if (!c->comm || c->comm_seq == NO_NUMBER || c->bits & (CALL_LOCAL | CALL_NESTED))
		return NULL;
	if (!*message) {
		const struct comm_info *k = comms_find(&f->e->report.g.comms, c->comm);

		if (!find_flight_name(c->op) || !k || !k->member)
			return NULL;
		return table_get(&f->ops, c->comm, (uint64_t)c->comm_seq);
	}
	if (!find_pair(f->e, c, sender, receiver))
		return NULL;
	b = hash_u64(hash_u64((uint64_t)*sender, (uint64_t)*receiver), (uint64_t)c->tag);
	return table_get(&f->ops, c->comm, hash_u64(b, (uint64_t)c->comm_seq) | UINT64_C(1) << 63);
}

static void record_flight_op(struct flight *f, const struct walk_call *w)
{
	const struct call *c = &w->call;
	int from, to;
	bool message;
	struct flight_op *o = find_flight_op(f, c, &from, &to, &message);

	if (!o) {
		f->unsupported += c->comm != 0;
		return;
	}
	if (message)
		o->sides |= strcmp(intern_get_name(c->op), "send") == 0 ? 1 : 2;
	if (c->bits & CALL_OPEN || o->known)
		return;
	o->known = true;
	o->in = w->in_count;
	o->out = w->out_count;
	o->in_dtype = w->in_dtype;
	o->out_dtype = w->out_dtype;
}

/* ---- one entry ---- */

static void write_flight_sizes(struct target *t, const char *key, bool known, uint64_t count)
{
	pickle_write_text(t, key);
	pickle_start_list(t);
	pickle_start_list(t);
	if (known)
		pickle_write_int(t, (int64_t)count);
	pickle_close_list(t);
	pickle_close_list(t);
}

static void write_dtypes(struct target *t, const char *key, uint32_t dtype)
{
	static const struct {
		const char *ours, *theirs;
	} name[] = {{"float32", "Float"}, {"float64", "Double"}, {"float16", "Half"},
		{"bfloat16", "BFloat16"}, {"int32", "Int"}, {"int64", "Long"}, {"uint8", "Byte"},
		{"int8", "Char"}, {"int16", "Short"}, {"bool", "Bool"}};
	const char *text = intern_get_name(dtype);

	for (unsigned i = 0; i < sizeof(name) / sizeof(*name); i++)
		if (strcmp(text, name[i].ours) == 0)
			text = name[i].theirs;
	pickle_write_text(t, key);
	pickle_start_list(t);
	if (*text)
		pickle_write_text(t, text);
	pickle_close_list(t);
}

/* Writes "train.py:12 step" or "module!function+0x10". */
static void write_frame(struct target *t, const char *f, size_t n)
{
	const char *space = memrchr(f, ' ', n), *colon, *bang = memchr(f, '!', n);
	const char *file = f, *name = f;
	size_t nfile = n, nname = n;
	long line = 0;
	char *s;

	if (space && (colon = memrchr(f, ':', (size_t)(space - f)))) {
		nfile = (size_t)(colon - f);
		line = atol(colon + 1);
		name = space + 1;
		nname = n - (size_t)(name - f);
	} else if (bang) {
		nfile = (size_t)(bang - f);
		name = bang + 1;
		nname = n - nfile - 1;
	}
	pickle_start_dict(t);
	pickle_write_text(t, "name");
	s = tool_strndup(name, nname);
	pickle_write_text(t, s);
	free(s);
	pickle_write_text(t, "filename");
	s = tool_strndup(file, nfile);
	pickle_write_text(t, s);
	free(s);
	pickle_write_text(t, "line");
	pickle_write_int(t, line);
	pickle_close_dict(t);
}

static void write_frames(struct flight *f, struct target *t, const struct call *c)
{
	const struct stack_text *s;
	const char *p;
	size_t n;

	pickle_write_text(t, "frames");
	pickle_start_list(t);
	s = f->e->level ? stacks_get(&f->e->report.stacks, c->rank, c->stack) : NULL;
	for (unsigned i = 0;
		s && i < FRAMES_MAX && (p = stack_frame(*s->python ? s->python : s->native, i, &n));
		i++)
		write_frame(t, p, n);
	pickle_close_list(t);
}

static const char *get_flight_backend(const struct call *c)
{
	const char *lib = intern_get_name(c->lib), *api = intern_get_name(c->api);

	if (strcmp(lib, "nccl") == 0 || strcmp(lib, "rccl") == 0 || strcmp(lib, "hccl") == 0 ||
		strcmp(lib, "gloo") == 0)
		return lib;
	/*
	 * The analyser knows no other backends (MPI is not among them). The name has no other
	 * effect.
	 */
	return strstr(api, "NCCL") ? "nccl" : "gloo";
}

static void format_pair_name(
	char *buf, size_t cap, uint64_t comm, int sender, int receiver, int64_t tag)
{
	snprintf(buf, cap, "%016llx %d->%d tag %lld", (unsigned long long)comm, sender, receiver,
		tag == NO_NUMBER ? 0 : (long long)tag);
}

/* Element counts of input and output, in the form that the analyser expects to be equal on all ranks. */
struct flight_sides {
	bool known;
	uint64_t in, out;
	uint32_t in_dtype, out_dtype;
};

static struct flight_sides find_flight_sizes(
	const struct flight_op *o, const struct walk_call *w, enum flight_sizes sizes)
{
	struct flight_sides s = {
		w->in_rows || w->out_rows, w->in_count, w->out_count, w->in_dtype, w->out_dtype};
	bool open = w->call.bits & CALL_OPEN;
	/*
	 * If the element counts of this rank and of the completed rank differ, either may be wrong.
	 * Then nothing is copied from the completed rank.
	 */
	bool like = !w->in_rows || (s.in == o->in && s.in_dtype == o->in_dtype);

	/*
	 * An open call has no result yet, and in a running process its record has little data about
	 * its tensors. The missing data is copied from a completed rank.
	 */
	if (open && o->known && like) {
		if (!w->in_rows) {
			s.in = o->in;
			s.in_dtype = o->in_dtype;
		}
		s.out = o->out;
		s.out_dtype = o->out_dtype;
		s.known = true;
	} else if (open) {
		/* No rank with the same inputs has completed, so the inputs are compared. */
		s.out = s.in;
		s.out_dtype = s.in_dtype;
		if (strcmp(intern_get_name(w->call.op), "all_gather") == 0)
			s.out = s.in * (uint64_t)(w->call.size > 0 ? w->call.size : 1);
		if (strcmp(intern_get_name(w->call.op), "reduce_scatter") == 0)
			s.out = s.in / (uint64_t)(w->call.size > 0 ? w->call.size : 1);
		s.known = w->in_rows;
	}
	if (sizes == SIZES_NONE)
		s.known = false;
	/* The rank has only an input or only an output buffer, or the operation is in place. */
	if (sizes == SIZES_OUT || !w->in_rows) {
		s.in = s.in_dtype && sizes != SIZES_OUT ? s.in : s.out;
		s.in_dtype = s.in_dtype && sizes != SIZES_OUT ? s.in_dtype : s.out_dtype;
	}
	if (sizes == SIZES_IN) {
		s.out = s.in;
		s.out_dtype = s.in_dtype;
	}
	return s;
}

/*
 * Returns true if the larger buffer is not `size` times as large as the smaller one, as the analyser
 * expects it. Libraries that count in another way are exempt.
 */
static bool has_wrong_product(
	const struct flight_name *n, const struct flight_sides *s, int64_t size)
{
	if (!s->known || size < 1)
		return false;
	if (strcmp(n->name, "all_gather") == 0)
		return s->out != s->in * (uint64_t)size;
	return strcmp(n->name, "reduce_scatter") == 0 && s->in != s->out * (uint64_t)size;
}

static void write_flight_entry(struct flight *f, struct target *t, const struct walk_call *w,
	uint64_t *record, struct table *used)
{
	const struct call *c = &w->call;
	int from = 0, to = 0;
	bool message;
	const struct flight_op *o = find_flight_op(f, c, &from, &to, &message);
	const struct flight_name *n = message ? NULL : find_flight_name(c->op);
	enum flight_sizes sizes =
		message ? strcmp(intern_get_name(c->op), "send") == 0 ? SIZES_IN : SIZES_OUT
		: n	? n->sizes
			: SIZES_NONE;
	struct flight_sides s;
	char group[96], name[96], label[COMM_LABEL_MAX];

	if (!o)
		return;
	/* The peer's call is not in the exported part, or the message was never received. */
	if (message && o->sides != 3 && !(c->bits & CALL_OPEN)) {
		f->unpaired++;
		return;
	}
	s = find_flight_sizes(o, w, sizes);
	if (message) {
		struct flight_pair *p;

		format_pair_name(group, sizeof(group), c->comm, from, to, c->tag);
		p = table_get(used, c->comm,
			hash_u64(hash_u64((uint64_t)from, (uint64_t)to), (uint64_t)c->tag));
		if (p)
			*p = (struct flight_pair){p->key, c->comm, from, to, c->tag};
		snprintf(name, sizeof(name), "%s:%s", get_flight_backend(c),
			strcmp(intern_get_name(c->op), "send") == 0
				? (from < to ? "send 0->1" : "send 1->0")
				: (from < to ? "recv 1<-0" : "recv 0<-1"));
	} else {
		struct flight_pair *p = table_get(used, c->comm, 0);

		snprintf(group, sizeof(group), "%016llx", (unsigned long long)c->comm);
		if (p)
			*p = (struct flight_pair){p->key, c->comm, -1, -1, 0};
		snprintf(name, sizeof(name), "%s:%s%s", get_flight_backend(c), n->name,
			has_wrong_product(n, &s, c->size) ? "_v" : "");
	}
	pickle_start_dict(t);
	pickle_write_text(t, "record_id");
	pickle_write_int(t, (int64_t)(*record)++);
	pickle_write_text(t, "pg_id");
	pickle_write_int(t, 0);
	pickle_write_text(t, "process_group");
	pickle_write_text(t, group);
	pickle_write_text(
		t, message ? group : comm_format_label(&f->e->report.g.comms, c->comm, label));
	pickle_write_pair(t);
	pickle_write_text(t, "collective_seq_id");
	pickle_write_int(t, c->comm_seq);
	pickle_write_text(t, "p2p_seq_id");
	pickle_write_int(t, message ? c->comm_seq : 0);
	pickle_write_text(t, "op_id");
	pickle_write_int(t, (int64_t)c->seq);
	pickle_write_text(t, "profiling_name");
	pickle_write_text(t, name);
	write_flight_sizes(t, "input_sizes", s.known, s.in);
	write_flight_sizes(t, "output_sizes", s.known, s.out);
	write_dtypes(t, "input_dtypes", s.known ? s.in_dtype : 0);
	write_dtypes(t, "output_dtypes", s.known ? s.out_dtype : 0);
	pickle_write_text(t, "state");
	pickle_write_text(t, c->bits & CALL_OPEN ? "started" : "completed");
	pickle_write_text(t, "time_created_ns");
	pickle_write_int(t, (int64_t)c->start);
	pickle_write_text(t, "duration_ms");
	pickle_write_int(t, (int64_t)(c->dur / 1000000));
	pickle_write_text(t, "is_p2p");
	pickle_write_bool(t, message);
	pickle_write_text(t, "retired");
	pickle_write_bool(t, !(c->bits & CALL_OPEN));
	write_frames(f, t, c);
	pickle_close_dict(t);
	f->e->calls++;
}

/* ---- one rank ---- */

static void write_members(struct target *t, const struct comm_info *k)
{
	char *all = tool_alloc(k->nmember * 13 + 3);
	size_t n = 0;

	all[n++] = '[';
	for (unsigned i = 0; i < k->nmember; i++)
		n += (size_t)sprintf(all + n, "%s%d", i ? ", " : "", k->member[i]);
	all[n++] = ']';
	pickle_write_text(t, all);
	free(all);
}

static void write_groups(struct flight *f, struct target *t, const struct table *used)
{
	char name[96], label[COMM_LABEL_MAX];

	pickle_write_text(t, "pg_config");
	pickle_start_dict(t);
	for (uint32_t i = 0; i < used->n; i++) {
		const struct flight_pair *p = table_at(used, i);
		const struct comm_info *k = comms_find(&f->e->report.g.comms, p->comm);

		if (p->from >= 0)
			format_pair_name(name, sizeof(name), p->comm, p->from, p->to, p->tag);
		else
			snprintf(name, sizeof(name), "%016llx", (unsigned long long)p->comm);
		pickle_write_text(t, name);
		pickle_start_dict(t);
		pickle_write_text(t, "name");
		pickle_write_text(t, name);
		pickle_write_text(t, "desc");
		pickle_write_text(
			t, p->from >= 0 ? name
					: comm_format_label(&f->e->report.g.comms, p->comm, label));
		pickle_write_text(t, "ranks");
		if (p->from >= 0) {
			snprintf(name, sizeof(name), "[%d, %d]", p->from < p->to ? p->from : p->to,
				p->from < p->to ? p->to : p->from);
			pickle_write_text(t, name);
		} else if (k && k->member) {
			write_members(t, k);
		} else {
			pickle_write_text(t, "[]");
		}
		pickle_close_dict(t);
	}
	pickle_close_dict(t);
}

static bool is_open_here(const struct export *e, const struct open_call *c, int rank)
{
	return !c->waiting && !c->call.rows && e->want[c->call.rank] &&
	       (rank < 0 || c->call.rank == (uint32_t)rank);
}

static int write_flight_rank(struct flight *f, unsigned folder_index, const char *dir)
{
	struct export *e = f->e;
	const struct opens *o = &e->report.g.opens;
	char *path = tool_format("%s/rank_%d", dir, e->report.g.folders.dir[folder_index].rank);
	bool on = true;
	const struct walk_call *c;
	struct table used;
	struct target t;
	struct walk w;
	uint64_t record = 0;
	int status = target_open(&t, path);

	if (status) {
		free(path);
		return status;
	}
	table_init(&used, sizeof(struct flight_pair), PAIRS_MAX);
	export_open_rank_walk(e, &w, folder_index);
	pickle_start(&t);
	pickle_start_dict(&t);
	pickle_write_text(&t, "version");
	pickle_write_text(&t, "2.10");
	pickle_write_text(&t, "entries");
	/* The elements are appended one by one. */
	pickle_start_list(&t);
	for (uint64_t i = 0; on && (c = walk_next(&w)); i++) {
		write_flight_entry(f, &t, c, &record, &used);
		on = i % 256 || export_can_continue(e, &t, &w, c->call.step);
	}
	for (unsigned i = 0; i < o->n; i++) {
		struct walk_call open = {.call = o->call[i].call, .start = o->call[i].call.start};

		open.call.bits |= CALL_OPEN;
		open.in_dtype = open.call.dtype;
		open.in_count = open.call.count;
		open.in_rows = open.call.count != 0;
		if (is_open_here(e, &o->call[i], (int)folder_index))
			write_flight_entry(f, &t, &open, &record, &used);
	}
	pickle_close_list(&t);
	write_groups(f, &t, &used);
	pickle_close_dict(&t);
	pickle_stop(&t);
	walk_close(&w);
	table_free(&used);
	e->written += t.bytes;
	status = target_close(&t, on);
	free(path);
	return on ? status : STATUS_USAGE;
}

int export_write_flight_recorder(struct export *e)
{
	struct flight f = {.e = e};
	const struct opens *o = &e->report.g.opens;
	const struct walk_call *c;
	struct walk w;
	char *dir;
	int status = 0;
	bool on = true;

	if (e->output && strcmp(e->output, "-") == 0) {
		tool_error("export: --format flight-recorder writes a file for each rank: --output "
			   "names a folder");
		return STATUS_USAGE;
	}
	table_init(&f.ops, sizeof(struct flight_op), OPERATIONS_MAX);
	export_open_walk(e, &w);
	progress_start(&e->bar, true, w.bytes);
	for (uint64_t i = 0; on && (c = walk_next(&w)); i++) {
		struct target none = {0};

		record_flight_op(&f, c);
		on = i % 256 || export_can_continue(e, &none, &w, c->call.step);
	}
	progress_stop(&e->bar);
	walk_close(&w);
	for (unsigned i = 0; i < o->n; i++) {
		struct walk_call open = {.call = o->call[i].call};

		open.call.bits |= CALL_OPEN;
		if (is_open_here(e, &o->call[i], -1))
			record_flight_op(&f, &open);
	}
	dir = export_format_path(e, "flight_recorder");
	for (unsigned i = 0; on && !status && i < e->report.g.folders.n; i++)
		if (e->want[i] && e->report.g.folders.dir[i].rank >= 0)
			status = write_flight_rank(&f, i, dir);
	if (on && !status) {
		char *part = export_format_part(e);

		printf("%s: a pickle for each rank: %s; torchfrtrace %s reads them\n", dir, part,
			dir);
		if (f.unsupported || f.unpaired)
			printf("skipped: %s unknown to the Flight Recorder, %s whose "
			       "peer's call is not in this part\n",
				out_format_plural(f.unsupported, "call", "calls"),
				out_format_plural(f.unpaired, "message", "messages"));
		free(part);
	}
	table_free(&f.ops);
	free(dir);
	return on ? status : STATUS_USAGE;
}
