/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the exported functions of MindSpore that are observed, by name. The names are equal in all
 * releases, while added parameters change the mangled name. A function with unexpected parameters
 * is not intercepted.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "config/rooms/calls.h"
#include "elf/demangle/demangle.h"
#include "session/generation.h"
#include "session/state.h"
#include "wrappers/cxx/cxx_function.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/layout/kernel.h"
#include "wrappers/mindspore/expert_values.h"
#include "wrappers/mindspore/kernel_phase.h"
#include "wrappers/mindspore/kernel_values.h"
#include "wrappers/mindspore/layout/ms.h"
#include "wrappers/mindspore/parameters.h"
#include "wrappers/mindspore/routers.h"

#define MANAGER "mindspore::distributed::collective::CollectiveManager::"

/* args: parameters in the form of cxx_params_match(). */
static const struct watched {
	char name[96], args[8];
	uint8_t scope; /* enum ms_scope */
	uint8_t ret; /* enum ctype */
} watched[] = {
	{MANAGER "Initialize", "pp", MS_INSTANCE, CT_U8},
	{MANAGER "InitHostCommlib", "pp", MS_INSTANCE, CT_U8},
	{MANAGER "InitDeviceCommLib", "pp", MS_INSTANCE, CT_U8},
	{MANAGER "CreateCommunicationGroup", "pppp", MS_GROUP_NEW, CT_U8},
	{MANAGER "CreateCommunicationGroup", "ppp", MS_GROUP_NEW, CT_U8},
	{MANAGER "DestroyCommunicationGroup", "pp", MS_GROUP_END, CT_U8},
	{"mindspore::runtime::AsyncRQueue::Push", "pp", MS_PUSH, CT_VOID},
	{"mindspore::pynative::PyNativeExecutor::RunGrad", "ppppppp", MS_BACKWARD, CT_STRUCT},
	{"mindspore::runtime::GraphScheduler::Run", "ppppl", MS_GRAPH, CT_VOID},
	{"mindspore::pynative::PyNativeExecutor::EndGraph", "pppp", MS_FORWARD, CT_VOID},
	{"mindspore::pipeline::ExecutorPy::Run", "ppp", MS_CALL, CT_STRUCT},
};

/* Returns false quickly for most names in a process. */
static bool is_possible_ms_symbol(const char *symbol)
{
	return strncmp(symbol, "_ZN9mindspore", 13) == 0 ||
	       strncmp(symbol, "_ZNK9mindspore8pynative", 23) == 0;
}

/* True for Run() of AsyncTask, which a queue runs, and of classes derived from it. */
static bool is_task_run(const char *name, const struct cxx_params *p)
{
	size_t n = strlen(name);

	return p->n == 0 && n > 9 && strcmp(name + n - 9, "Task::Run") == 0 &&
	       (strncmp(name, "mindspore::runtime::", 20) == 0 ||
		       strncmp(name, "mindspore::pynative::", 21) == 0);
}

/* True if the scope is useful with the current configuration. */
static bool is_scope_wanted(uint8_t scope)
{
	const struct calls_keys *keys = get_calls_keys(get_config());
	/* A graph's run may be a step, and a pass without a following one a skipped step. */
	if (scope == MS_GRAPH || scope == MS_CALL || scope == MS_BACKWARD)
		return true;
	if (scope < MS_PUSH)
		return ms_collectives_listed();
	if (scope == MS_FORWARD)
		return ms_values_wanted();
	return keys->stack || *keys->codeline || ms_is_marker_searched() || ms_kernels_listed() ||
	       ms_values_wanted();
}

static bool find_watched_row(const char *symbol, struct ms_function *r)
{
	char name[sizeof(r->cxx.symbol)];
	const struct watched *w = NULL;
	struct cxx_params p;
	const char *args = "p";
	uint8_t scope = MS_TASK, ret = CT_VOID;

	if (!is_possible_ms_symbol(symbol) || format_cxx_symbol(symbol, name, sizeof(name), &p) < 0)
		return false;
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		if (strcmp(watched[i].name, name) == 0 &&
			cxx_params_match(watched[i].args, &p, true))
			w = &watched[i];
	if (w) {
		args = w->args;
		scope = w->scope;
		ret = w->ret;
	} else if (!is_task_run(name, &p)) {
		return false;
	}
	if (!is_scope_wanted(scope))
		return false;
	if (r) {
		strcpy(r->cxx.symbol, name);
		r->scope = scope;
		cxx_function_set_observed(&r->cxx, &adapter_ms_watch, args, ret);
		/* A new group's result is needed: it tells whether the group was made. */
		r->cxx.ffi.code = scope == MS_GROUP_NEW;
	}
	return true;
}

static bool is_method_name(const char *symbol)
{
	return strncmp(symbol, MS_METHOD_NAME, sizeof(MS_METHOD_NAME) - 1) == 0;
}

/*
 * True for msrun's scheduler, which is started like the workers and has rank 0 in its
 * environment, but takes part in no collective.
 */
bool ms_is_scheduler(void)
{
	for (char *const *e = startup_get_environment(); *e; e++)
		if (strcmp(*e, "MS_ROLE=MS_SCHED") == 0)
			return true;
	return false;
}

/*
 * Called for each name that MindSpore's libraries export, and a list may be long, so the result
 * is cached together with the list.
 */
bool ms_is_observed(void)
{
	static _Atomic uintptr_t answer; /* address of the list; its lowest bit is the result */
	uintptr_t was = atomic_load_explicit(&answer, memory_order_relaxed), list;

	if (!session_configure())
		return false;
	list = (uintptr_t)get_wraplist();
	if (!list || (was & ~(uintptr_t)1) != list) {
		was = list |
		      (!ms_is_scheduler() && (ms_collectives_listed() || ms_kernels_listed() ||
						     ms_values_wanted()));
		atomic_store_explicit(&answer, was, memory_order_relaxed);
	}
	return was & 1;
}

static bool is_ms_symbol_wanted(const char *symbol, const char *object)
{
	(void)object;
	if (is_method_name(symbol))
		return true;
	return is_possible_ms_symbol(symbol) && ms_is_observed() && find_watched_row(symbol, NULL);
}

static struct api *add_ms_row(const char *symbol, const char *object)
{
	struct ms_function *r;

	(void)object;
	if (!session_configure())
		return NULL;
	r = cxx_function_open_row(sizeof(*r), symbol, "MindSpore");
	if (!r)
		return NULL;
	if (!(is_method_name(symbol) ? ms_set_method_row(r, symbol + sizeof(MS_METHOD_NAME) - 1)
				     : find_watched_row(symbol, r))) {
		free(r);
		return NULL;
	}
	cxx_function_register();
	return &r->cxx.api;
}

const struct runtime_provider ms_provider = {
	.wants = is_ms_symbol_wanted, .make = add_ms_row, .any = ms_is_observed};

/* ---- what is watched ---- */

static void handle_watched_begin(struct call *c)
{
	enum ms_scope s = ms_get_function(c)->scope;

	if (s == MS_GROUP_NEW)
		ms_set_instance_hooks(c->v[0].cp);
	else if (s == MS_GROUP_END)
		ms_handle_group_end(c);
	else if (s >= MS_PUSH)
		ms_handle_task_scope(c, s, false);
}

static void handle_watched_return(struct call *c, int64_t ret)
{
	enum ms_scope s = ms_get_function(c)->scope;

	if (s == MS_INSTANCE)
		ms_set_instance_hooks(c->v[0].cp);
	else if (s == MS_GROUP_NEW && c->ok && (ret & 1)) /* a bool; 0: the group was not made */
		ms_handle_new_group(c);
	else if (s >= MS_PUSH)
		ms_handle_task_scope(c, s, true);
}

void (*const ms_fork_handlers[])(void) = {
	cxx_work_forked,
	ms_steps_forked,
	ms_values_forked,
	ms_parameters_forked,
	ms_gradients_forked,
	ms_experts_forked,
	ms_routers_forked,
	ms_graph_gradients_forked,
	ms_numbers_forked,
	NULL,
};

const struct adapter adapter_ms_watch = {
	.name = "mindspore",
	.enter = handle_watched_begin,
	.leave = handle_watched_return,
	.fork_handlers = ms_fork_handlers,
};
