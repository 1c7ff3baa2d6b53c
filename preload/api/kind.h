/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a call and the places of its buffers: roles of arguments, tasks, kinds of operations and their extents. */
#ifndef PROBE_API_KIND_H
#define PROBE_API_KIND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Roles of arguments; the names in the spec files are these in lower case without the prefix. A buffer role and the count,
 * dtype ... roles of its side belong together: SEND with SCOUNT and SDTYPE where the function has them, otherwise with COUNT
 * and DTYPE.
 */
enum role {
	ROLE_NONE, /* passed on and ignored; a parameter name that starts with _ */
	ROLE_SEND, /* buffer read */
	ROLE_RECV, /* buffer written */
	ROLE_BUF, /* one buffer that is read, written, or both */
	ROLE_COUNT,
	ROLE_SCOUNT,
	ROLE_RCOUNT,
	ROLE_SCOUNTS, /* array; its element width follows from the parameter's type */
	ROLE_SDISPLS,
	ROLE_RCOUNTS,
	ROLE_RDISPLS,
	ROLE_DTYPE,
	ROLE_SDTYPE,
	ROLE_RDTYPE,
	ROLE_SDTYPES, /* arrays of handles */
	ROLE_RDTYPES,
	ROLE_OP,
	ROLE_ROOT,
	ROLE_PEER, /* destination of a send; source of a plain receive */
	ROLE_RPEER, /* source, if the call also sends */
	ROLE_TAG,
	ROLE_RTAG,
	ROLE_COMM,
	ROLE_STREAM,
	ROLE_REQUEST, /* pointer to a handle */
	ROLE_REQUESTS, /* array of handles */
	ROLE_NREQ,
	ROLE_STATUS, /* pointer to a status */
	ROLE_STATUSES, /* array of statuses */
	ROLE_FLAG, /* int *: whether the request is complete */
	ROLE_INDEX, /* int * */
	ROLE_INDICES, /* array of int */
	ROLE_OUTCOUNT, /* int * */
	ROLE_NEWCOMM, /* pointer to a handle that the call stores */
	ROLE_COMMP, /* pointer to a handle that the call ends */
	ROLE_GROUP,
	ROLE_COLOR,
	ROLE_NEWTAG, /* tag or string tag of a new communicator */
	ROLE_PEERCOMM,
	ROLE_MESSAGE, /* pointer to a matched-probe handle */
	ROLE_NAME,
	ROLE_LEVEL,
	ROLE_NRANKS,
	ROLE_RANK,
	ROLE_ID,
	ROLE_ITEMS,
	ROLE_NITEMS,
	ROLE_WIN, /* handle of a window or a file, which has the members of its communicator */
	ROLE_NEWWIN,
	ROLE_WINP, /* pointer to the handle of a window or file that the call ends */
	/*
	 * Linear algebra (call/matrix.h), by value or by pointer: leading dimensions of matrices, increments of vectors and
	 * letters have the meaning of BLAS. SEND is A or x, BUF is B or the second vector, RECV is C or y.
	 */
	ROLE_ORDER, /* row or column major; column major if a row has no argument with this role */
	ROLE_TRANSA,
	ROLE_TRANSB,
	ROLE_SIDE,
	ROLE_M,
	ROLE_N,
	ROLE_K,
	ROLE_LDA,
	ROLE_LDB,
	ROLE_LDC,
	ROLE_INCX,
	ROLE_INCY,
	ROLE_ALPHA,
	ROLE_BETA,
	/* Batches: NITEMS matrices, each this many elements after the previous one. */
	ROLE_STRIDEA,
	ROLE_STRIDEB,
	ROLE_STRIDEC,
	ROLE_COMPUTE, /* the type used for the computation, which is also that of the factors */
	ROLE_HANDLE, /* handle of the library, which identifies the stream used */
	ROLE_NROLES
};

/* The work of a call. */
enum task {
	TASK_DATA, /* moves data or synchronises: has a kind and produces rows */
	TASK_WAIT, /* completes requests, blocking; the form is spec->sub (enum sub) */
	TASK_TEST, /* completes requests, not blocking */
	TASK_START, /* starts persistent requests */
	TASK_PROBE, /* waits for a message without receiving it */
	/* SUB_FREE, SUB_CANCEL, SUB_LOOK: does something with a request, without completing it */
	TASK_REQUEST,
	TASK_COMM_NEW,
	TASK_COMM_END,
	TASK_COMM_NAME,
	TASK_WIN_NEW,
	TASK_WIN_END,
	TASK_MATCH, /* matched probe */
	TASK_INIT,
	TASK_FINALIZE,
	TASK_ABORT,
	TASK_GROUP_START,
	TASK_GROUP_END, /* SUB_CANCEL: the group's calls never run */
	/*
	 * Only observed: the adapter's enter and leave are called for every call, nested or not,
	 * and calls inside it are recorded as if it did not exist. If an exception passes, leave
	 * is called with c->ok false.
	 */
	TASK_SCOPE,
};

enum sub {
	SUB_NONE,
	SUB_ONE,
	SUB_ALL,
	SUB_ANY,
	SUB_SOME,
	SUB_FREE,
	SUB_CANCEL,
	SUB_LOOK,
	/* like SUB_LOOK, for several requests, which stay unchanged */
	SUB_LOOK_ALL,
	SUB_LOOK_ANY,
	SUB_LOOK_SOME,
	SUB_END, /* the second half of the one call in progress on a window or file */
};

/* When the outputs of a TASK_DATA call are valid. */
enum completion {
	DONE_RETURN, /* when the function returns */
	DONE_REQUEST, /* when the request that the call returns completes */
	/*
	 * each time the persistent request is started and completes; the call itself moves
	 * nothing
	 */
	DONE_START,
	DONE_STREAM, /* when the stream has reached the call's work */
	/* when the second half of the call (SUB_END) on the same window or file is done */
	DONE_END,
};

/* Factors of a product that are not arguments, numbered after the roles. */
enum term {
	TERM_SIZE =
		/* ranks on the other side: the communicator's size, or the remote group's */
	ROLE_NROLES,
	TERM_LSIZE, /* ranks of the local group */
	TERM_RANK,
	TERM_INDEGREE, /* neighbours that send to this rank */
	TERM_OUTDEGREE,
	TERM_SIDE, /* order of the matrix that multiplies from this side: m or n */
	TERM_NTERMS
};

/* Number and place of a buffer's elements. */
enum extent_form {
	EXT_NONE,
	EXT_PRODUCT, /* product of the terms, contiguous, starting at `offset` (a product, too) */
	EXT_SUM, /* sum of counts[0..n), contiguous */
	EXT_AT_RANK, /* counts[rank], contiguous */
	EXT_SEGMENTS, /* counts[i] elements at displs[i] for i in 0..n */
	EXT_SEGMENT_AT_RANK, /* counts[rank] elements at displs[rank] */
	EXT_TYPED_SEGMENTS, /* counts[i] elements of dtypes[i] at displs[i] bytes */
	/* EXT_MATRIX and EXT_VECTOR are handled by call/matrix.c. */
	EXT_MATRIX, /* term[0] rows, term[1] columns, as stored unless `trans` is set */
	EXT_VECTOR, /* term[0] elements; if `trans` is set, term[1] elements */
};

enum extent_where {
	ON_ALL, /* for a rooted kind in an intercommunicator: on the leaves */
	ON_ROOT,
	ON_LEAF, /* not on the root */
	ON_NOT_FIRST, /* not on rank 0 (exscan does not write its output) */
	ON_SENDER, /* if outdegree > 0: a rank that sends to no neighbour may pass any pointer */
	/* if this factor is not 0: BLAS does not read operands that are multiplied by 0 */
	ON_ALPHA,
	ON_BETA,
};

struct extent {
	uint8_t form; /* enum extent_form */
	uint8_t where; /* enum extent_where */
	uint8_t buf; /* enum role of the buffer: SEND, RECV, BUF */
	/*
	 * enum role of its dtype: SDTYPE, RDTYPE, DTYPE, SDTYPES, RDTYPES; the first that the row
	 * has
	 */
	uint8_t dtype;
	uint8_t term[3], nterm; /* roles or enum term; nterm 0: the product is 1 */
	uint8_t offset[2], noffset; /* noffset 0: the offset is 0 */
	uint8_t counts, displs; /* roles */
	uint8_t length; /* enum term: length of the arrays */
	uint8_t step,
		/*
		 * matrices and vectors: role of the leading dimension or increment, and of the
		 * transposition
		 */
		trans;
	bool triangle; /* only one half of the matrix contains values */
};

#define KIND_VIEWS 2
#define KIND_INPUTS 3 /* for local kinds, which have at most 2 * KIND_VIEWS buffers */

/* A kind of operation. One table for all libraries, from configs/apis/kinds.yaml. */
struct kind {
	const char *name;
	const char *op; /* the `op` column */
	bool collective; /* counted in the communicator's comm_seq; else point-to-point */
	bool rooted;
	bool local; /* computes on one rank: has neither communicator nor peers */
	bool same; /* the output is equal on every rank that has one */
	uint8_t nin, nout;
	struct extent in[KIND_INPUTS], out[KIND_VIEWS];
	/*
	 * For libraries with a value that means "in place": if the argument of role `alt_buf` has
	 * this value, alt_in is used instead of in[] (alt_nin 0: no input buffer), and if
	 * alt_no_out is set, out[] has no buffer.
	 */
	uint8_t alt_buf, alt_nin;
	bool alt_no_out;
	struct extent alt_in[1];
};

/* Valid after api_fill(). */
extern const struct kind *const kind_table;
extern const unsigned kind_count;

#endif
