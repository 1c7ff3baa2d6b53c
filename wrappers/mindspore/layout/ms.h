/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MindSpore's adapter. Its functions have C++ names: registry.c decides which exported ones are observed. The recorded calls
 * are virtual functions of hidden classes, which are reached through objects (wrappers/cxx/cxx_shadow.h).
 *
 *	CollectiveCommunicationLib's virtual functions    collectives and messages    adapter_ms, collective.c
 *	CollectiveManager::Initialize and similar         where its instances are     adapter_ms_watch, collective_instance.c
 *	... CreateCommunicationGroup                      groups and their members
 *	AsyncRQueue::Push, <...>Task::Run                 work that is queued: stacks adapter_ms_watch, task_stack.c
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_MS_H
#define PROBE_WRAPPERS_MINDSPORE_MS_H

#include "call/call.h"
#include "entry/stubs/provider.h"
#include "wrappers/cxx/cxx_function.h"

extern const struct adapter adapter_ms, adapter_ms_watch;
extern const struct runtime_provider ms_provider;

/* What is observed, and for which purpose. */
enum ms_scope {
	MS_INSTANCE, /* instances of the communication library may exist after it */
	MS_GROUP_NEW,
	MS_GROUP_END,
	MS_PUSH, /* work is put into a queue */
	MS_TASK, /* the work is done */
	MS_BACKWARD, /* gradients are computed */
	MS_GRAPH, /* a graph runs: on other threads, while this one waits */
	MS_FORWARD, /* a forward pass that a backward pass may follow has ended */
	MS_CALL, /* Python calls a graph */
};

struct ms_method;

/* The data of a row, after its spec. */
struct ms_function {
	struct cxx_function cxx;
	const struct ms_method *method; /* adapter_ms */
	uint8_t scope; /* adapter_ms_watch: enum ms_scope */
};

static inline const struct ms_function *ms_function_of(const struct call *c)
{
	return (const struct ms_function *)c->api;
}

/* True if this process is msrun's scheduler, which is not recorded. */
bool ms_is_scheduler(void);

/* True if anything of MindSpore is observed. */
bool ms_any(void);

/* The text of a std::string, NUL-terminated: in both layouts that libstdc++ has, its first word is the address. */
static inline const char *ms_string(const void *string)
{
	return *(const char *const *)string;
}

/* mindspore::TypeId -> enum dtype; DT_OTHER: unknown. */
uint8_t ms_dtype(int64_t type_id);

/* ---- collectives (collective.c) ---- */

/* Prefix of the names by which collective_instance.c requests entries: no symbol of a library looks like this. */
#define MS_METHOD_NAME "mindspore method "

/* The class that all instances derive from. */
#define MS_COLLECTIVES "N9mindspore6device26CollectiveCommunicationLibE"

/* True if any collective is in the list. */
bool ms_collectives_listed(void);

/* Fills in the row of a method by MS_METHOD_NAME and its qualified C++ name. False: it is not one of these methods. */
bool ms_method_fill(struct ms_function *r, const char *name);

/* The methods, and the mangled names of the abstract class's functions. */
#define MS_METHODS_MAX 16
unsigned ms_method_count(void);
const char *ms_method_name(unsigned i);
const char *ms_method_symbol(unsigned i);

/* Entries into the instances that the manager (CollectiveManager) has by now. */
void ms_watch_instances(const void *manager);

/* This process' rank, according to the instances; -1: there are none. */
int ms_instance_rank(void);

/* CreateCommunicationGroup, DestroyCommunicationGroup. */
void ms_group_made(const struct call *c);
void ms_group_ends(struct call *c);

/* ---- queued work (task_stack.c) ---- */

/*
 * True if the step marker is a function of a language. It is searched for on threads that queue work and record nothing
 * themselves.
 */
bool ms_marker_looked_for(void);

void ms_task_scope(struct call *c, enum ms_scope s, bool leaving);

#endif
