/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/tensors/on_device.h"

#include <stdatomic.h>

#include "call/stream.h"
#include "call/stream_values.h"
#include "config/rooms/calls.h"
#include "device/device.h"
#include "session/state.h"
#include "wrappers/torch/tensors/param_grad.h"
#include "wrappers/torch/tensors/tensor.h"

/*
 * c10::cuda::CUDAStream is a c10::Stream: a device (a byte for its type and one for its index),
 * and the stream's number in 64 bits. Functions return it in registers. c10/core/Stream.h,
 * c10/cuda/CUDAStream.h; unchanged from 1.13 to 2.11 (2.11 was run on a GPU).
 */
struct c10_stream {
	uint64_t device;
	int64_t number;
};
typedef struct c10_stream current_stream(int8_t device);
typedef void *stream_handle(const struct c10_stream *s);

static _Atomic(current_stream *) ask_current;
static _Atomic(stream_handle *) ask_handle;
static _Atomic uint32_t looked; /* how often the functions were not found */

#define LOOKS_MAX 64 /* CUDA's part of PyTorch is loaded before the first tensor exists */

static bool has_stream_functions(void)
{
	/* The same class in builds for AMD's GPUs, whose tensors have CUDA's device type: c10/hip/HIPStream.h. Never run there. */
	static const char *const names[2][2] = {
		{"_ZN3c104cuda20getCurrentCUDAStreamEa", "_ZNK3c104cuda10CUDAStream6streamEv"},
		{"_ZN3c103hip19getCurrentHIPStreamEa", "_ZNK3c103hip9HIPStream6streamEv"}};
	current_stream *current = NULL;
	stream_handle *handle = NULL;

	if (atomic_load_explicit(&ask_handle, memory_order_acquire))
		return true;
	if (atomic_load_explicit(&looked, memory_order_relaxed) >= LOOKS_MAX)
		return false;
	for (unsigned i = 0; i < 2 && !(current && handle); i++) {
		current = (current_stream *)torch_find_function(names[i][0]);
		handle = (stream_handle *)torch_find_function(names[i][1]);
	}
	if (!current || !handle) {
		atomic_fetch_add_explicit(&looked, 1, memory_order_relaxed);
		return false;
	}
	atomic_store_explicit(&ask_current, current, memory_order_relaxed);
	atomic_store_explicit(&ask_handle, handle, memory_order_release);
	return true;
}

void torch_set_device_addresses(struct call *c, struct cxx_work *w, bool out)
{
	struct buffer *v = out ? w->out : w->in;
	const void *const *impl = out ? w->out_impl : w->in_impl;
	unsigned n = out ? w->nout : w->nin;

	if (get_calls_keys(get_config())->device == CONFIG_DEVICE_OFF || !device_present() ||
		!has_stream_functions())
		return;
	for (unsigned i = 0; i < n; i++)
		if (torch_set_device_address(impl[i], &v[i]))
			stream_set_on_device(&c->op);
}

void torch_init_device(void)
{
	static _Atomic uint32_t calls;

	if (atomic_load_explicit(&calls, memory_order_relaxed) >= LOOKS_MAX || !device_present())
		return;
	atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
	stream_init_device();
}

bool torch_find_buffer(const void *impl, struct buffer *b)
{
	if (!torch_read_tensor(impl, b))
		return false;
	if (b->nostats && device_present() &&
		get_calls_keys(get_config())->device != CONFIG_DEVICE_OFF &&
		has_stream_functions() && torch_set_device_address(impl, b))
		b->nostats = 1;
	return true;
}

bool torch_find_grad_buffer(const void *impl, struct buffer *b)
{
	const void *grad = torch_get_grad(impl);

	return grad && torch_find_buffer(grad, b);
}

static uint64_t get_stream_on(const struct buffer *b)
{
	stream_handle *handle = atomic_load_explicit(&ask_handle, memory_order_acquire);
	struct c10_stream s;

	if (!handle)
		return 0;
	s = atomic_load_explicit(&ask_current, memory_order_relaxed)((int8_t)(b->device - 1));
	return (uint64_t)(uintptr_t)handle(&s);
}

uint64_t torch_get_stream(const struct buffer *b)
{
	return b->device ? get_stream_on(b) : 0;
}

static const struct buffer *find_placed(const struct buffer *v, unsigned n)
{
	for (; n; n--, v++)
		if (v->device)
			return v;
	return NULL;
}

uint64_t torch_get_current_stream(const struct call *c)
{
	const struct operation *w = &c->op;
	const struct buffer *v = find_placed(operation_get_inputs(w), w->nin);

	if (!v)
		v = find_placed(operation_get_outputs(w), w->nout);
	return v ? get_stream_on(v) : 0;
}
