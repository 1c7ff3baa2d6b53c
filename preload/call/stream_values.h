/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which buffers of a call on a stream are looked at, and by whom: by the processor, by the device (device/measure.h), or in a copy
 * that the stream makes (struct device_backend). What the stream is given for one point of its order is one launch.
 */
#ifndef PROBE_CALL_STREAM_VALUES_H
#define PROBE_CALL_STREAM_VALUES_H

#include "call/call.h"
#include "device/measure.h"

struct device_backend;
struct adapter;

/* The point of a stream at which buffers are looked at. */
struct stream_point {
	const struct device_backend *backend; /* NULL: there is none */
	uint64_t stream;
	bool open, refused; /* of the batch: it is; it could not be */
	struct device_batch batch;
};

/* One after the other; the first that lies on a device begins the launch, and stream_point_end() makes it. */
void stream_point_begin(
	struct stream_point *p, const struct device_backend *backend, uint64_t stream);
void stream_point_end(struct stream_point *p);

/* The point goes on on that stream: another one's launch is made first. */
void stream_point_move(struct stream_point *p, uint64_t stream);

/*
 * Decides of n buffers of a call that the stream completes. lib: of a library whose streams we may know nothing of.
 */
void stream_decide_all(
	struct stream_point *p, const struct adapter *lib, struct buffer *v, unsigned n);

/*
 * Of a call that something else completes: what lies on a device, and results in host memory that a stream can write. All else is
 * there when the function has returned: inputs are read as usual, results are kept for when the others have arrived.
 */
void stream_decide_placed(struct stream_point *p, struct buffer *v, unsigned n);

/* Of one that lies on a device. */
void stream_decide(struct stream_point *p, struct buffer *v);

/* The shot that tells when the stream comes by, 0: none. alone: also where nothing is measured at the point. */
uint32_t stream_point_mark(struct stream_point *p, bool alone);

/* 1: the shot has arrived, and the buffer is looked at as it says; 0: not yet; else it never will. */
int stream_take_shot(const struct device_backend *b, struct buffer *v);
int stream_poll_mark(uint32_t shot);
void stream_drop_shot(const struct device_backend *b, uint32_t shot);

#endif
