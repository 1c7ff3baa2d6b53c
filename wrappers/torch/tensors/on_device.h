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
 * For tensors on that side of the call that are on a device: stores their addresses, so that the stream shows them.
 * Does nothing if devices are not copied. Call after everything else with the buffers: the processor must not read
 * there.
 */
void torch_place_on_device(struct call *c, struct cxx_work *w, bool out);

/* For a call with a buffer on a device: the thread's current stream there. For struct adapter. */
uint64_t torch_current_stream(const struct call *c);

#endif
