/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbit_flip.so, preloaded after libprobe.so: what libprobe sees as the library. It flips one bit of a result if the program has set
 * heldout_flip, and gives the core away for longer than sched_yield() does: ranks that wait cost a shared machine nothing.
 */
#include <mpi.h>
#include <time.h>
#include <unistd.h>

extern int heldout_flip __attribute__((weak)), heldout_flipped __attribute__((weak));

/* A rank that waits for long sleeps for longer each time, up to 3 ms. */
int sched_yield(void)
{
	static _Thread_local struct timespec before;
	static _Thread_local int turns;
	struct timespec now, t = {0, 50000};

	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((now.tv_sec - before.tv_sec) * 1000000000L + now.tv_nsec - before.tv_nsec > 100000)
		turns = 0;
	t.tv_nsec <<= turns / 32 < 6 ? turns / 32 : 6;
	turns++;
	nanosleep(&t, NULL);
	clock_gettime(CLOCK_MONOTONIC, &before);
	return 0;
}

/* Flips a bit of the upper half of a double's mantissa, or of its exponent's lowest bits. */
static void flip_bit(void *p, int n, MPI_Datatype type)
{
	int bit, k;

	if (!&heldout_flip || !heldout_flip || type != MPI_DOUBLE || n <= 0)
		return;
	bit = 30 + (heldout_flip - 1) % 24;
	k = (heldout_flip - 1) % n;
	((unsigned long *)p)[k] ^= 1UL << bit;
	heldout_flip = 0;
	heldout_flipped = 1;
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int err = PMPI_Allreduce(in, out, n, type, op, comm);

	flip_bit(out, n, type);
	return err;
}

int MPI_Bcast(void *p, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
	int err = PMPI_Bcast(p, n, type, root, comm);

	flip_bit(p, n, type);
	return err;
}

int MPI_Allgather(
	const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm)
{
	int err = PMPI_Allgather(in, n, type, out, m, to, comm);

	flip_bit(out, m, to);
	return err;
}

int MPI_Scan(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int err = PMPI_Scan(in, out, n, type, op, comm);

	flip_bit(out, n, type);
	return err;
}

/* The first rank's result is undefined. */
int MPI_Exscan(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int err = PMPI_Exscan(in, out, n, type, op, comm), me;

	PMPI_Comm_rank(comm, &me);
	flip_bit(out, me ? n : 0, type);
	return err;
}
