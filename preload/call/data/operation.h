/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of a call: communicator, peer, and the buffers that it reads and writes. Part of struct call (call/call.h)
 * on the wrapper's stack, and of the copy that a request keeps until it completes.
 */
#ifndef PROBE_CALL_DATA_OPERATION_H
#define PROBE_CALL_DATA_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "call/data/slicing.h"
#include "call/data/view.h"

struct comm;
struct config;
struct kept_arrays;

/* Filled in by the adapter and from the spec. */
struct operation {
	struct comm *comm;
	const struct api *row; /* the function called, for the record */
	uint32_t step;
	/*
	 * bytes reserved for outputs that are known only when the call returns; 0: they are known
	 */
	uint32_t output_limit;
	const struct config *config; /* configuration used by the call; NULL: the current one */
	struct slicing slicing; /* set together with `config`; used for local operations */
	uint32_t flags; /* enum call_flag */
	int32_t root, peer, tag; /* JOURNAL_NONE: not given */
	uint8_t redop;
	uint8_t phase; /* enum phase; 0: the thread's phase */
	uint16_t nin, nout;
	bool unnumbered; /* a message whose function was not counted from the start */
	/*
	 * buffers must be measured by a stream, even if no stream completes the call
	 * (call/stream.h)
	 */
	bool on_device;
	/*
	 * For a call on a device's stream: the snapshots that mark the stream's time before and
	 * after the call; 0: none.
	 */
	uint32_t before, after;
	int64_t node; /* with CF_NODE in flags: JOURNAL_NODE */
	union {
		struct {
			struct buffer in[KIND_VIEWS], out[KIND_VIEWS];
		};
		struct buffer views[2 * KIND_VIEWS]; /* of a local kind: inputs, then outputs */
	};
	/*
	 * If there are more buffers than in[] and out[] hold: all of them, in memory that lives
	 * as long as the call. Else NULL.
	 */
	const struct buffer *all_in, *all_out;
	struct kept_arrays *kept; /* set only in a copy that outlives the call (call/keep.h) */
};

static inline const struct buffer *operation_get_inputs(const struct operation *w)
{
	return w->all_in ? w->all_in : w->in;
}

static inline const struct buffer *operation_get_outputs(const struct operation *w)
{
	return w->all_out ? w->all_out : w->out;
}

#endif
