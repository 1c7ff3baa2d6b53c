/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfortcount.so: an independent count of the MPI functions that a Fortran program calls by their Fortran names, mpi_bcast_
 * and mpi_bcast_f08_. Each stub counts and jumps on, so that it needs to know no arguments. Preloaded, it writes at the end
 * of the process a row function,calls for each to $FORT_COUNT_OUT.<rank>; the rank is what the launcher says in the
 * environment.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
#define FUNCTIONS(X) \
	X(Barrier, barrier) X(Bcast, bcast) X(Reduce, reduce) X(Allreduce, allreduce) \
	X(Gather, gather) X(Gatherv, gatherv) X(Scatter, scatter) X(Scatterv, scatterv) \
	X(Allgather, allgather) X(Allgatherv, allgatherv) X(Alltoall, alltoall) \
	X(Alltoallv, alltoallv) X(Alltoallw, alltoallw) X(Scan, scan) X(Exscan, exscan) \
	X(Reduce_scatter, reduce_scatter) X(Reduce_scatter_block, reduce_scatter_block) \
	X(Send, send) X(Ssend, ssend) X(Bsend, bsend) X(Rsend, rsend) X(Recv, recv) \
	X(Sendrecv, sendrecv) X(Sendrecv_replace, sendrecv_replace) X(Isend, isend) \
	X(Issend, issend) X(Ibsend, ibsend) X(Irsend, irsend) X(Irecv, irecv) X(Mrecv, mrecv) \
	X(Ibarrier, ibarrier) X(Ibcast, ibcast) X(Ireduce, ireduce) X(Iallreduce, iallreduce) \
	X(Iallgather, iallgather) X(Iallgatherv, iallgatherv) X(Ialltoall, ialltoall) \
	X(Ialltoallv, ialltoallv) X(Igather, igather) X(Igatherv, igatherv) \
	X(Iscatter, iscatter) X(Iscatterv, iscatterv)
/* clang-format on */

struct counter {
	void *real;
	long calls;
	const char *function, *symbol;
};

#define COUNTER(Name, name, form)                                                        \
	__attribute__((visibility("hidden"))) struct counter counter_##name##form = {    \
		NULL, 0, "MPI_" #Name, "mpi_" #name #form};                              \
	__asm__(".text\n.globl mpi_" #name #form "\n.type mpi_" #name #form              \
		", @function\nmpi_" #name #form ":\n\tlock incq counter_" #name #form    \
		"+8(%rip)\n\tjmp *counter_" #name #form "(%rip)\n.size mpi_" #name #form \
		", .-mpi_" #name #form);
#define BOTH(Name, name)       \
	COUNTER(Name, name, _) \
	COUNTER(Name, name, _f08_)
FUNCTIONS(BOTH)

#define PLACES(Name, name) &counter_##name##_, &counter_##name##_f08_,
static struct counter *const counters[] = {FUNCTIONS(PLACES)};
enum { COUNTERS = sizeof(counters) / sizeof(*counters) };

__attribute__((constructor)) static void find_real(void)
{
	for (int i = 0; i < COUNTERS; i++)
		counters[i]->real = dlsym(RTLD_NEXT, counters[i]->symbol);
}

__attribute__((destructor)) static void write_counts(void)
{
	const char *out = getenv("FORT_COUNT_OUT"), *rank = getenv("OMPI_COMM_WORLD_RANK");
	char path[4096];
	long any = 0;
	FILE *f;

	if (!rank)
		rank = getenv("PMI_RANK");
	for (int i = 0; i < COUNTERS; i++)
		any += counters[i]->calls;
	if (!out || !rank || !any)
		return;
	snprintf(path, sizeof(path), "%s.%s", out, rank);
	f = fopen(path, "w");
	if (!f)
		return;
	for (int i = 0; i < COUNTERS; i++)
		if (counters[i]->calls)
			fprintf(f, "%s,%ld\n", counters[i]->function, counters[i]->calls);
	fclose(f);
}
