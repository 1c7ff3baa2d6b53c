/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one wrapped call. It lies on the wrapper's stack; call_enter() fills in what is needed and nothing
 * more, so a struct call is never cleared as a whole.
 */
#ifndef PROBE_CALL_CALL_H
#define PROBE_CALL_CALL_H

#include <stdint.h>

#include "base/clock.h"
#include "api/api.h"
#include "call/data/operation.h"

#define MATRIX_DIMS 3 /* of a batch: matrices, rows, columns */

struct thread;
struct journal_call;
struct generation;

enum call_mode {
	CALL_PASS = 0, /* nothing to do when it comes back */
	CALL_NESTED, /* counted in depth only */
	CALL_HOOK, /* the adapter's leave is due */
	CALL_RECORD, /* a record is open */
	CALL_CARRIED, /* by its stream a call around it is measured (call/stream.h); nothing counts it */
	CALL_WATCH, /* TASK_SCOPE, or adapter.nested: the adapter's leave is due, and nothing else counts it */
};

struct call {
	uint8_t mode; /* enum call_mode */
	uint8_t done; /* call_leave() was reached */
	bool ok; /* from call_leave() on: the return value is no error */
	bool async; /* set by the adapter's leave: the call goes on after its return */
	uint32_t word; /* the row's, as it was when the call came */
	uint32_t
		weight; /* calls that the time we measure in this one stands for; 0: not measured */
	struct api *api;
	const struct generation *by; /* the configuration that it enters and leaves by */
	const void *real; /* this call's; api->real may be that of another copy of the library */
	union arg *v;
	struct thread *t;
	struct journal_call *rec; /* NULL: dropped or not recorded */
	/* Ticks around the real function. Of a TASK_TEST call_ended() gives the end, which few of them need. */
	uint64_t start, end;
	uint64_t outer; /* seq of the enclosing call, 0: none */
	uint64_t own,
		counted; /* ticks of it, and of what had been counted exactly when the call came */
	uintptr_t pc, frame;
	struct comm *ending; /* what it ends: claimed until it comes back (call_ends_comm()) */
	void *result; /* where the result lies, from the call of leave on; entries by libffi only */
	struct operation op;
	/* For adapters: what enter() found and leave() needs. */
	union {
		uint64_t u[6];
		void *p[6];
		/* Calls that complete requests: room for a status after what else they note. */
		struct {
			uint64_t noted[6];
			uint64_t status[8];
		} completion;
		/* Calls with matrices: sizes, then strides, of SEND, RECV and BUF. */
		int64_t shape[3][2][MATRIX_DIMS];
	} note;
};

/*
 * Returns the real function, or NULL if there is none. *c is valid afterwards for call_leave() and call_unwind().
 * pc, frame: return address and frame address of the wrapper.
 */
void *call_enter(struct call *c, struct api *f, union arg *v, uintptr_t pc, uintptr_t frame);

/*
 * What call_enter() does at the first call of a row: finds the real function and decides what is done with its calls.
 * Returns the row's word, API_GONE where no real function exists (the row then stays API_NEW). pc: who calls, or the
 * real function itself where the call is bound to one.
 */
uint32_t call_first_use(struct api *f, uintptr_t pc);

/* The real function of a row, or NULL. */
static inline void *call_real(const struct api *f)
{
	return atomic_load_explicit(&f->real, memory_order_relaxed);
}

/* When the real function of a TASK_TEST ended: the time of the first query, which comes at once. */
static inline uint64_t call_ended(struct call *c)
{
	if (!c->end)
		c->end = clock_ticks();
	return c->end;
}

/* The argument that has the role, or NULL. */
static inline union arg *call_arg(const struct call *c, enum role r)
{
	int i = c->api->spec->at[r];

	return i ? &c->v[i - 1] : NULL;
}

/*
 * From the adapter's enter: the call ends that communicator, window or file. If it fails, or is left, that is what it was
 * (comm_claim()).
 */
void call_ends_comm(struct call *c, const struct adapter *lib, uint64_t handle);

/* Returns ret. */
int64_t call_leave(struct call *c, int64_t ret);

/* Closes a call that an exception, longjmp by unwinding or thread cancellation left. */
void call_unwind(struct call *c);

/* Cleanup handler of *c. */
static inline void call_cleanup(struct call *c)
{
	if (__builtin_expect(!c->done, 0))
		call_unwind(c);
}

#endif
