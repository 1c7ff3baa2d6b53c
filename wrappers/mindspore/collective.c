/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives and messages: the virtual functions of
 * mindspore::device::CollectiveCommunicationLib, whose instances are the backends (mccl on a CPU,
 * MPI, NCCL, HCCL). All return a bool: true if the operation succeeded. Calls made by a backend
 * are nested.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "call/comm.h"
#include "call/describe.h"
#include "life/life.h"
#include "session/identity.h"
#include "session/state.h"
#include "training/steps/step_times.h"
#include "wrappers/mindspore/layout/ms.h"

/* ---- functions ---- */

#define ARGS_MAX 9

/* Arguments after `this`, one letter each. */
static const struct {
	char letter;
	uint8_t role, ctype;
} arguments[] = {
	{'s', ROLE_SEND, CT_P},
	{'r', ROLE_RECV, CT_P},
	{'n', ROLE_COUNT, CT_U64},
	{'t', ROLE_DTYPE, CT_I32}, /* TypeId */
	{'o', ROLE_OP, CT_I64}, /* CollectiveOpReduceType */
	{'R', ROLE_ROOT, CT_U32},
	{'p', ROLE_PEER, CT_U32},
	{'g', ROLE_GROUP, CT_P}, /* const std::string & */
	{'S', ROLE_STREAM, CT_P},
};

#define LIB "_ZN9mindspore6device26CollectiveCommunicationLib"

/*
 * symbol: the abstract class's function. A release whose interface has other parameters has other
 * symbols, and is not intercepted.
 */
struct ms_method {
	char name[16], kind[16], args[ARGS_MAX];
	char symbol[128];
};

static const struct ms_method methods[] = {
	{"AllReduce", "allreduce", "srntogS",
		LIB "9AllReduceEPKvPvmNS_6TypeIdENS0_22CollectiveOpReduceTypeERKSsS4_"},
	{"AllGather", "allgather", "srntgS", LIB "9AllGatherEPKvPvmNS_6TypeIdERKSsS4_"},
	{"Broadcast", "broadcast", "srntRgS", LIB "9BroadcastEPKvPvmNS_6TypeIdEjRKSsS4_"},
	{"ReduceScatter", "reduce_scatter", "srntogS",
		LIB "13ReduceScatterEPKvPvmNS_6TypeIdENS0_22CollectiveOpReduceTypeERKSsS4_"},
	{"Gather", "gather", "srntRgS", LIB "6GatherEPKvPvmNS_6TypeIdEjRKSsS4_"},
	{"Scatter", "scatter", "srntRgS", LIB "7ScatterEPKvPvmNS_6TypeIdEjRKSsS4_"},
	{"Send", "send", "sntpgS", LIB "4SendEPKvmNS_6TypeIdEjRKSsPv"},
	{"Recv", "recv", "rntpgS", LIB "4RecvEPvmNS_6TypeIdEjRKSsS2_"},
};
#define METHODS (sizeof(methods) / sizeof(*methods))
_Static_assert(METHODS <= MS_METHODS_MAX, "");

unsigned ms_get_method_count(void)
{
	return METHODS;
}

const char *ms_get_method_name(unsigned i)
{
	return methods[i].name;
}

const char *ms_get_method_symbol(unsigned i)
{
	return methods[i].symbol;
}

bool ms_collectives_listed(void)
{
	bool any = false;

	/* Looks up all methods, because a name that is found nowhere is misspelt. */
	for (unsigned i = 0; i < METHODS; i++)
		any |= wraplist_match(get_wraplist(), adapter_ms.name, methods[i].name);
	return any;
}

static const struct kind *find_ms_kind(const char *name)
{
	api_fill();
	for (unsigned i = 0; i < kind_count; i++)
		if (strcmp(kind_table[i].name, name) == 0)
			return &kind_table[i];
	return NULL;
}

static void add_method_argument(struct api_spec *s, char letter)
{
	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		if (arguments[i].letter == letter) {
			struct api_arg *a = &s->args[s->nargs++];

			a->role = arguments[i].role;
			a->ctype = arguments[i].ctype;
			s->at[a->role] = s->nargs;
		}
}

bool ms_set_method_row(struct ms_function *r, const char *name)
{
	struct api_spec *s = &r->cxx.spec;
	const char *last = strrchr(name, ':');
	const struct ms_method *m = NULL;

	for (unsigned i = 0; last && i < METHODS; i++)
		if (strcmp(methods[i].name, last + 1) == 0)
			m = &methods[i];
	if (!m || strlen(name) >= sizeof(r->cxx.symbol))
		return false;
	strcpy(r->cxx.symbol, name);
	r->method = m;
	r->cxx.ffi.ret = CT_U8;
	r->cxx.ffi.code = true;
	s->lib = &adapter_ms;
	s->list_name = m->name;
	s->kind = find_ms_kind(m->kind);
	s->task = TASK_DATA;
	/* Only backends for processors have completed their work when they return. */
	s->completion = strstr(name, "::cpu::") || strstr(name, "::MPICollective") ? DONE_RETURN
										   : DONE_STREAM;
	s->args[s->nargs++].ctype = CT_P;
	for (const char *a = m->args; *a; a++)
		add_method_argument(s, *a);
	return s->kind != NULL;
}

/* ---- groups ---- */

static uint64_t compute_group_handle(const char *name)
{
	return hash_str(hash_str(0, adapter_ms.name), name);
}

/* std::vector<uint32_t>: pointers to its begin, its end and the end of its memory. */
struct ranks {
	const uint32_t *begin, *end;
};

/*
 * True if `name` is the group of all processes: mccl_world_group, hccl_world_group,
 * nccl_world_group.
 */
static bool is_world_group(const char *name, const struct ranks *r)
{
	for (uint32_t i = 0; i < (uint32_t)(r->end - r->begin); i++)
		if (r->begin[i] != i)
			return false;
	return strstr(name, "_world_group") != NULL;
}

/* This process' rank among all; -1 if not known. */
static int find_ms_rank(void)
{
	struct identity id;

	if (session.world_rank >= 0)
		return session.world_rank;
	identity_read(&id);
	return id.rank >= 0 ? id.rank : ms_find_instance_rank();
}

void ms_handle_new_group(const struct call *c)
{
	const char *name = ms_get_string(c->v[1].cp);
	const struct ranks *r = c->v[2].cp;
	size_t n = (size_t)(r->end - r->begin);
	int own = find_ms_rank(), rank = -1;
	struct comm *m;

	if (!n || n > INT32_MAX)
		return;
	for (size_t i = 0; i < n; i++)
		if (own >= 0 && r->begin[i] == (uint32_t)own)
			rank = (int)i;
	if (rank < 0)
		return; /* a group of other ranks, or this process' rank is not known */
	if (is_world_group(name, r))
		session_set_rank(rank, (int)n);
	m = comm_alloc((uint32_t)n);
	if (!m)
		return;
	for (size_t i = 0; i < n; i++)
		m->world[i] = (int32_t)r->begin[i];
	m->lib = &adapter_ms;
	m->handle = compute_group_handle(name);
	m->kind = "group";
	m->rank = rank;
	m->size = (int32_t)n;
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->id = comm_compute_id(0, name, (int64_t)n, m->world, m->nworld, NULL, 0);
	comm_register(m);
}

void ms_handle_group_end(struct call *c)
{
	call_set_ending_comm(c, &adapter_ms, compute_group_handle(ms_get_string(c->v[1].cp)));
}

/* ---- calls ---- */

static bool read_ms_call(struct call *c)
{
	const char *name = ms_get_string(call_get_arg(c, ROLE_GROUP)->cp);

	describe_by_kind(c, comm_find(&adapter_ms, compute_group_handle(name)));
	return true;
}

/*
 * MindSpore's own threads communicate, so the thread that ends the step is in none of these
 * calls.
 */
static void start_ms_call(struct call *c)
{
	if (c->api->spec->completion == DONE_RETURN)
		step_comm_start();
	else
		step_comm_set_unknown();
}

static void handle_ms_return(struct call *c, int64_t ret)
{
	(void)ret;
	if (c->api->spec->completion == DONE_RETURN)
		step_comm_stop();
}

static void read_ms_dtype(uint64_t value, struct dtype_desc *d)
{
	set_plain_dtype(d, ms_get_dtype((int32_t)value));
}

/* CollectiveOpReduceType */
static enum redop read_ms_redop(uint64_t value)
{
	static const uint8_t redops[] = {REDOP_AVG, REDOP_MAX, REDOP_MIN, REDOP_PROD, REDOP_SUM};

	return value < sizeof(redops) ? redops[value] : REDOP_USER;
}

const struct adapter adapter_ms = {
	.name = "mindspore",
	.success = {true},
	.nsuccess = 1,
	.groups = true,
	.unknown_streams = true,
	.describe = read_ms_call,
	.hooked = true,
	.enter = start_ms_call,
	.leave = handle_ms_return,
	.dtype = read_ms_dtype,
	.redop = read_ms_redop,
};
