/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which buffers of a call on a stream are measured, and how: by the processor, by the
 * device (device/measure.h), or in a copy that the stream makes (struct device_backend). All work
 * at one point of the stream is one launch.
 */
#ifndef PROBE_CALL_STREAM_VALUES_H
#define PROBE_CALL_STREAM_VALUES_H

#include "call/call.h"
#include "device/measure.h"

struct device_backend;
struct adapter;

/*
 * Prepares the configured way of measuring. Must be called while no collective can be pending: before and after a communicator is
 * made, because the library may have been the first to use the device.
 */
void stream_init_device(void);

/* The point of a stream at which buffers are looked at. */
struct stream_point {
	const struct device_backend *backend; /* NULL: no device runtime */
	uint64_t stream;
	/* call whose buffers may be sliced (call/data/slice.h), or NULL */
	const struct operation *op;
	bool open, refused; /* the launch was opened; it could not be opened */
	struct device_batch batch;
};

/*
 * Begins a point of a stream; nothing is launched yet. stream_decide() opens the launch at the
 * first buffer that the device has to measure or copy; stream_point_end() submits it.
 */
void stream_point_begin(
	struct stream_point *p, const struct device_backend *backend, uint64_t stream);
void stream_point_end(struct stream_point *p);

/* Continues the point on `stream`. A launch that is open on another stream is submitted first. */
void stream_point_move(struct stream_point *p, uint64_t stream);

/*
 * Decides how n buffers of a call that the stream completes are measured. lib: the called
 * library, whose streams may be of an unknown kind.
 */
void stream_decide_all(
	struct stream_point *p, const struct adapter *lib, struct buffer *v, unsigned n);

/*
 * Decides how n buffers of a call that no stream completes are measured: those on a device, and
 * results in host memory that a stream may still write. Other buffers are valid when the function
 * has returned: inputs are read as usual, and results are kept until the snapshots of the others
 * have arrived.
 */
void stream_decide_placed(struct stream_point *p, struct buffer *v, unsigned n);

/* Decides how one buffer on a device is measured. */
void stream_decide(struct stream_point *p, struct buffer *v);

/*
 * Returns the snapshot that marks the time at which the stream arrives at this point; 0: none.
 * alone: also if nothing is measured at the point.
 */
uint32_t stream_point_mark(struct stream_point *p, bool alone);

/*
 * Returns 1 if the snapshot of v has arrived; v then refers to the copied or measured values.
 * Returns 0 if it has not arrived yet, and a negative number if it never will.
 */
int stream_get_snapshot(const struct device_backend *b, struct buffer *v);
int stream_poll_mark(uint32_t snapshot);
void stream_drop_snapshot(const struct device_backend *b, uint32_t snapshot);

/* ---- tensors that belong to no call ---- */

/* Like stream_point_begin(), with the runtime that the process has. */
void stream_point_start(struct stream_point *p, uint64_t stream);

/*
 * Measures the elements of v (v->device is set) at this point of the stream. Returns the number of
 * the pending result, 0: none (key device is off, the memory cannot be read there, the stream is
 * captured, or too many results are pending, which is counted). With `device: copy` only memory without gaps is copied.
 */
uint32_t stream_measure(struct stream_point *p, const struct buffer *v);

/*
 * Returns 1 if the result of stream_measure() has arrived, in *out (n 0: it cannot be measured); 0:
 * not yet; a negative number: it never will. dtype, count: the tensor's.
 */
int stream_read_result(uint32_t snapshot, enum dtype dtype, uint64_t count, struct stats *out);
void stream_remove_result(uint32_t snapshot);

#endif
