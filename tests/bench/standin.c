/* SPDX-License-Identifier: Apache-2.0 */
#include "standin.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define REQUEST 0x2c000007
/* A test has something called in the real function: tests/apps/stack_use.c. */
#ifdef AT_REAL
void AT_REAL(void);
#else
#define AT_REAL() ((void)0)
#endif
#define EXPORT __attribute__((visibility("default"), noinline))
/* One body, three names: as called, MPI's profiling name, and one for the comparison. */
#define ALIAS(name) EXPORT __attribute__((alias(#name)))

static int running;
static _Atomic int last_comm = 0x84000000;

int empty_allreduce(const void *, void *, int, int, int, int);
int empty_test(int *, int *, void *);

EXPORT int empty_allreduce(const void *send, void *recv, int count, int dtype, int op, int comm)
{
	(void)send, (void)recv, (void)count, (void)dtype, (void)op, (void)comm;
	AT_REAL();
	return 0;
}
ALIAS(empty_allreduce) int MPI_Allreduce(const void *, void *, int, int, int, int);
ALIAS(empty_allreduce) int PMPI_Allreduce(const void *, void *, int, int, int, int);
ALIAS(empty_allreduce) int direct_Allreduce(const void *, void *, int, int, int, int);

EXPORT int empty_test(int *request, int *flag, void *status)
{
	(void)request, (void)status;
	AT_REAL();
	*flag = 0;
	return 0;
}
ALIAS(empty_test) int MPI_Test(int *, int *, void *);
ALIAS(empty_test) int PMPI_Test(int *, int *, void *);
ALIAS(empty_test) int direct_Test(int *, int *, void *);

EXPORT int MPI_Bcast(void *buf, int count, int dtype, int root, int comm)
{
	(void)buf, (void)count, (void)dtype, (void)root, (void)comm;
	AT_REAL();
	return 0;
}

int empty_isend(const void *, int, int, int, int, int, int *);
int empty_wait(int *, void *);

EXPORT int empty_isend(
	const void *buf, int count, int dtype, int dest, int tag, int comm, int *request)
{
	(void)buf, (void)count, (void)dtype, (void)dest, (void)comm;
	AT_REAL();
	*request = REQUEST + tag; /* those under way differ if their tags do */
	return 0;
}

ALIAS(empty_isend) int MPI_Isend(const void *, int, int, int, int, int, int *);
ALIAS(empty_isend) int PMPI_Isend(const void *, int, int, int, int, int, int *);

EXPORT int MPI_Cancel(int *request)
{
	(void)request;
	return 0;
}

EXPORT int empty_wait(int *request, void *status)
{
	(void)status;
	AT_REAL();
	*request = 0x2c000000;
	return 0;
}
ALIAS(empty_wait) int MPI_Wait(int *, void *);
ALIAS(empty_wait) int PMPI_Wait(int *, void *);

EXPORT int MPI_Init(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	AT_REAL();
	running = 1;
	return 0;
}

EXPORT int MPI_Finalize(void)
{
	AT_REAL();
	running = 0;
	return 0;
}

EXPORT int MPI_Comm_dup(int comm, int *newcomm)
{
	(void)comm;
	AT_REAL();
	*newcomm = atomic_fetch_add(&last_comm, 1);
	return 0;
}

/* ---- what libprobe asks an MPI ---- */

int PMPI_Initialized(int *flag);
int PMPI_Finalized(int *flag);
int PMPI_Get_library_version(char *text, int *len);
int PMPI_Comm_rank(int comm, int *rank);
int PMPI_Comm_size(int comm, int *size);
int PMPI_Comm_remote_size(int comm, int *size);
int PMPI_Comm_test_inter(int comm, int *flag);
int PMPI_Comm_group(int comm, int *group);
int PMPI_Comm_remote_group(int comm, int *group);
int PMPI_Group_size(int group, int *n);
int PMPI_Group_translate_ranks(int from, int n, const int *ranks, int to, int *out);
int PMPI_Group_free(int *group);
int PMPI_Request_get_status(int request, int *flag, void *status);
int PMPI_Type_size(int dtype, int *size);
int PMPI_Type_get_extent(int dtype, int64_t *lb, int64_t *extent);
int PMPI_Get_elements_x(const void *status, int dtype, int64_t *count);
int PMPI_Test_cancelled(const void *status, int *flag);
int PMPI_Cartdim_get(int comm, int *ndims);
int PMPI_Graph_neighbors_count(int comm, int rank, int *n);
int PMPI_Dist_graph_neighbors_count(int comm, int *in, int *out, int *weighted);

EXPORT int PMPI_Initialized(int *flag)
{
	*flag = running;
	return 0;
}

EXPORT int PMPI_Finalized(int *flag)
{
	*flag = 0;
	return 0;
}

EXPORT int PMPI_Get_library_version(char *text, int *len)
{
	strcpy(text, "empty functions of tests/bench");
	*len = (int)strlen(text);
	return 0;
}

EXPORT int PMPI_Comm_rank(int comm, int *rank)
{
	(void)comm;
	*rank = 0;
	return 0;
}

EXPORT int PMPI_Comm_size(int comm, int *size)
{
	(void)comm;
	*size = 1;
	return 0;
}

EXPORT int PMPI_Comm_remote_size(int comm, int *size)
{
	(void)comm;
	*size = 0;
	return 1;
}

EXPORT int PMPI_Comm_test_inter(int comm, int *flag)
{
	(void)comm;
	*flag = 0;
	return 0;
}

EXPORT int PMPI_Comm_group(int comm, int *group)
{
	(void)comm;
	*group = 0x48000001;
	return 0;
}

EXPORT int PMPI_Comm_remote_group(int comm, int *group)
{
	(void)comm;
	*group = 0;
	return 1;
}

EXPORT int PMPI_Group_size(int group, int *n)
{
	(void)group;
	*n = 1;
	return 0;
}

EXPORT int PMPI_Group_translate_ranks(int from, int n, const int *ranks, int to, int *out)
{
	(void)from, (void)to;
	memcpy(out, ranks, (size_t)n * sizeof(*out));
	return 0;
}

EXPORT int PMPI_Group_free(int *group)
{
	*group = 0x08000000;
	return 0;
}

EXPORT int PMPI_Request_get_status(int request, int *flag, void *status)
{
	(void)request;
	(void)status;
	*flag = 0;
	return 0;
}

EXPORT int PMPI_Type_size(int dtype, int *size)
{
	(void)dtype;
	*size = 4;
	return 0;
}

EXPORT int PMPI_Type_get_extent(int dtype, int64_t *lb, int64_t *extent)
{
	(void)dtype;
	*lb = 0;
	*extent = 4;
	return 0;
}

EXPORT int PMPI_Get_elements_x(const void *status, int dtype, int64_t *count)
{
	(void)status, (void)dtype;
	*count = 0;
	return 0;
}

EXPORT int PMPI_Test_cancelled(const void *status, int *flag)
{
	(void)status;
	*flag = 0;
	return 0;
}

EXPORT int PMPI_Cartdim_get(int comm, int *ndims)
{
	(void)comm;
	*ndims = 0;
	return 0;
}

EXPORT int PMPI_Graph_neighbors_count(int comm, int rank, int *n)
{
	(void)comm, (void)rank;
	*n = 0;
	return 0;
}

EXPORT int PMPI_Dist_graph_neighbors_count(int comm, int *in, int *out, int *weighted)
{
	(void)comm;
	*in = *out = *weighted = 0;
	return 0;
}
