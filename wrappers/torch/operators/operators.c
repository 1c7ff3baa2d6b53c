/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators: at::_ops::<name>::call is the dispatcher's entry for C++ (and with it for Python), ::redispatch the one below
 * autograd, which is also reached from a graph without C++. Both are observed, and the inner one of a pair is nested like any
 * call within a call.
 */
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "config/rooms/calls.h"
#include "journal/layout.h"
#include "session/state.h"
#include "config/list/wraplist.h"
#include "elf/loaded/elfsym.h"
#include "life/life.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/numbers/attention_ops.h"
#include "wrappers/torch/numbers/flop_ops.h"
#include "wrappers/torch/tensors/on_device.h"
#include "wrappers/torch/numbers/scalars.h"
#include "wrappers/torch/tensors/torch.h"

#define PREFIX "_ZN2at4_ops"
#define DIMS_ROOM 8 /* dimensions of each result for which space is reserved */
#define LIST_ROOM 16 /* results for which space is reserved if an operator returns a list */

/* ---- which operators are recorded ---- */

/* Names in Python that differ from the operator's. */
static const struct {
	const char *method, *op;
} spelled[] = {{"truediv", "div"}, {"itruediv", "div_"}, {"iadd", "add_"}, {"isub", "sub_"},
	{"imul", "mul_"}, {"idiv", "div_"}, {"radd", "add"}, {"rmul", "mul"}, {"getitem", "index"},
	{"setitem", "index_put_"}, {"ipow", "pow_"}};

/* True if `base` is listed under one of its Python names. */
static bool listed_python(const char *base)
{
	static const char *const section[] = {"functional", "tensor", "torch"};
	char name[160];
	bool hit = false;

	for (unsigned i = 0; i < 3; i++) {
		if (wraplist_find_section(get_wraplist(), section[i]) == WRAPLIST_NONE)
			continue;
		hit |= wraplist_match(get_wraplist(), section[i], base);
		snprintf(name, sizeof(name), "__%.120s__", base);
		hit |= wraplist_match(get_wraplist(), section[i], name);
		for (unsigned k = 0; k < sizeof(spelled) / sizeof(*spelled); k++) {
			if (strcmp(spelled[k].op, base) != 0)
				continue;
			snprintf(name, sizeof(name), "__%s__", spelled[k].method);
			hit |= wraplist_match(get_wraplist(), section[i], name);
		}
	}
	return hit;
}

bool torch_op_listed(const char *base, const char *overload)
{
	char name[192];
	bool hit;

	snprintf(name, sizeof(name), "aten::%.120s", base);
	hit = wraplist_match(get_wraplist(), "aten", name);
	if (overload && *overload) {
		snprintf(name, sizeof(name), "aten::%.120s.%.60s", base, overload);
		hit |= wraplist_match(get_wraplist(), "aten", name);
	}
	return hit || listed_python(base);
}

/*
 * Extracts the operator's C++ name from the mangled one. Returns false if the symbol is not an
 * operator, or another kind of function.
 */
static bool parse_struct_name(const char *symbol, char *out, size_t cap)
{
	const char *p = get_op_name_after(symbol, PREFIX, out, cap);

	return p && (strncmp(p, "4callE", 6) == 0 || strncmp(p, "10redispatchE", 13) == 0);
}

static bool is_call_symbol(const char *symbol, const char *name)
{
	return strstr(symbol + sizeof(PREFIX) - 1 + strlen(name), "10redispatchE") == NULL;
}

/*
 * True if the operator is listed. Only the name of its C++ struct is known; it is modified
 * temporarily.
 */
static bool is_op_name_listed(char *name)
{
	static const char *const section[] = {"aten", "functional", "tensor", "torch"};
	bool any = false;

	for (unsigned i = 0; i < 4; i++)
		any |= wraplist_find_section(get_wraplist(), section[i]) != WRAPLIST_NONE;
	if (!any)
		return false;
	if (torch_op_listed(name, NULL))
		return true;
	/*
	 * Where the overload's name begins in add_relu_Tensor is not known yet, so each position
	 * is tried.
	 */
	for (char *u = strchr(name + 1, '_'); u; u = strchr(u + 1, '_')) {
		bool hit;

		*u = 0;
		hit = torch_op_listed(name, u + 1);
		*u = '_';
		if (hit)
			return true;
	}
	return false;
}

bool torch_op_wanted(const char *symbol)
{
	char name[128];

	if (!parse_struct_name(symbol, name, sizeof(name)))
		return false;
	if ((torch_is_optimizer_op(name) || torch_is_scalar_op(name) || is_attention_op(name)) &&
		is_call_symbol(symbol, name))
		return true;
	if (torch_is_flop_op(name))
		return true;
	if (torch_is_possible_marker(name) ||
		torch_is_marker_check(name, is_call_symbol(symbol, name)))
		return true;
	return is_op_name_listed(name);
}

static void parse_schema_name(const char *schema, char *base, char *overload, size_t cap)
{
	size_t n = strcspn(schema, ".("), m = 0;

	if (n >= cap)
		n = cap - 1;
	memcpy(base, schema, n);
	base[n] = 0;
	if (schema[n] == '.') {
		m = strcspn(schema + n + 1, "(");
		if (m >= cap)
			m = cap - 1;
		memcpy(overload, schema + n + 1, m);
	}
	overload[m] = 0;
}

/*
 * Between 1.13 and 2.2 OptionalArrayRef had the name of today, but was another type, whose layout
 * was never verified. Other optionals by value have another name in these versions, and are not
 * supported.
 */
static bool is_op_type_supported(const struct op_type *t)
{
	static _Atomic int is_new; /* 0: not examined, 1: yes, 2: no */
	struct provider p;

	for (unsigned i = 0; i < t->nargs; i++) {
		if (!t->members[i] || t->members[i]->size != 24)
			continue;
		if (!is_new)
			is_new = elfsym_find_all("aoti_torch_get_data_ptr", &p, 1) > 0 ? 1 : 2;
		if (is_new == 2)
			return false;
	}
	return true;
}

/*
 * Reads from the mangled name and the schema how the operator is called. Returns the schema; or
 * NULL, with the reason, if it is not known.
 */
static const char *read_op_type_and_schema(
	const char *symbol, const char *name, struct op_type *t, const char **why)
{
	const char *schema;

	*why = "a parameter of a type that libprobe does not know";
	if (!parse_op_params(symbol, torch_is_1_13(), t) || !is_op_type_supported(t))
		return NULL;
	*why = "which of several schemas is its own is not clear";
	/* In redispatch the arguments come after the key set. */
	schema = find_op_schema(name, t, is_call_symbol(symbol, name) ? 0 : 1);
	if (!schema)
		return NULL;
	*why = "a result of a type that libprobe does not know";
	return parse_op_result(schema, t) ? schema : NULL;
}

bool torch_op_refused(const char *symbol, char *out, size_t cap, const char **lib, const char **why)
{
	struct op_type t;
	char name[128];

	if (!parse_struct_name(symbol, name, sizeof(name)) ||
		read_op_type_and_schema(symbol, name, &t, why) || !is_op_name_listed(name))
		return false;
	*lib = adapter_aten.name;
	snprintf(out, cap, "at::_ops::%.100s::%s", name,
		is_call_symbol(symbol, name) ? "call" : "redispatch");
	return true;
}

bool torch_set_op_row(struct torch_function *r, const char *symbol)
{
	char name[128], base[64], overload[64];
	struct op_type *t = &r->op;
	struct api_spec *s = &r->cxx.spec;
	const char *schema, *why;
	bool call, is_listed;
	enum torch_scope scope;

	schema = parse_struct_name(symbol, name, sizeof(name))
			 ? read_op_type_and_schema(symbol, name, t, &why)
			 : NULL;
	if (!schema)
		return false;
	call = is_call_symbol(symbol, name);
	parse_schema_name(schema, base, overload, sizeof(base));
	is_listed = torch_op_listed(base, overload);
	scope = torch_get_marker_scope(base, overload);
	r->optimizer_op = call && torch_is_optimizer_op(name);
	if (!is_listed && !scope && r->optimizer_op) {
		scope = SCOPE_COUNTED;
		torch_register_optimizer_op(r, name);
	}
	if (call && torch_is_scalar_op(name)) {
		torch_register_scalar_op(r, name);
		if (!is_listed && !scope)
			scope = SCOPE_NUMBER;
	}
	if (call && is_attention_op(name)) {
		set_attention_op(r, name);
		if (!is_listed && !scope)
			scope = SCOPE_NUMBER;
	}
	if (torch_is_flop_op(name)) {
		/* To show whether a Python function runs again, only `call` is needed. */
		if (scope == SCOPE_LOOK && !call)
			scope = SCOPE_NONE;
		torch_register_flop_op(r, name, !is_listed && !scope);
		if (!is_listed && !scope)
			scope = SCOPE_FLOPS;
	}
	if (!is_listed && !scope)
		return false;
	session_record_layout_fact(LAYOUT_TORCH_OPERATORS, true);
	snprintf(r->cxx.symbol, sizeof(r->cxx.symbol), "at::_ops::%.100s::%s", name,
		call ? "call" : "redispatch");
	snprintf(r->op_name, sizeof(r->op_name), "%s%s%s", base, *overload ? "." : "", overload);
	/* Operators that only write into lists return nothing. */
	if (t->result == OP_NOTHING && t->ret == CT_VOID && !t->hidden && strstr(schema, "(a!)[]"))
		t->result = OP_LIST_OUT;
	r->cxx.kind = (struct kind){.name = r->op_name, .op = r->op_name};
	r->cxx.ffi.hidden = t->hidden;
	r->cxx.ffi.ret = t->ret;
	r->cxx.api.word = (is_listed ? API_CHOSEN : 0) | (scope == SCOPE_MARKER ? API_MARKED : 0);
	r->scope = is_listed ? SCOPE_NONE : scope;
	s->lib = is_listed ? &adapter_aten : &adapter_torch;
	s->list_name = r->op_name;
	s->kind = &r->cxx.kind;
	s->task = is_listed ? TASK_DATA : TASK_SCOPE;
	s->completion = DONE_REQUEST; /* so that leave is called */
	s->nargs = t->nargs;
	for (unsigned i = 0; i < t->nargs; i++) {
		s->args[i].ctype = t->ctype[i];
		r->cxx.ffi.arg[i] = t->members[i];
	}
	return true;
}

/* ---- calls ---- */

void torch_add_tensor(struct cxx_work *w, const void *impl, bool out)
{
	uint16_t *n = out ? &w->nout : &w->nin;
	struct buffer *v = out ? &w->out[*n] : &w->in[*n];

	if (*n == CXX_TENSORS_MAX || !torch_read_tensor(impl, v))
		return;
	v->io = out ? IO_OUT : IO_IN;
	v->index = *n;
	v->name = torch_find_tensor_name(impl, v->base);
	torch_set_grad_flag(impl, v);
	(out ? w->out_impl : w->in_impl)[*n] = impl;
	++*n;
}

static void add_op_tensors(struct cxx_work *w, void *const *at, uint64_t n, bool out)
{
	for (uint64_t i = 0; i < n && i <= CXX_TENSORS_MAX; i++)
		torch_add_tensor(w, at[i], out);
}

/* IValue: payload, then a tag that is 1 for a tensor; a List holds a vector of them. */
#define IVALUE_TENSOR 1
struct ivalue {
	void *payload;
	uint32_t tag;
};

static void add_ivalues(struct cxx_work *w, const void *list)
{
	/*
	 * The elements follow the header of reference-counted objects, which became smaller in
	 * later versions.
	 */
	const struct ivalue *const *v = (const struct ivalue *const *)(*(const char *const *)list +
								       (torch_is_1_13() ? 24 : 16));

	for (const struct ivalue *i = v[0]; i < v[1]; i++)
		if (i->tag == IVALUE_TENSOR)
			torch_add_tensor(w, i->payload, false);
}

static void add_arg(struct cxx_work *w, uint8_t arg, const union arg *v, bool out)
{
	const uint64_t *two = v->cp;

	switch (arg) {
	case OP_TENSOR:
	case OP_TENSOR_OUT:
		torch_add_tensor(w, *(void *const *)v->cp, out);
		break;
	case OP_OPTIONAL: /* the value, then a flag: the value is set */
		if (((const char *)v->cp)[8])
			torch_add_tensor(w, *(void *const *)v->cp, out);
		break;
	case OP_OPTIONAL_1_13:
		if (*(const char *)v->cp)
			torch_add_tensor(w, ((void *const *)v->cp)[1], out);
		break;
	case OP_LIST:
		add_op_tensors(w, (void *const *)(uintptr_t)two[0], two[1], out);
		break;
	case OP_ILIST:
		if (((const int32_t *)v->cp)[4] == 0) /* a plain array */
			add_op_tensors(w, (void *const *)(uintptr_t)two[0], two[1], out);
		else if (((const int32_t *)v->cp)[4] == 1)
			add_ivalues(w, *(void *const *)v->cp);
		break;
	case OP_OPTIONAL_LIST:
		add_ivalues(w, v->cp);
		break;
	}
}

/* Marks the tensors from index `first` on as argument i. */
static void set_tensor_arg(struct cxx_work *w, uint16_t first, unsigned i, uint8_t arg)
{
	bool list = arg == OP_LIST || arg == OP_ILIST || arg == OP_OPTIONAL_LIST;

	for (uint16_t k = first; k < w->nin; k++) {
		w->in[k].arg |= i < TENSOR_ARG(~0) ? (uint8_t)(i + 1) : 0;
		w->in[k].item = list && k - first < UINT8_MAX ? (uint8_t)(k - first + 1) : 0;
	}
}

uint32_t torch_compute_output_bytes(uint32_t n)
{
	return n * ((uint32_t)sizeof(struct journal_tensor) + 8 * DIMS_ROOM);
}

static uint32_t find_output_limit(const struct op_type *t, const struct call *c)
{
	uint32_t n = t->nresult;

	if (t->result == OP_NOTHING)
		return 0;
	if (t->result == OP_NEW_LIST)
		n = LIST_ROOM;
	if (t->result == OP_LIST_OUT) {
		for (unsigned i = 0; i < t->nargs; i++)
			if (t->arg[i] == OP_LIST) {
				uint64_t len = ((const uint64_t *)c->v[i].cp)[1];

				return torch_compute_output_bytes((uint32_t)(len < 32 ? len : 32));
			}
		return 0;
	}
	return torch_compute_output_bytes(n);
}

/* Called for operators without a row, too. */
static void handle_op_start(const struct call *c)
{
	torch_record_version();
	if (torch_get_function(c)->flop_op)
		torch_start_flop_op(c);
	torch_read_optimizer_steps(c);
}

static bool read_op_call(struct call *c)
{
	const struct torch_function *row = torch_get_function(c);
	const struct op_type *t = &row->op;
	struct operation *w = &c->op;
	struct cxx_work *k = torch_add_work(c);

	handle_op_start(c);
	c->note.p[0] =
		get_calls_keys(get_config())->backward && torch_read_next_node_number(&c->note.u[1])
			? c
			: NULL;
	w->phase = thread_state.phase ? 0 : PHASE_FORWARD;
	if (!k)
		return true;
	for (unsigned i = 0; i < t->nargs; i++) {
		uint16_t first = k->nin;

		/* The output of a function with `out` has no value yet. */
		if (t->arg[i] == OP_TENSOR_OUT && i > 1 && strstr(row->op_name, "out"))
			continue;
		add_arg(k, t->arg[i], &c->v[i], false);
		set_tensor_arg(k, first, i, t->arg[i]);
	}
	if (k->nin == CXX_TENSORS_MAX)
		w->flags |= CF_MORE;
	w->nin = k->nin;
	w->all_in = k->in;
	w->all_out = k->out;
	torch_set_device_addresses(c, k, false);
	w->output_limit = find_output_limit(t, c);
	return true;
}

void torch_handle_op_scope(const struct call *c, bool leaving)
{
	enum torch_scope s = torch_get_function(c)->scope;

	if (leaving && torch_get_function(c)->scalar_op)
		torch_record_scalar_op(c);
	if (leaving && torch_get_function(c)->attention_op)
		record_attention_op(c);
	if (torch_get_function(c)->flop_op)
		(leaving ? torch_record_flop_op : torch_start_flop_op)(c);
	if (s == SCOPE_NUMBER || s == SCOPE_FLOPS)
		return;
	if (s == SCOPE_COUNTED && !leaving)
		torch_handle_counting_op(c);
	else if (s != SCOPE_COUNTED)
		torch_handle_marker(c, leaving);
	if (s != SCOPE_COUNTED && !leaving)
		torch_read_optimizer_steps(c);
}

static bool is_op_idle(const struct api *f)
{
	const struct torch_function *r = (const struct torch_function *)f;

	return !r->flop_op && !r->scalar_op && !r->attention_op &&
	       (!r->optimizer_op || torch_has_seen_optimizer());
}

static void handle_unrecorded_op(const struct call *c)
{
	cxx_work_reset();
	handle_op_start(c);
}

static void add_op_results(struct cxx_work *w, const struct op_type *t, const struct call *c)
{
	void *const *r = c->result;

	switch (t->result) {
	case OP_NEW:
		torch_add_tensor(w, r[0], true);
		break;
	case OP_REFERENCE:
		torch_add_tensor(w, *(void *const *)r[0], true);
		break;
	case OP_TUPLE: /* the first element is stored last */
	case OP_TUPLE_REFERENCE:
		for (unsigned i = t->nresult; i-- > 0;)
			torch_add_tensor(
				w, t->result == OP_TUPLE ? r[i] : *(void *const *)r[i], true);
		break;
	case OP_NEW_LIST: {
		struct torch_list l = torch_read_vector(r);

		add_op_tensors(w, l.at, l.n, true);
		break;
	}
	case OP_LIST_OUT:
		for (unsigned i = 0; i < t->nargs; i++)
			if (t->arg[i] == OP_LIST) {
				add_arg(w, OP_LIST, &c->v[i], true);
				break;
			}
		break;
	}
}

/*
 * For an operator inside a recorded one: the floating-point operations of the inner one count,
 * those of the outer one do not.
 */
static bool start_nested_op(const struct call *c)
{
	if (torch_get_function(c)->flop_op)
		torch_start_flop_op(c);
	return torch_get_function(c)->flop_op || torch_get_function(c)->attention_op;
}

static void handle_op_end(struct call *c, int64_t ret)
{
	struct cxx_work *w;

	(void)ret;
	if (torch_get_function(c)->flop_op)
		torch_record_flop_op(c);
	if (torch_get_function(c)->attention_op)
		record_attention_op(c);
	if (c->mode == CALL_WATCH)
		return;
	w = cxx_work_get(c);
	if (torch_get_function(c)->scalar_op)
		torch_record_scalar_op(c);
	if (!w || !c->rec)
		return;
	if (c->note.p[0])
		torch_set_call_nodes(c, c->note.u[1]);
	w->nout = 0;
	add_op_results(w, &torch_get_function(c)->op, c);
	c->op.nout = w->nout;
	torch_set_device_addresses(c, w, true);
	/* A result that shares memory is a view; a result that is a parameter was written. */
	if (torch_get_function(c)->op.result == OP_REFERENCE && w->nout && w->nin &&
		(w->out_impl[0] == w->in_impl[0] ||
			(w->in[0].base && w->out[0].base == w->in[0].base)))
		c->op.flags |= CF_INPLACE;
}

/*
 * Implements struct adapter.listed. Returns false for the row of an autograd node: the list of
 * operators has no nodes; a node's operator is looked up at each call.
 */
static bool is_op_row_listed(const struct api *f)
{
	const struct torch_function *r = (const struct torch_function *)f;
	char base[sizeof(r->op_name)];
	char *dot;

	memcpy(base, r->op_name, sizeof(base));
	dot = strchr(base, '.');
	if (dot)
		*dot = 0;
	return torch_op_listed(base, dot ? dot + 1 : NULL);
}

const struct adapter adapter_aten = {
	.name = "aten",
	.describe = read_op_call,
	.passed = handle_unrecorded_op,
	.idle = is_op_idle,
	.listed = is_op_row_listed,
	.nested = start_nested_op,
	.leave = handle_op_end,
	.stream = torch_get_current_stream,
	.fork_handlers = torch_fork_handlers,
};
