/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which buffers of a call on a stream are looked at, and how: by the processor, by the device
 * (device/measure.h), or in a copy that the stream makes (struct device_backend). Everything for one point of the
 * stream is one launch.
 */
#ifndef PROBE_CALL_STREAM_VALUES_H
#define PROBE_CALL_STREAM_VALUES_H

#include "call/call.h"
#include "device/measure.h"

struct device_backend;
struct adapter;

/*
 * Prepares whatever way of measuring is configured, while no collective can be pending: call it when a communicator is made, before
 * and after (the library may have been the first to work with the device).
 */
void stream_init_device(void);

/* The point of a stream at which buffers are looked at. */
struct stream_point {
	const struct device_backend *backend; /* NULL: there is none */
	uint64_t stream;
	bool open, refused; /* state of the batch: opened; could not be opened */
	struct device_batch batch;
};

/* Buffers are added one after the other. The first one on a device begins the launch; stream_point_end() submits it. */
void stream_point_begin(
	struct stream_point *p, const struct device_backend *backend, uint64_t stream);
void stream_point_end(struct stream_point *p);

/* The point continues on that stream; the launch on another stream is submitted first. */
void stream_point_move(struct stream_point *p, uint64_t stream);

/*
 * Decides on n buffers of a call that the stream completes. lib: the library, whose streams may be of an unknown kind.
 */
void stream_decide_all(
	struct stream_point *p, const struct adapter *lib, struct buffer *v, unsigned n);

/*
 * For a call that a stream does not complete: decides on buffers on a device, and on results in host memory that a
 * stream can write. Everything else is valid when the function has returned: inputs are read as usual, and results are
 * kept until the others have arrived.
 */
void stream_decide_placed(struct stream_point *p, struct buffer *v, unsigned n);

/* Decides on one buffer on a device. */
void stream_decide(struct stream_point *p, struct buffer *v);

/* The shot that marks the stream's arrival at this point, 0: none. alone: also if nothing is measured at the point. */
uint32_t stream_point_mark(struct stream_point *p, bool alone);

/* Returns 1 if the shot has arrived, after which the buffer is read as the shot tells; 0: not yet; negative: it never will. */
int stream_take_shot(const struct device_backend *b, struct buffer *v);
int stream_poll_mark(uint32_t shot);
void stream_drop_shot(const struct device_backend *b, uint32_t shot);

#endif
