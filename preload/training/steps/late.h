/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of a training that needs numbers from a device. The job never waits for them: each piece
 * of work is queued with its pending results, and done when they have arrived, in the order in
 * which it was added. That is at one of the next events of the training, mostly one step later.
 * What depends on earlier work (the end of a step) is queued too while anything is pending.
 *
 * Results that never arrive (dropped, or the process ends) count as unknown numbers; the work is still done. Limit: LATE_BYTES of pending work. Beyond it work is dropped, which is counted,
 * until the queue is empty.
 *
 * Lock: one, a leaf. The work is done without it, by one thread at a time; it must not add work.
 */
#ifndef PROBE_TRAIN_LATE_H
#define PROBE_TRAIN_LATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"
#include "stats/stats.h"

#define LATE_NUMBERS 3 /* tensors that one piece of work needs */
#define LATE_DATA_MAX 2048 /* bytes of its data */

/* A tensor whose statistics arrive later. */
struct late_number {
	uint64_t count;
	uint32_t snapshot; /* pending result, 0: it was not measured */
	uint8_t dtype;
};

/* stats: of the tensors, in their order; n 0: unknown. */
typedef void late_fn(const void *data, const struct stats *stats);

extern _Atomic uint32_t late_pending __attribute__((visibility("hidden")));

/* True while work is queued. Any thread. */
static inline bool late_is_pending(void)
{
	return atomic_load_explicit(&late_pending, memory_order_relaxed) != 0;
}

/* True on the thread that is doing queued work. */
bool late_is_running(void);

/*
 * Tensors that the thread measures between these two calls are measured in as few launches as
 * possible. Keep it short: other threads' tensors on that device are not measured meanwhile.
 */
void late_open_tensors(void);
void late_close_tensors(void);

/*
 * Measures a tensor on a device (v->device is set) at this point of its stream. Returns the
 * pending result for late_add() or late_remove_number(). snapshot 0: it is not measured.
 */
struct late_number late_measure(const struct buffer *v, uint64_t stream);
void late_remove_number(const struct late_number *n);

/*
 * Queues work with a copy of its data (at most LATE_DATA_MAX bytes) and n numbers, which the queue
 * then owns. Returns false if the work is dropped: the queue is full, or it was full and is not
 * empty yet.
 */
bool late_add(late_fn *fn, const void *data, uint32_t bytes, const struct late_number *number,
	unsigned n);

/* Returns how often work was dropped: pieces of work before and after do not belong together. */
uint32_t late_get_losses(void);

/* Does the work whose numbers have arrived. Cheap if there is none. */
void late_check(void);

/* Does all work; numbers that have not arrived are unknown. At the end of the recording. */
void late_end(void);

/* In a forked child, where devices do not work. */
void late_forked(void);

#endif
