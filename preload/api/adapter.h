/* SPDX-License-Identifier: Apache-2.0 */
/* Everything libprobe knows about a library: `struct adapter`, the functions of its adapter, and their results. */
#ifndef PROBE_API_ADAPTER_H
#define PROBE_API_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/dtype.h"
#include "terms/redop.h"

struct call;
struct comm;
struct api;
struct spec_values;

/* An adapter's description of a dtype handle. */
struct dtype_desc {
	uint64_t size; /* bytes of data in one element */
	int64_t extent; /* bytes from one element to the next */
	uint8_t dtype; /* DT_OTHER: no statistics */
	bool derived; /* flag `derived` */
};

/* Sets *d for contiguous elements of type dtype. */
static inline void set_plain_dtype(struct dtype_desc *d, uint8_t dtype)
{
	d->dtype = dtype;
	d->size = get_dtype_info(dtype)->size;
	d->extent = (int64_t)d->size;
}

/*
 * Meaning of arguments in a linear algebra library: values of the library's enums, or letters.
 * Lists end with 0.
 */
struct matrix_codes {
	int16_t row_major; /* 0: every matrix is column-major */
	int16_t transposed[5], left[3];
	/* used only if left[] is empty: every other value means left; else 0 */
	int16_t right;
};

/* Values of peers and roots as the adapters return them. */
enum { PEER_NULL = -2, PEER_ANY = -1 };
enum root_is {
	ROOT_ME,
	ROOT_OTHER,
	ROOT_IDLE /* in the root's group of an intercommunicator, not the root */
};

/*
 * An adapter. All functions run on the thread of the call, inside libprobe (thread_state.busy is set), with errno and the
 * floating-point environment saved. NULL: the library does not need it. For comm(), dtype(), redop() and enter() the core has
 * defaults that suit most libraries: a handle is looked up by comm_find(), a value in the tables of the spec, and a call of the
 * task `comm_end` ends its communicator.
 */
struct adapter {
	const char *name; /* `lib` column, section of support_wrap_ops.yaml */
	const char *const *sonames; /* NULL-terminated: searched last for real functions */
	int64_t success[4]; /* return codes that are not errors */
	uint8_t nsuccess;
	int64_t missing; /* return value of a wrapper if there is no real function */
	/* return code for success before any work was started; 0: no such code */
	int64_t in_progress;
	/* a function X is also looked up as this prefix and X if there is no X; NULL: there are no such names */
	const char *alias_prefix;
	/* real functions are searched in the caller's scope (several copies are normal) */
	bool exact;
	/*
	 * The spec was written by a user, and may be wrong: the kernel is asked about both ends
	 * of a buffer before it is read, so that a count in bytes instead of elements causes a
	 * record without statistics instead of a fault.
	 */
	bool unsure;
	/*
	 * Returns the `lib` column if it depends on which library contains the real function;
	 * NULL: the column is `name`.
	 */
	const char *(*label)(const void *real);
	const struct matrix_codes *matrix; /* for rows with matrices */
	const struct spec_values *dtypes, *redops; /* from the spec; NULL: it has none */
	/*
	 * streams may belong to a runtime without struct device_backend: outputs on them are not
	 * read
	 */
	bool unknown_streams;
	bool groups; /* describe() finds the communicator */
	/* functions need not have a communicator argument: comm(0) returns the only one */
	bool one_comm;

	/*
	 * True if calls may be recorded now (MPI: between Init and Finalize). May call the
	 * library's queries.
	 */
	bool (*ready)(void);
	struct comm *(*comm)(uint64_t handle); /* communicator of a handle; NULL: comm_find() */
	struct comm *(*window)(uint64_t handle); /* for rows with a window or a file */
	/* describes a handle; NULL: by table dtypes */
	void (*dtype)(uint64_t handle, struct dtype_desc *d);
	enum redop (*redop)(uint64_t handle); /* NULL: by table redops */
	/*
	 * True if a one-sided call with this reduction does not read its input. NULL: the library
	 * has no such reduction.
	 */
	bool (*reads_nothing)(uint64_t redop);
	const int64_t *in_place; /* the address that means "the buffer of the other side" */
	int (*peer)(int64_t value); /* rank, PEER_NULL or PEER_ANY */
	enum root_is (*root)(const struct comm *c, int64_t value,
		int *rank); /* *rank: JOURNAL_NONE if unknown */
	uint64_t (*handle_at)(const void *array, uint64_t i); /* i-th handle of an array */
	/*
	 * Fills in c->op, instead of the core's description by roles and kind, for calls whose
	 * arguments are the library's own objects. Returns false if the call is not to be
	 * recorded.
	 */
	bool (*describe)(struct call *c);
	/*
	 * Called instead of describe() if rows are not wanted now (paused, key rank or step) and
	 * the call is not numbered, to update state that must stay correct anyway. NULL: such
	 * calls are described like others.
	 */
	void (*passed)(const struct call *c);
	/*
	 * True if passed() would do nothing for this row until the configuration changes. While
	 * no rows are wanted, the row's stub then leads straight to the real function. Only with
	 * passed().
	 */
	bool (*idle)(const struct api *f);
	/*
	 * For rows that their provider chose (API_CHOSEN): whether the current list selects the
	 * row too. Called when the configuration has changed. NULL: the rows stay selected.
	 */
	bool (*listed)(const struct api *f);
	/*
	 * For a call inside a recorded one that is not recorded itself (key nested). If it
	 * returns true, leave() is called for the call, with c->mode CALL_WATCH and no
	 * description.
	 */
	bool (*nested)(const struct call *c);
	/*
	 * Called before and after the real function, for every task except plain DONE_RETURN data
	 * (without status, message, window). See call/call.h.
	 */
	void (*enter)(struct call *c);
	void (*leave)(struct call *c, int64_t ret);
	bool hooked; /* enter() and leave() are called for every call that is not passed through */
	/* The work of its calls on streams is done by nested calls of other libraries. */
	bool carried;
	/*
	 * Returns the stream of a call that has no stream argument, for rows that are completed
	 * by a stream or whose buffers are on a device.
	 */
	uint64_t (*stream)(const struct call *c);
	/*
	 * NULL-terminated array of functions to be called in a forked child; NULL: the adapter
	 * has no state that a fork can meet. They initialise their locks again, which another
	 * thread may have held, and drop state of the parent. May be called more than once.
	 */
	void (*const *fork_handlers)(void);
};

#endif
