/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which buffers each kind of collective reads and writes, as the MPI standard says. The names are those of the
 * parameters in pmpi_count.c: s, sn, sd, st of what is sent (buffer, count, displacements, type), r, rn, rd, rt of
 * what is received.
 */
#ifndef ROWS_H
#define ROWS_H

#include "calls.h"

static int is_inter(MPI_Comm comm)
{
	int inter = 0;

	PMPI_Comm_test_inter(comm, &inter);
	return inter;
}

static int rank_in(MPI_Comm comm)
{
	int rank = 0;

	PMPI_Comm_rank(comm, &rank);
	return rank;
}

static int size_of_type(MPI_Comm comm)
{
	int size = 0;

	PMPI_Comm_size(comm, &size);
	return size;
}

static void flat(struct row *r, const void *buf, long count, MPI_Datatype type)
{
	r->buf = buf;
	r->count = count > 0 ? count : 0; /* wrong arguments come here too */
	r->type = type;
	r->number = number_type(type);
	if (type != MPI_DATATYPE_NULL)
		PMPI_Type_size(type, &r->size);
	r->present = 1;
}

/* As they are now: mpi4py 3.1 frees those of an MPI_Iallgatherv before it has ended. Never freed, as is fit for a test. */
static const void *list_as_now(const void *list, size_t bytes)
{
	void *copy = list && bytes ? malloc(bytes) : NULL;

	return copy ? memcpy(copy, list, bytes) : list;
}

static void segmented(struct row *r, const void *buf, const void *counts, const void *displs, int n,
	int wide, MPI_Datatype type)
{
	flat(r, buf, 0, type);
	r->counts = list_as_now(counts, (size_t)n * (wide ? sizeof(MPI_Count) : sizeof(int)));
	r->displs = list_as_now(displs, (size_t)n * (wide ? sizeof(MPI_Aint) : sizeof(int)));
	r->segments = n;
	r->wide = wide;
}

static const void *block(const void *buf, long elements, MPI_Datatype type)
{
	MPI_Aint lb, extent = 0;

	PMPI_Type_get_extent(type, &lb, &extent);
	return (const char *)buf + elements * extent;
}

/*
 * In each of these c is the call, me and size are those of the communicator, and wide says which counts these are.
 * A wrong communicator is the MPI's affair.
 */
#define SET_UP(comm)                                         \
	int here = comm != MPI_COMM_NULL && !is_inter(comm); \
	int me = here ? rank_in(comm) : 0;                   \
	int size = here ? size_of_type(comm) : 0;            \
                                                             \
	(void)me;                                            \
	(void)size;                                          \
	if (here)
#define IN_PLACE(buf) ((buf) == MPI_IN_PLACE)

#define ROWS_BARRIER
#define ROWS_BCAST                              \
	SET_UP(comm)                            \
	{                                       \
		if (me == root)                 \
			flat(&c.in, buf, n, t); \
		flat(&c.out, buf, n, t);        \
	}
#define ROWS_ALLREDUCE                                  \
	SET_UP(comm)                                    \
	{                                               \
		flat(&c.in, IN_PLACE(s) ? r : s, n, t); \
		flat(&c.out, r, n, t);                  \
	}
#define ROWS_REDUCE                                     \
	SET_UP(comm)                                    \
	{                                               \
		flat(&c.in, IN_PLACE(s) ? r : s, n, t); \
		if (me == root)                         \
			flat(&c.out, r, n, t);          \
	}
#define ROWS_EXSCAN                                     \
	SET_UP(comm)                                    \
	{                                               \
		flat(&c.in, IN_PLACE(s) ? r : s, n, t); \
		if (me > 0) /* of rank 0 undefined */   \
			flat(&c.out, r, n, t);          \
	}
#define ROWS_BLOCK                                                  \
	SET_UP(comm)                                                \
	{                                                           \
		flat(&c.in, IN_PLACE(s) ? r : s, (long)n *size, t); \
		flat(&c.out, r, n, t);                              \
	}
#define ROWS_REDUCE_SCATTER                                 \
	SET_UP(comm)                                        \
	{                                                   \
		long total = 0;                             \
		for (int i = 0; i < size; i++)              \
			total += (long)rn[i];               \
		flat(&c.in, IN_PLACE(s) ? r : s, total, t); \
		flat(&c.out, r, (long)rn[me], t);           \
	}
#define ROWS_ALLGATHER                                                   \
	SET_UP(comm)                                                     \
	{                                                                \
		if (IN_PLACE(s))                                         \
			flat(&c.in, block(r, me *(long)rn, rt), rn, rt); \
		else                                                     \
			flat(&c.in, s, sn, st);                          \
		flat(&c.out, r, (long)rn *size, rt);                     \
	}
#define ROWS_ALLGATHERV                                                            \
	SET_UP(comm)                                                               \
	{                                                                          \
		if (IN_PLACE(s))                                                   \
			flat(&c.in, block(r, (long)rd[me], rt), (long)rn[me], rt); \
		else                                                               \
			flat(&c.in, s, sn, st);                                    \
		segmented(&c.out, r, rn, rd, size, wide, rt);                      \
	}
#define ROWS_ALLTOALL                                       \
	SET_UP(comm)                                        \
	{                                                   \
		if (IN_PLACE(s))                            \
			flat(&c.in, r, (long)rn *size, rt); \
		else                                        \
			flat(&c.in, s, (long)sn *size, st); \
		flat(&c.out, r, (long)rn *size, rt);        \
	}
#define ROWS_ALLTOALLV                                               \
	SET_UP(comm)                                                 \
	{                                                            \
		if (IN_PLACE(s))                                     \
			segmented(&c.in, r, rn, rd, size, wide, rt); \
		else                                                 \
			segmented(&c.in, s, sn, sd, size, wide, st); \
		segmented(&c.out, r, rn, rd, size, wide, rt);        \
	}
#define ROWS_GATHER                                                      \
	SET_UP(comm)                                                     \
	{                                                                \
		if (IN_PLACE(s))                                         \
			flat(&c.in, block(r, me *(long)rn, rt), rn, rt); \
		else                                                     \
			flat(&c.in, s, sn, st);                          \
		if (me == root)                                          \
			flat(&c.out, r, (long)rn *size, rt);             \
	}
#define ROWS_GATHERV                                                               \
	SET_UP(comm)                                                               \
	{                                                                          \
		if (IN_PLACE(s))                                                   \
			flat(&c.in, block(r, (long)rd[me], rt), (long)rn[me], rt); \
		else                                                               \
			flat(&c.in, s, sn, st);                                    \
		if (me == root)                                                    \
			segmented(&c.out, r, rn, rd, size, wide, rt);              \
	}
#define ROWS_SCATTER                                        \
	SET_UP(comm)                                        \
	{                                                   \
		if (me == root)                             \
			flat(&c.in, s, (long)sn *size, st); \
		if (!IN_PLACE(r))                           \
			flat(&c.out, r, rn, rt);            \
	}
#define ROWS_SCATTERV                                                \
	SET_UP(comm)                                                 \
	{                                                            \
		if (me == root)                                      \
			segmented(&c.in, s, sn, sd, size, wide, st); \
		if (!IN_PLACE(r))                                    \
			flat(&c.out, r, rn, rt);                     \
	}

#endif
