/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor observers look at the bytes of a call's tensors at entry or return. The first two are
 * statistics and checksum. The bytes are read once, piece by piece, for all observers. A buffer
 * of segments or strides is passed in its contiguous pieces; a device's buffer as the copy that
 * its stream made.
 *
 * All functions are called on the thread of the job that made or completed the call, on a stack
 * of libprobe's (base/private_stack.h), in the default floating-point environment. They do not wait, lock
 * or allocate, and keep no pointer into a piece.
 *
 * tensor_observers[] is the table of observers. If none of them wants anything under the
 * configuration, this costs one comparison for each tensor.
 */
#ifndef PROBE_CALL_OBSERVER_H
#define PROBE_CALL_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/dtype.h"
#include "call/data/operation.h"
#include "session/thinning.h"

struct config;
struct journal_tensor;
struct stats_acc;

#define TENSOR_OBSERVERS_MAX 8
#define TENSOR_STATE_BYTES 256 /* size of an observer's state for one tensor; aligned to 16 */

/* A tensor to be looked at. */
struct tensor_look {
	const struct api *row; /* the function that was called */
	uint32_t step; /* current step at the call's entry */
	uint64_t seq; /* the call's number */
	const struct config *cfg; /* used for the call */
	const struct buffer *buffer;
	struct journal_tensor *record; /* the row to be written, without the values of observers */
	/*
	 * State of the tensor's statistics, for an observer that joins them block by block; NULL:
	 * no statistics.
	 */
	struct stats_acc *stats;
};

struct tensor_observer {
	/*
	 * Returns the size in bytes of the largest buffer that the observer may want under cfg.
	 * 0: it wants none, and is not called. Called when a configuration is read, on any
	 * thread.
	 */
	uint64_t (*reach)(const struct config *cfg);
	/*
	 * True if the observer needs the bytes themselves under cfg, even if a device could
	 * measure them. NULL: never.
	 */
	bool (*needs_bytes)(const struct config *cfg);
	/* pieces must come in the order of the buffer (of memory, if it is strided) */
	bool in_order;
	/*
	 * Begins to observe the tensor of `look`: initialises *state and returns true, and end() will
	 * be called. Returns false if there is nothing more to do: the observer does not want this
	 * tensor, or has measured it here. Called for each readable tensor that is within the
	 * reach() of any observer.
	 */
	bool (*start)(void *state, struct tensor_look *look);
	/*
	 * Receives `count` elements (not bytes, never 0) at p, with any alignment. next: address
	 * of elements that follow about STATS_FAR bytes later, or NULL; only for prefetching.
	 * piece NULL: the observer joins the statistics instead.
	 */
	buffer_piece_fn *piece;
	/*
	 * whole: all elements were passed; if false, the observer drops its result. Called in the
	 * order of the table.
	 */
	void (*end)(void *state, struct journal_tensor *record, bool whole);
};

/* All observers, NULL-terminated; a test may link another table. */
extern const struct tensor_observer *const tensor_observers[];

extern const struct tensor_observer statistics_observer;
extern const struct tensor_observer copy_observer, wide_xor_observer; /* for dumps */
extern const struct tensor_observer
	checksum_observer; /* must come after the statistics in the table */

/* Summary of the observers under the configuration in force. */
extern struct tensor_watch {
	uint64_t reach; /* bytes of the largest buffer that any observer may want; 0: none */
	bool few; /* only statistics are wanted: tensor_measure_few() is enough for small buffers */
	/* tensors on a device are copied to the host: the device cannot measure all that the observers need */
	bool bytes;
	bool grad; /* adapters must find out whether tensors require gradients */
	uint32_t wanting; /* bit i: tensor_observers[i] may want tensors */
} tensor_watch;

/* Call after the configuration has been read or has changed. */
void tensor_watch_update(const struct config *cfg);

/* True if any observer may want v, and v's description does not forbid reading its memory. */
static inline bool tensor_is_watched(const struct buffer *v)
{
	return tensor_watch.reach && v->bytes <= tensor_watch.reach && v->count && !v->nostats &&
	       v->bytes < atomic_load_explicit(&thinning.values_from, memory_order_relaxed);
}

/*
 * Only if tensor_watch.few is set: does the work of tensor_measure() for n buffers of at most
 * STATS_TINY elements each, whose rows begin at `record`, in any floating-point environment and
 * with 1 KiB of stack. all: all of them are watched. Returns false if tensor_measure() must be
 * called for all of them.
 */
bool tensor_measure_few(const struct operation *w, const struct buffer *v, unsigned n, bool all,
	struct journal_tensor *record);

/*
 * Stores the values that a device has measured, once snapshot buffer.snapshot has arrived. Returns
 * false if the device did not measure them.
 */
bool tensor_set_measured(
	const struct operation *w, const struct buffer *v, struct journal_tensor *record);

/*
 * Shows a buffer of call `seq` to the observers that want it. Its memory is readable, and the caller has entered
 * stats_fenv.
 */
void tensor_measure(const struct operation *w, uint64_t seq, const struct buffer *v,
	struct journal_tensor *record);

#endif
