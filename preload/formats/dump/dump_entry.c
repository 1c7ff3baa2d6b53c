/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/dump_entry.h"

#include <stdio.h>
#include <string.h>

#include "terms/redop.h"
#include "base/unwritten.h"
#include "formats/dump/dump_modules.h"

/* ---- tensors by their position ---- */

/*
 * True for a NaN or Inf in memory that was never written: it is not a value, and tools that
 * search for the first NaN would report it.
 */
static bool is_garbage(const struct staged_call *c, const struct journal_tensor *t)
{
	return t->io == IO_OUT && t->stats.n && (t->stats.nans || t->stats.infs) &&
	       strcmp(c->lib, "aten") == 0 && unwritten_is_made(c->op);
}

/*
 * where: "input", "output"; i: position of the argument; k: position in the argument's list (k <
 * 0: not in a list).
 */
static void put_placed_tensor(struct dump_writer *w, const struct staged_call *c,
	const struct journal_tensor *t, const char *where, unsigned i, int k, bool blank)
{
	char stem[DUMP_NAME_MAX + 48], file[DUMP_NAME_MAX + 64] = "";

	if (!blank && dump_is_number(c, t)) {
		dump_write_number(w->j, t);
		return;
	}
	if (w->saved && !blank) {
		if (k < 0)
			snprintf(stem, sizeof(stem), "%s.%s.%u", w->name, where, i);
		else
			snprintf(stem, sizeof(stem), "%s.%s.%u.%d", w->name, where, i, k);
		w->saved(w->arg, c, t, stem, file, sizeof(file));
	}
	dump_write_tensor(
		w->j, w->cfg, t, blank || is_garbage(c, t), w->saved && !blank ? file : NULL);
}

static const struct journal_tensor *find_tensor_by_number(
	const struct staged_call *c, enum tensor_io io, unsigned n)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->tensor[i]->io == io && n-- == 0)
			return c->tensor[i];
	return NULL;
}

static unsigned count_tensors(const struct staged_call *c, enum tensor_io io)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n; i++)
		n += c->tensor[i]->io == io;
	return n;
}

/* Begins an item of an array, each on its own line. */
static void start_item(struct dump_writer *w, unsigned *n)
{
	dump_write_json_raw(w->j, (*n)++ ? ",\n    " : "\n    ");
}

static void close_items(struct dump_writer *w, unsigned n)
{
	dump_write_json_raw(w->j, n ? "\n   ]" : "]");
}

/* ---- functions of torch.distributed ---- */

/* Types of the function's first arguments. */
enum dist_args {
	ARGS_TENSOR, /* a tensor that is read or written */
	ARGS_TENSORS, /* a list of such tensors */
	ARGS_OUT_IN,
	ARGS_OUTS_IN,
	ARGS_IN_OUTS,
	ARGS_OUT_INS,
	ARGS_OUTS_INS,
	ARGS_NONE,
};

static const struct dist_function {
	char name[24];
	uint8_t args; /* enum dist_args */
	char root[8]; /* keyword for the root, or for the peer */
	bool reduces;
} dist_functions[] = {
	{"all_reduce", ARGS_TENSOR, "", true},
	{"broadcast", ARGS_TENSOR, "src", false},
	{"reduce", ARGS_TENSOR, "dst", true},
	{"send", ARGS_TENSOR, "dst", false},
	{"isend", ARGS_TENSOR, "dst", false},
	{"recv", ARGS_TENSOR, "src", false},
	{"irecv", ARGS_TENSOR, "src", false},
	{"all_gather", ARGS_OUTS_IN, "", false},
	{"all_gather_into_tensor", ARGS_OUT_IN, "", false},
	{"all_gather_single", ARGS_OUT_IN, "", false},
	{"_all_gather_base", ARGS_OUT_IN, "", false},
	{"gather", ARGS_IN_OUTS, "dst", false},
	{"scatter", ARGS_OUT_INS, "src", false},
	{"reduce_scatter", ARGS_OUT_INS, "", true},
	{"reduce_scatter_tensor", ARGS_OUT_IN, "", true},
	{"reduce_scatter_single", ARGS_OUT_IN, "", true},
	{"_reduce_scatter_base", ARGS_OUT_IN, "", true},
	{"all_to_all_single", ARGS_OUT_IN, "", false},
	{"all_to_all", ARGS_OUTS_INS, "", false},
	{"all_reduce_coalesced", ARGS_TENSORS, "", true},
	{"all_gather_coalesced", ARGS_OUTS_INS, "", false},
	{"barrier", ARGS_NONE, "", false},
};

static const struct dist_function *find_dist_function(const char *api)
{
	if (strncmp(api, "cxx_", 4) == 0)
		api += 4;
	for (unsigned i = 0; i < sizeof(dist_functions) / sizeof(*dist_functions); i++)
		if (strcmp(dist_functions[i].name, api) == 0)
			return &dist_functions[i];
	return NULL;
}

/* An argument: it is one side of the call, as a tensor or as a list. */
struct dist_side {
	enum tensor_io io;
	bool list;
};

static unsigned get_dist_sides(enum dist_args args, struct dist_side side[2])
{
	static const struct {
		uint8_t n;
		struct dist_side side[2];
	} of[] = {
		[ARGS_OUT_IN] = {2, {{IO_OUT, false}, {IO_IN, false}}},
		[ARGS_OUTS_IN] = {2, {{IO_OUT, true}, {IO_IN, false}}},
		[ARGS_IN_OUTS] = {2, {{IO_IN, false}, {IO_OUT, true}}},
		[ARGS_OUT_INS] = {2, {{IO_OUT, false}, {IO_IN, true}}},
		[ARGS_OUTS_INS] = {2, {{IO_OUT, true}, {IO_IN, true}}},
	};

	if (args >= sizeof(of) / sizeof(*of))
		return 0;
	memcpy(side, of[args].side, sizeof(of[args].side));
	return of[args].n;
}

static void write_side_list(struct dump_writer *w, const struct staged_call *c, enum tensor_io io,
	const char *where, unsigned at, bool blank)
{
	unsigned n = count_tensors(c, io);

	dump_write_json_raw(w->j, "[");
	for (unsigned i = 0; i < n; i++) {
		dump_write_json_raw(w->j, i ? ",\n     " : "\n     ");
		put_placed_tensor(w, c, find_tensor_by_number(c, io, i), where, at, (int)i, blank);
	}
	dump_write_json_raw(w->j, n ? "\n    ]" : "]");
}

/*
 * Writes the tensors of the arguments, as before the call (after false) or after it. Returns the
 * number of arguments.
 */
static unsigned write_dist_tensors(struct dump_writer *w, const struct staged_call *c,
	enum dist_args args, bool after, unsigned n)
{
	const char *where = after ? "output" : "input";
	struct dist_side side[2];
	unsigned sides = get_dist_sides(args, side);
	const struct journal_tensor *t;

	if (args == ARGS_TENSOR) {
		/* An output has no value before the call; an input has the same value after it. */
		const struct journal_tensor *in = find_tensor_by_number(c, IO_IN, 0),
					    *out = find_tensor_by_number(c, IO_OUT, 0);

		t = after ? (out ? out : in) : (in ? in : out);
		if (!t)
			return n;
		start_item(w, &n);
		put_placed_tensor(w, c, t, where, n - 1, -1, !after && !in);
		return n;
	}
	if (args == ARGS_TENSORS) {
		start_item(w, &n);
		write_side_list(w, c, after && count_tensors(c, IO_OUT) ? IO_OUT : IO_IN, where,
			n - 1, false);
		return n;
	}
	for (unsigned i = 0; i < sides; i++) {
		bool blank = side[i].io == IO_OUT && !after;

		if (!count_tensors(c, side[i].io)) {
			/*
			 * The argument is missing: null keeps the positions of the values that
			 * follow.
			 */
			if (after) {
				start_item(w, &n);
				dump_write_json_raw(w->j, "null");
			}
			continue;
		}
		start_item(w, &n);
		if (side[i].list)
			write_side_list(w, c, side[i].io, where, n - 1, blank);
		else
			put_placed_tensor(w, c, find_tensor_by_number(c, side[i].io, 0), where,
				n - 1, -1, blank);
	}
	return n;
}

/* Writes inputs, or outputs, one after the other, for functions that are not in the table. */
static unsigned write_flat_tensors(struct dump_writer *w, const struct staged_call *c,
	enum tensor_io io, const char *where, unsigned n)
{
	unsigned count = count_tensors(c, io);

	for (unsigned i = 0; i < count; i++) {
		start_item(w, &n);
		put_placed_tensor(w, c, find_tensor_by_number(c, io, i), where, n - 1, -1, false);
	}
	return n;
}

/* Arguments that are not tensors: written by name, or after the other values. */
struct dist_extra {
	bool root, root_named, op, group, async;
	int32_t rank;
};

static void find_dist_extra(
	const struct dump_group *g, const struct dist_function *f, struct dist_extra *e)
{
	const struct journal_call *c = g->call[0].call;
	int32_t rank = c->root != JOURNAL_NONE ? c->root : c->peer;

	*e = (struct dist_extra){.root_named = true};
	if (f && f->root[0] && rank != JOURNAL_NONE) {
		e->root = true;
		e->rank = dump_get_world_rank(g->comm, rank);
		e->root_named =
			!g->site || !g->site->dist[0] || dump_site_has_keyword(g->site, f->root);
	}
	/* A sum is the default, and is not written. */
	e->op = f && f->reduces && c->redop &&
		(c->redop != REDOP_SUM || (g->site && dump_site_has_keyword(g->site, "op")));
	e->async = g->site && g->site->dist[0] && dump_site_has_keyword(g->site, "async_op");
	/* Calls without a group use the default group, which msprobe does not describe. */
	e->group =
		g->comm &&
		(g->comm->size != g->world_size ||
			(g->site && g->site->dist[0] && dump_site_has_keyword(g->site, "group")));
}

static void write_keyword(struct dump_writer *w, const char *key, unsigned *n)
{
	dump_write_json_raw(w->j, (*n)++ ? ",\n    " : "\n    ");
	if (key) {
		dump_write_json_text(w->j, key);
		dump_write_json_raw(w->j, ": ");
	}
}

/* named: write them as members of an object, else as items of an array. */
static unsigned write_dist_extra(struct dump_writer *w, const struct dump_group *g,
	const struct dist_function *f, const struct dist_extra *e, bool named, unsigned n)
{
	if (e->root && e->root_named) {
		write_keyword(w, named ? f->root : NULL, &n);
		dump_write_int(w->j, e->rank);
	}
	if (e->op) {
		write_keyword(w, named ? "op" : NULL, &n);
		dump_write_redop(w->j, g->call[0].call->redop);
	}
	if (e->group) {
		write_keyword(w, named ? "group" : NULL, &n);
		dump_write_group(w->j, g->comm);
	}
	if (e->async) {
		write_keyword(w, named ? "async_op" : NULL, &n);
		dump_write_bool(w->j, true);
	}
	return n;
}

/* Writes the messages of batch_isend_irecv. */
static void write_messages(struct dump_writer *w, const struct dump_group *g, bool after)
{
	char id[9];

	dump_write_json_raw(w->j, "\n    [");
	for (unsigned i = 0; i < g->n; i++) {
		const struct staged_call *c = &g->call[i];
		const struct journal_tensor *in = find_tensor_by_number(c, IO_IN, 0),
					    *out = find_tensor_by_number(c, IO_OUT, 0);
		bool sends = strcmp(c->op, "send") == 0;
		const struct journal_tensor *t = sends ? in : out ? out : in;

		dump_write_json_raw(w->j, i ? ",\n     " : "\n     ");
		dump_write_json_raw(
			w->j, "{\"class_type\": \"torch.distributed.P2POp\", \"tensor\": ");
		if (t)
			put_placed_tensor(
				w, c, t, after ? "output" : "input", 0, (int)i, !after && !sends);
		else
			dump_write_json_raw(w->j,
				"{\"type\": \"torch.Tensor\", \"dtype\": null, \"shape\": null}");
		dump_write_json_raw(w->j, sends ? ", \"op\": \"isend\", \"peer\": "
						: ", \"op\": \"irecv\", \"peer\": ");
		dump_write_json_i64(w->j, c->call->peer == JOURNAL_NONE
						  ? -1
						  : dump_get_world_rank(g->comm, c->call->peer));
		dump_write_json_raw(w->j, ", \"tag\": ");
		dump_write_json_i64(w->j, c->call->tag == JOURNAL_NONE ? 0 : c->call->tag);
		if (g->comm) {
			dump_format_group_id(g->comm, id);
			dump_write_json_raw(w->j, ", \"group_id\": \"");
			dump_write_json_raw(w->j, id);
			dump_write_json_raw(w->j, "\"");
		}
		dump_write_json_raw(w->j, "}");
	}
	dump_write_json_raw(w->j, "\n    ]\n   ]");
}

void dump_put_distributed(struct dump_writer *w, const struct dump_group *g)
{
	const struct dist_function *f = find_dist_function(g->api);
	const struct staged_call *c = &g->call[0];
	bool batch = g->site && g->site->batch;
	struct dist_extra e;
	unsigned n = 0;

	find_dist_extra(g, f, &e);
	if (w->input) {
		dump_write_json_raw(w->j, "\n   \"input_args\": [");
		if (batch) {
			write_messages(w, g, false);
		} else {
			n = f ? write_dist_tensors(w, c, f->args, false, 0)
			      : write_flat_tensors(w, c, IO_IN, "input", 0);
			if (e.root && !e.root_named) {
				start_item(w, &n);
				dump_write_int(w->j, e.rank);
			}
			close_items(w, n);
		}
		dump_write_json_raw(w->j, ",\n   \"input_kwargs\": {");
		n = batch ? 0 : write_dist_extra(w, g, f, &e, true, 0);
		dump_write_json_raw(w->j, n ? "\n   }" : "}");
	}
	if (!w->output)
		return;
	dump_write_json_raw(w->j, w->input ? ",\n   \"output\": [" : "\n   \"output\": [");
	if (batch) {
		write_messages(w, g, true);
		return;
	}
	n = c->open ? 0
	    : f	    ? write_dist_tensors(w, c, f->args, true, 0)
		    : write_flat_tensors(w, c, IO_OUT, "output", 0);
	if (!c->open && e.root && !e.root_named) {
		start_item(w, &n);
		dump_write_int(w->j, e.rank);
	}
	if (!c->open)
		n = write_dist_extra(w, g, f, &e, false, n);
	close_items(w, n);
}

/* ---- operators ---- */

/*
 * Returns the number of the tensor's argument, from 1, which is known for tensors with a shape;
 * 0: not known.
 */
static unsigned get_argument_number(const struct journal_tensor *t)
{
	return t->ndim == JOURNAL_NDIM_NONE ? 0 : TENSOR_ARG(t->arg);
}

static unsigned get_tensor_item(const struct journal_tensor *t)
{
	return t->ndim == JOURNAL_NDIM_NONE ? 0 : t->item;
}

/*
 * Writes tensors by the positions of their arguments. Gaps between recorded tensors (an
 * operator's other arguments) become null.
 */
static void write_by_places(
	struct dump_writer *w, const struct staged_call *c, enum tensor_io io, const char *where)
{
	unsigned n = 0;
	bool list = false;

	for (unsigned i = 0; i < c->n; i++) {
		const struct journal_tensor *t = c->tensor[i];
		unsigned arg = get_argument_number(t), item = get_tensor_item(t);

		if (t->io != io)
			continue;
		if (list && item > 1 && arg == n) {
			dump_write_json_raw(w->j, ",\n     ");
			put_placed_tensor(w, c, t, where, n - 1, (int)item - 1, false);
			continue;
		}
		if (list)
			dump_write_json_raw(w->j, "\n    ]");
		list = false;
		while (arg && n + 1 < arg) {
			start_item(w, &n);
			dump_write_json_raw(w->j, "null");
		}
		start_item(w, &n);
		list = item > 0;
		if (list)
			dump_write_json_raw(w->j, "[\n     ");
		put_placed_tensor(w, c, t, where, n - 1, list ? (int)item - 1 : -1, false);
	}
	if (list)
		dump_write_json_raw(w->j, "\n    ]");
	close_items(w, n);
}

void dump_write_operator(struct dump_writer *w, const struct dump_group *g)
{
	if (w->input) {
		dump_write_json_raw(w->j, "\n   \"input_args\": [");
		write_by_places(w, &g->call[0], IO_IN, "input");
		dump_write_json_raw(w->j, ",\n   \"input_kwargs\": {}");
	}
	if (w->output) {
		dump_write_json_raw(w->j, w->input ? ",\n   \"output\": [" : "\n   \"output\": [");
		close_items(w, write_flat_tensors(w, &g->call[g->n - 1], IO_OUT, "output", 0));
	}
}

/*
 * Returns the tensor at a position of one side, from 1; *of: the record that has it. Returns NULL
 * if there is none.
 */
static const struct journal_tensor *find_node_gradient(const struct staged_call *c,
	enum tensor_io io, unsigned place, const struct staged_call **of)
{
	unsigned n = 0;

	*of = c;
	for (unsigned i = 0; i < c->n; i++) {
		const struct journal_tensor *t = c->tensor[i];
		unsigned arg = get_argument_number(t);

		n += t->io == io;
		if (t->io == io && (arg ? arg : n) == place)
			return t;
	}
	return NULL;
}

static void write_node_gradients(struct dump_writer *w, const struct staged_call *c,
	enum tensor_io io, const char *where, const struct staged_call *part, unsigned nparts)
{
	unsigned n = 0, last = count_tensors(c, io);

	for (unsigned i = 0; i < c->n; i++)
		if (c->tensor[i]->io == io && get_argument_number(c->tensor[i]) > last)
			last = get_argument_number(c->tensor[i]);
	for (unsigned i = 0; i < nparts; i++)
		if (part[i].n && get_argument_number(part[i].tensor[0]) > last)
			last = get_argument_number(part[i].tensor[0]);
	while (n < last) {
		const struct staged_call *of;
		const struct journal_tensor *t = find_node_gradient(c, io, n + 1, &of);

		for (unsigned i = 0; i < nparts; i++)
			if (part[i].n && get_argument_number(part[i].tensor[0]) == n + 1) {
				t = part[i].tensor[0];
				of = &part[i];
			}
		start_item(w, &n);
		if (t && t->dtype != DT_OTHER)
			put_placed_tensor(w, of, t, where, n - 1, -1, false);
		else
			dump_write_json_raw(w->j, "null");
	}
	close_items(w, n);
}

void dump_write_backward(struct dump_writer *w, const struct dump_group *g,
	const struct staged_call *part, unsigned nparts)
{
	if (w->input) {
		dump_write_json_raw(w->j, "\n   \"input\": [");
		write_node_gradients(w, &g->call[0], IO_IN, "input", NULL, 0);
	}
	if (w->output) {
		dump_write_json_raw(w->j, w->input ? ",\n   \"output\": [" : "\n   \"output\": [");
		write_node_gradients(w, &g->call[g->n - 1], IO_OUT, "output", part, nparts);
	}
}

/* ---- modules ---- */

static const char *get_own_call_name(const struct staged_call *c)
{
	const char *dot = strrchr(c->op, '.');

	return dot ? dot + 1 : c->op;
}

/*
 * where: "kwargs.mask", "parameters.weight": part of the tensor's file name. Several values are
 * written as a list.
 */
static void put_named_values(struct dump_writer *w, const struct staged_call *c, const char *where)
{
	char stem[DUMP_NAME_MAX + 160], file[DUMP_NAME_MAX + 176];
	bool list = c->n != 1 || get_tensor_item(c->tensor[0]);

	if (list)
		dump_write_json_raw(w->j, "[");
	for (unsigned i = 0; i < c->n; i++) {
		file[0] = 0;
		if (list)
			dump_write_json_raw(w->j, i ? ",\n     " : "\n     ");
		snprintf(
			stem, sizeof(stem), list ? "%s.%.120s.%u" : "%s.%.120s", w->name, where, i);
		if (w->saved)
			w->saved(w->arg, c, c->tensor[i], stem, file, sizeof(file));
		dump_write_tensor(w->j, w->cfg, c->tensor[i], false, w->saved ? file : NULL);
	}
	if (list)
		dump_write_json_raw(w->j, c->n ? "\n    ]" : "]");
}

/* Writes an object with one member for each call of the group that is such a part. */
static void write_module_part_calls(struct dump_writer *w, const struct dump_group *g,
	enum module_part part, const char *folder)
{
	char where[128];
	unsigned n = 0;

	dump_write_json_raw(w->j, "{");
	for (unsigned i = 0; i < g->n; i++) {
		const struct staged_call *c = &g->call[i];

		if (dump_get_module_part(c) != part)
			continue;
		snprintf(where, sizeof(where), "%s%.100s", folder, get_own_call_name(c));
		write_keyword(w, get_own_call_name(c), &n);
		put_named_values(w, c, where);
	}
	dump_write_json_raw(w->j, n ? "\n   }" : "}");
}

void dump_write_module(struct dump_writer *w, const struct dump_group *g)
{
	if (w->input) {
		dump_write_json_raw(w->j, "\n   \"input_args\": [");
		write_by_places(w, &g->call[0], IO_IN, "input");
		dump_write_json_raw(w->j, ",\n   \"input_kwargs\": ");
		write_module_part_calls(w, g, MODULE_KEYWORD, "kwargs.");
	}
	if (!w->output)
		return;
	dump_write_json_raw(w->j, w->input ? ",\n   \"output\": [" : "\n   \"output\": [");
	if (dump_get_module_part(&g->call[g->n - 1]) == MODULE_OUTPUT)
		write_by_places(w, &g->call[g->n - 1], IO_OUT, "output");
	else
		dump_write_json_raw(w->j, "]");
	dump_write_json_raw(w->j, ",\n   \"parameters\": ");
	write_module_part_calls(w, g, MODULE_PARAMETER, "parameters.");
}

/*
 * Returns the last gradient of the tensor at position `place`, or NULL. last: the highest
 * position with a gradient.
 */
static const struct staged_call *find_gradient(
	const struct dump_group *g, enum tensor_io io, unsigned place, unsigned *last)
{
	const struct staged_call *found = NULL;

	*last = 0;
	for (unsigned i = 0; i < g->n; i++) {
		unsigned at = g->call[i].n ? get_argument_number(g->call[i].tensor[0]) : 0;

		if (!at || g->call[i].tensor[0]->io != io)
			continue;
		if (at == place)
			found = &g->call[i];
		*last = at > *last ? at : *last;
	}
	return found;
}

static void write_module_gradients(
	struct dump_writer *w, const struct dump_group *g, enum tensor_io io, const char *where)
{
	unsigned n = 0, last;

	do {
		const struct staged_call *c = find_gradient(g, io, n + 1, &last);

		if (n >= last)
			break;
		start_item(w, &n);
		if (c)
			put_placed_tensor(w, c, c->tensor[0], where, n - 1, -1, false);
		else
			dump_write_json_raw(w->j, "null");
	} while (n < last);
	close_items(w, n);
}

void dump_write_module_backward(struct dump_writer *w, const struct dump_group *g)
{
	if (w->input) {
		dump_write_json_raw(w->j, "\n   \"input\": [");
		write_module_gradients(w, g, IO_IN, "input");
	}
	if (w->output) {
		dump_write_json_raw(w->j, w->input ? ",\n   \"output\": [" : "\n   \"output\": [");
		write_module_gradients(w, g, IO_OUT, "output");
	}
}

void dump_write_module_parameters(struct dump_writer *w, const struct dump_group *g)
{
	unsigned n = 0;

	for (unsigned i = 0; i < g->n; i++) {
		write_keyword(w, get_own_call_name(&g->call[i]), &n);
		dump_write_json_raw(w->j, "[");
		put_named_values(w, &g->call[i], get_own_call_name(&g->call[i]));
		dump_write_json_raw(w->j, "]");
	}
}
