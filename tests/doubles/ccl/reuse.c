/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL, HCCL and UCC for one rank, of which a handle is given to the next thread as soon as it is free: communicators, windows,
 * teams and requests are places of a small pool. The functions that free return LATE_US (300) microseconds after that. With
 * LATE_REFUSE=N each Nth of them fails and does nothing. For tests only.
 */
#include "reuse.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES \
	12 /* more than the threads of ccl_reuse.c need at any moment, fewer than would keep them apart */

static struct place {
	int32_t status; /* of a request: the first word */
	_Atomic int taken;
	ucc_coll_args_t args;
} places[PLACES];

static void *grab_place(void)
{
	for (unsigned i = 0;; i = (i + 1) % PLACES) {
		int is_free = 0;

		if (atomic_compare_exchange_strong(&places[i].taken, &is_free, 1))
			return &places[i];
		if (i == PLACES - 1)
			sched_yield();
	}
}

static unsigned setting_of(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)atoi(text) : otherwise;
}

/* Returns 0, or `refusal` where it did nothing. */
static int free_place(void *p, int refusal)
{
	static _Atomic unsigned calls;
	unsigned each = setting_of("LATE_REFUSE", 0);

	if (each && ++calls % each == 0)
		return refusal;
	atomic_store(&((struct place *)p)->taken, 0);
	usleep(setting_of("LATE_US", 300));
	return 0;
}

static int copy_floats(const void *from, void *to, size_t n)
{
	memcpy(to, from, n * sizeof(float));
	return 0;
}

/* ---- NCCL ---- */

int ncclCommInitRank(void **comm, int size, reuse_nccl_id id, int rank)
{
	(void)size, (void)id, (void)rank;
	*comm = grab_place();
	return 0;
}

int ncclCommCount(void *comm, int *size)
{
	(void)comm;
	*size = 1;
	return 0;
}

int ncclCommUserRank(void *comm, int *rank)
{
	(void)comm;
	*rank = 0;
	return 0;
}

int ncclCommDestroy(void *comm)
{
	return free_place(comm, 3);
}

int ncclCommWindowRegister(void *comm, void *at, size_t bytes, void **window, int flags)
{
	(void)comm, (void)at, (void)bytes, (void)flags;
	*window = grab_place();
	return 0;
}

int ncclCommWindowDeregister(void *comm, void *window)
{
	(void)comm;
	return free_place(window, 3);
}

int ncclAllReduce(const void *from, void *to, size_t n, int dtype, int op, void *comm, void *stream)
{
	(void)dtype, (void)op, (void)comm, (void)stream;
	return copy_floats(from, to, n);
}

/* ---- HCCL ---- */

int HcclCommInitRootInfo(uint32_t size, const reuse_hccl_id *id, uint32_t rank, void **comm)
{
	(void)size, (void)id, (void)rank;
	*comm = grab_place();
	return 0;
}

int HcclGetRankId(void *comm, uint32_t *rank)
{
	(void)comm;
	*rank = 0;
	return 0;
}

int HcclGetRankSize(void *comm, uint32_t *size)
{
	(void)comm;
	*size = 1;
	return 0;
}

int HcclCommDestroy(void *comm)
{
	return free_place(comm, 4);
}

int HcclAllReduce(void *from, void *to, uint64_t n, int dtype, int op, void *comm, void *stream)
{
	(void)dtype, (void)op, (void)comm, (void)stream;
	return copy_floats(from, to, n);
}

/* ---- UCC ---- */

ucc_status_t ucc_team_create_post(
	ucc_context_h *c, uint32_t n, const ucc_team_params_t *p, ucc_team_h *out)
{
	(void)c, (void)n, (void)p;
	*out = grab_place();
	return UCC_OK;
}

ucc_status_t ucc_team_get_attr(ucc_team_h t, ucc_team_attr_t *a)
{
	(void)t;
	a->ep = 0;
	a->size = 1;
	return UCC_OK;
}

ucc_status_t ucc_team_destroy(ucc_team_h t)
{
	return free_place(t, UCC_ERR_INVALID_PARAM);
}

ucc_status_t ucc_collective_init(ucc_coll_args_t *a, ucc_coll_req_h *out, ucc_team_h t)
{
	struct place *p = grab_place();

	(void)t;
	p->status = 2;
	p->args = *a;
	*out = (ucc_coll_req_h)p;
	return UCC_OK;
}

ucc_status_t ucc_collective_post(ucc_coll_req_h r)
{
	struct place *p = (struct place *)r;

	copy_floats(p->args.src.info.buffer, p->args.dst.info.buffer, p->args.src.info.count);
	__atomic_store_n(&p->status, UCC_INPROGRESS, __ATOMIC_RELEASE);
	return UCC_OK;
}

/* All that were posted are complete; who posted them may not have come back yet. */
ucc_status_t ucc_context_progress(ucc_context_h c)
{
	int32_t posted = UCC_INPROGRESS;

	(void)c;
	for (unsigned i = 0; i < PLACES; i++, posted = UCC_INPROGRESS)
		__atomic_compare_exchange_n(
			&places[i].status, &posted, UCC_OK, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return UCC_OK;
}

ucc_status_t ucc_collective_finalize(ucc_coll_req_h r)
{
	return free_place(r, UCC_ERR_INVALID_PARAM);
}
