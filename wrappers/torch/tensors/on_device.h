/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors in a device's memory: where they lie, and the stream that the calling thread computes on, by which they can be copied in
 * the order of the job (`device: copy`, call/stream.h). CUDA.
 */
#ifndef PROBE_WRAPPERS_TORCH_ON_DEVICE_H
#define PROBE_WRAPPERS_TORCH_ON_DEVICE_H

#include <stdint.h>

#include "wrappers/cxx/cxx_work.h"

/*
 * Of tensors of that side of the call that lie on a device: their addresses, so that its stream shows them. Nothing where
 * devices are not copied. To be called when all else has been done with the buffers: the processor must not read there.
 */
void torch_place_on_device(struct call *c, struct cxx_work *w, bool out);

/* Of a call with a buffer on a device: the thread's current stream there. For struct adapter. */
uint64_t torch_current_stream(const struct call *c);

#endif
