/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a described call to the journal: opening its record with the input statistics, closing it with the output's,
 * and the end of an asynchronous one.
 */
#ifndef PROBE_CALL_RECORD_H
#define PROBE_CALL_RECORD_H

#include "call/call.h"
#include "journal/layout.h"

struct pending;
struct thread;

uint32_t record_api_new(struct api *api);

/* The api's number in the journal's dictionary, entered there at its first use. 0: no room. */
static inline uint32_t record_api(const struct api *api)
{
	uint32_t id = atomic_load_explicit(&api->dict, memory_order_acquire);

	return __builtin_expect(id != 0, 1) ? id : record_api_new((struct api *)api);
}

/*
 * Opens the record of a call that is about to run: measures inputs, takes the stack, publishes. NULL: dropped
 * (counted). `start` is taken last. stack: as stack_id() gave it; parent: seq of the enclosing call, 0: none.
 */
struct journal_call *record_open(struct thread *t, struct api *api, const struct what *w,
	int64_t comm_seq, uint32_t stack, uint64_t parent);

/*
 * The same for one of several requests that a call is about to start. It is no call on the way: record_started() or
 * record_not_started() goes with it.
 */
struct journal_call *record_start(struct thread *t, struct api *api, const struct what *w,
	int64_t comm_seq, uint32_t stack, uint64_t parent);
void record_started(struct journal_call *rec, const struct what *w);
void record_not_started(
	struct journal_call *rec, const struct what *w, uint64_t end, int64_t error);

/* Closes it: outputs are measured unless the call failed. end: ticks when the real function returned. */
void record_close(
	struct journal_call *rec, const struct what *w, uint64_t end, bool failed, int64_t error);

/* It goes on after the function returned; rec must not be touched any more. */
void record_async(struct journal_call *rec, const struct what *w);

/*
 * The end of an asynchronous call, on the thread that completed it: outputs as they stand in p->what. wait: ticks in
 * completing calls. flags: CF_CANCELLED, CF_FREED ...; error: with CF_ERROR.
 */
void record_end(
	struct thread *t, const struct pending *p, uint64_t end, uint32_t flags, int32_t error);

#endif
