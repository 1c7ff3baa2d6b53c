/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libpmpicount.so: a classic PMPI tool, and an independent witness of what goes through MPI. Preloaded, it takes the
 * place of MPI_X, calls PMPI_X, and writes at MPI_Finalize
 *
 *   $PMPI_COUNT_OUT.<rank>         n,function,io,count,dtype,min,max,mean,norm,zeros,nans,infs
 *                                  one row a buffer: before the call what goes in, after it what came out;
 *                                  a call into which nothing goes has a row that is empty but for the first two
 *   $PMPI_COUNT_OUT.<rank>.calls   function,calls,bytes        bytes: of those buffers
 *
 * (PMPI_COUNT_OUT defaults to pmpi_count.) n numbers the calls of the process in the order in which they were
 * entered. Rows of a non-blocking call are written when Wait or Test completes it, so that n is not in order.
 * Not followed, only counted: neighbourhood collectives, Alltoallw, intercommunicators, what MPI_Start starts, and what
 * one-sided calls read.
 */
#include "mpi4.h"
#include "pmpi/rows.h"
#include "pmpi/wait.h"

/* ---- collectives: blocking, non-blocking, and with MPI 4 both with large counts ---- */

#define BLOCKING(function, ROWS, PARAMETERS, ARGUMENTS, is_wide) \
	int MPI_##function(PARAMETERS)                           \
	{                                                        \
		enum { wide = is_wide };                         \
		struct call c;                                   \
		int rc;                                          \
                                                                 \
		(void)wide;                                      \
		begin(&c, "MPI_" #function);                     \
		ROWS before(&c);                                 \
		rc = PMPI_##function(ARGUMENTS);                 \
		after(&c, rc, MPI_STATUS_IGNORE);                \
		return rc;                                       \
	}

#define NONBLOCKING(function, ROWS, PARAMETERS, ARGUMENTS, is_wide) \
	int MPI_##function(PARAMETERS, MPI_Request *request)        \
	{                                                           \
		enum { wide = is_wide };                            \
		struct call c;                                      \
		int rc;                                             \
                                                                    \
		(void)wide;                                         \
		begin(&c, "MPI_" #function);                        \
		ROWS before(&c);                                    \
		rc = PMPI_##function(ARGUMENTS, request);           \
		later(&c, rc, request);                             \
		return rc;                                          \
	}

#if HAS_LARGE_COUNTS
#define FORMS(Name, name, K)                                               \
	BLOCKING(Name, ROWS_##K, P_##K(int, int), A_##K, 0)                \
	NONBLOCKING(I##name, ROWS_##K, P_##K(int, int), A_##K, 0)          \
	BLOCKING(Name##_c, ROWS_##K, P_##K(MPI_Count, MPI_Aint), A_##K, 1) \
	NONBLOCKING(I##name##_c, ROWS_##K, P_##K(MPI_Count, MPI_Aint), A_##K, 1)
#else
#define FORMS(Name, name, K)                                \
	BLOCKING(Name, ROWS_##K, P_##K(int, int), A_##K, 0) \
	NONBLOCKING(I##name, ROWS_##K, P_##K(int, int), A_##K, 0)
#endif

#define P_BARRIER(N, D) MPI_Comm comm
#define A_BARRIER comm
BLOCKING(Barrier, , P_BARRIER(, ), A_BARRIER, 0)
NONBLOCKING(Ibarrier, , P_BARRIER(, ), A_BARRIER, 0)

#define P_BCAST(N, D) void *buf, N n, MPI_Datatype t, int root, MPI_Comm comm
#define A_BCAST buf, n, t, root, comm
FORMS(Bcast, bcast, BCAST)

#define P_ALLREDUCE(N, D) const void *s, void *r, N n, MPI_Datatype t, MPI_Op op, MPI_Comm comm
#define A_ALLREDUCE s, r, n, t, op, comm
FORMS(Allreduce, allreduce, ALLREDUCE)
FORMS(Scan, scan, ALLREDUCE)
#define P_EXSCAN P_ALLREDUCE
#define A_EXSCAN A_ALLREDUCE
FORMS(Exscan, exscan, EXSCAN)
#define P_BLOCK P_ALLREDUCE
#define A_BLOCK A_ALLREDUCE
FORMS(Reduce_scatter_block, reduce_scatter_block, BLOCK)

#define P_REDUCE(N, D) \
	const void *s, void *r, N n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm
#define A_REDUCE s, r, n, t, op, root, comm
FORMS(Reduce, reduce, REDUCE)

#define P_REDUCE_SCATTER(N, D) \
	const void *s, void *r, const N rn[], MPI_Datatype t, MPI_Op op, MPI_Comm comm
#define A_REDUCE_SCATTER s, r, rn, t, op, comm
FORMS(Reduce_scatter, reduce_scatter, REDUCE_SCATTER)

#define P_ALLGATHER(N, D) \
	const void *s, N sn, MPI_Datatype st, void *r, N rn, MPI_Datatype rt, MPI_Comm comm
#define A_ALLGATHER s, sn, st, r, rn, rt, comm
FORMS(Allgather, allgather, ALLGATHER)
#define P_ALLTOALL P_ALLGATHER
#define A_ALLTOALL A_ALLGATHER
FORMS(Alltoall, alltoall, ALLTOALL)
/* Followed by no rows: what is read and written depends on the topology. */
#define P_NEIGHBOR P_ALLGATHER
#define A_NEIGHBOR A_ALLGATHER
#define ROWS_NEIGHBOR
FORMS(Neighbor_allgather, neighbor_allgather, NEIGHBOR)
FORMS(Neighbor_alltoall, neighbor_alltoall, NEIGHBOR)

#define P_ALLGATHERV(N, D)                                                         \
	const void *s, N sn, MPI_Datatype st, void *r, const N rn[], const D rd[], \
		MPI_Datatype rt, MPI_Comm comm
#define A_ALLGATHERV s, sn, st, r, rn, rd, rt, comm
FORMS(Allgatherv, allgatherv, ALLGATHERV)
#define P_NEIGHBORV P_ALLGATHERV
#define A_NEIGHBORV A_ALLGATHERV
#define ROWS_NEIGHBORV
FORMS(Neighbor_allgatherv, neighbor_allgatherv, NEIGHBORV)

#define P_ALLTOALLV(N, D)                                                                  \
	const void *s, const N sn[], const D sd[], MPI_Datatype st, void *r, const N rn[], \
		const D rd[], MPI_Datatype rt, MPI_Comm comm
#define A_ALLTOALLV s, sn, sd, st, r, rn, rd, rt, comm
FORMS(Alltoallv, alltoallv, ALLTOALLV)
#define P_NEIGHBORVV P_ALLTOALLV
#define A_NEIGHBORVV A_ALLTOALLV
#define ROWS_NEIGHBORVV
FORMS(Neighbor_alltoallv, neighbor_alltoallv, NEIGHBORVV)

#define P_ALLTOALLW(N, D)                                                                          \
	const void *s, const N sn[], const D sd[], const MPI_Datatype st[], void *r, const N rn[], \
		const D rd[], const MPI_Datatype rt[], MPI_Comm comm
#define A_ALLTOALLW s, sn, sd, st, r, rn, rd, rt, comm
#define ROWS_ALLTOALLW
FORMS(Alltoallw, alltoallw, ALLTOALLW)
/* Its displacements are MPI_Aint in all forms. */
#define P_NEIGHBORW(N, D) P_ALLTOALLW(N, MPI_Aint)
#define A_NEIGHBORW A_ALLTOALLW
#define ROWS_NEIGHBORW
FORMS(Neighbor_alltoallw, neighbor_alltoallw, NEIGHBORW)

#define P_GATHER(N, D)                                                                  \
	const void *s, N sn, MPI_Datatype st, void *r, N rn, MPI_Datatype rt, int root, \
		MPI_Comm comm
#define A_GATHER s, sn, st, r, rn, rt, root, comm
FORMS(Gather, gather, GATHER)
#define P_SCATTER P_GATHER
#define A_SCATTER A_GATHER
FORMS(Scatter, scatter, SCATTER)

#define P_GATHERV(N, D)                                                            \
	const void *s, N sn, MPI_Datatype st, void *r, const N rn[], const D rd[], \
		MPI_Datatype rt, int root, MPI_Comm comm
#define A_GATHERV s, sn, st, r, rn, rd, rt, root, comm
FORMS(Gatherv, gatherv, GATHERV)

#define P_SCATTERV(N, D)                                                           \
	const void *s, const N sn[], const D sd[], MPI_Datatype st, void *r, N rn, \
		MPI_Datatype rt, int root, MPI_Comm comm
#define A_SCATTERV s, sn, sd, st, r, rn, rt, root, comm
FORMS(Scatterv, scatterv, SCATTERV)

/* ---- messages ---- */

#define ROWS_SEND                  \
	if (peer != MPI_PROC_NULL) \
		flat(&c.in, s, n, t);
#define ROWS_RECV                      \
	if (peer != MPI_PROC_NULL) {   \
		flat(&c.out, r, n, t); \
		c.out.received = 1;    \
		c.out.tag = tag;       \
	}
#define P_SEND(N) const void *s, N n, MPI_Datatype t, int peer, int tag, MPI_Comm comm
#define A_SEND s, n, t, peer, tag, comm
#define P_RECV(N) void *r, N n, MPI_Datatype t, int peer, int tag, MPI_Comm comm
#define A_RECV r, n, t, peer, tag, comm

/* A blocking receive of any kind: the status is needed, whether the caller wants it or not. */
#define RECEIVING(function, ROWS, PARAMETERS, ARGUMENTS)              \
	int MPI_##function(PARAMETERS, MPI_Status *status)            \
	{                                                             \
		MPI_Status own;                                       \
		struct call c;                                        \
		int rc;                                               \
                                                                      \
		begin(&c, "MPI_" #function);                          \
		ROWS before(&c);                                      \
		status = status == MPI_STATUS_IGNORE ? &own : status; \
		rc = PMPI_##function(ARGUMENTS, status);              \
		after(&c, rc, status);                                \
		return rc;                                            \
	}

#define P_SENDRECV(N)                                                                        \
	const void *s, N n, MPI_Datatype t, int to, int tag, void *r, N rn, MPI_Datatype rt, \
		int from, int rtag, MPI_Comm comm
#define A_SENDRECV s, n, t, to, tag, r, rn, rt, from, rtag, comm
#define P_REPLACE(N) \
	void *r, N n, MPI_Datatype t, int to, int tag, int from, int rtag, MPI_Comm comm
#define A_REPLACE r, n, t, to, tag, from, rtag, comm
#define ROWS_BOTH(sent, got, got_n, got_t)       \
	if (to != MPI_PROC_NULL)                 \
		flat(&c.in, sent, n, t);         \
	if (from != MPI_PROC_NULL) {             \
		flat(&c.out, got, got_n, got_t); \
		c.out.received = 1;              \
		c.out.tag = rtag;                \
	}
#define ROWS_MATCHED                           \
	if (*message != MPI_MESSAGE_NO_PROC) { \
		flat(&c.out, r, n, t);         \
		c.out.received = 1;            \
		c.out.tag = MPI_ANY_TAG;       \
	}
#define P_MATCHED(N) void *r, N n, MPI_Datatype t, MPI_Message *message
#define A_MATCHED r, n, t, message

#define MESSAGES(N, _c)                                                             \
	BLOCKING(Send##_c, ROWS_SEND, P_SEND(N), A_SEND, 0)                         \
	BLOCKING(Ssend##_c, ROWS_SEND, P_SEND(N), A_SEND, 0)                        \
	BLOCKING(Bsend##_c, ROWS_SEND, P_SEND(N), A_SEND, 0)                        \
	BLOCKING(Rsend##_c, ROWS_SEND, P_SEND(N), A_SEND, 0)                        \
	NONBLOCKING(Isend##_c, ROWS_SEND, P_SEND(N), A_SEND, 0)                     \
	NONBLOCKING(Issend##_c, ROWS_SEND, P_SEND(N), A_SEND, 0)                    \
	NONBLOCKING(Ibsend##_c, ROWS_SEND, P_SEND(N), A_SEND, 0)                    \
	NONBLOCKING(Irsend##_c, ROWS_SEND, P_SEND(N), A_SEND, 0)                    \
	RECEIVING(Recv##_c, ROWS_RECV, P_RECV(N), A_RECV)                           \
	NONBLOCKING(Irecv##_c, ROWS_RECV, P_RECV(N), A_RECV, 0)                     \
	RECEIVING(Mrecv##_c, ROWS_MATCHED, P_MATCHED(N), A_MATCHED)                 \
	NONBLOCKING(Imrecv##_c, ROWS_MATCHED, P_MATCHED(N), A_MATCHED, 0)           \
	RECEIVING(Sendrecv##_c, ROWS_BOTH(s, r, rn, rt), P_SENDRECV(N), A_SENDRECV) \
	RECEIVING(Sendrecv_replace##_c, ROWS_BOTH(r, r, n, t), P_REPLACE(N), A_REPLACE)

MESSAGES(int, )
#if HAS_MPI_4
NONBLOCKING(Isendrecv, ROWS_BOTH(s, r, rn, rt), P_SENDRECV(int), A_SENDRECV, 0)
NONBLOCKING(Isendrecv_replace, ROWS_BOTH(r, r, n, t), P_REPLACE(int), A_REPLACE, 0)
#endif
#if HAS_LARGE_COUNTS
MESSAGES(MPI_Count, _c)
NONBLOCKING(Isendrecv_c, ROWS_BOTH(s, r, rn, rt), P_SENDRECV(MPI_Count), A_SENDRECV, 0)
NONBLOCKING(Isendrecv_replace_c, ROWS_BOTH(r, r, n, t), P_REPLACE(MPI_Count), A_REPLACE, 0)
#endif

/* ---- one-sided ---- */

#define ROWS_PUT                   \
	if (peer != MPI_PROC_NULL) \
		flat(&c.in, s, n, t);
#define THERE(N) int peer, MPI_Aint at, N there, MPI_Datatype type_there
#define A_THERE peer, at, there, type_there
#define P_PUT(N) const void *s, N n, MPI_Datatype t, THERE(N)
#define A_PUT s, n, t, A_THERE
#define P_GET(N) void *r, N n, MPI_Datatype t, THERE(N)
#define A_GET r, n, t, A_THERE
#define P_FETCH(N) const void *s, N n, MPI_Datatype t, void *r, N rn, MPI_Datatype rt, THERE(N)
#define A_FETCH s, n, t, r, rn, rt, A_THERE
#define OP_WIN MPI_Op op, MPI_Win win

/* One that gives a request is written at once: what goes in is there. */
#define TRANSFERS(N, _c)                                                                       \
	BLOCKING(Put##_c, ROWS_PUT, P_PUT(N) COMMA MPI_Win win, A_PUT COMMA win, 0)            \
	BLOCKING(Rput##_c, ROWS_PUT, P_PUT(N) COMMA MPI_Win win COMMA MPI_Request *request,    \
		A_PUT COMMA win COMMA request, 0)                                              \
	BLOCKING(Get##_c, , P_GET(N) COMMA MPI_Win win, A_GET COMMA win, 0)                    \
	BLOCKING(Rget##_c, , P_GET(N) COMMA MPI_Win win COMMA MPI_Request *request,            \
		A_GET COMMA win COMMA request, 0)                                              \
	BLOCKING(Accumulate##_c, ROWS_PUT, P_PUT(N) COMMA OP_WIN, A_PUT COMMA op COMMA win, 0) \
	BLOCKING(Raccumulate##_c, ROWS_PUT, P_PUT(N) COMMA OP_WIN COMMA MPI_Request *request,  \
		A_PUT COMMA op COMMA win COMMA request, 0)                                     \
	BLOCKING(Get_accumulate##_c, , P_FETCH(N) COMMA OP_WIN, A_FETCH COMMA op COMMA win, 0) \
	BLOCKING(Rget_accumulate##_c, , P_FETCH(N) COMMA OP_WIN COMMA MPI_Request *request,    \
		A_FETCH COMMA op COMMA win COMMA request, 0)
#define COMMA ,
TRANSFERS(int, )
#if HAS_LARGE_COUNTS
TRANSFERS(MPI_Count, _c)
#endif

#define P_FETCH_OP \
	const void *s, void *r, MPI_Datatype t, int peer, MPI_Aint at, MPI_Op op, MPI_Win win
#define A_FETCH_OP s, r, t, peer, at, op, win
BLOCKING(Fetch_and_op, , P_FETCH_OP, A_FETCH_OP, 0)
#define P_SWAP \
	const void *s, const void *r, void *was, MPI_Datatype t, int peer, MPI_Aint at, MPI_Win win
#define A_SWAP s, r, was, t, peer, at, win
BLOCKING(Compare_and_swap, , P_SWAP, A_SWAP, 0)

BLOCKING(Win_fence, , int how COMMA MPI_Win win, how COMMA win, 0)
BLOCKING(Win_lock, , int type COMMA int peer COMMA int how COMMA MPI_Win win,
	type COMMA peer COMMA how COMMA win, 0)
BLOCKING(Win_lock_all, , int how COMMA MPI_Win win, how COMMA win, 0)
BLOCKING(Win_unlock, , int peer COMMA MPI_Win win, peer COMMA win, 0)
BLOCKING(Win_unlock_all, , MPI_Win win, win, 0)
BLOCKING(Win_flush, , int peer COMMA MPI_Win win, peer COMMA win, 0)
BLOCKING(Win_flush_all, , MPI_Win win, win, 0)
BLOCKING(Win_flush_local, , int peer COMMA MPI_Win win, peer COMMA win, 0)
BLOCKING(Win_flush_local_all, , MPI_Win win, win, 0)
BLOCKING(Win_post, , MPI_Group group COMMA int how COMMA MPI_Win win, group COMMA how COMMA win, 0)
BLOCKING(Win_start, , MPI_Group group COMMA int how COMMA MPI_Win win, group COMMA how COMMA win, 0)
BLOCKING(Win_complete, , MPI_Win win, win, 0)
BLOCKING(Win_wait, , MPI_Win win, win, 0)

/* ---- files: what is read is only counted ---- */

#define ROWS_FILE flat(&c.in, s, n, t);
#define P_WRITE MPI_File f, const void *s, int n, MPI_Datatype t
#define A_WRITE f, s, n, t
#define P_WRITE_AT MPI_File f, MPI_Offset at, const void *s, int n, MPI_Datatype t
#define A_WRITE_AT f, at, s, n, t
#define P_READ MPI_File f, void *r, int n, MPI_Datatype t
#define A_READ f, r, n, t
#define P_READ_AT MPI_File f, MPI_Offset at, void *r, int n, MPI_Datatype t
#define A_READ_AT f, at, r, n, t
BLOCKING(File_write, ROWS_FILE, P_WRITE COMMA MPI_Status *st, A_WRITE COMMA st, 0)
BLOCKING(File_write_all, ROWS_FILE, P_WRITE COMMA MPI_Status *st, A_WRITE COMMA st, 0)
BLOCKING(File_write_ordered, ROWS_FILE, P_WRITE COMMA MPI_Status *st, A_WRITE COMMA st, 0)
BLOCKING(File_write_at, ROWS_FILE, P_WRITE_AT COMMA MPI_Status *st, A_WRITE_AT COMMA st, 0)
BLOCKING(File_write_at_all, ROWS_FILE, P_WRITE_AT COMMA MPI_Status *st, A_WRITE_AT COMMA st, 0)
BLOCKING(File_write_all_begin, ROWS_FILE, P_WRITE, A_WRITE, 0)
BLOCKING(File_write_ordered_begin, ROWS_FILE, P_WRITE, A_WRITE, 0)
BLOCKING(File_write_at_all_begin, ROWS_FILE, P_WRITE_AT, A_WRITE_AT, 0)
BLOCKING(File_sync, , MPI_File f, f, 0)
BLOCKING(File_set_size, , MPI_File f COMMA MPI_Offset size, f COMMA size, 0)
BLOCKING(File_preallocate, , MPI_File f COMMA MPI_Offset size, f COMMA size, 0)
BLOCKING(File_set_atomicity, , MPI_File f COMMA int on, f COMMA on, 0)
BLOCKING(File_set_info, , MPI_File f COMMA MPI_Info info, f COMMA info, 0)
BLOCKING(
	File_seek_shared, , MPI_File f COMMA MPI_Offset at COMMA int from, f COMMA at COMMA from, 0)
BLOCKING(File_iwrite_at, ROWS_FILE, P_WRITE_AT COMMA MPI_Request *r, A_WRITE_AT COMMA r, 0)
BLOCKING(File_set_view, ,
	MPI_File f COMMA MPI_Offset at COMMA MPI_Datatype t COMMA MPI_Datatype u
		COMMA const char *form COMMA MPI_Info info,
	f COMMA at COMMA t COMMA u COMMA form COMMA info, 0)
BLOCKING(File_read, , P_READ COMMA MPI_Status *st, A_READ COMMA st, 0)
BLOCKING(File_read_all, , P_READ COMMA MPI_Status *st, A_READ COMMA st, 0)
BLOCKING(File_read_at, , P_READ_AT COMMA MPI_Status *st, A_READ_AT COMMA st, 0)
BLOCKING(File_read_at_all, , P_READ_AT COMMA MPI_Status *st, A_READ_AT COMMA st, 0)
BLOCKING(File_iread_at, , P_READ_AT COMMA MPI_Request *req, A_READ_AT COMMA req, 0)
BLOCKING(File_read_all_begin, , P_READ, A_READ, 0)
BLOCKING(File_read_ordered_begin, , P_READ, A_READ, 0)
BLOCKING(File_read_at_all_begin, , P_READ_AT, A_READ_AT, 0)

/* ---- what MPI 4 added besides ---- */

#if HAS_MPI_4
#define P_PARTS(Const)                                                                             \
	Const void *buf, int parts, MPI_Count n, MPI_Datatype t, int peer, int tag, MPI_Comm comm, \
		MPI_Info info, MPI_Request *request
#define A_PARTS buf, parts, n, t, peer, tag, comm, info, request
#define IN_PARTS(function, Const)                               \
	int MPI_##function(P_PARTS(Const))                      \
	{                                                       \
		int rc = PMPI_##function(A_PARTS);              \
                                                                \
		if (rc == MPI_SUCCESS)                          \
			note_maker(*request, "MPI_" #function); \
		return rc;                                      \
	}
IN_PARTS(Psend_init, const)
IN_PARTS(Precv_init, )

#ifdef MPIX_ERR_REVOKED
#define MPIX(function, PARAMETERS, ARGUMENTS)       \
	int MPIX_##function(PARAMETERS)             \
	{                                           \
		struct call c;                      \
                                                    \
		begin(&c, "MPIX_" #function);       \
		before(&c);                         \
		return PMPIX_##function(ARGUMENTS); \
	}
#define P_AGREE MPI_Comm comm, int *flag
#define A_AGREE comm, flag
MPIX(Comm_agree, P_AGREE, A_AGREE)
MPIX(Comm_revoke, MPI_Comm comm, comm)
#endif
#endif
