/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HCCL. Communicators are handled by wrappers/ccl. This file has what only HCCL has: batches of
 * messages, an all-to-all with a matrix of counts, and names of communicators, which the graph
 * engine's calls and communicating operators (wrappers/aclnn) use.
 */
#include "wrappers/hccl/hccl.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "call/comm.h"
#include "call/describe.h"
#include "hccl_gen.h"
#include "journal/layout.h"

CCL_FUNCTIONS(hccl)

/* struct HcclSendRecvItem of hccl_types.h (CANN 8.1): 32 bytes. */
struct batch_item {
	int32_t type; /* 0: send, 1: receive */
	void *buf;
	uint64_t count;
	int32_t dtype;
	uint32_t peer;
};
_Static_assert(sizeof(struct batch_item) == 32, "");

/* HcclOneSideOpDesc of hcomm's hccl_one_sided_services.h: 32 bytes. */
struct side_item {
	void *buf, *remote;
	uint64_t count;
	int32_t dtype;
};
_Static_assert(sizeof(struct side_item) == 32, "");

static void set_memory_buffer(struct buffer *v, const void *at, uint64_t count, int32_t dtype,
	enum tensor_io io, unsigned index, uint32_t peer)
{
	struct dtype_desc d = {0};

	set_plain_dtype(&d, spec_value_find(&hccl_dtypes, dtype, DT_OTHER));
	*v = (struct buffer){
		.base = at,
		.count = count,
		.bytes = count * d.size,
		.unit = d.extent,
		.dtype = d.dtype,
		.layout = BUFFER_CONTIG,
		.nostats = d.dtype == DT_OTHER,
		.io = (uint8_t)io,
		.index = (uint16_t)index,
		.ndim = JOURNAL_NDIM_NONE,
		.peer = (int32_t)peer,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64,
	};
}

static void set_item_buffer(
	struct buffer *v, const struct batch_item *i, struct comm *m, unsigned index)
{
	set_memory_buffer(v, i->buf, i->count, i->dtype, i->type ? IO_OUT : IO_IN, index, i->peer);
	if (m)
		v->comm_seq = comm_get_next_p2p(m, !i->type, (int32_t)i->peer, 0);
}

/* Describes a one-sided operation, in which the other rank makes no call. */
static void describe_one_sided(struct call *c)
{
	const struct side_item *i = call_get_arg(c, ROLE_ITEMS)->cp;
	uint32_t n = (uint32_t)call_get_arg(c, ROLE_NITEMS)->u,
		 peer = (uint32_t)call_get_arg(c, ROLE_PEER)->u;
	struct operation *w = &c->op;
	bool get = strcmp(c->api->spec->kind->op, "get") == 0;
	uint16_t have = 0;

	for (; i && have < n && have < KIND_VIEWS; i++, have++)
		set_memory_buffer(&(get ? w->out : w->in)[have], i->buf, i->count, i->dtype,
			get ? IO_OUT : IO_IN, have, peer);
	w->peer = (int32_t)peer;
	*(get ? &w->nout : &w->nin) = have;
	if (have < n)
		w->flags |= CF_MORE;
}

/*
 * Numbers all messages of a batch, as the other ranks number theirs. The record has only the
 * first two of each direction (flag `more`).
 */
static void set_batch_messages(struct call *c)
{
	const union arg *items = call_get_arg(c, ROLE_ITEMS), *n = call_get_arg(c, ROLE_NITEMS);
	struct operation *w = &c->op;

	for (uint32_t k = 0; items->cp && k < (uint32_t)n->u; k++) {
		const struct batch_item *i = (const struct batch_item *)items->cp + k;
		uint16_t *have = i->type ? &w->nout : &w->nin;
		struct buffer rest,
			*to = *have < KIND_VIEWS ? (i->type ? w->out : w->in) + *have : &rest;

		set_item_buffer(to, i, c->word & API_NUMBERED ? w->comm : NULL, *have);
		if (to == &rest)
			w->flags |= CF_MORE;
		else
			++*have;
	}
}

/* matrix[i][j]: elements that rank i sends to rank j; they are stored one after the other. */
static void set_matrix_segments(struct call *c)
{
	const uint64_t *matrix = c->v[1].cp;
	struct operation *w = &c->op;
	uint64_t size = w->comm ? (uint64_t)w->comm->size : 0, sent = 0, received = 0;

	if (!matrix || !size || w->nin != 1 || w->nout != 1) {
		w->nin = w->nout = 0;
		return;
	}
	for (uint64_t i = 0; i < size; i++) {
		sent += matrix[(uint64_t)w->comm->rank * size + i];
		received += matrix[i * size + (uint64_t)w->comm->rank];
	}
	w->in[0].bytes *= sent; /* of one element */
	w->in[0].count = sent;
	w->out[0].bytes *= received;
	w->out[0].count = received;
}

/* ---- names ---- */

#define NAMES_MAX 256u /* maximum number of queried names; later ones are not known */

static struct named {
	_Atomic uint64_t name, handle; /* name: a hash, 0 in a free slot */
} names[NAMES_MAX];

static uint64_t compute_name_hash(const char *name)
{
	return hash_str(hash_str(0, "hccl"), name);
}

static void record_comm_name(uint64_t handle, const char *name)
{
	uint64_t h = compute_name_hash(name);
	struct comm *m = ccl_comm_hccl(handle);

	if (m && !m->name[0] && !atomic_load(&m->announced))
		snprintf(m->name, sizeof(m->name), "%s", name);
	for (unsigned i = 0; i < NAMES_MAX; i++) {
		uint64_t was = 0;

		if (atomic_compare_exchange_strong(&names[i].name, &was, h) || was == h) {
			atomic_store(&names[i].handle, handle);
			return;
		}
	}
}

/* Forgets the names of communicator `handle`: the library may soon use them for another one. */
static void remove_names(uint64_t handle)
{
	for (unsigned i = 0; i < NAMES_MAX && atomic_load(&names[i].name); i++)
		atomic_compare_exchange_strong(&names[i].handle, &(uint64_t){handle}, UINT64_C(0));
}

static struct comm *find_named(const char *name, const void *real)
{
	static const struct query rank = {"HcomGetRankId", true, true, 4},
				  size = {"HcomGetRankSize", true, true, 4};
	uint64_t h = name ? compute_name_hash(name) : 0, handle;

	for (unsigned i = 0; h && i < NAMES_MAX && atomic_load(&names[i].name); i++)
		if (atomic_load(&names[i].name) == h && (handle = atomic_load(&names[i].handle)))
			return ccl_comm_hccl(handle);
	return ccl_find_group(&ccl_hccl, real, name, &rank, &size);
}

struct comm *hccl_comm_named(const char *name)
{
	return find_named(name, NULL);
}

/* ---- calls ---- */

static bool read_hccl_call(struct call *c)
{
	const union arg *group = call_get_arg(c, ROLE_GROUP), *comm = call_get_arg(c, ROLE_COMM);

	if (group)
		describe_by_kind(c, find_named(group->cp, c->real));
	else
		describe_by_kind(c, comm ? ccl_comm_hccl(comm->u) : NULL);
	if (call_get_arg(c, ROLE_ITEMS) && call_get_arg(c, ROLE_PEER))
		describe_one_sided(c);
	else if (call_get_arg(c, ROLE_ITEMS))
		set_batch_messages(c);
	else if (call_get_arg(c, ROLE_SDTYPE) && !call_get_arg(c, ROLE_SCOUNT) &&
		 !call_get_arg(c, ROLE_SCOUNTS))
		set_matrix_segments(c);
	return true;
}

static void handle_hccl_begin(struct call *c)
{
	ccl_enter_hccl(c);
	/*
	 * Only members make a sub-communicator, so the number made before differs between ranks
	 * and is not used; its own id is unique.
	 */
	if (c->api->spec->task == TASK_COMM_NEW)
		c->note.u[0] = 0;
	if (c->api->spec->task == TASK_COMM_END)
		remove_names(call_get_arg(c, ROLE_COMM)->u);
}

static void handle_hccl_return(struct call *c, int64_t ret)
{
	ccl_leave_hccl(c, ret);
	if (c->api->spec->task == TASK_COMM_NAME && c->ok && call_get_arg(c, ROLE_NAME)->cp)
		record_comm_name(call_get_arg(c, ROLE_COMM)->u, call_get_arg(c, ROLE_NAME)->cp);
}

const struct adapter adapter_hccl = {
	LIB_HCCL_SPEC,
	.comm = ccl_comm_hccl,
	.unknown_streams = true,
	.describe = read_hccl_call,
	.enter = handle_hccl_begin,
	.leave = handle_hccl_return,
};
