/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libprobe knows of a wrapped function: `struct api_spec`, constant, made by the generator from configs/apis/
 * (or at run time from a user's spec), and `struct api`, its state in this process. And of a library: `struct lib`,
 * the functions of its adapter.
 *
 * The core reads these and never a library's name; adapters (wrappers/) add what only they know.
 */
#ifndef PROBE_CALL_API_H
#define PROBE_CALL_API_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/redop.h"

struct call;
struct comm;

/* An argument as the wrapper received it. Handles (communicator, dtype, request ...) are in `u`. */
union arg {
	void *p;
	const void *cp;
	int64_t i;
	uint64_t u;
	double d;
};

/*
 * Roles of arguments; the names in the spec files are these in lower case without the prefix. A buffer role and the
 * count, dtype ... roles of its side belong together: SEND with SCOUNT and SDTYPE where the function has them, else
 * with COUNT and DTYPE.
 */
enum role {
	ROLE_NONE, /* carried through and ignored; a parameter name that starts with _ */
	ROLE_SEND, /* buffer read */
	ROLE_RECV, /* buffer written */
	ROLE_BUF, /* one buffer read or written */
	ROLE_COUNT,
	ROLE_SCOUNT,
	ROLE_RCOUNT,
	ROLE_SCOUNTS, /* arrays: element width from the parameter's type */
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
	ROLE_PEER, /* of a send; source of a plain receive */
	ROLE_RPEER, /* source, where the call also sends */
	ROLE_TAG,
	ROLE_RTAG,
	ROLE_COMM,
	ROLE_STREAM,
	ROLE_REQUEST, /* pointer to a handle */
	ROLE_REQUESTS, /* array of handles */
	ROLE_NREQ,
	ROLE_STATUS, /* pointer to one */
	ROLE_STATUSES, /* array */
	ROLE_FLAG, /* int *: completed? */
	ROLE_INDEX, /* int * */
	ROLE_INDICES, /* array of int */
	ROLE_OUTCOUNT, /* int * */
	ROLE_NEWCOMM, /* pointer to a handle that the call fills in */
	ROLE_COMMP, /* pointer to a handle that the call ends */
	ROLE_GROUP,
	ROLE_COLOR,
	ROLE_NEWTAG, /* tag or string tag that a new communicator is made with */
	ROLE_PEERCOMM,
	ROLE_MESSAGE, /* pointer to a matched-probe handle */
	ROLE_NAME,
	ROLE_LEVEL,
	ROLE_NRANKS,
	ROLE_RANK,
	ROLE_ID,
	ROLE_ITEMS,
	ROLE_NITEMS,
	ROLE_NROLES
};

/* What a call does. */
enum task {
	TASK_DATA, /* moves data or synchronises: has a kind and makes rows */
	TASK_WAIT, /* completes requests, blocking; which form: spec->sub (enum sub) */
	TASK_TEST, /* completes requests, not blocking */
	TASK_START, /* starts persistent requests */
	TASK_REQUEST, /* SUB_FREE, SUB_CANCEL, SUB_LOOK: a request without completing it */
	TASK_COMM_NEW,
	TASK_COMM_END,
	TASK_COMM_NAME,
	TASK_MATCH, /* matched probe */
	TASK_INIT,
	TASK_FINALIZE,
	TASK_ABORT,
	TASK_GROUP_START,
	TASK_GROUP_END, /* SUB_CANCEL: what was in it never runs */
	/*
	 * Only watched: the adapter's enter and leave are asked wherever it is called, nested or not, and calls inside it
	 * are recorded as if it were not there. leave is called, with c->ok false, when an exception passes as well.
	 */
	TASK_SCOPE,
};

enum sub { SUB_NONE, SUB_ONE, SUB_ALL, SUB_ANY, SUB_SOME, SUB_FREE, SUB_CANCEL, SUB_LOOK };

/* When the output of a TASK_DATA call is valid. */
enum completion {
	DONE_RETURN, /* when the function returns */
	DONE_REQUEST, /* when the request that it gives back completes */
	DONE_START, /* persistent: whenever its request, started, completes; the call itself moves nothing */
	DONE_STREAM, /* when the stream reaches it */
};

/* Terms of a product beside roles, numbered behind them. */
enum term {
	TERM_SIZE =
		ROLE_NROLES, /* ranks on the other side: communicator's size, or the remote group's */
	TERM_LSIZE, /* ranks of the own group */
	TERM_RANK,
	TERM_INDEGREE, /* neighbours that send to this rank */
	TERM_OUTDEGREE,
	TERM_NTERMS
};

/* How many elements a buffer holds and where they lie. */
enum extent_form {
	EXT_NONE,
	EXT_PRODUCT, /* the product of terms, contiguous, from `offset` (a product too) on */
	EXT_SUM, /* sum of counts[0..n), contiguous */
	EXT_AT_RANK, /* counts[rank], contiguous */
	EXT_SEGMENTS, /* counts[i] elements at displs[i] for i in 0..n */
	EXT_SEGMENT_AT_RANK, /* counts[rank] elements at displs[rank] */
	EXT_TYPED_SEGMENTS, /* counts[i] elements of dtypes[i] at displs[i] bytes */
};

enum extent_where {
	ON_ALL, /* of an intercommunicator and a rooted kind: on the leaves */
	ON_ROOT,
	ON_LEAF, /* not on the root */
	ON_NOT_FIRST, /* not on rank 0 (exscan leaves its output alone) */
	ON_SENDER, /* where outdegree > 0: a rank without neighbours to send to may pass any pointer */
};

struct extent {
	uint8_t form; /* enum extent_form */
	uint8_t where; /* enum extent_where */
	uint8_t buf; /* enum role of the buffer: SEND, RECV, BUF */
	uint8_t dtype; /* enum role of its dtype: SDTYPE, RDTYPE, DTYPE, SDTYPES, RDTYPES (first that the row has) */
	uint8_t term[3], nterm; /* roles or enum term; nterm 0: 1 */
	uint8_t offset[2], noffset; /* noffset 0: 0 */
	uint8_t counts, displs; /* roles */
	uint8_t length; /* enum term: length of the arrays */
};

#define KIND_VIEWS 2

/* A kind of operation. One table for all libraries, from configs/apis/kinds.yaml. */
struct kind {
	const char *name;
	const char *op; /* the `op` column */
	bool collective; /* counted in the communicator's comm_seq; else point-to-point */
	bool rooted;
	uint8_t nin, nout;
	struct extent in[KIND_VIEWS], out[KIND_VIEWS];
	/*
	 * Libraries with an in-place sentinel: if the argument of role `alt_buf` is the sentinel, alt_in holds
	 * instead of in[] (alt_nin 0: no input buffer) and, where alt_no_out is set, out[] has no buffer.
	 */
	uint8_t alt_buf, alt_nin;
	bool alt_no_out;
	struct extent alt_in[1];
};

extern const struct kind *const kind_table;
extern const unsigned kind_count;

/* How one argument is passed, as the ABI sees it. */
enum ctype {
	CT_VOID,
	CT_I8,
	CT_U8,
	CT_I16,
	CT_U16,
	CT_I32,
	CT_U32,
	CT_I64,
	CT_U64,
	CT_F32,
	CT_F64,
	CT_P,
	CT_STRUCT
};

struct api_arg {
	uint8_t role; /* enum role */
	uint8_t ctype; /* enum ctype */
	uint8_t elem; /* CT_P to an array of integers: bytes of one (4 or 8); handles in arrays: 0, the adapter knows */
	uint16_t words; /* CT_STRUCT: 8-byte words; v[] holds a pointer to it */
};

#define API_ARGS_MAX 20

/* A struct that is passed by value, for libffi: its members in order, arrays member by member. */
struct api_struct {
	uint16_t size, align; /* bytes */
	uint16_t n;
	const uint8_t *member; /* enum ctype; none is CT_VOID or CT_STRUCT */
};

/* What an entry by libffi must know beyond args[]. Rows that are made at run time have it. */
struct api_ffi {
	uint8_t ret; /* enum ctype of the result; CT_STRUCT: ret_struct */
	/*
	 * The result is a C++ object that the function builds at an address which the caller hands over out of sight
	 * (x86-64: before the first argument; aarch64: x8). For libffi that is a result of struct type larger than 16
	 * bytes; ret is CT_VOID.
	 */
	bool hidden;
	/* The result says whether the call succeeded. Otherwise call_leave() is to be given lib->success[0]. */
	bool code;
	const struct api_struct *ret_struct;
	const struct api_struct *arg[API_ARGS_MAX]; /* of arguments that are CT_STRUCT, else NULL */
};

struct api_spec {
	const char *symbol; /* the exported name: the `api` column */
	const char *list_name; /* the name in support_wrap_ops.yaml that selects it */
	const struct lib *lib;
	const struct kind *kind; /* TASK_DATA only */
	uint8_t task, sub, completion, nargs;
	struct api_arg args[API_ARGS_MAX];
	uint8_t at[ROLE_NROLES]; /* argument that has the role, + 1; 0: none */
	const char *how; /* TASK_COMM_NEW: the `kind` column of comms.csv: dup, split ... */
	/*
	 * enum dtype that the C type of a buffer says (float *), by its role; DT_OTHER: none (void *). It counts where the
	 * row has no dtype role for that buffer.
	 */
	uint8_t buf_dtype[ROLE_BUF + 1];
	const char *link_name; /* what the linker calls it (a mangled name); NULL: symbol */
	const struct api_ffi *ffi; /* NULL: it has a compiled wrapper */
	/* TASK_DATA: calls inside it are recorded as if they were not inside anything, with `parent`. */
	bool around;
};

/* api->state. Anything but API_SKIP takes the long way through call_enter(). */
enum api_state {
	API_NEW, /* not looked at yet */
	API_SKIP, /* pass straight through to `real` */
	API_ON, /* record, or do its task */
	API_MULTI, /* as API_ON, and the real function depends on the caller (several copies are loaded) */
	API_GONE, /* no real function exists: calls return spec->lib->missing */
};

/* Bits of api->traits. */
enum api_trait {
	API_LISTED = 1, /* its records are wanted */
	API_HOOKED = 2, /* the adapter's enter and leave are to be asked for this TASK_DATA call */
	API_MARKER = 4, /* each call (or every n-th) ends a step; its provider may have said so */
	API_COUNTED = 8, /* only counted: `probe check` */
	API_BOUND = 16, /* `real` came with the row and is not looked for: dlsym by handle */
	API_CHOSEN = 32, /* its provider has found it listed, by whatever name */
	API_LOOKED =
		64, /* its calls show whether the step marker, a function of a language, runs anew */
};

/* The buffers of a row whose calls are all of the usual form: call/plan.h. */
struct plan {
	_Atomic uint8_t state; /* enum plan_state */
	uint8_t nin, nout;
	struct plain_buffer {
		uint8_t buf, count, dtype; /* arguments, from 0 */
	} buffer[2 * KIND_VIEWS]; /* nin, then nout */
};

struct api {
	_Atomic uint32_t state;
	uint32_t traits; /* set before state leaves API_NEW */
	_Atomic uint32_t dict; /* dictionary id in the journal, 0: none yet */
	_Atomic(void *) real;
	_Atomic(uintptr_t)
		copy; /* of the library that `real` is in: its lowest address; 0: not looked up yet */
	const struct api_spec *spec;
	_Atomic uint64_t hits; /* counted in `probe check` runs only */
	struct plan plan;
};

/* All compiled wrappers, in the order of the generator's ids; sorted by symbol for api_find. */
extern struct api api_table[];
extern const unsigned api_count;

/* The row of an exported wrapper by its symbol, or NULL. */
struct api *api_find(const char *symbol);
/* The wrapper itself (the address that libprobe.so exports for the row). */
void *api_wrapper(const struct api *a);

/* What an adapter says of a dtype handle. */
struct dtype_desc {
	uint64_t size; /* bytes of data in one element */
	int64_t extent; /* bytes from one element to the next */
	uint8_t dtype; /* DT_OTHER: no statistics */
	bool derived; /* flag `derived` */
};

/* Peers and roots as an adapter normalises them. */
enum { PEER_NULL = -2, PEER_ANY = -1 };
enum root_is {
	ROOT_ME,
	ROOT_OTHER,
	ROOT_IDLE /* in the root's group of an intercommunicator, not the root */
};

/*
 * An adapter. All functions run on the thread of the call, inside libprobe (thread_word.busy is set), with errno and
 * the floating-point environment saved. NULL where the library has no such thing.
 */
struct lib {
	const char *name; /* `lib` column, section of support_wrap_ops.yaml */
	const char *const *sonames; /* NULL-terminated: where real functions are looked for last */
	int64_t success[4]; /* return codes that are no error */
	uint8_t nsuccess;
	int64_t missing; /* what a wrapper returns when no real function exists */
	int64_t in_progress; /* success, but nothing has happened yet; 0: no such code */
	const char *
		alias_prefix; /* MPI_X is PMPI_X too: "P"; NULL: no such names. Taken where there is no MPI_X */
	bool exact; /* real functions are probed with the caller's scope (several copies are normal) */
	/*
	 * Its spec is a user's, and may be wrong: both ends of a buffer are shown to the kernel before it is read, so that
	 * a count in bytes instead of elements ends in a record without statistics and not in a fault.
	 */
	bool unsure;
	/* The `lib` column where it depends on who provides the real function at that address; NULL: name. */
	const char *(*label)(const void *real);
	bool one_comm; /* functions need not name their communicator: comm(0) is the one that there is */

	/* True when calls may be recorded now (MPI: between Init and Finalize). May call the library's queries. */
	bool (*ready)(void);
	struct comm *(*comm)(uint64_t handle);
	void (*dtype)(uint64_t handle, struct dtype_desc *d);
	enum redop (*redop)(uint64_t handle);
	const int64_t *in_place; /* the address that stands for the buffer of the other side */
	int (*peer)(int64_t value); /* rank, PEER_NULL or PEER_ANY */
	enum root_is (*root)(const struct comm *c, int64_t value,
		int *rank); /* *rank: JOURNAL_NONE if unknown */
	uint64_t (*handle_at)(const void *array, uint64_t i); /* i-th handle of an array */
	/*
	 * Fills in c->what instead of what roles and kind say, for calls whose arguments are the library's own objects.
	 * False: the call is not recorded.
	 */
	bool (*describe)(struct call *c);
	/* Before and after the real function, for every task but plain DONE_RETURN data; see call.h. */
	void (*enter)(struct call *c);
	void (*leave)(struct call *c, int64_t ret);
	/* In a forked child: makes its locks anew, which another thread may have held. Perhaps more than once. */
	void (*forked)(void);
};

#endif
