/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of this room share: options, steps, and one fault that an option switches on. A fault is done by the rank
 * that has it, which writes the truth (fault, rank, step, line) to the file $HELDOUT_TRUTH in the moment in which it takes effect:
 * a value that would not change, a count that is the same, is no fault.
 *
 * Calls with a site are macros, so that each call is in the program's own line.
 */
#ifndef HELDOUT_H
#define HELDOUT_H

#include <mpi.h>
#include <stdbool.h>

struct call {
	int times; /* how often the call is made: 0 if it is skipped */
	int n, peer, tag; /* peer: a root too */
	MPI_Datatype type;
	MPI_Op op;
};

extern int rank, ranks, step;

/* Reads NAME=VALUE options, starts MPI. ranks of MPI_COMM_WORLD. */
void start_program(int argc, char **argv);
long get_option(const char *name, long usual);
void end_program(void);

/* Ends a step: by probe_step(), by MPI_Pcontrol(2) or not at all (option marker). */
void end_step(void);

/* Zeroed room for n doubles, and for as many again: a count that is too large stays inside. */
double *make_array(int n);
/* A number in [0, 1) of this rank's own sequence; of the sequence that all ranks have in common. */
double draw(void);
double draw_common(void);

/* Where a rank dies, hangs or is late. */
void pass(const char *site, int line);
/* Parameters that part: one value of n is another one from a step on. */
void keep(const char *site, int line, double *values, int n);
/* 1 if the two calls at lines + 2 to + 6 change places. */
int swap_calls(const char *site, int line);
/* What becomes of a call. data: what it sends, NULL if nothing. */
struct call plan(const char *site, int line, void *data, struct call call);
/* Writes the truth if a bit of the call's result was flipped under libprobe. */
void after(const char *site, int line);

#define PASS(site) pass(site, __LINE__)
#define KEEP(site, values, n) keep(site, __LINE__, values, n)
#define SWAP(site) swap_calls(site, __LINE__)

#define CALL_(site, data, n_, type_, op_, peer_, tag_, made)                                       \
	do {                                                                                       \
		struct call c =                                                                    \
			plan(site, __LINE__, data, (struct call){1, n_, peer_, tag_, type_, op_}); \
		for (; c.times > 0; c.times--)                                                     \
			made;                                                                      \
		after(site, __LINE__);                                                             \
	} while (0)

#define ALLREDUCE(site, in, out, N, T, O, comm) \
	CALL_(site, in, N, T, O, -1, -1, MPI_Allreduce(in, out, c.n, c.type, c.op, comm))
#define IALLREDUCE(site, in, out, N, T, O, comm, r) \
	CALL_(site, in, N, T, O, -1, -1, MPI_Iallreduce(in, out, c.n, c.type, c.op, comm, r))
#define REDUCE(site, in, out, N, T, O, ROOT, comm) \
	CALL_(site, in, N, T, O, ROOT, -1, MPI_Reduce(in, out, c.n, c.type, c.op, c.peer, comm))
#define BCAST(site, data, N, T, ROOT, comm) \
	CALL_(site, NULL, N, T, MPI_OP_NULL, ROOT, -1, MPI_Bcast(data, c.n, c.type, c.peer, comm))
#define IBCAST(site, data, N, T, ROOT, comm, r)        \
	CALL_(site, NULL, N, T, MPI_OP_NULL, ROOT, -1, \
		MPI_Ibcast(data, c.n, c.type, c.peer, comm, r))
#define ALLGATHER(site, in, N, T, out, comm)       \
	CALL_(site, in, N, T, MPI_OP_NULL, -1, -1, \
		MPI_Allgather(in, c.n, c.type, out, c.n, c.type, comm))
#define GATHER(site, in, N, T, out, ROOT, comm)      \
	CALL_(site, in, N, T, MPI_OP_NULL, ROOT, -1, \
		MPI_Gather(in, c.n, c.type, out, N, T, c.peer, comm))
#define ALLTOALL(site, in, N, T, out, comm)        \
	CALL_(site, in, N, T, MPI_OP_NULL, -2, -1, \
		MPI_Alltoall(in, c.n, c.type, out, c.n, c.type, comm))
#define SCATTER(site, data, in, N, T, out, ROOT, comm) \
	CALL_(site, data, N, T, MPI_OP_NULL, ROOT, -2, \
		MPI_Scatter(in, c.n, c.type, out, c.n, c.type, c.peer, comm))
#define SCAN(site, in, out, N, T, O, comm) \
	CALL_(site, in, N, T, O, -1, -1, MPI_Scan(in, out, c.n, c.type, c.op, comm))
#define EXSCAN(site, in, out, N, T, O, comm) \
	CALL_(site, in, N, T, O, -1, -1, MPI_Exscan(in, out, c.n, c.type, c.op, comm))
#define BARRIER(site, comm) CALL_(site, NULL, 0, MPI_BYTE, MPI_OP_NULL, -1, -1, MPI_Barrier(comm))
#define SEND(site, data, N, T, to, TAG, comm)         \
	CALL_(site, data, N, T, MPI_OP_NULL, to, TAG, \
		MPI_Send(data, c.n, c.type, c.peer, c.tag, comm))
#define ISEND(site, data, N, T, to, TAG, comm, r)     \
	CALL_(site, data, N, T, MPI_OP_NULL, to, TAG, \
		MPI_Isend(data, c.n, c.type, c.peer, c.tag, comm, r))
#define ISSEND(site, data, N, T, to, TAG, comm, r)    \
	CALL_(site, data, N, T, MPI_OP_NULL, to, TAG, \
		MPI_Issend(data, c.n, c.type, c.peer, c.tag, comm, r))

#endif
