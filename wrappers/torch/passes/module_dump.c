/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of modules as records. A call's arguments are read when it begins, with the module's parameters, and its results when
 * it returns: a separate record each, so that a long call does not delay the thread's other records. Gradients are recorded
 * when the engine has them (gradient_nodes.h).
 *
 * Rows are made under the GIL and are never freed. The engine's threads read the table of parameters: an entry's rows are set
 * before its address.
 */
#include "wrappers/torch/passes/module_dump.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api/enabled.h"
#include "base/private_stack.h"
#include "base/hash.h"
#include "base/log.h"
#include "config/rooms/dump.h"
#include "config/rooms/files.h"
#include "terms/module_part.h"
#include "base/thread.h"
#include "call/named_row.h"
#include "call/data/slice.h"
#include "call/record.h"
#include "call/recorder.h"
#include "call/stackid.h"
#include "call/step.h"
#include "config/output_format.h"
#include "journal/layout.h"
#include "session/state.h"
#include "training/params/param.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/passes/gradient_nodes.h"
#include "wrappers/torch/passes/module_call.h"
#include "wrappers/torch/names/module_names.h"
#include "wrappers/torch/names/module_rows.h"
#include "wrappers/torch/names/names.h"
#include "wrappers/torch/tensors/param_grad.h"
#include "wrappers/torch/tensors/tensor.h"
#include "wrappers/torch/tensors/torch.h"

#define VALUES_MAX 64 /* maximum number of arguments or results of a call */
#define DEPTH_MAX 128 /* nested calls; deeper ones are not recorded */

/* ---- which calls are dumped ---- */

bool torch_modules_dumped(void)
{
	const struct config *c = get_config();
	const struct dump_keys *keys = get_dump_keys(c);

	return (keys->level == DUMP_L0 || keys->level == DUMP_MIX) &&
	       output_has_format(get_files_keys(c)->format, FORMAT_DUMP);
}

bool torch_module_gradients_dumped(void)
{
	const char *m = get_dump_keys(get_config())->data_mode;

	return torch_modules_dumped() && (!strstr(m, "forward") || strstr(m, "backward"));
}

static bool is_dump_due(void)
{
	return torch_modules_dumped() && recording_enabled() && !get_generation()->paused &&
	       !slice_is_request_absent() && session_rank_selected() && step_selected();
}

bool torch_is_module_call_dumped(void)
{
	bool begins;

	thread_state.busy++;
	begins = is_dump_due() && session_start();
	thread_state.busy--;
	return begins;
}

/* ---- records ---- */

struct writing {
	struct api *row;
	uint64_t parent, seq;
	const struct buffer *v;
	uint32_t n, flags, stack;
};

/* Writes a record that is complete at once. Its seq is 0 if the journal had no space. */
static void write_module_record(struct writing *r)
{
	struct operation w = {.root = JOURNAL_NONE,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.flags = r->flags,
		.config = get_config(),
		.slicing = slicing_get(),
		.nin = (uint16_t)r->n,
		.all_in = r->v,
		.all_out = r->v};
	struct thread *t = thread_get();
	struct journal_call *e;

	r->seq = 0;
	if (!t || !r->row)
		return;
	thread_count(t, JC_SEEN);
	operation_remove_excess(&w);
	e = record_open(t, r->row, &w, JOURNAL_NONE64, r->stack, r->parent);
	if (!e)
		return;
	r->seq = e->seq;
	record_close(e, &w, clock_ticks(), false, 0);
}

static void write_module_part(
	struct api *row, uint64_t parent, const struct buffer *v, uint32_t n, uint32_t flags)
{
	struct writing r = {.row = row, .parent = parent, .v = v, .n = n, .flags = flags | CF_PART};

	write_module_record(&r);
}

/* ---- values of Python ---- */

/* The arguments or the results of a call: tensors and numbers, each with its index. */
struct value_list {
	struct buffer v[VALUES_MAX];
	const void *impl[VALUES_MAX]; /* NULL: not a tensor */
	union {
		int64_t i;
		double f;
		uint8_t b;
	} number[VALUES_MAX];
	unsigned n;
	uint8_t io;
	bool more;
};

static void set_number_buffer(struct value_list *s, py_object *o, struct buffer *b)
{
	unsigned k = s->n;
	double number;

	b->layout = BUFFER_STRIDED;
	b->base = &s->number[k];
	/* the number of dimensions is 0, so they are not read */
	b->counts = b->displs = &s->number[k];
	b->nostats = 1;
	b->dtype = DT_OTHER;
	b->arg |= TENSOR_VALUE;
	if (py_is_true(o) || py_is_false(o)) {
		s->number[k].b = py_is_true(o);
		b->dtype = DT_BOOL;
	} else if (py_get_integer(o, &s->number[k].i)) {
		b->dtype = DT_INT64;
	} else if (py_get_number(o, &number)) {
		b->dtype = DT_FLOAT64;
		s->number[k].f = number;
	}
	if (b->dtype == DT_OTHER)
		return;
	b->count = 1;
	b->bytes = get_dtype_info(b->dtype)->size;
	b->nostats = 0;
	b->host = 1;
}

/* arg from 1; item from 1 in a list, 0: not in a list. */
static void add_listed_value(struct value_list *s, py_object *o, unsigned arg, unsigned item)
{
	const void *impl = torch_get_object_tensor(o);
	struct buffer *b = &s->v[s->n];

	if (s->n == VALUES_MAX || arg >= TENSOR_ARG(~0) || item >= UINT8_MAX) {
		s->more = true;
		return;
	}
	if (!impl || !torch_read_tensor(impl, b)) {
		*b = (struct buffer){
			.peer = JOURNAL_NONE, .tag = JOURNAL_NONE, .comm_seq = JOURNAL_NONE64};
		impl = NULL;
	}
	b->io = s->io;
	b->index = (uint16_t)s->n;
	b->arg = 0;
	if (impl) {
		b->name = torch_find_tensor_name(impl, b->base);
		torch_set_grad_flag(impl, b);
	} else {
		set_number_buffer(s, o, b);
	}
	b->arg |= (uint8_t)arg;
	b->item = (uint8_t)item;
	s->impl[s->n++] = impl;
}

static void add_listed_object(struct value_list *s, py_object *o, unsigned arg)
{
	py_object *const *item;
	size_t n;

	if (!py_get_sequence(o, &item, &n)) {
		add_listed_value(s, o, arg, 0);
		return;
	}
	for (size_t i = 0; i < n; i++)
		add_listed_value(s, item[i], arg, (unsigned)i + 1);
}

/* ---- gradients ---- */

static void record_arrived_gradient(const struct remembered *owner, const struct buffer *gradient)
{
	struct buffer b = *gradient;

	if (!is_dump_due())
		return;
	b.io = owner->output ? IO_IN : IO_OUT;
	b.index = owner->index;
	b.arg = (uint8_t)(owner->index + 1) | TENSOR_NO_GRAD;
	b.item = 0;
	b.name = 0;
	write_module_part(owner->row, owner->call, &b, 1, 0);
}

/* Counts only tensors that have a gradient, in the order of the arguments or results. */
static void register_gradients(const struct value_list *s, const struct remembered *owner)
{
	struct remembered r = *owner;

	r.index = 0;
	for (unsigned i = 0; i < s->n && r.index < TENSOR_ARG(~0) - 1; i++) {
		if (!s->impl[i] || !torch_is_grad_required(s->impl[i]))
			continue;
		if (r.output)
			torch_register_gradient_of_output(s->impl[i], &r);
		else
			torch_register_gradient_of_input(s->impl[i], &r);
		r.index++;
	}
}

/* ---- parameters ---- */

#define PARAMS_MAX (1u << 17) /* a power of two; at most half of the slots are used */

struct dumped_param {
	_Atomic(const void *) impl;
	_Atomic(struct api *) row; /* row of the parameter's gradient */
};

static struct dumped_param *_Atomic dumped_params;
static uint32_t ndumped_params;

static struct dumped_param *find_dumped_param(struct dumped_param *all, const void *impl)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)impl) & (PARAMS_MAX - 1);
	const void *at;

	while ((at = atomic_load_explicit(&all[i].impl, memory_order_acquire)) && at != impl)
		i = (i + 1) & (PARAMS_MAX - 1);
	return &all[i];
}

static void register_dumped_param(const void *impl, struct api *row)
{
	struct dumped_param *all = atomic_load(&dumped_params), *p;

	if (!all) {
		all = mmap(NULL, PARAMS_MAX * sizeof(*all), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (all == MAP_FAILED)
			return;
		atomic_store(&dumped_params, all);
	}
	p = find_dumped_param(all, impl);
	atomic_store_explicit(&p->row, row, memory_order_relaxed);
	if (!atomic_load_explicit(&p->impl, memory_order_relaxed) &&
		ndumped_params < PARAMS_MAX / 2) {
		ndumped_params++;
		atomic_store_explicit(&p->impl, impl, memory_order_release);
	}
}

struct parameter_gradient {
	const void *impl;
	struct api *row;
};

static void record_parameter_gradient(void *arg)
{
	const struct parameter_gradient *g = arg;
	struct buffer b;

	if (!torch_get_grad_buffer(g->impl, &b))
		return;
	b.io = IO_OUT;
	b.index = 0;
	b.arg = 1 | TENSOR_NO_GRAD;
	b.item = 0;
	b.name = 0;
	write_module_part(g->row, 0, &b, 1, 0);
}

void torch_record_parameter_gradient(const void *impl)
{
	struct dumped_param *all = atomic_load_explicit(&dumped_params, memory_order_acquire), *p;
	struct parameter_gradient g = {.impl = impl};

	if (!all || !is_dump_due())
		return;
	p = find_dumped_param(all, impl);
	if (!atomic_load_explicit(&p->impl, memory_order_acquire))
		return;
	g.row = atomic_load_explicit(&p->row, memory_order_relaxed);
	private_stack_call(record_parameter_gradient, &g);
}

static void record_parameters(py_object *module, struct module_rows *rows, uint64_t call)
{
	py_object *all = py_get_own_attribute(module, "_parameters"), *key, *value;
	bool gradients = torch_module_gradients_dumped();
	intptr_t at = 0;
	struct buffer b;

	while (py_get_next_of_dict(all, &at, &key, &value)) {
		const char *name = py_get_ascii(key);
		const void *impl = torch_get_object_tensor(value);

		if (!name || !impl || !torch_read_tensor(impl, &b))
			continue;
		b.io = IO_OUT;
		b.index = 0;
		b.name = torch_find_tensor_name(impl, b.base);
		b.arg = 0;
		torch_set_grad_flag(impl, &b);
		b.arg |= 1;
		write_module_part(
			find_or_add_keyed_row(rows, MODULE_PARAMETER, name), call, &b, 1, 0);
		if (gradients && torch_is_grad_required(impl))
			register_dumped_param(
				impl, find_or_add_keyed_row(rows, MODULE_PARAMETER_GRADIENT, name));
	}
}

/* ---- calls ---- */

struct dumped_call {
	const py_object *self;
	struct module_rows *rows;
	uint64_t seq;
	uint32_t depth, range;
	struct dumped_call *next_spare; /* valid only in the first call of a stack */
};

static THREAD_OWN struct {
	struct dumped_call *call; /* DEPTH_MAX */
	unsigned n;
} dumped;

/*
 * Stacks of threads that are in no module, linked through their first calls; they are reused,
 * because a program may start new threads for every forward pass. Protected by the GIL.
 */
static struct dumped_call *spare_stacks;

static void free_call_stack(void)
{
	if (!own(dumped).call || own(dumped).n)
		return;
	own(dumped).call->next_spare = spare_stacks;
	spare_stacks = own(dumped).call;
	own(dumped).call = NULL;
}

static struct dumped_call *get_dumped_call_slot(void)
{
	if (!own(dumped).call && spare_stacks) {
		own(dumped).call = spare_stacks;
		spare_stacks = own(dumped).call->next_spare;
	}
	if (!own(dumped).call) {
		own(dumped).call = mmap(NULL, DEPTH_MAX * sizeof(*own(dumped).call),
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (own(dumped).call == MAP_FAILED)
			own(dumped).call = NULL;
	}
	return own(dumped).call && own(dumped).n < DEPTH_MAX ? &own(dumped).call[own(dumped).n]
							     : NULL;
}

/* Removes calls at `depth` or deeper: they have ended, by return or by exception. */
static void remove_inner_calls(uint32_t depth)
{
	while (own(dumped).n && own(dumped).call[own(dumped).n - 1].depth >= depth)
		own(dumped).n--;
}

struct module_entry {
	const struct torch_module_call *c;
	struct dumped_call *d;
	const char *const *keyword;
	uint32_t stack;
};

static struct remembered get_gradient_owner(const struct dumped_call *d, bool output)
{
	return (struct remembered){.arrived = record_arrived_gradient,
		.row = get_module_row(d->rows, MODULE_GRADIENT),
		.call = d->seq,
		.range = d->range,
		.step = step_now(),
		.output = output};
}

static void record_module_begin(void *arg)
{
	const struct module_entry *m = arg;
	struct dumped_call *d = m->d;
	struct writing r = {.row = get_module_row(d->rows, MODULE_FORWARD),
		.parent = own(dumped).n ? own(dumped).call[own(dumped).n - 1].seq : 0,
		.stack = m->stack};
	struct value_list s = {.io = IO_IN};
	uint64_t from = 0;

	for (uint32_t i = 0; i < m->c->npositional; i++)
		add_listed_object(&s, m->c->args[i], i + 1);
	r.v = s.v;
	r.n = s.n;
	r.flags = s.more ? CF_MORE : 0;
	write_module_record(&r);
	d->seq = r.seq;
	if (!d->seq)
		return;
	if (torch_module_gradients_dumped() && torch_read_next_node_number(&from)) {
		struct remembered owner;

		d->range = torch_open_range(from);
		owner = get_gradient_owner(d, false);
		register_gradients(&s, &owner);
	}
	for (uint32_t i = m->c->npositional; i < m->c->nargs; i++) {
		const char *name = py_get_ascii(m->c->keywords[i - m->c->npositional]);

		s.n = 0;
		s.more = false;
		add_listed_object(&s, m->c->args[i], 1);
		if (name)
			write_module_part(find_or_add_keyed_row(d->rows, MODULE_KEYWORD, name),
				d->seq, s.v, s.n, s.more ? CF_MORE : 0);
	}
	record_parameters(m->c->self, d->rows, d->seq);
}

/*
 * For a tensor that a module returns unchanged, whose gradient is that of the input: no node of
 * the module has it.
 */
static void register_unchanged(const struct torch_module_call *c, const struct value_list *out,
	const struct remembered *owner)
{
	struct value_list in = {.io = IO_IN};
	struct remembered r = *owner;

	for (uint32_t i = 0; i < c->npositional; i++)
		add_listed_object(&in, c->args[i], i + 1);
	for (unsigned i = r.index = 0; i < in.n && r.index < TENSOR_ARG(~0) - 1; i++) {
		bool same = false;

		if (!in.impl[i] || !torch_is_grad_required(in.impl[i]))
			continue;
		for (unsigned k = 0; k < out->n; k++)
			same |= out->impl[k] == in.impl[i];
		/* A tensor written in place has a new node, which belongs to the module. */
		if (same && !torch_is_made_since(in.impl[i], r.range))
			torch_register_gradient_of_output(in.impl[i], &r);
		r.index++;
	}
}

static void record_module_end(void *arg)
{
	const struct module_entry *m = arg;
	const struct dumped_call *d = m->d;
	py_object *const *item;
	struct value_list s = {.io = IO_OUT};
	size_t n;

	if (m->c->result && py_get_sequence(m->c->result, &item, &n)) {
		for (size_t i = 0; i < n; i++)
			add_listed_object(&s, item[i], (unsigned)i + 1);
	} else if (m->c->result) {
		add_listed_value(&s, m->c->result, 1, 0);
	}
	write_module_part(
		get_module_row(d->rows, MODULE_OUTPUT), d->seq, s.v, s.n, s.more ? CF_MORE : 0);
	if (d->range) {
		struct remembered owner = get_gradient_owner(d, true);
		uint64_t to;

		torch_close_range(d->range, torch_read_next_node_number(&to) ? to : 0);
		register_gradients(&s, &owner);
		owner.output = false;
		register_unchanged(m->c, &s, &owner);
	}
}

static void start_dumped_call(struct module_entry *m, struct named_module *named)
{
	struct thread *t = thread_get();

	m->d = get_dumped_call_slot();
	if (!m->d || !t)
		return;
	*m->d = (struct dumped_call){.self = m->c->self, .depth = m->c->depth};
	m->d->rows = find_or_add_module_rows(named, py_get_class_name(m->c->self));
	if (!m->d->rows)
		return;
	m->stack = are_stack_ids_wanted() ? stack_id(t, get_module_row(m->d->rows, MODULE_FORWARD),
						    (uintptr_t)__builtin_return_address(0),
						    (uintptr_t)__builtin_frame_address(0))
					  : 0;
	if (m->stack == STACK_UNWANTED)
		return;
	private_stack_call(record_module_begin, m);
	if (m->d->seq)
		own(dumped).n++;
}

static void handle_dumped_begin(const struct torch_module_call *c)
{
	struct module_entry m = {.c = c};
	struct named_module *named;
	bool root = c->depth == 0 && !c->again;

	remove_inner_calls(c->depth);
	if (!is_dump_due())
		return;
	if (root)
		torch_find_names_early();
	named = find_named_module(c->self, root);
	/* The whole model has no entry, and neither have wrappers around a module. */
	if (!named || !*named->full || named->wrapper)
		return;
	start_dumped_call(&m, named);
	free_call_stack();
}

static void handle_dumped_end(const struct torch_module_call *c)
{
	struct module_entry m = {.c = c};

	remove_inner_calls(c->depth + 1);
	if (!own(dumped).n)
		return;
	m.d = &own(dumped).call[own(dumped).n - 1];
	if (m.d->depth != c->depth || m.d->self != c->self)
		return;
	own(dumped).n--;
	private_stack_call(record_module_end, &m);
	free_call_stack();
}

const struct torch_module_observer module_dump_observer = {
	.wanted = torch_modules_dumped,
	.begin = handle_dumped_begin,
	.end = handle_dumped_end,
};
