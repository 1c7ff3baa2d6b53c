/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MPI of empty functions, for measuring what a wrapped call costs: handles and constants are MPICH's, nothing is
 * communicated. Results mean nothing; tests use real MPIs.
 */
#ifndef BENCH_STANDIN_H
#define BENCH_STANDIN_H

#define MPI_COMM_WORLD 0x44000000
#define MPI_FLOAT 0x4c00040a
#define MPI_SUM 0x58000003
#define MPI_STATUS_IGNORE ((void *)1)

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Allreduce(const void *send, void *recv, int count, int dtype, int op, int comm);
int MPI_Bcast(void *buf, int count, int dtype, int root, int comm);
int MPI_Isend(const void *buf, int count, int dtype, int dest, int tag, int comm, int *request);
int MPI_Test(int *request, int *flag, void *status); /* answers 0 */
int MPI_Cancel(int *request);
int MPI_Wait(int *request, void *status);
int MPI_Comm_dup(int comm, int *newcomm);

/* The same functions under names that are not interposed. */
int direct_Allreduce(const void *send, void *recv, int count, int dtype, int op, int comm);
int direct_Test(int *request, int *flag, void *status);

#endif
