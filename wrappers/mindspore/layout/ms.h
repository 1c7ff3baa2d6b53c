/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MindSpore's adapter. Its functions have C++ names: registry.c decides which exported ones are
 * observed. The recorded calls are virtual functions of hidden classes, which are reached through
 * objects (wrappers/cxx/cxx_shadow.h).
 *
 *	collective.c		adapter_ms	collectives and messages:
 *						CollectiveCommunicationLib's virtual functions
 *	collective_instance.c	adapter_ms_watch	instances of this class:
 *						CollectiveManager::Initialize and similar;
 *						groups and members: ... CreateCommunicationGroup
 *	task_stack.c		adapter_ms_watch	stacks of queued work:
 *						AsyncRQueue::Push, <...>Task::Run
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_MS_H
#define PROBE_WRAPPERS_MINDSPORE_MS_H

#include "call/call.h"
#include "entry/stubs/provider.h"
#include "wrappers/cxx/cxx_function.h"

extern const struct adapter adapter_ms, adapter_ms_watch;
extern const struct runtime_provider ms_provider;

/* The observed functions, and the purpose of each. */
enum ms_scope {
	MS_INSTANCE, /* instances of the communication library may exist afterwards */
	MS_GROUP_NEW,
	MS_GROUP_END,
	MS_PUSH, /* work is put into a queue */
	MS_TASK, /* queued work is done */
	MS_BACKWARD, /* gradients are computed */
	MS_GRAPH, /* a graph runs, on other threads while this one waits */
	MS_FORWARD, /* a forward pass that may be followed by a backward pass has ended */
	MS_CALL, /* Python calls a graph */
};

struct ms_method;

/* A row with its data for this adapter. */
struct ms_function {
	struct cxx_function cxx;
	const struct ms_method *method; /* for adapter_ms */
	uint8_t scope; /* for adapter_ms_watch: enum ms_scope */
};

static inline const struct ms_function *ms_get_function(const struct call *c)
{
	return (const struct ms_function *)c->api;
}

/* True if this process is msrun's scheduler, which is not recorded. */
bool ms_is_scheduler(void);

/* True if anything of MindSpore is observed. */
bool ms_is_observed(void);

/*
 * Returns the text of a std::string, NUL-terminated: in both layouts of libstdc++ the first word
 * is its address.
 */
static inline const char *ms_get_string(const void *string)
{
	return *(const char *const *)string;
}

/* Returns the enum dtype of a mindspore::TypeId; DT_OTHER: unknown. */
uint8_t ms_get_dtype(int64_t type_id);

/* ---- collectives (collective.c) ---- */

/*
 * Prefix of the names by which collective_instance.c requests entries: no symbol of a library
 * begins with it.
 */
#define MS_METHOD_NAME "mindspore method "

/* The class that all instances derive from. */
#define MS_COLLECTIVES "N9mindspore6device26CollectiveCommunicationLibE"

/* True if any collective is in the list. */
bool ms_collectives_listed(void);

/*
 * Fills in the row of a method; name: MS_METHOD_NAME and its qualified C++ name. Returns false if
 * it is not one of the methods.
 */
bool ms_set_method_row(struct ms_function *r, const char *name);

/*
 * The methods that are wrapped: how many there are, and for each its plain name and the mangled name of the abstract class's function
 * that it implements.
 */
#define MS_METHODS_MAX 16
unsigned ms_get_method_count(void);
const char *ms_get_method_name(unsigned i);
const char *ms_get_method_symbol(unsigned i);

/* Intercepts the methods of the instances that the CollectiveManager `manager` has at present. */
void ms_set_instance_hooks(const void *manager);

/* Returns this process' rank according to the instances; -1: there is no instance. */
int ms_find_instance_rank(void);

/* Called after CreateCommunicationGroup, and after DestroyCommunicationGroup. */
void ms_handle_new_group(const struct call *c);
void ms_handle_group_end(struct call *c);

/* ---- queued work (task_stack.c) ---- */

/*
 * True if the step marker is a function of a language. If so, threads that queue work search for it, even if they record
 * nothing themselves.
 */
bool ms_is_marker_searched(void);

void ms_handle_task_scope(struct call *c, enum ms_scope s, bool leaving);

#endif
