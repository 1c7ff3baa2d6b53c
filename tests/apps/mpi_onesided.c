/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-sided communication, each form once, with small numbers, on 4 ranks: rank r works on the window of the next one. Each
 * result is checked, and printed. `hang`: rank 2 stays away from the last fence.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, next;
static double *mine, out[4], x[4];
static MPI_Win win;

/* One line a rank: launchers mix pieces. */
static char line[2000];
static size_t at;

static void show(const char *what, const double *p, int n)
{
	at += (size_t)snprintf(line + at, sizeof(line) - at, " %s", what);

	for (int i = 0; i < n; i++)
		at += (size_t)snprintf(line + at, sizeof(line) - at, " %g", p[i]);
}

static void fences(void)
{
	MPI_Win_fence(0, win);
	MPI_Put(x, 4, MPI_DOUBLE, next, 0, 4, MPI_DOUBLE, win);
	MPI_Win_fence(0, win);
	show("put", mine, 4);
	MPI_Get(out, 4, MPI_DOUBLE, next, 0, 4, MPI_DOUBLE, win);
	MPI_Get(out, 0, MPI_DOUBLE, MPI_PROC_NULL, 0, 0, MPI_DOUBLE, win);
	MPI_Win_fence(0, win);
	show("get", out, 4);
	MPI_Accumulate(x, 4, MPI_DOUBLE, next, 0, 4, MPI_DOUBLE, MPI_SUM, win);
	MPI_Win_fence(0, win);
	show("accumulate", mine, 4);
	/* Before others change it again, under locks. */
	MPI_Barrier(MPI_COMM_WORLD);
}

static void locks(void)
{
	double one = 1, got = -1, last = -1;

	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
	MPI_Get_accumulate(
		x, 4, MPI_DOUBLE, out, 4, MPI_DOUBLE, next, 0, 4, MPI_DOUBLE, MPI_SUM, win);
	MPI_Win_flush(next, win);
	show("get_accumulate", out, 4);
	/* With MPI_NO_OP nothing of the origin counts, its type and address neither. */
	MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, out, 4, MPI_DOUBLE, next, 0, 4, MPI_DOUBLE,
		MPI_NO_OP, win);
	MPI_Win_flush(next, win);
	show("atomic_get", out, 4);
	MPI_Fetch_and_op(&one, &got, MPI_DOUBLE, next, 0, MPI_SUM, win);
	MPI_Win_flush(next, win);
	MPI_Fetch_and_op((void *)8, &last, MPI_DOUBLE, next, 0, MPI_NO_OP, win);
	MPI_Win_unlock(next, win);
	show("fetch_and_op", &got, 1);
	show("fetch", &last, 1);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Its results are not shown: MPICH 4.0.2 gives now this, now that. */
static void integers(void)
{
	long *place, zero = 0, seven = 7, got = -1;
	MPI_Win w;

	MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &place, &w);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, w);
	*place = 0;
	MPI_Win_unlock(rank, w);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, w);
	MPI_Compare_and_swap(&seven, &zero, &got, MPI_LONG, next, 0, w);
	MPI_Win_flush_all(w);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Compare_and_swap(&zero, &seven, &got, MPI_LONG, next, 0, w);
	MPI_Win_unlock_all(w);
	MPI_Win_free(&w);
}

static void requests(void)
{
	MPI_Request r;

	MPI_Win_lock_all(0, win);
	MPI_Rput(x, 4, MPI_DOUBLE, next, 0, 4, MPI_DOUBLE, win, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Win_flush(next, win);
	MPI_Barrier(MPI_COMM_WORLD);
	memset(out, 0, sizeof(out));
	MPI_Rget(out, 4, MPI_DOUBLE, next, 0, 4, MPI_DOUBLE, win, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	show("rget", out, 4);
	MPI_Win_unlock_all(win);
}

static void exposure(void)
{
	int before = (rank + size - 1) % size;
	MPI_Group world, to, from;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &next, &to);
	MPI_Group_incl(world, 1, &before, &from);
	MPI_Win_post(from, 0, win);
	MPI_Win_start(to, 0, win);
	MPI_Get(out, 2, MPI_DOUBLE, next, 0, 2, MPI_DOUBLE, win);
	MPI_Win_complete(win);
	MPI_Win_wait(win);
	show("exposed", out, 2);
	MPI_Group_free(&to);
	MPI_Group_free(&from);
	MPI_Group_free(&world);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	mine = calloc(4, sizeof(*mine));
	for (int i = 0; i < 4; i++)
		x[i] = rank * 10 + i;
	MPI_Win_create(mine, 4 * sizeof(*mine), sizeof(*mine), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	fences();
	locks();
	requests();
	exposure();
	integers();
	if (argc > 1 && rank == 2)
		sleep(600);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	free(mine);
	printf("rank %d%s\n", rank, line);
	MPI_Finalize();
	return 0;
}
