/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors in device memory: their addresses, and the calling thread's current stream, on which they can be copied in
 * the job's order (`device: copy`, call/stream.h). CUDA.
 */
#ifndef PROBE_WRAPPERS_TORCH_ON_DEVICE_H
#define PROBE_WRAPPERS_TORCH_ON_DEVICE_H

#include <stdint.h>

#include "wrappers/cxx/cxx_work.h"

/*
 * For tensors on one side of the call (out: outputs) that are on a device: stores their
 * addresses, so that the stream copies them. Does nothing if devices are not copied. Must be the
 * last thing done with the buffers: the processor must not read these addresses.
 */
void torch_place_on_device(struct call *c, struct cxx_work *w, bool out);

/* For struct adapter: returns the thread's current stream on the device of the call's buffers. */
uint64_t torch_current_stream(const struct call *c);

#endif
