/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors in device memory: their addresses, and the calling thread's current stream, on which they can be copied in
 * the job's order (`device: copy`, call/stream.h). CUDA.
 */
#ifndef PROBE_WRAPPERS_TORCH_ON_DEVICE_H
#define PROBE_WRAPPERS_TORCH_ON_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"
#include "wrappers/cxx/cxx_work.h"

/*
 * For the call's inputs (out: its outputs) that are on a device: stores their
 * addresses, so that the stream copies them. Does nothing if devices are not copied. Must be the
 * last thing done with the buffers: the processor must not read these addresses.
 */
void torch_set_device_addresses(struct call *c, struct cxx_work *w, bool out);

/*
 * Like torch_read_tensor(). For a tensor on a device whose values are measured there (key
 * `device`), also sets base and device; nostats stays set, because the processor must not read it.
 */
bool torch_find_buffer(const void *impl, struct buffer *b);

/* Like torch_find_buffer(), for the gradient of a tensor (torch_get_grad_buffer()). */
bool torch_find_grad_buffer(const void *impl, struct buffer *b);

/*
 * Prepares the measurement of tensors on devices, before the first one: call it when the program
 * has marked a part of its work. Cheap; the first calls only.
 */
void torch_init_device(void);

/* Returns the thread's current stream on the device of *b; 0 for a tensor on no device. */
uint64_t torch_get_stream(const struct buffer *b);

/* For struct adapter: returns the thread's current stream on the device of the call's buffers. */
uint64_t torch_get_current_stream(const struct call *c);

#endif
