/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/compare/entries/run_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "journal/columns.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/dump.h"
#include "tools/probe/model/stacks.h"

#define STACKS_MAX (1u << 20)
#define OPS_MAX (1u << 16)
#define CALLS_KEPT 50000u /* maximum number of calls of one step */
#define STEPS_LATE 2 /* a call may be written at least this many steps late ... */
/* ... and after this many calls of later steps: about twice as many as the writer finds at once in a journal of 1 MiB */
#define CALLS_LATE 8192u

/* ---- stacks ---- */

struct run_stack {
	struct table_key key;
	const char *text, *line;
	uint64_t whole, functions;
};

/*
 * Hashes "dir/file.py:12 function" or "dir/module!function+0x1f" without the folder; for
 * `functions` also without the number.
 */
static void compute_stack_key(struct run_stack *s, const char *text)
{
	const char *f;
	size_t n;

	s->whole = s->functions = 1;
	for (unsigned i = 0; (f = stack_frame(text, i, &n)); i++) {
		const char *space = memrchr(f, ' ', n), *mark = memrchr(f, ':', n);
		const char *bang = memchr(f, '!', n), *plus = memrchr(f, '+', n);
		const char *end = f + n, *from = f;

		if (bang && plus && plus > bang) {
			from = bang + 1;
			s->functions = hash_u64(
				s->functions, compute_call_name_hash(from, (size_t)(plus - from)));
		} else if (space && mark && mark < space) {
			for (const char *p = f; p < mark; p++)
				if (*p == '/')
					from = p + 1;
			s->functions = hash_u64(
				s->functions, compute_call_name_hash(from, (size_t)(mark - from)));
			s->functions = hash_u64(
				s->functions, compute_call_name_hash(space, (size_t)(end - space)));
		}
		s->whole = hash_u64(s->whole, compute_call_name_hash(from, (size_t)(end - from)));
	}
}

static const char *copy_short_frame(struct pool *p, const char *f, size_t n)
{
	const char *space = memrchr(f, ' ', n), *from = f;

	for (const char *c = f; space && c < space; c++)
		if (*c == '/')
			from = c + 1;
	return pool_copy(p, from, n - (size_t)(from - f));
}

static void read_run_stacks(struct run_calls *r, const char *folder)
{
	char *path = tool_format("%s/stack_info.csv", folder);
	int col[STACK_COLUMNS];
	struct csv c;
	uint64_t id;

	if (csv_open(&c, path, UINT64_MAX, true, 65536) == 0) {
		csv_find_columns(&c, STACK_HEADER, col);
		while (csv_read_row(&c)) {
			const struct csv_text *py = csv_get_field(&c, col[STACK_COL_python_stack]);
			const struct csv_text *native =
				csv_get_field(&c, col[STACK_COL_native_stack]);
			struct run_stack *s;
			const char *f;
			size_t n;

			if (!csv_parse_u64(csv_get_field(&c, col[STACK_COL_stack_id]), &id) ||
				!(s = table_get(&r->stacks, id, 0)) || s->text)
				continue;
			s->text = pool_format(&r->texts, "%.*s%s%.*s", (int)py->n, py->s,
				py->n && native->n ? " <- " : "", (int)native->n, native->s);
			/*
			 * If there is a Python stack, native frames add little, and they change
			 * with each build.
			 */
			if (py->n)
				compute_stack_key(s, pool_copy(&r->texts, py->s, py->n));
			else
				compute_stack_key(s, s->text);
			f = stack_frame(s->text, py->n ? stack_find_own_frame(s->text) : 0, &n);
			s->line = f ? copy_short_frame(&r->texts, f, n) : NULL;
		}
	}
	csv_close(&c);
	free(path);
}

/* ---- rows ---- */

static bool is_step_wanted(const struct run_calls *r, uint64_t step)
{
	return ranges_has(r->steps, step);
}

static struct run_step *get_run_step(struct run_calls *r, uint64_t step)
{
	unsigned i = r->nstep;

	while (i > r->first && r->step[i - 1].step >= step) {
		if (r->step[i - 1].step == step)
			return &r->step[i - 1];
		i--;
	}
	TOOL_GROW(r->step, r->nstep, r->cap_step);
	memmove(r->step + i + 1, r->step + i, (r->nstep - i) * sizeof(*r->step));
	r->nstep++;
	r->step[i] = (struct run_step){.step = step};
	r->step[i].few_calls = meta_step_is_thinned(r->meta, step, true, false);
	r->step[i].few_values = meta_step_is_thinned(r->meta, step, false, true);
	table_init(&r->step[i].nth, sizeof(struct table_key) + 8, OPS_MAX);
	return &r->step[i];
}

/* Returns the prefix that msprobe's files use for the calls of a library. */
static const char *get_call_prefix(const char *lib)
{
	static const char *const collective[] = {
		"mpi", "nccl", "rccl", "hccl", "ucc", "oneccl", "gloo", "c10d"};

	for (unsigned i = 0; i < sizeof(collective) / sizeof(*collective); i++)
		if (strcmp(lib, collective[i]) == 0)
			return "Distributed";
	return strcmp(lib, "aten") == 0 ? "Aten" : lib;
}

static char *copy_field(struct pool *p, const struct csv_text *t)
{
	return pool_copy(p, t->s, t->n);
}

/* Converts "8x512" to "[8, 512]". Without a shape the count is used. */
static const char *format_call_shape(
	struct pool *p, const struct csv_text *shape, const struct csv_text *count)
{
	char *out, *to;

	if (!shape->n)
		return pool_format(p, "[%.*s]", (int)count->n, count->s);
	if (csv_is(shape, "-"))
		return "[]";
	to = out = pool_alloc(p, 2 * shape->n + 3);
	*to++ = '[';
	for (size_t i = 0; i < shape->n; i++) {
		if (shape->s[i] == 'x') {
			*to++ = ',';
			*to++ = ' ';
		} else {
			*to++ = shape->s[i];
		}
	}
	*to++ = ']';
	*to = 0;
	return out;
}

/* Hashes numbers by value, because one number can be written in several ways. */
static uint64_t compute_value_hash(const struct csv_text *t)
{
	double v;
	uint64_t bits;

	if (!csv_parse_double(t, &v))
		return compute_call_name_hash(t->s, t->n);
	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static void add_tensor_item(struct calls *s, struct run_step *step, struct entry *e)
{
	static const enum column stat[STATS_COUNT] = {COL_max, COL_min, COL_mean, COL_norm};
	static const enum column more[] = {COL_zeros, COL_nans, COL_infs, COL_bytes};
	const struct csv_text *io = calls_get_column(s, COL_io), *t;
	struct item *i;
	bool out;

	if (!io->n)
		return;
	out = io->s[0] == 'o';
	i = add_entry_item(e);
	t = calls_get_column(s, COL_index);
	i->state = out ? ITEM_OUTPUT : ITEM_INPUT;
	i->tail = pool_format(&step->pool, "%s.%.*s", out ? ".output" : ".input", (int)t->n, t->s);
	i->dtype = copy_field(&step->pool, calls_get_column(s, COL_dtype));
	i->shape = format_call_shape(
		&step->pool, calls_get_column(s, COL_shape), calls_get_column(s, COL_count));
	t = calls_get_column(s, COL_nans);
	for (unsigned k = 0; k < STATS_COUNT; k++) {
		const struct csv_text *v = calls_get_column(s, stat[k]);

		/* As in msprobe's files: NaN if any element is NaN. */
		i->stat[k] = parse_cell(t->n && !csv_is(t, "0") ? "nan"
					: v->n			? copy_field(&step->pool, v)
								: "None");
	}
	for (unsigned k = 0; k < sizeof(more) / sizeof(*more); k++) {
		t = calls_get_column(s, more[k]);
		i->extra = hash_u64(i->extra, compute_value_hash(t));
	}
	i->counted = csv_parse_u64(calls_get_column(s, COL_nans), &i->nans) &&
		     csv_parse_u64(calls_get_column(s, COL_infs), &i->infs);
	i->unrecorded = step->few_values && !i->counted && !calls_get_column(s, COL_norm)->n;
	t = calls_get_column(s, COL_crc32);
	i->crc = t->n ? copy_field(&step->pool, t) : NULL;
	t = calls_get_column(s, COL_name);
	if (t->n) {
		char *param = csv_copy_field(t);

		i->param = pool_format(&step->pool, "%s", param);
		free(param);
	}
}

static void add_argument(struct run_step *step, struct entry *e, const char *name,
	const char *value, const char *type)
{
	struct item *i = add_entry_item(e);

	i->state = ITEM_INPUT;
	i->scalar = true;
	i->tail = pool_format(&step->pool, ".input.%s", name);
	i->dtype = type;
	i->shape = "[]";
	for (unsigned k = 0; k < STATS_COUNT; k++)
		i->stat[k] = parse_cell(value);
	i->crc = value;
}

static void add_arguments(struct run_step *step, struct entry *e, const struct call *c)
{
	const struct {
		const char *name;
		int64_t v;
	} number[] = {{"root", c->root}, {"peer", c->peer}, {"tag", c->tag}};

	if (c->redop)
		add_argument(step, e, "redop",
			pool_copy_text(&step->pool, intern_get_name(c->redop)), "<class 'str'>");
	for (unsigned i = 0; i < sizeof(number) / sizeof(*number); i++)
		if (number[i].v != NO_NUMBER)
			add_argument(step, e, number[i].name,
				pool_format(&step->pool, "%" PRId64, number[i].v), "<class 'int'>");
}

static void add_run_row(void *arg, struct calls *s, const struct call *c)
{
	struct run_calls *r = arg;
	struct run_step *step;

	if ((r->begun && c->step < r->done) || !is_step_wanted(r, c->step))
		return;
	step = get_run_step(r, c->step);
	if (c->rows == 1) {
		TOOL_GROW(step->call, step->n, step->cap);
		step->call[step->n++] = (struct run_call){0};
		reset_entry(&r->scratch);
	}
	add_tensor_item(s, step, &r->scratch);
}

/* ---- calls ---- */

static const char *get_comm_label(const struct comm_info *k)
{
	return *intern_get_name(k->name) ? intern_get_name(k->name) : intern_get_name(k->kind);
}

/* Hashes the description of a communicator, which is the same in every run. */
static uint64_t compute_description_key(const struct comm_info *k)
{
	/* The key of the world omits its ranks: a run with more ranks has the same world communicator. */
	if (strcmp(intern_get_name(k->kind), "world") == 0)
		return hash_str(3, "world");
	return hash_str(hash_str(hash_u64(2, (uint64_t)k->size), get_comm_label(k)),
		k->ranks ? k->ranks : "");
}

/*
 * Formats a description of a communicator that is the same in every run. Its id may differ between runs: it
 * is in the key only if both runs have it.
 */
static const char *format_comm_description(
	struct run_calls *r, struct run_step *step, const struct call *c, uint64_t *key)
{
	const struct comm_info *k = c->comm ? comms_find(&r->comms, c->comm) : NULL;
	const char *label;

	if (!c->comm) {
		*key = 0;
		return NULL;
	}
	if (!k) {
		*key = hash_u64(1, (uint64_t)c->size);
		return pool_format(&step->pool, "a communicator of %" PRId64 " ranks", c->size);
	}
	*key = compute_description_key(k);
	if (table_find(&r->same_ids, c->comm, 0))
		*key = hash_u64(*key, c->comm);
	if (strcmp(intern_get_name(k->kind), "world") == 0)
		return pool_format(&step->pool, "%s of ranks %s",
			*intern_get_name(k->name) ? intern_get_name(k->name) : "world",
			k->ranks ? k->ranks : "");
	label = get_comm_label(k);
	if (k->ranks && *k->ranks)
		return pool_format(&step->pool, "%s of ranks %s", label, k->ranks);
	return pool_format(&step->pool, "%s of %" PRId64 " ranks", label, k->size);
}

void match_run_comms(struct run_calls *a, struct run_calls *b)
{
	for (uint32_t i = 0; i < a->comms.table.n; i++) {
		const struct comm_info *k = table_at(&a->comms.table, i);
		const struct comm_info *same = comms_find(&b->comms, k->key.a);

		if (!same || compute_description_key(same) != compute_description_key(k))
			continue;
		table_get(&a->same_ids, k->key.a, 0);
		table_get(&b->same_ids, k->key.a, 0);
	}
}

struct nth_op {
	struct table_key key;
	uint64_t n;
};

static void compute_run_keys(struct run_call *call, const struct call *c, const struct run_stack *s,
	uint64_t op, uint64_t comm)
{
	struct run_key *k = &call->key;
	uint64_t content = 1;

	if (comm && c->comm_seq != NO_NUMBER) {
		k->numbered = hash_u64(hash_u64(hash_u64(op, comm), (uint64_t)c->peer),
				      (uint64_t)c->tag) |
			      1;
		k->comm = c->bits & CALL_P2P ? k->numbered : comm;
	}
	k->name = hash_u64(hash_u64(op, comm), (uint64_t)(c->peer != NO_NUMBER)) | 1;
	for (unsigned i = 0; i < call->e.n; i++) {
		const struct item *x = &call->e.item[i];

		k->frames = hash_str(hash_str(k->frames, x->tail), x->dtype ? x->dtype : "");
		k->frames = hash_str(k->frames, x->shape);
		for (unsigned v = 0; v < STATS_COUNT; v++)
			content = hash_str(content, x->stat[v].text);
		content = hash_str(hash_u64(content, x->extra), x->crc ? x->crc : "");
	}
	k->frames = hash_u64(k->name, k->frames);
	k->stack = hash_u64(k->frames, s ? s->whole : 0) | 1;
	k->frames = hash_u64(k->frames, s ? s->functions : 0) | 1;
	k->content = hash_u64(k->stack, content) | 1;
}

static uint64_t compute_op_key(const struct run_call *c)
{
	return hash_str(hash_str(0, c->lib), c->op);
}

/* Called when all rows of a call were read. */
static void add_complete_call(struct run_calls *r, struct run_step *step, const struct call *c)
{
	struct run_call *call = &step->call[step->n - 1];
	struct entry *e = &call->e;
	const char *op = intern_get_name(c->op), *lib = intern_get_name(c->lib);
	const struct run_stack *s = c->stack ? table_find(&r->stacks, c->stack, 0) : NULL;
	uint64_t comm;

	add_arguments(step, &r->scratch, c);
	*e = r->scratch;
	e->pool = (struct pool){0};
	e->item = pool_alloc(&step->pool, (e->n + 1) * sizeof(*e->item));
	if (e->n)
		memcpy(e->item, r->scratch.item, e->n * sizeof(*e->item));
	e->cap = 0;
	call->lib = lib;
	call->op = op;
	e->step = (int64_t)c->step;
	e->seq = c->seq;
	e->number = c->seq;
	e->start_ns = c->start;
	e->comm_seq = c->comm_seq == NO_NUMBER ? -1 : c->comm_seq;
	e->comm = format_comm_description(r, step, c, &comm);
	e->stack = s ? s->text : NULL;
	e->line = s ? s->line : NULL;
	compute_run_keys(call, c, s, compute_op_key(call), comm);
}

static bool read_run_call(struct run_calls *r)
{
	struct call c;

	if (!calls_read_next(&r->calls, &c)) {
		r->ended = true;
		return false;
	}
	if (!is_step_wanted(r, c.step))
		return true;
	if (r->begun && c.step < r->done) {
		r->late++;
		return true;
	}
	add_complete_call(r, get_run_step(r, c.step), &c);
	r->kept++;
	if (c.step > r->newest)
		r->newest = c.step;
	return true;
}

static int compare_call_seqs(const void *x, const void *y)
{
	const struct run_call *a = x, *b = y;

	return a->e.seq < b->e.seq ? -1 : a->e.seq > b->e.seq;
}

/* The n-th call of an operation in a step has number n - 1 in its name, in the order in which the rank made them. */
static void set_call_names(struct run_step *step)
{
	for (unsigned i = 0; i < step->n; i++) {
		struct run_call *c = &step->call[i];
		struct nth_op *nth;

		if (c->e.name)
			continue;
		nth = table_get(&step->nth, compute_op_key(c), 0);
		c->e.name = pool_format(&step->pool, "%s.%s.%" PRIu64 ".forward",
			get_call_prefix(c->lib), c->op, nth ? nth->n++ : 0);
		for (unsigned k = 0; k < c->e.n; k++)
			c->e.item[k].name =
				pool_format(&step->pool, "%s%s", c->e.name, c->e.item[k].tail);
	}
}

/* True if more calls of the lowest step may follow. */
static bool may_grow(const struct run_calls *r)
{
	const struct run_step *s = &r->step[r->first];

	return !r->ended && (s->step + STEPS_LATE > r->newest || r->kept - s->n < CALLS_LATE);
}

struct run_step *read_run_step(struct run_calls *r)
{
	struct run_step *s;

	while (!r->ended &&
		(r->nstep == r->first || (may_grow(r) && r->step[r->first].n < CALLS_KEPT)))
		read_run_call(r);
	if (r->nstep == r->first)
		return NULL;
	s = &r->step[r->first];
	qsort(s->call, s->n, sizeof(*s->call), compare_call_seqs);
	set_call_names(s);
	r->begun = true;
	r->done = s->step;
	return s;
}

void remove_run_calls(struct run_calls *r, unsigned n)
{
	struct run_step *s = &r->step[r->first];

	if (n < s->n) {
		/* Strings stay valid until the step ends. */
		memmove(s->call, s->call + n, (s->n - n) * sizeof(*s->call));
		s->n -= n;
		r->kept -= n;
		return;
	}
	r->kept -= s->n;
	s->n = 0;
	if (may_grow(r))
		return;
	r->done = s->step + 1;
	pool_free(&s->pool);
	table_free(&s->nth);
	free(s->call);
	/* Moved once in a while, because short steps are many. */
	if (++r->first * 2 > r->nstep) {
		r->nstep -= r->first;
		memmove(r->step, r->step + r->first, r->nstep * sizeof(*r->step));
		r->first = 0;
	}
}

void open_run_calls(struct run_calls *r, const struct rank_dir *dir, uint32_t rank,
	const struct overlay *o, const struct ranges *steps)
{
	*r = (struct run_calls){.steps = steps, .meta = &dir->meta};
	table_init(&r->stacks, sizeof(struct run_stack), STACKS_MAX);
	comms_init(&r->comms);
	table_init(&r->same_ids, sizeof(struct table_key), UINT32_MAX);
	comms_read(&r->comms, dir, o);
	read_run_stacks(r, dir->path);
	if (o->path)
		read_run_stacks(r, o->path);
	calls_open(&r->calls, dir, rank, o);
	if (steps->n) {
		r->calls.step_lo = steps->item[0].lo;
		r->calls.step_hi = steps->item[steps->n - 1].hi;
	}
	r->calls.row = add_run_row;
	r->calls.row_arg = r;
}

void close_run_calls(struct run_calls *r)
{
	calls_close(&r->calls);
	comms_free(&r->comms);
	table_free(&r->same_ids);
	table_free(&r->stacks);
	pool_free(&r->texts);
	for (unsigned i = r->first; i < r->nstep; i++) {
		pool_free(&r->step[i].pool);
		table_free(&r->step[i].nth);
		free(r->step[i].call);
	}
	free(r->step);
	free_entry(&r->scratch);
	*r = (struct run_calls){0};
}
