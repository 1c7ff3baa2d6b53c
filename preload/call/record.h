/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a described call to the journal: opens its record with the observers' results for its inputs, closes it with
 * those for its outputs, and writes the end of an asynchronous one.
 */
#ifndef PROBE_CALL_RECORD_H
#define PROBE_CALL_RECORD_H

#include "call/call.h"
#include "journal/layout.h"

struct journal_tensor;
struct pending;
struct thread;

/*
 * Returns what the memory of buffer v is in the training (JOURNAL_NAME_*), 0 if not known. NULL
 * until names are known; set once by a higher layer (training/).
 */
typedef uint32_t tensor_namer_fn(const struct buffer *v);
extern tensor_namer_fn *tensor_namer __attribute__((visibility("hidden")));

/* Reports a named buffer with NaN or Inf, while it can be read. Set like tensor_namer. */
typedef void tensor_bad_fn(const struct buffer *v, const struct journal_tensor *t);
extern tensor_bad_fn *tensor_bad __attribute__((visibility("hidden")));

/* Drops the last tensors of a call with more than a journal entry can hold (flag `more`). */
void operation_remove_excess(struct operation *w);

/*
 * True if the call is one of those that key max_overhead skips now. comm_seq: the call's number
 * if it is a collective. A message is identified by the numbers in its buffers; a call that sends
 * and receives is kept if one of its two messages is.
 */
bool is_thinned_out(struct thread *t, const struct operation *w, int64_t comm_seq);

uint32_t register_api(struct api *api);

/*
 * Number of `api` in the journal's dictionary, into which it is entered on first use. Returns 0
 * if the dictionary is full.
 */
static inline uint32_t record_api(const struct api *api)
{
	uint32_t id = atomic_load_explicit(&api->dict, memory_order_acquire);

	return __builtin_expect(id != 0, 1) ? id : register_api((struct api *)api);
}

/*
 * Opens the record of a call that is about to run: shows its inputs to the tensor observers and publishes it. NULL:
 * dropped (counted). Sets w->row and w->step, and takes `start` last. stack: from stack_id(); parent: seq of the
 * enclosing call, 0: none.
 */
struct journal_call *record_open(struct thread *t, struct api *api, struct operation *w,
	int64_t comm_seq, uint32_t stack, uint64_t parent);

/*
 * Like record_open(), for one of several requests that a call is about to start. The record does
 * not count as a call in progress. Must be followed by record_started(), record_started_at_once()
 * or record_not_started().
 */
struct journal_call *record_start(struct thread *t, struct api *api, struct operation *w,
	int64_t comm_seq, uint32_t stack, uint64_t parent);
void record_started(struct journal_call *rec, const struct operation *w);
void record_started_at_once(struct journal_call *rec, struct operation *w, uint64_t end);
void record_not_started(
	struct journal_call *rec, const struct operation *w, uint64_t end, int64_t error);

/*
 * Closes rec; outputs are measured unless the call failed. end: ticks when the real function
 * returned.
 */
void record_close(struct journal_call *rec, const struct operation *w, uint64_t end, bool failed,
	int64_t error);

/* Closes the record of an asynchronous call that was complete when the function returned. */
void record_at_once(struct journal_call *rec, struct operation *w, uint64_t end);

/* The operation continues after the function returned; rec must not be used any more. */
void record_async(struct journal_call *rec, const struct operation *w, uint64_t end);

/*
 * Writes the end of an asynchronous call, on the thread that completed it, with the outputs in p->op. wait: ticks in
 * completing calls. flags: CF_CANCELLED, CF_FREED ...; error: with CF_ERROR.
 */
void write_end_record(
	struct thread *t, const struct pending *p, uint64_t end, uint32_t flags, int32_t error);

#endif
