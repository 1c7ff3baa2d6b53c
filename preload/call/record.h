/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a described call to the journal: opening its record with what the tensor observers make of its inputs, closing it
 * with the same of its outputs, and the end of an asynchronous one.
 */
#ifndef PROBE_CALL_RECORD_H
#define PROBE_CALL_RECORD_H

#include "call/call.h"
#include "journal/layout.h"

struct journal_tensor;
struct pending;
struct thread;

/*
 * What a buffer is in the training (JOURNAL_NAME_*; 0: not known), by its memory. NULL while no names are known: a function
 * of a higher room (training/), which sets it once.
 */
typedef uint32_t tensor_namer_fn(const struct buffer *v);
extern tensor_namer_fn *tensor_namer __attribute__((visibility("hidden")));

/* A buffer with a name that has NaN or Inf, while it can be read. As tensor_namer. */
typedef void tensor_bad_fn(const struct buffer *v, const struct journal_tensor *t);
extern tensor_bad_fn *tensor_bad __attribute__((visibility("hidden")));

/* Leaves out the last tensors of a call that has more than an entry of the journal can hold (flag `more`). */
void operation_fit(struct operation *w);

uint32_t record_api_new(struct api *api);

/* The api's number in the journal's dictionary, entered there at its first use. 0: no room. */
static inline uint32_t record_api(const struct api *api)
{
	uint32_t id = atomic_load_explicit(&api->dict, memory_order_acquire);

	return __builtin_expect(id != 0, 1) ? id : record_api_new((struct api *)api);
}

/*
 * Opens the record of a call that is about to run: shows inputs to the tensor observers, publishes. NULL: dropped
 * (counted). w->row and w->step are filled in, `start` is taken last. stack: as stack_id() gave it; parent: seq of the enclosing call, 0: none.
 */
struct journal_call *record_open(struct thread *t, struct api *api, struct operation *w,
	int64_t comm_seq, uint32_t stack, uint64_t parent);

/*
 * The same for one of several requests that a call is about to start. It is no call on the way: record_started(),
 * record_started_at_once() or record_not_started() goes with it.
 */
struct journal_call *record_start(struct thread *t, struct api *api, struct operation *w,
	int64_t comm_seq, uint32_t stack, uint64_t parent);
void record_started(struct journal_call *rec, const struct operation *w);
void record_started_at_once(struct journal_call *rec, struct operation *w, uint64_t end);
void record_not_started(
	struct journal_call *rec, const struct operation *w, uint64_t end, int64_t error);

/* Closes it: outputs are measured unless the call failed. end: ticks when the real function returned. */
void record_close(struct journal_call *rec, const struct operation *w, uint64_t end, bool failed,
	int64_t error);

/* The same for an asynchronous call that was complete when the function returned. */
void record_at_once(struct journal_call *rec, struct operation *w, uint64_t end);

/* It goes on after the function returned; rec must not be touched any more. */
void record_async(struct journal_call *rec, const struct operation *w, uint64_t end);

/*
 * The end of an asynchronous call, on the thread that completed it: outputs as they stand in p->op. wait: ticks in
 * completing calls. flags: CF_CANCELLED, CF_FREED ...; error: with CF_ERROR.
 */
void write_end_record(
	struct thread *t, const struct pending *p, uint64_t end, uint32_t flags, int32_t error);

#endif
