/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor observers: what looks at the bytes of a call's tensors while they are what the call was given, or what it gave
 * back. Statistics and checksum are the first two. The bytes are read once, piece by piece, for all observers: a buffer
 * of segments or strides comes in the pieces that it consists of, a device's as the copy that its stream made.
 *
 * All are called on the thread of the job that made or completed the call, on a stack of ours (base/apart.h), in the
 * default floating-point environment. They neither wait, lock nor allocate, and keep no pointer into a piece.
 *
 * tensor_observers[] is the table. What none of them wants under the configuration costs one comparison a tensor.
 */
#ifndef PROBE_CALL_OBSERVER_H
#define PROBE_CALL_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/dtype.h"
#include "call/data/operation.h"

struct config;
struct journal_tensor;
struct stats_acc;

#define TENSOR_OBSERVERS_MAX 8
#define TENSOR_STATE_BYTES 256 /* of each observer while a tensor is looked at; aligned to 16 */

/* A tensor that is about to be looked at. */
struct tensor_look {
	const struct api *row; /* the function that was called */
	uint32_t step; /* of the call's entry */
	uint64_t seq; /* ... and its number */
	const struct config *cfg; /* that the call came by */
	const struct buffer *buffer;
	struct journal_tensor *record; /* its row to be, without what observers add */
	/* The state of statistics that are taken of it, for an observer that joins them block by block; NULL: none are. */
	struct stats_acc *stats;
};

struct tensor_observer {
	/*
	 * The largest buffer that it may want under that configuration, in bytes; 0: none at all, and it is not asked. Called
	 * when a configuration is read, on any thread.
	 */
	uint64_t (*reach)(const struct config *cfg);
	/* True if it wants the bytes themselves under that configuration, where a device could have measured them. NULL: never. */
	bool (*needs_bytes)(const struct config *cfg);
	bool in_order; /* its pieces come in the order of the buffer; of strided ones in that of memory */
	/*
	 * Does it want that tensor? Of each whose memory can be read and that is within the reach of any observer. True:
	 * *state is made ready, and end() will be called.
	 */
	bool (*wants)(void *state, struct tensor_look *look);
	/*
	 * `count` elements (not bytes, not 0) at p, of any alignment. next: where elements lie that come about STATS_FAR bytes later,
	 * or NULL; not to be read, only to be fetched into the cache. NULL: it has joined the statistics.
	 */
	buffer_piece_fn *piece;
	/* whole: it has seen all; else what it has seen is to be forgotten. In the order of the table. */
	void (*end)(void *state, struct journal_tensor *record, bool whole);
};

/* All there are, NULL-terminated; a test may have another table. */
extern const struct tensor_observer *const tensor_observers[];

extern const struct tensor_observer statistics_observer;
extern const struct tensor_observer copy_observer, wide_xor_observer; /* for dumps */
extern const struct tensor_observer
	checksum_observer; /* its row of the table comes after the statistics */

/* What the configuration in force makes of them. */
extern struct tensor_watch {
	uint64_t reach; /* the largest buffer that any of them may want; 0: nothing is looked at */
	bool few; /* nothing is wanted but the statistics: tensor_observe_few() will do for small buffers */
	bool bytes; /* of tensors on a device copies are wanted, for not all is measured there */
	bool grad; /* adapters are to say of tensors whether gradients are computed for them */
	uint32_t wanting; /* bit i: tensor_observers[i] may want something */
} tensor_watch;

/* To be called when the configuration has been read or has changed. */
void tensor_watch_configure(const struct config *cfg);

/* May any of them want that buffer, and may its memory be read, as far as its description says? */
static inline bool tensor_is_watched(const struct buffer *v)
{
	return tensor_watch.reach && v->bytes <= tensor_watch.reach && v->count && !v->nostats;
}

/*
 * Where tensor_watch.few: what tensor_observe() does of a buffer of STATS_TINY elements and fewer, on 1 KiB of stack. False:
 * it is to be done by that.
 */
bool tensor_observe_few(
	const struct operation *w, const struct buffer *v, struct journal_tensor *record);

/* What a device has measured of it; buffer.shot has arrived. False: it has not. */
bool tensor_put_measured(
	const struct operation *w, const struct buffer *v, struct journal_tensor *record);

/* Shows a buffer of call `seq` to those that want it. Its memory can be read; the caller has entered stats_fenv. */
void tensor_observe(const struct operation *w, uint64_t seq, const struct buffer *v,
	struct journal_tensor *record);

#endif
