/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one wrapped call. The struct is on the wrapper's stack. call_enter() fills in only what is needed, so it
 * is never cleared as a whole.
 */
#ifndef PROBE_CALL_CALL_H
#define PROBE_CALL_CALL_H

#include <stdint.h>

#include "base/clock.h"
#include "api/api.h"
#include "call/data/operation.h"

#define MATRIX_DIMS 3 /* dimensions of a batch of matrices: matrix, row, column */

struct thread;
struct journal_call;
struct generation;

enum call_mode {
	CALL_PASS = 0, /* nothing is to be done when the function returns */
	CALL_NESTED, /* only counted in the nesting depth */
	CALL_HOOK, /* only the adapter's leave() is to be called */
	CALL_RECORD, /* a record is open */
	/*
	 * the stream of this call provides the values of an outer call (call/stream.h); not
	 * counted
	 */
	CALL_CARRIED,
	/* TASK_SCOPE, or adapter.nested: only the adapter's leave() is to be called; not counted */
	CALL_WATCH,
};

struct call {
	uint8_t mode; /* enum call_mode */
	uint8_t done; /* call_leave() was reached */
	bool ok; /* from call_leave() on: the return value reports no error */
	bool async; /* set by the adapter's leave: the operation continues after the return */
	uint32_t word; /* struct api's word at the time of the call */
	uint32_t weight; /* number of calls that this measured one represents; 0: not measured */
	struct api *api;
	const struct generation *generation; /* the configuration used at entry and return */
	/* the real function; api->real may be that of another copy of the library */
	const void *real;
	union arg *v;
	struct thread *t;
	struct journal_call *rec; /* NULL: dropped, or not recorded */
	/*
	 * Ticks around the real function. A TASK_TEST rarely needs `end`: call_ended() reads the
	 * clock on demand.
	 */
	uint64_t start, end;
	uint64_t outer; /* seq of the enclosing call, 0: none */
	/* ticks spent in libprobe; ticks that had been counted exactly when the call began */
	uint64_t own, counted;
	uintptr_t pc, frame;
	/* the object that this call ends, claimed until the call returns (call_set_ending_comm()) */
	struct comm *ending;
	/* address of the function's result, in the adapter's leave(); only for entries by libffi */
	void *result;
	struct operation op;
	/* For adapters: values that enter() stores for leave(). */
	union {
		uint64_t u[6];
		void *p[6];
		/*
		 * For calls that complete requests: space for a status after the adapter's other
		 * notes.
		 */
		struct {
			uint64_t noted[6];
			uint64_t status[8];
		} completion;
		/*
		 * For calls with matrices: the sizes, then the strides, of the buffers with roles
		 * SEND, RECV and BUF.
		 */
		int64_t shape[3][2][MATRIX_DIMS];
	} note;
};

/*
 * Returns the real function, or NULL if there is none. Afterwards *c is valid for call_leave() and call_unwind(). pc,
 * frame: return address and frame address of the wrapper.
 */
void *call_enter(struct call *c, struct api *f, union arg *v, uintptr_t pc, uintptr_t frame);

/*
 * The part of call_enter() for the first call of a row: finds the real function and decides how its calls are handled.
 * Returns the row's word; API_GONE if there is no real function (the row then stays API_NEW). pc: return address of the
 * caller, or the real function itself if the call is bound to one.
 */
uint32_t call_first_use(struct api *f, uintptr_t pc);

/* Returns the real function of a row, or NULL. */
static inline void *call_get_real(const struct api *f)
{
	return atomic_load_explicit(&f->real, memory_order_relaxed);
}

/*
 * Ticks when the real function of a TASK_TEST ended: approximated by the time of the first query,
 * which follows at once.
 */
static inline uint64_t call_ended(struct call *c)
{
	if (!c->end)
		c->end = clock_ticks();
	return c->end;
}

/* Returns the argument with role r, or NULL. */
static inline union arg *call_get_arg(const struct call *c, enum role r)
{
	int i = c->api->spec->at[r];

	return i ? &c->v[i - 1] : NULL;
}

/*
 * For the adapter's enter(): call c ends the communicator, window or file with `handle`. If the
 * call fails, or is left by an exception, the object is restored (comm_claim()).
 */
void call_set_ending_comm(struct call *c, const struct adapter *lib, uint64_t handle);

/* Returns ret. */
int64_t call_leave(struct call *c, int64_t ret);

/* Closes a call that was left by an exception, by longjmp with unwinding, or by thread cancellation. */
void call_unwind(struct call *c);

/* Cleanup handler of *c. */
static inline void call_cleanup(struct call *c)
{
	if (__builtin_expect(!c->done, 0))
		call_unwind(c);
}

#endif
