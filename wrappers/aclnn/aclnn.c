/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ascend's operators, recognised by a rule instead of a list (CANN 8.1 has 769). Each consists of two functions:
 * aclnnXGetWorkspaceSize, which gets the operator's own arguments, and aclnnX, which puts it on a stream and always has
 * the form
 *
 *	aclnnStatus aclnnX(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream)
 *
 * The second function is recorded: any listed function of such a name, in any library, that has the first function next
 * to it. Only the first function gets the executor's tensors: executor.c.
 *
 * writes.def lists the arguments that an operator writes. For operators without an entry it is the last tensor, or with
 * Inplace in the name the first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "call/call.h"
#include "call/comm.h"
#include "call/data/observer.h"
#include "device/device.h"
#include "elf/loaded/elfsym.h"
#include "elf/memory.h"
#include "entry/stubs/provider.h"
#include "journal/layout.h"
#include "resolve/real.h"
#include "session/state.h"
#include "wrappers/aclnn/executor.h"
#include "wrappers/cxx/cxx_function.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/hccl/hccl.h"

#define SECTION "acl"
#define PREFIX "aclnn"
#define FIRST_PHASE "GetWorkspaceSize"

struct aclnn_function {
	struct cxx_function cxx;
	struct aclnn_operator *op;
};

/* Called for every function that any library exports. */
static bool is_acl_name(const char *s)
{
	return s[0] == PREFIX[0] && strncmp(s, PREFIX, 3) == 0;
}

static bool is_operator_name(const char *s)
{
	return strncmp(s, PREFIX, sizeof(PREFIX) - 1) == 0;
}

/*
 * Writes the operator's name, without the suffix of the first function, to out. Returns false if
 * it is too long.
 */
static bool parse_operator_symbol(const char *symbol, char out[128], bool *first)
{
	size_t n = strlen(symbol), tail = sizeof(FIRST_PHASE) - 1;

	*first = n >= tail && strcmp(symbol + n - tail, FIRST_PHASE) == 0;
	if (*first)
		n -= tail;
	if (n >= 128)
		return false;
	memcpy(out, symbol, n);
	out[n] = 0;
	return true;
}

static bool is_acl_listed(struct wraplist *w, const char *symbol)
{
	return w && wraplist_match(w, SECTION, symbol);
}

static bool has_acl_section(const struct wraplist *w)
{
	return w && wraplist_find_section(w, SECTION) != WRAPLIST_NONE;
}

static bool is_aclnn_configured(void)
{
	return session_configure() &&
	       (has_acl_section(get_wraplist()) || has_acl_section(generation_armable));
}

/* ---- calls ---- */

/*
 * True if the stream has done all its work. Only queried if the processor can read the operator's data: a stand-in, or a
 * simulator.
 */
static bool is_stream_done(uint64_t stream)
{
	typedef int32_t stream_query(uint64_t stream, int32_t * status);
	static _Atomic(stream_query *) query;
	stream_query *q = atomic_load_explicit(&query, memory_order_relaxed);
	struct provider p;
	int32_t status = -1;

	if (!q && elfsym_find_all("aclrtStreamQuery", &p, 1)) {
		q = (stream_query *)p.addr;
		atomic_store(&query, q);
	}
	return q && q(stream, &status) == 0 && status == 0; /* ACL_STREAM_STATUS_COMPLETE */
}

static bool is_any_readable(const struct buffer *v, unsigned n)
{
	for (; n; n--, v++)
		if (tensor_is_watched(v) && device_probe(v->base, 1))
			return true;
	return false;
}

/* True if the stream itself may copy the buffer, in the order of its work (call/stream_values.h). */
static bool is_on_device(const struct device_backend *b, const struct buffer *v)
{
	enum device_memory kind = DEVICE_IDLE;
	uintptr_t lo, hi;

	if (!b || !buffer_get_bounds(v, &lo, &hi))
		return false;
	device_is_host(b, (const void *)lo, hi - lo, &kind);
	return kind > DEVICE_HOST;
}

/*
 * Marks buffers in the processor's memory as not read if the stream has unfinished work: earlier work may still write
 * them, and this call's own work comes later in any case.
 */
static void set_inputs_unread(struct buffer *v, unsigned n, uint64_t stream)
{
	const struct device_backend *b = device_present();

	if (is_any_readable(v, n) && is_stream_done(stream))
		return;
	for (; n; n--, v++)
		v->nostats |= !is_on_device(b, v);
}

struct describing {
	const struct aclnn_operator *op;
	struct call *c;
	struct cxx_work *w;
	char group[ACLNN_GROUP_MAX];
};

/*
 * Bits of the arguments written by an operator that writes.def does not list: the first or the
 * last tensor, or all tensors of a list.
 */
static uint64_t get_written_by_rule(const struct aclnn_executor *x, unsigned n)
{
	return n ? UINT64_C(1) << (x->tensor[x->op->in_place ? 0 : n - 1].word & 63) : 0;
}

static void write_buffer(struct cxx_work *w, const struct acl_tensor *t, unsigned k,
	const struct aclnn_tensor *from, bool out)
{
	uint16_t *n = out ? &w->nout : &w->nin;
	struct buffer *v = out ? &w->out[*n] : &w->in[*n];

	acl_tensor_set_buffer(t, w->strides[k], w->strides[ACLNN_TENSORS_MAX + k], v);
	v->io = out ? IO_OUT : IO_IN;
	v->index = (*n)++;
	v->arg = !out && from->word + 1u < TENSOR_ARG(~0) ? (uint8_t)(from->word + 1) : 0;
	v->item = from->item;
}

static void read_executor_tensors(const struct aclnn_executor *x, unsigned end, void *arg)
{
	struct describing *d = arg;
	struct cxx_work *w = d->w;
	unsigned n = x->n;
	uint64_t writes, both;

	while (n && x->tensor[n - 1].word >= end)
		n--;
	writes = x->op->writes ? x->op->writes : get_written_by_rule(x, n);
	both = x->op->writes ? x->op->both : x->op->in_place ? writes : 0;
	for (unsigned k = 0; k < n; k++) {
		const struct aclnn_tensor *t = &x->tensor[k];
		bool out = t->word < 64 && writes >> t->word & 1;

		if (!out || both >> t->word & 1)
			write_buffer(w, &t->t, k, t, false);
		if (out)
			write_buffer(w, &t->t, k, t, true);
	}
	/*
	 * A repeatable executor may run again after the program has replaced its tensors'
	 * addresses, which is not tracked, so its tensors are not measured.
	 */
	for (unsigned k = 0; x->repeatable && k < n; k++)
		w->in[k].nostats = w->out[k].nostats = 1;
	d->c->op.flags |= (x->more ? CF_MORE : 0) | (both ? CF_INPLACE : 0);
	d->c->note.u[0] = x->age;
	if (x->group_word < end)
		memcpy(d->group, x->group, sizeof(d->group));
}

_Static_assert(2 * ACLNN_TENSORS_MAX <= 2 * CXX_TENSORS_MAX && ACL_DIMS_MAX <= CXX_DIMS_MAX, "");

static bool read_aclnn_call(struct call *c)
{
	struct describing d = {.op = ((struct aclnn_function *)c->api)->op, .c = c};
	struct operation *op = &c->op;

	c->note.u[0] = 0;
	d.w = cxx_work_add(c, NULL);
	d.group[0] = 0;
	if (!d.w || !aclnn_executor_find(((struct aclnn_function *)c->api)->op, c->v[2].u,
			    c->v[1].u, read_executor_tensors, &d))
		return true;
	op->nin = d.w->nin;
	op->nout = d.w->nout;
	op->all_in = d.w->in;
	op->all_out = d.w->out;
	set_inputs_unread(d.w->in, d.w->nin, c->v[3].u);
	op->comm = d.group[0] && hccl_comm_named ? hccl_comm_named(d.group) : NULL;
	if (op->comm)
		op->flags |= op->comm->flags;
	return true;
}

static void handle_unrecorded_aclnn(const struct call *c)
{
	(void)c;
	cxx_work_reset();
}

static void handle_aclnn_return(struct call *c, int64_t ret)
{
	struct cxx_work *w = cxx_work_get(c);

	(void)ret;
	if (c->ok && c->note.u[0])
		aclnn_executor_used(c->v[2].u, c->note.u[0]);
	if (w)
		set_inputs_unread(w->out, w->nout, c->v[3].u);
}

static void (*const aclnn_fork_handlers[])(void) = {
	acl_tensors_forked,
	aclnn_executors_forked,
	cxx_work_forked,
	NULL,
};

static const struct adapter adapter_aclnn = {
	.name = SECTION,
	.success = {0},
	.nsuccess = 1,
	.missing = 361001, /* ACLNN_ERR_RUNTIME_ERROR */
	.describe = read_aclnn_call,
	.passed = handle_unrecorded_aclnn,
	.leave = handle_aclnn_return,
	.fork_handlers = aclnn_fork_handlers,
};

/* ---- functions that are only observed ---- */

static void handle_first_phase_return(struct call *c, int64_t ret)
{
	uint64_t words[API_OPEN_WORDS];

	(void)ret;
	if (!c->ok)
		return;
	for (unsigned i = 0; i < API_OPEN_WORDS; i++)
		words[i] = memory_load(c->v[i].u);
	aclnn_executor_add(((struct aclnn_function *)c->api)->op, words);
}

static const struct adapter adapter_first_phase = {
	.name = SECTION,
	.success = {0},
	.nsuccess = 1,
	.missing = 361001,
	.leave = handle_first_phase_return,
	.fork_handlers = aclnn_fork_handlers,
};

/* Records a tensor that the program makes. v: the arguments from the shape on. */
static void record_tensor(uint64_t handle, const union arg *v)
{
	acl_tensor_add(handle, &(struct acl_tensor_args){
				       .dims = v[0].cp,
				       .n = v[1].u,
				       .type = (int32_t)v[2].i,
				       .strides = v[3].cp,
				       .offset = v[4].i,
				       .format = (int32_t)v[5].i,
				       .data = v[8].cp,
			       });
}

static void tensor_created(const struct call *c, int64_t ret)
{
	record_tensor((uint64_t)ret, c->v);
}

static void tensor_initialised(const struct call *c, int64_t ret)
{
	if (!ret)
		record_tensor(c->v[0].u, c->v + 1);
}

static void tensor_moved(const struct call *c, int64_t ret)
{
	if (!ret)
		acl_tensor_moved(c->v[0].u, c->v[1].cp);
}

static void list_created(const struct call *c, int64_t ret)
{
	acl_list_add((uint64_t)ret, c->v[0].cp, c->v[1].u);
}

static void handle_repeatable_executor(const struct call *c, int64_t ret)
{
	if (!ret)
		aclnn_executor_set_repeatable(c->v[0].u);
}

static void handle_tensor_end(const struct call *c)
{
	acl_tensor_start_ending(c->v[0].u);
}

static void tensor_ended(const struct call *c, int64_t ret)
{
	acl_tensor_handle_ended(c->v[0].u, !ret);
}

static void handle_list_end(const struct call *c)
{
	acl_list_start_ending(c->v[0].u);
}

static void list_ended(const struct call *c, int64_t ret)
{
	acl_list_handle_ended(c->v[0].u, !ret);
}

static void handle_executor_end(const struct call *c)
{
	aclnn_executor_start_ending(c->v[0].u);
}

static void executor_ended(const struct call *c, int64_t ret)
{
	aclnn_executor_handle_ended(c->v[0].u, !ret);
}

/* Declarations of acl_meta.h in CANN 8.1. args: p a pointer, L an int64_t or uint64_t, i an int32_t or an enum. */
static const struct watched {
	const char *symbol, *args;
	uint8_t ret;
	void (*enter)(const struct call *c);
	void (*leave)(const struct call *c, int64_t ret);
} watched[] = {
	{"aclCreateTensor", "pLipLipLp", CT_P, NULL, tensor_created},
	{"aclInitTensor", "ppLipLipLp", CT_I32, NULL, tensor_initialised},
	{"aclSetRawTensorAddr", "pp", CT_I32, NULL, tensor_moved},
	{"aclDestroyTensor", "p", CT_I32, handle_tensor_end, tensor_ended},
	{"aclCreateTensorList", "pL", CT_P, NULL, list_created},
	{"aclDestroyTensorList", "p", CT_I32, handle_list_end, list_ended},
	{"aclSetAclOpExecutorRepeatable", "p", CT_I32, NULL, handle_repeatable_executor},
	{"aclDestroyAclOpExecutor", "p", CT_I32, handle_executor_end, executor_ended},
};

static const struct watched *watched_of(const char *symbol)
{
	for (unsigned i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		if (strcmp(watched[i].symbol, symbol) == 0)
			return &watched[i];
	return NULL;
}

static void enter_watched(struct call *c)
{
	const struct watched *w = watched_of(c->api->spec->symbol);

	if (w && w->enter)
		w->enter(c);
}

static void leave_watched(struct call *c, int64_t ret)
{
	const struct watched *w = watched_of(c->api->spec->symbol);

	if (w && w->leave && c->done)
		w->leave(c, ret);
}

static const struct adapter adapter_watched = {
	.name = SECTION,
	.enter = enter_watched,
	.leave = leave_watched,
	.fork_handlers = aclnn_fork_handlers,
};

/* ---- rows ---- */

/* True if `symbol` is listed, or may be switched on later. */
static bool is_aclnn_wanted(const char *symbol, const char *object)
{
	char name[128];
	bool first;

	(void)object;
	if (!is_acl_name(symbol) || !session_configure())
		return false;
	if (!is_operator_name(symbol))
		return watched_of(symbol) && is_aclnn_configured();
	return parse_operator_symbol(symbol, name, &first) &&
	       (is_acl_listed(get_wraplist(), name) || is_acl_listed(generation_armable, name));
}

/* aclnnInit, for example, is not an operator, despite its name: it may have any arguments. */
static bool is_two_phase(const char *name)
{
	char symbol[128 + sizeof(FIRST_PHASE)];
	struct provider p;

	snprintf(symbol, sizeof(symbol), "%s" FIRST_PHASE, name);
	return elfsym_find_all(symbol, &p, 1) != 0 && elfsym_find_all(name, &p, 1) != 0;
}

static void set_second_phase(struct cxx_function *f)
{
	static const uint8_t args[] = {CT_P, CT_U64, CT_P, CT_P};
	struct api_spec *s = &f->spec;

	f->kind = (struct kind){.name = f->symbol, .op = f->symbol + strlen(PREFIX)};
	s->lib = &adapter_aclnn;
	s->kind = &f->kind;
	s->task = TASK_DATA;
	s->completion = DONE_STREAM;
	s->nargs = sizeof(args);
	for (unsigned i = 0; i < sizeof(args); i++)
		s->args[i].ctype = args[i];
	s->args[sizeof(args) - 1].role = ROLE_STREAM;
	s->at[ROLE_STREAM] = sizeof(args);
}

static struct api *add_operator_row(const char *symbol)
{
	struct aclnn_function *f;
	char name[128];
	bool first;

	if (!parse_operator_symbol(symbol, name, &first) || !is_two_phase(name))
		return NULL;
	f = cxx_function_open_row(sizeof(*f), symbol, "aclnn");
	if (!f)
		return NULL;
	f->op = aclnn_operator_find_or_add(name + strlen(PREFIX));
	if (!f->op || strlen(symbol) >= sizeof(f->cxx.symbol)) {
		free(f);
		return NULL;
	}
	strcpy(f->cxx.symbol, symbol);
	f->cxx.ffi.ret = CT_I32;
	f->cxx.ffi.code = true;
	f->cxx.spec.list_name = f->cxx.symbol;
	if (first) {
		f->cxx.spec.lib = &adapter_first_phase;
		f->cxx.spec.task = TASK_SCOPE;
		f->cxx.ffi.open = true;
	} else {
		set_second_phase(&f->cxx);
	}
	cxx_function_register();
	return &f->cxx.api;
}

static uint8_t watched_ctype(char c)
{
	return c == 'p' ? CT_P : c == 'i' ? CT_I32 : CT_U64;
}

static struct api *make_watched(const struct watched *w)
{
	struct cxx_function *f = cxx_function_open_row(sizeof(*f), w->symbol, "aclnn");

	if (!f)
		return NULL;
	strcpy(f->symbol, w->symbol);
	cxx_function_set_observed(f, &adapter_watched, w->args, w->ret);
	f->ffi.code = true;
	for (unsigned i = 0; w->args[i]; i++)
		f->spec.args[i].ctype = watched_ctype(w->args[i]);
	cxx_function_register();
	return &f->api;
}

static struct api *add_aclnn_row(const char *symbol, const char *object)
{
	(void)object;
	return is_operator_name(symbol) ? add_operator_row(symbol)
					: make_watched(watched_of(symbol));
}

const struct runtime_provider aclnn_provider = {
	.wants = is_aclnn_wanted, .make = add_aclnn_row, .any = is_aclnn_configured};
