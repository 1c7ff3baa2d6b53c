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

#define MATRIX_DIMS 3 /* of a batch: matrices, rows, columns */

struct thread;
struct journal_call;
struct generation;

enum call_mode {
	CALL_PASS = 0, /* nothing to do when the function returns */
	CALL_NESTED, /* counted in depth only */
	CALL_HOOK, /* the adapter's leave is to be called */
	CALL_RECORD, /* a record is open */
	/* the stream of this call measures an outer call (call/stream.h); not counted */
	CALL_CARRIED,
	/* TASK_SCOPE, or adapter.nested: only the adapter's leave is to be called; not counted */
	CALL_WATCH,
};

struct call {
	uint8_t mode; /* enum call_mode */
	uint8_t done; /* call_leave() was reached */
	bool ok; /* from call_leave() on: the return value is no error */
	bool async; /* set by the adapter's leave: the operation continues after the return */
	uint32_t word; /* of the row, at the time of the call */
	uint32_t weight; /* number of calls that this measured one represents; 0: not measured */
	struct api *api;
	const struct generation *by; /* the configuration used by its enter and its leave */
	/* the function of this call; api->real may belong to another copy of the library */
	const void *real;
	union arg *v;
	struct thread *t;
	struct journal_call *rec; /* NULL: dropped, or not recorded */
	/* Ticks around the real function. For a TASK_TEST, call_ended() reads the end, which few of them need. */
	uint64_t start, end;
	uint64_t outer; /* seq of the enclosing call, 0: none */
	/* ticks of our own time; and the exactly counted time when the call began */
	uint64_t own, counted;
	uintptr_t pc, frame;
	/* the object that it ends, claimed until it returns (call_ends_comm()) */
	struct comm *ending;
	/* where the result is, once leave is called; only for entries through libffi */
	void *result;
	struct operation op;
	/* For adapters: values that enter() stores for leave(). */
	union {
		uint64_t u[6];
		void *p[6];
		/* For calls that complete requests: room for a status after their other notes. */
		struct {
			uint64_t noted[6];
			uint64_t status[8];
		} completion;
		/* For calls with matrices: sizes, then strides, of SEND, RECV and BUF. */
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

/* The real function of a row, or NULL. */
static inline void *call_real(const struct api *f)
{
	return atomic_load_explicit(&f->real, memory_order_relaxed);
}

/* When the real function of a TASK_TEST ended. Approximated by the time of the first query, which follows at once. */
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
 * From the adapter's enter: the call ends that communicator, window or file. If the call fails or is left early, the
 * object is restored (comm_claim()).
 */
void call_ends_comm(struct call *c, const struct adapter *lib, uint64_t handle);

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
