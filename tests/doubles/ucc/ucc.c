/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libucc.so.1 that computes on the processor, by the parts of NCCL's double: tests only. As in the real library a
 * collective is posted and done by ucc_context_progress(); here that waits for the other ranks.
 */
#include "ucc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../nccl/double.h"

#define OWN __attribute__((visibility("default")))

struct request {
	struct ucc_coll_req head; /* what the library shows of it */
	ucc_coll_args_t args;
	ucc_team_h team;
	struct request *next;
};
struct ucc_team {
	struct ncclComm comm;
};
static struct request *waiting, **waiting_end = &waiting;

OWN ucc_status_t ucc_context_create(
	void *lib, const void *params, const void *config, ucc_context_h *out)
{
	(void)lib, (void)params, (void)config;
	*out = malloc(8);
	return UCC_OK;
}

OWN ucc_status_t ucc_team_create_post(
	ucc_context_h *c, uint32_t n, const ucc_team_params_t *p, ucc_team_h *out)
{
	char mine[64] = "", all[RANKS_MAX][64];
	struct ucc_team *t = calloc(1, sizeof(*t));
	static unsigned made;
	void *request;

	(void)c, (void)n;
	snprintf(mine, sizeof(mine), "ucc-double-%d-%u", getpid(), made++);
	p->oob.allgather(mine, all, sizeof(mine), p->oob.coll_info, &request);
	while (p->oob.req_test(request) == UCC_INPROGRESS)
		usleep(500);
	p->oob.req_free(request);
	memcpy(t->comm.name, all[0], sizeof(all[0]));
	t->comm.rank = (int)p->oob.oob_ep;
	t->comm.size = (int)p->oob.n_oob_eps;
	t->comm.blocking = true;
	t->comm.seg = segment_join(t->comm.name, t->comm.rank, t->comm.size);
	*out = t;
	return t->comm.seg ? UCC_OK : -5;
}

OWN ucc_status_t ucc_team_create_test(ucc_team_h t)
{
	(void)t;
	return UCC_OK;
}

OWN ucc_status_t ucc_team_get_attr(ucc_team_h t, ucc_team_attr_t *a)
{
	if (a->mask != 0x44)
		return UCC_ERR_INVALID_PARAM;
	a->ep = (uint64_t)t->comm.rank;
	a->size = (uint32_t)t->comm.size;
	return UCC_OK;
}

OWN ucc_status_t ucc_team_destroy(ucc_team_h t)
{
	segment_leave(t->comm.seg);
	free(t);
	return UCC_OK;
}

/* NCCL's data type for one of UCC; -1: the double has none. */
static int nccl_type_of(uint64_t ucc)
{
	static const int map[16] = {0, -1, 2, 4, -1, 1, -1, 3, 5, -1, 6, 7, 8, 9, -1, -1};

	return ucc / 8 < 16 ? map[ucc / 8] : -1;
}

static uint64_t dtype_of_args(const ucc_coll_args_t *a)
{
	switch (a->coll_type) {
	case UCC_COLL_ALLGATHERV:
	case UCC_COLL_ALLTOALLV:
	case UCC_COLL_GATHERV:
		return a->dst.info_v.datatype;
	case UCC_COLL_SCATTERV:
		return a->dst.info.datatype;
	case UCC_COLL_BCAST:
		return a->src.info.datatype;
	case UCC_COLL_SCATTER:
		return a->dst.info.datatype ? a->dst.info.datatype : a->src.info.datatype;
	default:
		return a->dst.info.datatype ? a->dst.info.datatype : a->src.info.datatype;
	}
}

OWN ucc_status_t ucc_collective_init(ucc_coll_args_t *a, ucc_coll_req_h *out, ucc_team_h t)
{
	struct request *r;

	if (a->coll_type != UCC_COLL_BARRIER && nccl_type_of(dtype_of_args(a)) < 0)
		return UCC_ERR_INVALID_PARAM;
	r = calloc(1, sizeof(*r));
	r->head.status = 2; /* UCC_OPERATION_INITIALIZED */
	r->args = *a;
	r->team = t;
	*out = &r->head;
	return UCC_OK;
}

OWN ucc_status_t ucc_collective_post(ucc_coll_req_h q)
{
	struct request *r = (struct request *)q;

	r->head.status = UCC_INPROGRESS;
	r->next = NULL;
	*waiting_end = r;
	waiting_end = &r->next;
	return UCC_OK;
}

OWN ucc_status_t ucc_collective_init_and_post(ucc_coll_args_t *a, ucc_coll_req_h *out, ucc_team_h t)
{
	ucc_status_t s = ucc_collective_init(a, out, t);

	return s ? s : ucc_collective_post(*out);
}

OWN ucc_status_t ucc_collective_triggered_post(void *ee, void *event)
{
	(void)ee;
	return ucc_collective_post(((ucc_coll_req_h *)event)[3]);
}

OWN ucc_status_t ucc_collective_finalize(ucc_coll_req_h q)
{
	memset(q, 0xee, sizeof(struct request)); /* it must not be used any more */
	free(q);
	return UCC_OK;
}

static int width_of(const ucc_coll_args_t *a, uint64_t flag)
{
	return a->mask & HAS_FLAGS && a->flags & flag ? 8 : 4;
}

static size_t number_at(const void *array, int i, int width)
{
	return width == 8 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

/* The i-th part of a buffer in parts. */
static void *part_of(const ucc_coll_args_t *a, const struct ucc_info_v *v, int i, size_t *count,
	ncclDataType_t dt)
{
	*count = number_at(v->counts, i, width_of(a, COUNT_64BIT));
	return (char *)v->buffer +
	       number_at(v->displacements, i, width_of(a, DISPLACEMENTS_64BIT)) * number_size(dt);
}

static void queue_message(const struct work *like, enum what what, void *at, size_t n, int peer)
{
	struct work w = *like;

	w.what = what;
	w.send = w.recv = at;
	w.count = n;
	w.peer = peer;
	queue_work(&w);
}

/* Collectives in parts are messages; what stays at home too. */
static void run_parts(const struct request *r, const struct work *like)
{
	const ucc_coll_args_t *a = &r->args;
	int size = r->team->comm.size, rank = r->team->comm.rank, root = (int)a->root;
	size_t n;
	void *p;

	queue_start();
	for (int i = 0; i < size; i++) {
		if (a->coll_type == UCC_COLL_ALLTOALLV) {
			p = part_of(a, &a->src.info_v, i, &n, like->dtype);
			queue_message(like, SEND, p, n, i);
		} else if (a->coll_type == UCC_COLL_ALLGATHERV ||
			   (a->coll_type == UCC_COLL_GATHERV && i == root)) {
			queue_message(like, SEND, a->src.info.buffer, a->src.info.count, i);
		} else if (a->coll_type == UCC_COLL_SCATTERV && rank == root) {
			p = part_of(a, &a->src.info_v, i, &n, like->dtype);
			queue_message(like, SEND, p, n, i);
		}
		if (a->coll_type == UCC_COLL_ALLTOALLV || a->coll_type == UCC_COLL_ALLGATHERV ||
			(a->coll_type == UCC_COLL_GATHERV && rank == root)) {
			p = part_of(a, &a->dst.info_v, i, &n, like->dtype);
			queue_message(like, RECEIVE, p, n, i);
		} else if (a->coll_type == UCC_COLL_SCATTERV && i == root) {
			queue_message(like, RECEIVE, a->dst.info.buffer, a->dst.info.count, root);
		}
	}
	queue_end();
}

static void run(struct request *r)
{
	const ucc_coll_args_t *a = &r->args;
	int size = r->team->comm.size, rank = r->team->comm.rank,
	    type = nccl_type_of(dtype_of_args(a));
	bool in_place = a->mask & HAS_FLAGS && a->flags & IN_PLACE;
	struct work w = {.comm = &r->team->comm,
		.send = in_place ? a->dst.info.buffer : a->src.info.buffer,
		.recv = a->dst.info.buffer,
		.dtype = (ncclDataType_t)type,
		.op = a->op,
		.peer = (int)a->root,
		.scale = 1};
	size_t bytes = type < 0 ? 0 : number_size(w.dtype);

	switch (a->coll_type) {
	case UCC_COLL_BARRIER:
		segment_barrier(r->team->comm.seg);
		break;
	case UCC_COLL_ALLREDUCE:
		w.what = ALL_REDUCE;
		w.count = a->dst.info.count;
		queue_work(&w);
		break;
	case UCC_COLL_REDUCE:
		w.what = REDUCE;
		w.count = rank == w.peer ? a->dst.info.count : a->src.info.count;
		queue_work(&w);
		break;
	case UCC_COLL_BCAST:
		w.what = BROADCAST;
		w.send = w.recv = a->src.info.buffer;
		w.count = a->src.info.count;
		queue_work(&w);
		break;
	case UCC_COLL_ALLGATHER:
		w.what = ALL_GATHER;
		w.count = a->dst.info.count / (size_t)size;
		if (in_place)
			w.send = (char *)w.recv + (size_t)rank * w.count * bytes;
		queue_work(&w);
		break;
	case UCC_COLL_REDUCE_SCATTER:
		w.what = REDUCE_SCATTER;
		w.count = (in_place ? a->dst.info.count : a->src.info.count) / (size_t)size;
		if (in_place)
			w.recv = (char *)w.recv + (size_t)rank * w.count * bytes;
		queue_work(&w);
		break;
	case UCC_COLL_ALLTOALL:
		w.what = ALL_TO_ALL;
		w.count = a->dst.info.count / (size_t)size;
		queue_work(&w);
		break;
	case UCC_COLL_GATHER:
		w.what = GATHER;
		w.count = a->src.info.count;
		queue_work(&w);
		break;
	case UCC_COLL_SCATTER:
		w.what = SCATTER;
		w.count = a->dst.info.count;
		queue_work(&w);
		break;
	default:
		run_parts(r, &w);
	}
	r->head.status = UCC_OK;
}

OWN ucc_status_t ucc_context_progress(ucc_context_h c)
{
	struct request *r = waiting;

	(void)c;
	if (!r)
		return UCC_OK;
	waiting = r->next;
	if (!waiting)
		waiting_end = &waiting;
	run(r);
	return UCC_OK;
}
