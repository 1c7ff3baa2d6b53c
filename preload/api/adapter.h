/* SPDX-License-Identifier: Apache-2.0 */
/* What libprobe knows of a library: `struct adapter`, the functions of its adapter, and what they say. */
#ifndef PROBE_API_ADAPTER_H
#define PROBE_API_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/dtype.h"
#include "terms/redop.h"

struct call;
struct comm;
struct api;

/* What an adapter says of a dtype handle. */
struct dtype_desc {
	uint64_t size; /* bytes of data in one element */
	int64_t extent; /* bytes from one element to the next */
	uint8_t dtype; /* DT_OTHER: no statistics */
	bool derived; /* flag `derived` */
};

/* What arguments of a library of linear algebra mean: the values of its enums, or letters. 0 behind the last. */
struct matrix_codes {
	int16_t row_major; /* 0: all is column-major */
	int16_t transposed[5], left[3];
	int16_t right; /* where left is 0, which ends lists: all but this one is left; 0: `left` says it */
};

/* Peers and roots as an adapter normalises them. */
enum { PEER_NULL = -2, PEER_ANY = -1 };
enum root_is {
	ROOT_ME,
	ROOT_OTHER,
	ROOT_IDLE /* in the root's group of an intercommunicator, not the root */
};

/*
 * An adapter. All functions run on the thread of the call, inside libprobe (thread_state.busy is set), with errno and
 * the floating-point environment saved. NULL where the library has no such thing.
 */
struct adapter {
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
	const struct matrix_codes *matrix; /* of rows with matrices */
	bool unknown_streams; /* of a runtime that has no struct device_backend: outputs on them are not read */
	bool groups; /* describe() finds the communicator */
	bool one_comm; /* functions need not name their communicator: comm(0) is the one that there is */

	/* True when calls may be recorded now (MPI: between Init and Finalize). May call the library's queries. */
	bool (*ready)(void);
	struct comm *(*comm)(uint64_t handle);
	struct comm *(*window)(uint64_t handle); /* of rows with a window or a file */
	void (*dtype)(uint64_t handle, struct dtype_desc *d);
	enum redop (*redop)(uint64_t handle);
	/* With that reduction a one-sided call does not read what it is given. NULL: there is none. */
	bool (*reads_nothing)(uint64_t redop);
	const int64_t *in_place; /* the address that stands for the buffer of the other side */
	int (*peer)(int64_t value); /* rank, PEER_NULL or PEER_ANY */
	enum root_is (*root)(const struct comm *c, int64_t value,
		int *rank); /* *rank: JOURNAL_NONE if unknown */
	uint64_t (*handle_at)(const void *array, uint64_t i); /* i-th handle of an array */
	/*
	 * Fills in c->op instead of what roles and kind say, for calls whose arguments are the library's own objects.
	 * False: the call is not recorded.
	 */
	bool (*describe)(struct call *c);
	/*
	 * Instead of describe(), where no rows are wanted now (key paused, ranks, steps) and the call is not numbered: for what counts
	 * nevertheless. NULL: such calls are described as others are.
	 */
	void (*passed)(const struct call *c);
	/*
	 * With passed(): it would do nothing for that row, now and until the configuration changes. While no rows are wanted the
	 * row's stub then leads straight to the real function.
	 */
	bool (*idle)(const struct api *f);
	/*
	 * For rows that their provider chose (API_CHOSEN): does the list that is in use now choose them too? Called when the
	 * configuration has changed. NULL: they stay.
	 */
	bool (*listed)(const struct api *f);
	/*
	 * A call inside of one that is recorded, which is not recorded itself (key nested). True: leave() is called for it, with
	 * c->mode CALL_WATCH and nothing described.
	 */
	bool (*nested)(const struct call *c);
	/* Before and after the real function, for every task but plain DONE_RETURN data (without status, message, window); see call.h. */
	void (*enter)(struct call *c);
	void (*leave)(struct call *c, int64_t ret);
	bool hooked; /* these two for every call that is not passed through */
	/* What calls do on streams is done by calls of other libraries inside of them. */
	bool carried;
	/* The stream of a call that names none, of rows that complete by one or whose buffers lie on a device. */
	uint64_t (*stream)(const struct call *c);
	/* In a forked child: makes its locks again, which another thread may have held. Perhaps more than once. */
	void (*forked)(void);
};

#endif
