/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the functions of libtorch that are watched, and how they are called. The names come from the
 * library being loaded. The tables below hold the names before 2.14 and from 2.14 on; a name with
 * unexpected parameters is not intercepted.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/rooms/calls.h"
#include "session/state.h"
#include "elf/demangle/demangle.h"
#include "training/steps/scalar.h"
#include "training/params/kind.h"
#include "training/steps/skip.h"
#include "wrappers/torch/passes/gradient_nodes.h"
#include "wrappers/torch/passes/kinds.h"
#include "wrappers/torch/passes/function_watch.h"
#include "wrappers/torch/passes/module_call.h"
#include "wrappers/torch/passes/module_dump.h"
#include "wrappers/torch/passes/step_boundary.h"
#include "wrappers/torch/numbers/block_memory.h"
#include "wrappers/torch/numbers/sure_norm.h"
#include "wrappers/torch/tensors/on_device.h"
#include "wrappers/torch/tensors/tensor.h"
#include "wrappers/torch/tensors/torch.h"

/* c10d/Types.hpp: offsets of the operation and the root in the options, from 1.11 on. */
#define REDOP 16
#define REDUCE_ROOT 32

static const struct torch_method methods[] = {
	{"broadcast", "broadcast", "broadcast", FORM_LIST, 3, 2, -1, 0},
	{"allreduce", "all_reduce", "all_reduce", FORM_LIST, 3, 2, REDOP, -1},
	{"allreduce_sparse", "all_reduce", "all_reduce", FORM_LIST, 3, 2, REDOP, -1},
	{"allreduce_coalesced", "all_reduce_coalesced", "all_reduce", FORM_LIST, 3, 2, REDOP, -1},
	{"reduce", "reduce", "reduce", FORM_LIST, 3, 2, REDOP, REDUCE_ROOT},
	{"allgather", "all_gather", "all_gather", FORM_GATHER, 4, 3, -1, -1},
	{"allgather_coalesced", "all_gather_coalesced", "all_gather", FORM_GATHER, 4, 3, -1, -1},
	{"_allgather_base", "all_gather_into_tensor _all_gather_base", "all_gather", FORM_OUT_IN, 4,
		3, -1, -1},
	{"all_gather_single", "all_gather_into_tensor _all_gather_base all_gather_single",
		"all_gather", FORM_OUT_IN, 4, 3, -1, -1},
	{"allgather_into_tensor_coalesced", "all_gather_into_tensor", "all_gather", FORM_LISTS, 4,
		3, -1, -1},
	{"all_gather_single_coalesced", "all_gather_into_tensor", "all_gather", FORM_LISTS, 4, 3,
		-1, -1},
	{"gather", "gather", "gather", FORM_GATHER, 4, 3, -1, 0},
	{"gather_single", "gather_single", "gather", FORM_OUT_IN, 4, 3, -1, 0}, /* 2.15 */
	{"scatter", "scatter", "scatter", FORM_SCATTER, 4, 3, -1, 0},
	{"reduce_scatter", "reduce_scatter", "reduce_scatter", FORM_SCATTER, 4, 3, REDOP, -1},
	{"_reduce_scatter_base", "reduce_scatter_tensor _reduce_scatter_base", "reduce_scatter",
		FORM_OUT_IN, 4, 3, REDOP, -1},
	{"reduce_scatter_single", "reduce_scatter_tensor _reduce_scatter_base", "reduce_scatter",
		FORM_OUT_IN, 4, 3, REDOP, -1},
	{"reduce_scatter_tensor_coalesced", "reduce_scatter_tensor", "reduce_scatter", FORM_LISTS,
		4, 3, REDOP, -1},
	{"reduce_scatter_single_coalesced", "reduce_scatter_tensor", "reduce_scatter", FORM_LISTS,
		4, 3, REDOP, -1},
	{"alltoall", "all_to_all", "all_to_all", FORM_LISTS, 4, 3, -1, -1},
	{"alltoall_base", "all_to_all_single", "all_to_all", FORM_OUT_IN, 6, 5, -1, -1},
	{"all_to_all_single", "all_to_all_single", "all_to_all", FORM_OUT_IN, 6, 5, -1, -1},
	{"send", "send isend batch_isend_irecv", "send", FORM_SEND, 4, 0, -1, -1},
	{"recv", "recv irecv batch_isend_irecv", "recv", FORM_RECV, 4, 0, -1, -1},
	{"recvAnysource", "recv irecv", "recv", FORM_RECV_ANY, 3, 0, -1, -1},
	{"barrier", "barrier", "barrier", FORM_NONE, 2, 0, -1, -1},
	{"monitoredBarrier", "monitored_barrier", "barrier", FORM_BLOCKS, 3, 0, -1, -1},
};

/*
 * Functions that are only watched. args: one letter for each argument, including `this`: p
 * pointer, b bool, l long, L unsigned long, d double.
 */
static const struct watched {
	char name[64], args[8];
	uint8_t scope; /* enum torch_scope */
	uint8_t ret; /* enum ctype; CT_STRUCT: an object */
} watched[] = {
	{"c10d::ProcessGroupGloo::enqueue", "pp", SCOPE_GLOO_ENQUEUE, CT_VOID},
	{"c10d::ProcessGroupGloo::AsyncWork::finishWorkGloo", "p", SCOPE_GLOO_FINISH, CT_VOID},
	{"c10d::ProcessGroupGloo::AsyncWork::finishWorkGlooError", "pp", SCOPE_GLOO_FAILED,
		CT_VOID},
	{"c10d::ProcessGroupGloo::SendWork::wait", "pl", SCOPE_WAIT, CT_U8},
	{"c10d::ProcessGroupGloo::RecvWork::wait", "pl", SCOPE_WAIT, CT_U8},
	{"c10d::(anonymous namespace)::LambdaWork::wait", "pl", SCOPE_WAIT,
		CT_U8}, /* by lambda_work.c */
	{"c10d::Work::wait", "pl", SCOPE_COMM_WAIT, CT_U8},
	{"c10d::Reducer::prepare_for_backward", "pp", SCOPE_REDUCER_PREPARED, CT_VOID},
	{"c10d::Reducer::autograd_hook", "pL", SCOPE_REDUCER_GRADIENT, CT_VOID},
	{"c10d::Reducer::finalize_backward", "p", SCOPE_REDUCER_FINISHED, CT_VOID},
	{"torch::autograd::Engine::execute", "pppbbbp", SCOPE_BACKWARD, CT_STRUCT},
	{"torch::autograd::Engine::thread_main", "pp", SCOPE_ENGINE, CT_VOID},
	{"torch::autograd::profiler::record_function_enter_new", "pp", SCOPE_RECORD_BEGIN,
		CT_STRUCT},
	{"at::RecordFunction::end", "p", SCOPE_RECORD_END, CT_VOID},
	/* Before 2.0 a mark is made by this function alone. */
	{"at::RecordFunction::RecordFunction", "pb", SCOPE_RECORD_NEW, CT_VOID},
	{"at::_ops::_amp_update_scale_::call", "pppddl", SCOPE_SCALE, CT_P},
	/*
	 * Called by the allocator of each kind of device, whether or not a profiler listens.
	 * c10/core/Allocator.h
	 */
	{"c10::reportMemoryUsageToProfiler", "plLLp", SCOPE_MEMORY, CT_VOID},
	/* Called for each block of the host's memory. c10/core/CPUAllocator.cpp */
	{"c10::ProfiledCPUMemoryReporter::New", "ppL", SCOPE_HOST_GIVEN, CT_VOID},
	{"c10::ProfiledCPUMemoryReporter::Delete", "pp", SCOPE_HOST_TAKEN, CT_VOID},
	{"c10d::Reducer::run_comm_hook", "pp", SCOPE_BUCKET, CT_STRUCT},
	{"torch::autograd::AccumulateGrad::AccumulateGrad", "pp", SCOPE_LEAF, CT_VOID},
	{"torch::autograd::Engine::evaluate_function", "ppppp", SCOPE_NODE, CT_VOID},
	{"torch::autograd::validate_outputs", "ppp", SCOPE_EDGES, CT_VOID},
	{"c10::GradMode::set_enabled", "b", SCOPE_GRAD_MODE, CT_VOID},
	{"torch::autograd::AccumulateGrad::apply", "pp", SCOPE_ACCUMULATE, CT_STRUCT},
};

/* The kind of function that a symbol names. */
struct found {
	const struct torch_method *method;
	const struct watched *watched;
	char name[sizeof(((struct torch_function *)0)->cxx.symbol)];
};

/*
 * The method's tensors and options are passed by reference, its peer and tag by value; the name does not contain
 * `this`.
 */
static bool has_valid_method_params(const struct torch_method *m, const struct cxx_params *p)
{
	if (p->n != m->nargs - 1)
		return false;
	for (int i = 0; i < p->n; i++) {
		if (m->form == FORM_BLOCKS && i == p->n - 1)
			return p->type[i] == CT_U8 || p->type[i] == CT_I8;

		bool number = (m->form == FORM_SEND || m->form == FORM_RECV) ? i >= 1
			      : m->form == FORM_RECV_ANY		     ? i == 1
									     : false;

		if (p->type[i] != (number ? CT_I32 : CT_P))
			return false;
	}
	return true;
}

static bool are_gradients_wanted(void)
{
	return train_get_kinds() & KIND_BIT(ACTV_GRAD) || torch_module_gradients_dumped();
}

/* Must be cheap: most symbols of a process are not PyTorch's. */
static bool is_possible_torch_symbol(const char *s)
{
	return strncmp(s, "_ZN4c10d", 8) == 0 || strncmp(s, "_ZN8c10d_npu", 12) == 0 ||
	       strncmp(s, "_ZN5torch8autograd6Engine7execute", 33) == 0 ||
	       strncmp(s, "_ZN5torch8autograd6Engine11thread_main", 38) == 0 ||
	       strncmp(s, "_ZN5torch8autograd8profiler25record_function_enter_new", 54) == 0 ||
	       strcmp(s, "_ZN2at14RecordFunction3endEv") == 0 ||
	       strcmp(s, "_ZN2at14RecordFunctionC1ENS_11RecordScopeE") == 0 ||
	       strcmp(s, "_ZN2at14RecordFunctionC2ENS_11RecordScopeE") == 0 ||
	       strncmp(s, "_ZN2at4_ops18_amp_update_scale_4call", 36) == 0 ||
	       (strncmp(s, "_ZN3c1027reportMemoryUsageToProfiler", 36) == 0 &&
		       (scalar_is_wanted(SCALAR_MEMORY_ALLOCATOR) || is_block_memory_wanted())) ||
	       (strncmp(s, "_ZN3c1025ProfiledCPUMemoryReporter", 34) == 0 &&
		       is_block_memory_wanted()) ||
	       (strncmp(s, "_ZN5torch8autograd14AccumulateGradC", 35) == 0 &&
		       (get_calls_keys(get_config())->backward || are_gradients_wanted() ||
			       torch_leaves_wanted())) ||
	       (strncmp(s, "_ZN5torch8autograd6Engine17evaluate_function", 44) == 0 &&
		       are_gradients_wanted()) ||
	       (strncmp(s, "_ZN5torch8autograd16validate_outputsERKSt6vectorINS0_4EdgeE", 58) ==
			       0 &&
		       (torch_module_gradients_dumped() || torch_node_sums_wanted())) ||
	       (strcmp(s, "_ZN3c108GradMode11set_enabledEb") == 0 &&
		       (torch_are_early_calls_needed() || torch_has_watch_list())) ||
	       (strncmp(s, "_ZN5torch8autograd14AccumulateGrad5apply", 40) == 0 &&
		       torch_leaves_wanted());
}

/*
 * The name after c10d's namespace or that of torch_npu, which has its own for the same classes.
 * NULL if it is in another namespace.
 */
static const char *get_name_in_namespace(const char *name)
{
	if (strncmp(name, "c10d::", 6) == 0)
		return name + 6;
	return strncmp(name, "c10d_npu::", 10) == 0 ? name + 10 : NULL;
}

/* The method in a name of the form c10d::ProcessGroup<backend>::<method>, or NULL. */
static const struct torch_method *find_torch_method(const char *name)
{
	const char *class = get_name_in_namespace(name), *m;

	if (!class || strncmp(class, "ProcessGroup", 12) != 0)
		return NULL;
	m = strstr(class + 12, "::");
	if (!m || m == class + 12 || strstr(m + 2, "::"))
		return NULL;
	/* ProcessGroupWrapper passes calls on to another backend. */
	if (strncmp(class + 12, "Wrapper::", 9) == 0)
		return NULL;
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (strcmp(methods[i].name, m + 2) == 0)
			return &methods[i];
	return NULL;
}

/*
 * True if the method is listed by its C++ name in section c10d, or by its name in
 * torch.distributed in one of msprobe's lists.
 */
static bool is_method_listed(const struct found *f)
{
	char name[sizeof(f->name)];
	bool hit = wraplist_match(get_wraplist(), "c10d", f->name);

	/* A pattern for every backend in c10d covers backends in other namespaces, too. */
	if (!hit && strncmp(f->name, "c10d::", 6) != 0) {
		snprintf(name, sizeof(name), "c10d::%s", get_name_in_namespace(f->name));
		hit = wraplist_match(get_wraplist(), "c10d", name);
	}
	for (const char *s = f->method->list; *s;) {
		size_t n = strcspn(s, " ");

		memcpy(name, s, n);
		name[n] = 0;
		hit |= wraplist_match(get_wraplist(), "distributed", name);
		s += n + (s[n] == ' ');
	}
	return hit;
}

static bool find_torch_function_kind(const char *symbol, struct found *f)
{
	struct cxx_params p;

	if (!is_possible_torch_symbol(symbol) ||
		format_cxx_symbol(symbol, f->name, sizeof(f->name), &p) < 0)
		return false;
	f->watched = NULL;
	f->method = find_torch_method(f->name);
	if (f->method)
		return has_valid_method_params(f->method, &p) && is_method_listed(f);
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		if (strcmp(watched[i].name, f->name) == 0) {
			const struct watched *w = &watched[i];
			/* All scopes except these have `this`. */
			bool method = w->scope != SCOPE_RECORD_BEGIN && w->scope != SCOPE_SCALE &&
				      w->scope != SCOPE_EDGES && w->scope != SCOPE_GRAD_MODE &&
				      w->scope != SCOPE_MEMORY;

			f->watched = w;
			if (w->scope == SCOPE_COMM_WAIT && !scalar_is_wanted(SCALAR_COMM_TIME))
				return false;
			if ((w->scope == SCOPE_REDUCER_PREPARED ||
				    w->scope == SCOPE_REDUCER_GRADIENT) &&
				!torch_are_gradient_names_wanted())
				return false;
			if (w->scope == SCOPE_REDUCER_FINISHED &&
				!torch_are_gradient_names_wanted() &&
				!scalar_is_wanted(SCALAR_COMM_TIME))
				return false;
			if (w->scope == SCOPE_BUCKET && !torch_are_gradient_names_wanted() &&
				!skip_is_wanted())
				return false;
			return cxx_params_match(w->args, &p, method);
		}
	return false;
}

static bool is_torch_configured(void)
{
	return session_configure();
}

static bool is_torch_symbol_wanted(const char *symbol, const char *object)
{
	struct found f;

	if (strncmp(symbol, "PyInit_", 7) == 0)
		torch_check_compiled_module(symbol + 7, object);
	if (strncmp(symbol, "_Z", 2) != 0 || !session_configure())
		return false;
	return find_torch_function_kind(symbol, &f) || torch_op_wanted(symbol) ||
	       torch_node_wanted(symbol);
}

/* Implements struct adapter.listed. */
static bool is_method_row_listed(const struct api *f)
{
	const struct torch_function *r = (const struct torch_function *)f;
	struct found found = {.method = r->method};

	snprintf(found.name, sizeof(found.name), "%s", r->cxx.symbol);
	return is_method_listed(&found);
}

/* ---- rows ---- */

static void set_method_row(struct torch_function *r, const struct torch_method *m)
{
	struct api_spec *s = &r->cxx.spec;

	r->method = m;
	r->cxx.api.word = API_CHOSEN; /* is_method_listed() has decided, for both kinds of names */
	r->backend = strncmp(r->cxx.symbol, "c10d::ProcessGroupGloo::", 24) == 0 ? BACKEND_GLOO
										 : BACKEND_OTHER;
	r->cxx.kind = (struct kind){
		.name = m->kind,
		.op = m->kind,
		.collective = m->form < FORM_SEND,
		.rooted = m->root >= 0,
	};
	r->indirect = strcmp(m->kind, "reduce_scatter") == 0;
	r->cxx.ffi.hidden = m->form != FORM_BLOCKS;
	s->lib = &adapter_c10d;
	s->list_name = r->cxx.symbol;
	s->kind = &r->cxx.kind;
	s->task = TASK_DATA;
	s->completion = m->form == FORM_BLOCKS ? DONE_RETURN : DONE_REQUEST;
	s->nargs = m->nargs;
	for (unsigned i = 0; i < m->nargs; i++)
		s->args[i].ctype = CT_P;
	if (m->form == FORM_BLOCKS)
		s->args[m->nargs - 1].ctype = CT_U8;
	if (m->form == FORM_SEND || m->form == FORM_RECV)
		s->args[2].ctype = s->args[3].ctype = CT_I32;
	else if (m->form == FORM_RECV_ANY)
		s->args[2].ctype = CT_I32;
}

static void set_watched_row(struct torch_function *r, const struct watched *w)
{
	r->scope = w->scope;
	cxx_function_set_observed(&r->cxx, &adapter_torch, w->args, w->ret);
}

static struct api *add_torch_row(const char *symbol, const char *object)
{
	struct found f;
	struct torch_function *r;
	bool known;

	(void)object;
	if (!session_configure())
		return NULL;
	known = find_torch_function_kind(symbol, &f);
	r = cxx_function_open_row(sizeof(*r), symbol, "PyTorch");
	if (!r)
		return NULL;
	if (known)
		strcpy(r->cxx.symbol, f.name);
	if (known && f.method) {
		set_method_row(r, f.method);
	} else if (known) {
		set_watched_row(r, f.watched);
	} else if (!torch_set_op_row(r, symbol) && !torch_set_node_row(r, symbol)) {
		free(r);
		return NULL;
	}
	cxx_function_register();
	return &r->cxx.api;
}

const struct runtime_provider torch_provider = {.wants = is_torch_symbol_wanted,
	.make = add_torch_row,
	.refused = torch_op_refused,
	.any = is_torch_configured};

/* ---- the libraries ---- */

void (*const torch_fork_handlers[])(void) = {
	cxx_work_forked,
	torch_marks_forked,
	torch_boundary_forked,
	torch_scalars_forked,
	torch_late_scalars_forked,
	torch_withhold_forked,
	sure_norm_forked,
	torch_tensor_forked,
	torch_meshes_forked,
	torch_gradients_forked,
	torch_kinds_forked,
	torch_accumulate_forked,
	torch_names_forked,
	NULL,
};

static void handle_group_return(struct call *c, int64_t ret)
{
	(void)ret;
	torch_close_shard_bucket();
	torch_handle_work_return(c);
}

const struct adapter adapter_c10d = {
	.name = "c10d",
	.groups = true,
	.describe = torch_read_group_call,
	.listed = is_method_row_listed,
	.leave = handle_group_return,
	.carried = true,
	.stream = torch_get_current_stream,
	.fork_handlers = torch_fork_handlers,
};

static void handle_scope_begin(struct call *c)
{
	enum torch_scope s = torch_get_function(c)->scope;

	if (s < SCOPE_BACKWARD)
		torch_handle_work_scope(c, s, false);
	else if (s == SCOPE_LEAF)
		torch_handle_new_leaf(c, false);
	else if (s == SCOPE_ACCUMULATE)
		torch_handle_accumulation(c, false);
	else if (s >= SCOPE_MARKER)
		torch_handle_op_scope(c, false);
	else if (s == SCOPE_BUCKET)
		torch_handle_bucket_hook(c, false);
	else
		torch_handle_mark_begin(c, s);
}

static void handle_scope_return(struct call *c, int64_t ret)
{
	enum torch_scope s = torch_get_function(c)->scope;

	(void)ret;
	if (s < SCOPE_BACKWARD)
		torch_handle_work_scope(c, s, true);
	else if (s == SCOPE_LEAF) {
		torch_check_leaf_node(c->ok ? c->v[0].cp : NULL);
		torch_handle_new_leaf(c, true);
	} else if (s == SCOPE_ACCUMULATE)
		torch_handle_accumulation(c, true);
	else if (s >= SCOPE_MARKER)
		torch_handle_op_scope(c, true);
	else if (s == SCOPE_BUCKET)
		torch_handle_bucket_hook(c, true);
	else
		torch_handle_mark_end(c, s);
}

const struct adapter adapter_torch = {
	.name = "torch",
	.enter = handle_scope_begin,
	.leave = handle_scope_return,
	.fork_handlers = torch_fork_handlers,
};
