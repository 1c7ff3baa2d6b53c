/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of MPI's adapter. One library serves both families of binary interface: handles are pointers in Open MPI
 * and 32-bit integers in MPICH, and constants differ; which one is loaded is determined when the program initialises MPI.
 */
#ifndef PROBE_WRAPPERS_MPI_H
#define PROBE_WRAPPERS_MPI_H

#include "call/async.h"
#include "call/call.h"
#include "call/comm.h"
#include "journal/layout.h"
#include "mpi_gen.h"

typedef uintptr_t mpi_handle;

/*
 * MPI's own queries, all local to the process, and the functions for the empty message to
 * MPI_PROC_NULL that shows how MPI represents requests. Never called before Init or after
 * Finalize, except the first three.
 */
struct mpi_functions {
	int (*initialized)(int *flag);
	int (*finalized)(int *flag);
	int (*get_library_version)(char *text, int *len);
	int (*comm_rank)(mpi_handle comm, int *rank);
	int (*comm_size)(mpi_handle comm, int *size);
	int (*comm_remote_size)(mpi_handle comm, int *size);
	int (*comm_test_inter)(mpi_handle comm, int *flag);
	int (*comm_group)(mpi_handle comm, void *group);
	int (*comm_remote_group)(mpi_handle comm, void *group);
	int (*group_size)(mpi_handle group, int *n);
	int (*group_rank)(mpi_handle group, int *rank);
	int (*group_translate_ranks)(
		mpi_handle from, int n, const int *ranks, mpi_handle to, int *out);
	int (*group_free)(void *group);
	int (*type_size)(mpi_handle dtype, int *size);
	int (*type_get_extent)(mpi_handle dtype, int64_t *lb, int64_t *extent);
	int (*get_elements_x)(const void *status, mpi_handle dtype, int64_t *count);
	int (*test_cancelled)(const void *status, int *flag);
	int (*request_get_status)(mpi_handle request, int *flag, void *status);
	int (*isend)(const void *buf, int count, mpi_handle dtype, int dest, int tag,
		mpi_handle comm, void *request);
	int (*wait)(void *request, void *status);
	int (*cartdim_get)(mpi_handle comm, int *ndims);
	int (*graph_neighbors_count)(mpi_handle comm, int rank, int *n);
	int (*dist_graph_neighbors_count)(mpi_handle comm, int *in, int *out, int *weighted);
};

enum mpi_state { MPI_UNKNOWN, MPI_ACTIVE, MPI_OVER };

struct mpi {
	_Atomic int state; /* enum mpi_state */
	int flavour; /* ABI_MPI_... */
	int64_t constant[CONST_STATUS_ERROR + 1];
	unsigned handle_size; /* bytes of a handle in memory */
	uint64_t byte; /* MPI_BYTE */
	/* handles of requests that are complete when they are made: see mpi_is_request_done() */
	uint64_t done_mask, done;
	uint64_t done_send; /* Open MPI 6 has a separate handle for sends; 0: none */
	bool done_is_one; /* MPI has several such handles, and `done` was found by a message */
	/* the binary interface does not define `done`: it must be found by a message */
	_Atomic bool marks_unknown;
	mpi_handle
		/*
		 * the group of all processes, which identifies members in the same way on all
		 * ranks
		 */
		world_group;
	bool group_of_session; /* world_group comes from a session, not from MPI_COMM_WORLD */
	int world_size;
	struct mpi_functions f;
};

extern struct mpi mpi __attribute__((visibility("hidden")));

/*
 * Finds the flavour, the functions and tables; registers MPI_COMM_WORLD and MPI_COMM_SELF.
 * Returns false if there is no usable MPI.
 */
bool mpi_load(void);
bool mpi_is_ready(void);

/*
 * Returns a handle from a register or array, without the bits that its implementation leaves
 * undefined.
 */
static inline uint64_t mpi_get_clean_handle(uint64_t h)
{
	return mpi.handle_size == 4 ? (uint32_t)h : h;
}

/* Returns the i-th handle of the array at p. */
uint64_t mpi_handle_at(const void *p, uint64_t i);

void mpi_find_dtype(uint64_t handle, struct dtype_desc *d);
enum redop mpi_find_redop(uint64_t handle);

/* True for MPI_NO_OP: neither buffer nor count nor type of the origin are read, so they may be anything (MPI 4.1, 12.3.4). */
bool mpi_is_no_op(uint64_t handle);

/* ---- statuses ---- */

#define MPI_STATUS_MAX 64 /* maximum bytes of a status */

static inline bool mpi_status_ignored(const void *p)
{
	return (int64_t)(intptr_t)p == mpi.constant[CONST_MPI_STATUS_IGNORE];
}

int32_t mpi_get_status_int(const void *status, int which); /* CONST_STATUS_SOURCE, _TAG, _ERROR */

/* Stores the status of a receive in the outputs of w: elements, source, tag, and the message's number. */
void mpi_received(struct operation *w, const void *status);
void mpi_set_received_count(
	/* number of received elements, limited by the buffer */
	struct buffer *v, const void *status);

/* ---- communicators (mpi_comm.c) ---- */

struct comm *mpi_find_comm(uint64_t handle);
void mpi_comm_handle_enter(struct call *c);
void mpi_comm_handle_leave(struct call *c);
/*
 * A non-blocking constructor of `parent` is complete, and has stored the new communicator at *at.
 */
void mpi_comm_arrived(const struct comm *parent, const void *at, const char *how);
void mpi_comm_predefined(void);
/* After MPI_Group_from_session_pset and MPI_Session_finalize. */
void mpi_set_session_group(const struct call *c);
void mpi_handle_session_end(void);

/* ---- windows and files (window.c) ---- */

struct comm *mpi_find_window(uint64_t handle);
bool mpi_is_file(const struct api_spec *s);
/* key of the split collective in progress on `file` */
uint64_t mpi_get_split_key(const struct comm *file);
void mpi_window_handle_enter(struct call *c);
void mpi_window_handle_leave(struct call *c);
void mpi_window_handle_data(struct call *c); /* a data call on a window or file succeeded */

/* ---- requests (request.c) ---- */

/*
 * True for a request that was complete when it was made, recognised by its handle. Several calls
 * may have the same handle.
 */
static inline bool mpi_is_request_done(uint64_t h)
{
	return mpi.done_mask &&
	       ((h & mpi.done_mask) == mpi.done || (h == mpi.done_send && mpi.done_send));
}

/*
 * Queries whether a request is complete, without freeing it. Returns true if it is, with its
 * status.
 */
bool mpi_request_is_complete(uint64_t h, void *status);

/*
 * Call c returned request h. Returns true if it is complete already, since tick *end, and must
 * not enter the table of pending calls. Closes older calls with the same handle.
 */
bool mpi_request_handle_new(struct call *c, uint64_t h, uint64_t *end);

void mpi_request_handle_enter(struct call *c);
void mpi_request_handle_leave(struct call *c, int64_t ret);

void mpi_data_handle_enter(struct call *c);
void mpi_data_handle_leave(struct call *c);
void mpi_match_leave(struct call *c); /* a matched probe: notes the message's communicator */
void mpi_data_forked(void);

#endif
