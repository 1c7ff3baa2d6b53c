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

/* Sets *d for elements of that type that follow each other directly. */
static inline void set_plain_dtype(struct dtype_desc *d, uint8_t dtype)
{
	d->dtype = dtype;
	d->size = dtype_info(dtype)->size;
	d->extent = (int64_t)d->size;
}

/* Meaning of arguments in a linear algebra library: values of its enums, or letters. Lists end with 0. */
struct matrix_codes {
	int16_t row_major; /* 0: everything is column-major */
	int16_t transposed[5], left[3];
	/* only if left[] is empty: every other value means left; else 0 */
	int16_t right;
};

/* Peers and roots as an adapter normalises them. */
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
	const char *const
		*sonames; /* NULL-terminated: the last place to search for real functions */
	int64_t success[4]; /* return codes that are not errors */
	uint8_t nsuccess;
	int64_t missing; /* return value of a wrapper if there is no real function */
	int64_t in_progress; /* success, but nothing has happened yet; 0: no such code */
	const char *
		alias_prefix; /* MPI_X exists as PMPI_X too: "P"; NULL: no such names. Used if there is no MPI_X */
	bool exact; /* real functions are searched in the caller's scope (several copies are normal) */
	/*
	 * Its spec was written by a user, and may be wrong: the kernel is asked about both ends of a buffer before it is read,
	 * so that a count in bytes instead of elements causes a record without statistics instead of a fault.
	 */
	bool unsure;
	/* The `lib` column if it depends on the library that provides the real function at that address; NULL: name. */
	const char *(*label)(const void *real);
	const struct matrix_codes *matrix; /* for rows with matrices */
	const struct spec_values *dtypes, *redops; /* from the spec; NULL: it has none */
	/* its streams may belong to a runtime without struct device_backend: outputs on them are not read */
	bool unknown_streams;
	bool groups; /* describe() finds the communicator */
	bool one_comm; /* functions need not name their communicator: comm(0) is the only one */

	/* True when calls may be recorded now (MPI: between Init and Finalize). May call the library's queries. */
	bool (*ready)(void);
	struct comm *(*comm)(uint64_t handle); /* NULL: comm_find() */
	struct comm *(*window)(uint64_t handle); /* for rows with a window or a file */
	void (*dtype)(uint64_t handle, struct dtype_desc *d); /* NULL: by dtypes */
	enum redop (*redop)(uint64_t handle); /* NULL: by redops */
	/* True if a one-sided call with that reduction does not read its input. NULL: no such reduction exists. */
	bool (*reads_nothing)(uint64_t redop);
	const int64_t *in_place; /* the address that means "the buffer of the other side" */
	int (*peer)(int64_t value); /* rank, PEER_NULL or PEER_ANY */
	enum root_is (*root)(const struct comm *c, int64_t value,
		int *rank); /* *rank: JOURNAL_NONE if unknown */
	uint64_t (*handle_at)(const void *array, uint64_t i); /* i-th handle of an array */
	/*
	 * Fills in c->op instead of the core's description by roles and kind, for calls whose arguments are the library's own
	 * objects. False: the call is not recorded.
	 */
	bool (*describe)(struct call *c);
	/*
	 * Called instead of describe() if rows are not wanted now (key paused, ranks, steps) and the call is not numbered, for
	 * state that must be kept up to date anyway. NULL: such calls are described like others.
	 */
	void (*passed)(const struct call *c);
	/*
	 * With passed(): true if passed() would do nothing for that row, until the configuration changes. While no rows are
	 * wanted the row's stub then leads straight to the real function.
	 */
	bool (*idle)(const struct api *f);
	/*
	 * For rows that their provider chose (API_CHOSEN): whether the current list selects them too. Called when the
	 * configuration has changed. NULL: they stay selected.
	 */
	bool (*listed)(const struct api *f);
	/*
	 * For a call inside of a recorded one that is not recorded itself (key nested). True: leave() is called for it, with
	 * c->mode CALL_WATCH and no description.
	 */
	bool (*nested)(const struct call *c);
	/*
	 * Called before and after the real function, for every task except plain DONE_RETURN data (without status, message,
	 * window); see call.h.
	 */
	void (*enter)(struct call *c);
	void (*leave)(struct call *c, int64_t ret);
	bool hooked; /* these two are called for every call that is not passed through */
	/* The stream work of its calls is done by nested calls of other libraries. */
	bool carried;
	/* The stream of a call that names none, for rows that are completed by a stream or whose buffers are on a device. */
	uint64_t (*stream)(const struct call *c);
	/*
	 * NULL-terminated; NULL: it has no state that a fork can meet. Each is called in a forked child, where it initialises
	 * its locks again, which another thread may have held, and forgets what is the parent's. May be called more than once.
	 */
	void (*const *fork_handlers)(void);
};

#endif
