/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autograd's nodes: torch::autograd::generated::<Operator>Backward<n>::apply(gradients) returns
 * the gradients of the operator's inputs. The function is virtual; libtorch's tables of virtual
 * functions are bound to the stubs like any other symbol. Recorded only with `backward: true`.
 * Operators inside a node keep their rows, with `parent`.
 *
 * Each node has a number, which increases with each node that a thread makes in the forward pass.
 * PyTorch returns the number of the next node. The offset of the number in a node is found from
 * nodes of leaves (AccumulateGrad), which all have the largest number, as soon as one is made.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "config/list/wraplist.h"
#include "config/rooms/calls.h"
#include "elf/loaded/elfsym.h"
#include "journal/layout.h"
#include "session/state.h"
#include "life/life.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/tensors/on_device.h"
#include "wrappers/torch/tensors/torch.h"

#define LIST_ROOM 16 /* gradients returned by a node for which space is reserved */

/* ---- which nodes are recorded ---- */

bool torch_node_wanted(const char *symbol)
{
	static const char *const section[] = {"aten", "functional", "tensor", "torch"};
	char name[128];

	if (!get_calls_keys(get_config())->backward ||
		!parse_node_class(symbol, name, sizeof(name)))
		return false;
	/* The operators that exist are known only when the library has been loaded. */
	for (unsigned i = 0; i < 4; i++)
		if (wraplist_find_section(get_wraplist(), section[i]) != WRAPLIST_NONE)
			return true;
	return false;
}

static bool is_of_listed(const char *schema, void *node)
{
	char base[128], overload[64];
	size_t n = strcspn(schema, ".(");

	if (n >= sizeof(base))
		return false;
	memcpy(base, schema, n);
	base[n] = 0;
	if (!is_node_of_op(node, base))
		return false;
	schema += n + (schema[n] == '.');
	snprintf(overload, sizeof(overload), "%.*s", (int)strcspn(schema, "("), schema);
	return torch_op_listed(base, overload);
}

/*
 * True if the node's operator is listed and its schema is in the tail of another operator's text
 * (opschema.c); the node's name then proves that the operator exists.
 */
static bool is_of_listed_tail(const char *schema, void *node)
{
	for (const char *s = schema + 1; *s && *s != '.' && *s != '('; s++)
		if ((*s & ~0x20) == *(const char *)node && is_of_listed(s, node))
			return true;
	return false;
}

bool torch_set_node_row(struct torch_function *r, const char *symbol)
{
	struct api_spec *s = &r->cxx.spec;
	bool is_listed;

	if (!parse_node_class(symbol, r->op_name, sizeof(r->op_name)))
		return false;
	is_listed = wraplist_match(get_wraplist(), "aten", r->op_name) ||
		    has_op_schema(is_of_listed, r->op_name) ||
		    has_op_schema(is_of_listed_tail, r->op_name);
	snprintf(r->cxx.symbol, sizeof(r->cxx.symbol), "torch::autograd::generated::%.80s::apply",
		r->op_name);
	r->cxx.kind = (struct kind){.name = r->op_name, .op = r->op_name};
	r->cxx.ffi.hidden = true;
	r->cxx.api.word = is_listed ? API_CHOSEN : 0;
	s->lib = &adapter_node;
	s->list_name = r->op_name;
	s->kind = &r->cxx.kind;
	s->task = TASK_DATA;
	s->completion = is_listed ? DONE_REQUEST : DONE_RETURN; /* DONE_REQUEST: leave is called */
	s->transparent = true;
	s->nargs = 2;
	s->args[0].ctype = s->args[1].ctype = CT_P;
	return true;
}

/* ---- numbers ---- */

#define NUMBER_MAX (UINT64_C(1) << 47) /* largest number that can be written: JOURNAL_NODE */

static _Atomic int place; /* find_node_number_offset() */

void torch_check_leaf_node(const void *node)
{
	int was = atomic_load(&place), now = node ? find_node_number_offset(was, node) : was;

	if (now == was)
		return;
	atomic_store(&place, now);
	session_record_layout_fact(LAYOUT_TORCH_NODE, now != NODE_NO_PLACE);
	if (now == NODE_NO_PLACE)
		log_loss(LOSS_ENTRY,
			"PyTorch: the layout of autograd's nodes in this version is unknown: "
			"they are recorded without numbers; update libprobe");
}

uint64_t torch_get_node_number(const void *node)
{
	int at = atomic_load_explicit(&place, memory_order_relaxed);

	return at > 0 ? ((const uint64_t *)node)[at] : UINT64_MAX;
}

bool torch_read_next_node_number(uint64_t *number)
{
	static _Atomic(uint64_t(*)(void)) peek;
	static atomic_bool none;
	uint64_t (*f)(void) = atomic_load_explicit(&peek, memory_order_relaxed);
	struct provider p;

	if (!f) {
		if (atomic_load_explicit(&none, memory_order_relaxed))
			return false;
		if (elfsym_find_all("_ZN2at15sequence_number4peekEv", &p, 1) <= 0 || p.ifunc) {
			atomic_store(&none, true);
			return false;
		}
		f = (uint64_t(*)(void))p.addr;
		atomic_store(&peek, f);
	}
	*number = f();
	return true;
}

static void set_node_number(struct operation *w, uint64_t first, uint64_t more)
{
	if (first >= NUMBER_MAX)
		return;
	w->node = JOURNAL_NODE(first, more);
	w->flags |= CF_NODE;
}

void torch_set_call_nodes(struct call *c, uint64_t from)
{
	uint64_t to;

	if (torch_read_next_node_number(&to) && to > from)
		set_node_number(&c->op, from, to - from - 1);
}

/* ---- calls: this, vector<Tensor> && -> vector<Tensor> ---- */

static void add_node_tensors(struct cxx_work *w, const void *vector, bool out)
{
	struct torch_list l = torch_read_vector(vector);

	for (uint64_t i = 0; i < l.n; i++) {
		uint16_t *n = out ? &w->nout : &w->nin, before = *n;

		torch_add_tensor(w, l.at[i], out);
		/* The gradient's position among all gradients, including those without a tensor. */
		if (*n > before && i + 1 < TENSOR_ARG(~0u))
			(out ? w->out : w->in)[before].arg |= (uint8_t)(i + 1);
	}
}

static bool read_node_call(struct call *c)
{
	struct operation *w = &c->op;
	struct cxx_work *k = torch_add_work(c);
	int at = atomic_load_explicit(&place, memory_order_relaxed);

	torch_record_version();
	w->phase = PHASE_BACKWARD;
	if (at > 0)
		set_node_number(w, ((const uint64_t *)c->v[0].cp)[at], 0);
	if (!k)
		return true;
	add_node_tensors(k, c->v[1].cp, false);
	if (k->nin == CXX_TENSORS_MAX)
		w->flags |= CF_MORE;
	w->nin = k->nin;
	w->all_in = k->in;
	w->all_out = k->out;
	torch_set_device_addresses(c, k, false);
	w->output_limit = torch_compute_output_bytes(LIST_ROOM);
	return true;
}

static void handle_unrecorded_node(const struct call *c)
{
	(void)c;
	cxx_work_reset();
	torch_record_version();
}

static bool is_node_idle(const struct api *f)
{
	(void)f;
	return true;
}

static void handle_node_end(struct call *c, int64_t ret)
{
	struct cxx_work *w = cxx_work_get(c);

	(void)ret;
	if (!w || !c->rec)
		return;
	w->nout = 0;
	add_node_tensors(w, c->result, true);
	torch_record_node(c->api, c->rec->seq, c->result);
	c->op.nout = w->nout;
	torch_set_device_addresses(c, w, true);
	if (w->nout == CXX_TENSORS_MAX)
		c->op.flags |= CF_MORE;
}

const struct adapter adapter_node = {
	.name = "aten",
	.describe = read_node_call,
	.passed = handle_unrecorded_node,
	.idle = is_node_idle,
	.leave = handle_node_end,
	.stream = torch_get_current_stream,
};
