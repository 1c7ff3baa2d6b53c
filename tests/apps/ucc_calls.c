/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of UCC with small numbers, as its programs make them: a struct, a request that is posted, progress until its
 * status says that it is complete. RANK, WORLD_SIZE, and APP_ID, the file where the ranks meet.
 */
#include "ucc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static ucc_context_h context;
static ucc_team_h team;
static float x[8], y[8];

/* ---- what UCC asks the program for: an all-gather of its own, through files ---- */

static ucc_status_t gather_out_of_band(
	void *src, void *recv, size_t bytes, void *info, void **request)
{
	char path[520], tmp[540];
	FILE *f;

	(void)info;
	snprintf(path, sizeof(path), "%s.%d", getenv("APP_ID"), rank);
	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	f = fopen(tmp, "wb");
	if (!f || fwrite(src, bytes, 1, f) != 1 || fclose(f) || rename(tmp, path))
		exit(2);
	for (int i = 0; i < size; i++) {
		snprintf(path, sizeof(path), "%s.%d", getenv("APP_ID"), i);
		while (!(f = fopen(path, "rb")))
			usleep(1000);
		if (fread((char *)recv + (size_t)i * bytes, bytes, 1, f) != 1)
			exit(2);
		fclose(f);
	}
	*request = recv;
	return UCC_OK;
}

static ucc_status_t always_ok(void *request)
{
	(void)request;
	return UCC_OK;
}

/* ---- collectives ---- */

static void wait_for(ucc_coll_req_h r)
{
	while (*(volatile ucc_status_t *)&r->status == UCC_INPROGRESS)
		ucc_context_progress(context);
}

static void show(const char *what, const float *p, unsigned n)
{
	printf("rank %d %s:", rank, what);
	for (unsigned i = 0; i < n; i++)
		printf(" %g", (double)p[i]);
	putchar('\n');
	memset(y, 0, sizeof(y));
	for (int i = 0; i < 8; i++)
		x[i] = (float)((rank + 1) * (i + 1));
}

static ucc_coll_args_t begin(uint32_t type, void *from, uint64_t n, void *to, uint64_t m)
{
	ucc_coll_args_t a = {.coll_type = type};

	a.src.info = (struct ucc_info){from, n, UCC_FLOAT32, 0};
	a.dst.info = (struct ucc_info){to, m, UCC_FLOAT32, 0};
	return a;
}

static void run_once(ucc_coll_args_t *a, const char *what, const float *p, unsigned n)
{
	ucc_coll_req_h r;

	if (ucc_collective_init(a, &r, team) || ucc_collective_post(r))
		exit(3);
	wait_for(r);
	ucc_collective_finalize(r);
	show(what, p, n);
}

static void set_in_place(ucc_coll_args_t *a)
{
	a->mask |= HAS_FLAGS;
	a->flags |= IN_PLACE;
	memset(&a->src, 0x55, sizeof(a->src)); /* it is not read */
}

int main(void)
{
	uint32_t one[2] = {1, 2}, at[2] = {0, 1};
	uint64_t wide[2], wide_at[2] = {0, 4};
	ucc_team_params_t params = {.mask = 0};
	ucc_coll_args_t a;
	ucc_coll_req_h r, s;
	void *event[4] = {0};
	double d = 0.5, e = 0;

	rank = atoi(getenv("RANK"));
	size = atoi(getenv("WORLD_SIZE"));
	params.oob = (struct ucc_oob){
		gather_out_of_band, always_ok, always_ok, NULL, (uint32_t)size, (uint32_t)rank};
	if (ucc_context_create(NULL, NULL, NULL, &context) ||
		ucc_team_create_post(&context, 1, &params, &team))
		return 2;
	while (ucc_team_create_test(team) == UCC_INPROGRESS)
		ucc_context_progress(context);
	show("begins", x, 0);

	/* Persistent: posted twice, with other numbers. */
	a = begin(UCC_COLL_ALLREDUCE, x, 4, y, 4);
	a.op = UCC_SUM;
	if (ucc_collective_init(&a, &r, team))
		return 3;
	for (int i = 0; i < 2; i++) {
		ucc_collective_post(r);
		wait_for(r);
		show("all-reduce", y, 4);
		x[0] = 10;
	}
	ucc_collective_finalize(r);
	show("", x, 0);
	a = begin(UCC_COLL_ALLREDUCE, NULL, 0, x, 4);
	a.op = UCC_MAX;
	set_in_place(&a);
	run_once(&a, "all-reduce in place", x, 4);
	a = begin(UCC_COLL_REDUCE, x, 4, rank == 1 ? y : NULL, rank == 1 ? 4 : 0);
	a.root = 1;
	run_once(&a, "reduce", y, 4);
	a = begin(UCC_COLL_BCAST, x, 4, NULL, 0);
	run_once(&a, "broadcast", x, 4);
	a = begin(UCC_COLL_ALLGATHER, x, 2, y, 4);
	run_once(&a, "all-gather", y, 4);
	a = begin(UCC_COLL_ALLGATHER, NULL, 0, y, 4);
	set_in_place(&a);
	y[2 * rank] = (float)(rank + 1);
	y[2 * rank + 1] = (float)(rank + 2);
	run_once(&a, "all-gather in place", y, 4);
	a = begin(UCC_COLL_REDUCE_SCATTER, x, 4, y, 2);
	a.op = UCC_PROD;
	run_once(&a, "reduce-scatter", y, 2);
	a = begin(UCC_COLL_REDUCE_SCATTER, NULL, 0, x, 4);
	set_in_place(&a);
	run_once(&a, "reduce-scatter in place", x + 2 * rank, 2);
	a = begin(UCC_COLL_ALLTOALL, x, 4, y, 4);
	run_once(&a, "all-to-all", y, 4);
	a = begin(UCC_COLL_GATHER, x, 2, y, 4);
	run_once(&a, "gather", y, 4);
	a = begin(UCC_COLL_SCATTER, x, 4, y, 2);
	a.root = 1;
	run_once(&a, "scatter", y, 2);

	/* In parts, with counts of 4 bytes and of 8. */
	a = begin(UCC_COLL_ALLGATHERV, x, (uint64_t)(rank + 1), NULL, 0);
	a.dst.info_v = (struct ucc_info_v){y, one, at, UCC_FLOAT32, 0};
	run_once(&a, "all-gather-v", y, 3);
	wide[0] = wide[1] = (uint64_t)(rank + 1);
	a = begin(UCC_COLL_ALLTOALLV, NULL, 0, NULL, 0);
	a.mask = HAS_FLAGS;
	a.flags = COUNT_64BIT | DISPLACEMENTS_64BIT;
	a.src.info_v = (struct ucc_info_v){x, wide, wide_at, UCC_FLOAT32, 0};
	a.dst.info_v = (struct ucc_info_v){y, (uint64_t[2]){1, 2}, wide_at, UCC_FLOAT32, 0};
	run_once(&a, "all-to-all-v", y, 6);

	/* Two at once, complete in one look; and one that is started by an event. */
	a = begin(UCC_COLL_BARRIER, NULL, 0, NULL, 0);
	ucc_collective_init(&a, &r, team);
	a = begin(UCC_COLL_ALLREDUCE, x, 2, y, 2);
	a.op = UCC_MIN;
	ucc_collective_init(&a, &s, team);
	ucc_collective_post(r);
	event[3] = s;
	ucc_collective_triggered_post(NULL, event);
	wait_for(r);
	wait_for(s);
	ucc_collective_finalize(s);
	ucc_collective_finalize(r);
	show("triggered", y, 2);

	a = (ucc_coll_args_t){.coll_type = UCC_COLL_ALLREDUCE};
	a.src.info = (struct ucc_info){&d, 1, UCC_FLOAT64, 0};
	a.dst.info = (struct ucc_info){&e, 1, UCC_FLOAT64, 0};
	if (ucc_collective_init_and_post(&a, &r, team))
		return 3;
	wait_for(r);
	ucc_collective_finalize(r);
	printf("rank %d at once: %g\n", rank, e);
	a.dst.info.datatype = a.src.info.datatype = 1000;
	printf("rank %d refused: %d\n", rank, ucc_collective_init(&a, &r, team));
	ucc_team_destroy(team);
	return 0;
}
