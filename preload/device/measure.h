/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of tensors on a device: launches the statistics kernel on the job's own stream, and reads its results from host
 * memory. The host launches and reads later; it never waits, queries or allocates while the job computes.
 *
 * Everything needed (the kernel, a ring of results, scratch memory) is made when a communicator is made or, without one, at the
 * first tensor. While a collective is pending, an allocation may wait for it, and the collective for another rank that waits
 * for this one. If it is too late, tensors on the device are not measured, which is reported.
 *
 * Limits, for each context: 1,024 pending launches, MEASURE_STREAM_MAX on one stream, parts of 65,536 blocks. Beyond them
 * nothing is measured, and that is counted.
 *
 * Locks: one for each context, a leaf except for the driver's own, held from device_batch_open() to device_batch_close(). A thread
 * waits for it for at most 0.2 ms. Results are read and dropped without a lock.
 */
#ifndef PROBE_DEVICE_MEASURE_H
#define PROBE_DEVICE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/driver.h"
#include "device/stats_job.h"

#define MEASURE_STREAM_MAX 128u /* pending launches of libprobe on one stream */

struct measure_context;
struct device_backend;

/*
 * Numbers of pending results have this bit set; they are used like numbers of snapshots (struct
 * device_backend). A number is reused once its result was dropped.
 */
#define SNAPSHOT_MEASURED (UINT32_C(1) << 30)
#define SNAPSHOT_IS_MEASURED(snapshot) (((snapshot)&UINT32_C(0xc0000000)) == SNAPSHOT_MEASURED)

/*
 * Prepares the measurement for the thread's current context, and for each device that the process has started. Call it when a
 * communicator is made, before and after: at that time none of its collectives runs yet. Cheap once it is done.
 */
void device_prepare(const struct device_backend *b);

/*
 * A collective of this runtime is about to begin: if the runtime has started, nothing is prepared
 * from now on.
 */
void device_collective_begins(const struct device_backend *b);

/* True until a collective has begun: functions of a runtime that may wait for its device can be called. */
bool device_can_wait(void);

/* Tensors that are measured at one point of one stream. */
struct device_batch {
	const struct device_driver *driver;
	struct measure_context *context; /* NULL: nothing can be measured */
	struct device_guard guard;
	uint64_t stream;
	uint32_t slot; /* being filled; UINT32_MAX: none */
	uint32_t shared; /* tensors that the launch being prepared has more than once */
	uint32_t lost; /* tensors that were added, and whose launch found no scratch memory */
};

/*
 * False: nothing can be measured on that stream, and device_batch_close() is not needed. memory: an address of a tensor.
 * *dropped: because the kernel is still being loaded, or another thread's launch is blocked in the driver.
 */
bool device_batch_open(struct device_batch *batch, const struct device_backend *b, uint64_t stream,
	const void *memory, bool *dropped);

/*
 * Adds a tensor. Returns the number of its pending result, 0 if it is not measured. *dropped:
 * true if the reason is that too many launches are pending. A tensor that the open launch has already is read once; its
 * number is dropped once for each time that it was returned.
 */
uint32_t device_batch_add(struct device_batch *batch, const struct device_tensor *t, bool *dropped);

/*
 * Returns the number of a pending result without values, which shows when the stream reaches this
 * point; 0: none. alone: also if no tensor was added.
 */
uint32_t device_batch_add_mark(struct device_batch *batch, bool alone);

/* Launches the tensors that were added. Returns how many of all of them were dropped: their snapshots never arrive. */
uint32_t device_batch_close(struct device_batch *batch);

/* Returns 1 if the result is complete, in *out and *crc; 0: not yet; -EIO: it never will be. */
int device_measured(uint32_t snapshot, struct stats *out, uint32_t *crc);

/*
 * Returns when the stream began the launch and when it had completed it, in ns of the device's
 * clock. Returns false if that is not known (yet).
 */
bool device_get_times(uint32_t snapshot, uint64_t *begin, uint64_t *end);

void device_measured_drop(uint32_t snapshot);

/* Call in a forked child, where devices do not work. */
void device_measure_reset(void);

#endif
