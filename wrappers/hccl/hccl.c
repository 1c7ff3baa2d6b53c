/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HCCL. Its communicators are those of wrappers/ccl; here is what only it has: batches of messages, an all-to-all with a
 * matrix of counts, and the graph engine's calls, which name their communicator by a text.
 */
#include <string.h>

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

static void describe_item(
	struct buffer *v, const struct batch_item *i, struct comm *m, unsigned index)
{
	struct dtype_desc d = {.dtype = DT_OTHER};

	ccl_dtype_hccl((uint64_t)i->dtype, &d);
	*v = (struct buffer){
		.base = i->buf,
		.count = i->count,
		.bytes = i->count * d.size,
		.unit = d.extent,
		.dtype = d.dtype,
		.layout = BUFFER_CONTIG,
		.nostats = d.dtype == DT_OTHER,
		.io = i->type ? IO_OUT : IO_IN,
		.index = (uint16_t)index,
		.ndim = JOURNAL_NDIM_NONE,
		.peer = (int32_t)i->peer,
		.tag = JOURNAL_NONE,
		.comm_seq = m ? comm_next_p2p(m, !i->type, (int32_t)i->peer, 0) : JOURNAL_NONE64,
	};
}

/* All items are numbered, as the other ranks number theirs; rows have the first two of each direction (flag `more`). */
static void describe_batch(struct call *c)
{
	const union arg *items = call_arg(c, ROLE_ITEMS), *n = call_arg(c, ROLE_NITEMS);
	struct operation *w = &c->op;

	for (uint32_t k = 0; items->cp && k < (uint32_t)n->u; k++) {
		const struct batch_item *i = (const struct batch_item *)items->cp + k;
		uint16_t *have = i->type ? &w->nout : &w->nin;
		struct buffer rest,
			*to = *have < KIND_VIEWS ? (i->type ? w->out : w->in) + *have : &rest;

		describe_item(to, i, c->word & API_NUMBERED ? w->comm : NULL, *have);
		if (to == &rest)
			w->flags |= CF_MORE;
		else
			++*have;
	}
}

/* matrix[i][j]: elements that rank i sends to rank j; each lies behind the one before. */
static void describe_matrix(struct call *c)
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

static bool describe_hccl(struct call *c)
{
	static const struct query rank = {"HcomGetRankId", true, true, 4},
				  size = {"HcomGetRankSize", true, true, 4};
	const union arg *group = call_arg(c, ROLE_GROUP), *comm = call_arg(c, ROLE_COMM);

	if (group)
		describe_by_kind(c, ccl_group(&ccl_hccl, c->real, group->cp, &rank, &size));
	else
		describe_by_kind(c, comm ? ccl_comm_hccl(comm->u) : NULL);
	if (call_arg(c, ROLE_ITEMS))
		describe_batch(c);
	else if (call_arg(c, ROLE_SDTYPE) && !call_arg(c, ROLE_SCOUNT) &&
		 !call_arg(c, ROLE_SCOUNTS))
		describe_matrix(c);
	return true;
}

static void enter_hccl(struct call *c)
{
	ccl_enter_hccl(c);
	/* Only members make a part, so how many were made before is no common number; its own id is unique. */
	if (c->api->spec->task == TASK_COMM_NEW)
		c->note.u[0] = 0;
}

const struct adapter adapter_hccl = {
	LIB_HCCL_SPEC,
	CCL_ADAPTER(hccl),
	.unknown_streams = true,
	.describe = describe_hccl,
	.enter = enter_hccl,
	.leave = ccl_leave_hccl,
};
