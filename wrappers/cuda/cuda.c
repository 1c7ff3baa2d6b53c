/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA as a device backend: the driver's functions, of the loaded libcuda.so.1. The driver is used because a process has only
 * one, while there may be several copies of the runtime; and it has no error state whose change a program could notice. Nothing
 * here starts CUDA, waits for a device, or touches a stream that is being captured.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "device/snapshots.h"
#include "elf/loaded/elfsym.h"
#include "life/life.h"
#include "wrappers/gpu/gpu.h"
#include "wrappers/layout_facts.h"

enum {
	SUCCESS = 0,
	INVALID_VALUE = 1, /* returned for a pointer that is not CUDA's */
	NOT_INITIALIZED = 3,
	NOT_READY = 600,

	CONTEXT = 1, /* CU_POINTER_ATTRIBUTE_... */
	MEMORY_TYPE = 2,
	IS_MANAGED = 8,
	MEMORY_HOST = 1, /* CU_MEMORYTYPE_HOST */
	NO_TIMING = 2, /* CU_EVENT_DISABLE_TIMING */
	RELAXED = 2, /* CU_STREAM_CAPTURE_MODE_RELAXED */
};

/* Streams, events and contexts are pointers, addresses of device memory 64-bit integers. */
static struct {
	/* out: an int or a pointer, depending on the attribute. */
	int (*pointer_get_attribute)(void *out, int what, uint64_t p);
	int (*stream_is_capturing)(void *stream, int *state);
	int (*thread_exchange_stream_capture_mode)(int *mode);
	int (*stream_get_ctx)(void *stream, void **ctx);
	int (*ctx_get_current)(void **ctx);
	int (*ctx_push_current)(void *ctx);
	int (*ctx_pop_current)(void **ctx);
	int (*mem_host_alloc)(void **p, size_t bytes, unsigned flags);
	int (*memcpy_async)(uint64_t to, uint64_t from, size_t bytes, void *stream);
	int (*event_create)(void **event, unsigned flags);
	int (*event_destroy)(void *event);
	int (*event_record)(void *event, void *stream);
	int (*event_query)(void *event);
} cu;

static bool cuda_load_functions(void)
{
	static const struct gpu_function want[] = {
		{"cuPointerGetAttribute", &cu.pointer_get_attribute},
		{"cuStreamIsCapturing", &cu.stream_is_capturing},
		{"cuThreadExchangeStreamCaptureMode", &cu.thread_exchange_stream_capture_mode},
		{"cuStreamGetCtx", &cu.stream_get_ctx},
		{"cuCtxGetCurrent", &cu.ctx_get_current},
		{"cuCtxPushCurrent_v2", &cu.ctx_push_current},
		{"cuCtxPopCurrent_v2", &cu.ctx_pop_current},
		{"cuMemHostAlloc", &cu.mem_host_alloc},
		{"cuMemcpyAsync", &cu.memcpy_async},
		{"cuEventCreate", &cu.event_create},
		{"cuEventDestroy_v2", &cu.event_destroy},
		{"cuEventRecord", &cu.event_record},
		{"cuEventQuery", &cu.event_query},
	};

	const size_t n = sizeof(want) / sizeof(*want);
	size_t found = gpu_find_functions(want, n, "libcuda.so");

	if (found < n) {
		/* The loaded library has this name but is not CUDA's. */
		if (found)
			session_record_layout_fact(LAYOUT_CUDA_DRIVER, false);
		return false;
	}
	cuda_kernel_load_functions();
	session_record_layout_fact(LAYOUT_CUDA_DRIVER, true);
	return true;
}

static enum device_memory cuda_get_memory_kind(const void *p)
{
	uint64_t at = (uint64_t)(uintptr_t)p;
	unsigned type = 0, managed = 0;

	switch (cu.pointer_get_attribute(&type, MEMORY_TYPE, at)) {
	case SUCCESS:
		break;
	case INVALID_VALUE:
		return DEVICE_HOST;
	case NOT_INITIALIZED:
		return DEVICE_IDLE;
	default:
		return DEVICE_MEMORY;
	}
	/*
	 * The processor can read managed memory, but reading may move it to the host, or crash
	 * while a kernel runs.
	 */
	if (type != MEMORY_HOST || cu.pointer_get_attribute(&managed, IS_MANAGED, at) || managed)
		return DEVICE_MEMORY;
	return DEVICE_PINNED;
}

/*
 * In relaxed mode libprobe's queries do not disturb another thread's capture, as they would in global mode. Streams belong to a
 * context, which may differ from the thread's.
 */
struct guard {
	int mode;
	bool relaxed, pushed;
	void *ctx;
};

/*
 * Each context has its own default streams (0, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD). Those of the memory's context are
 * meant, whatever the thread's current context is.
 */
static bool find_context(void *stream, const void *memory, void **ctx)
{
	if ((uintptr_t)stream <= 2 &&
		cu.pointer_get_attribute(ctx, CONTEXT, (uint64_t)(uintptr_t)memory) == SUCCESS &&
		*ctx)
		return true;
	return cu.stream_get_ctx(stream, ctx) == SUCCESS && *ctx;
}

static bool guard_set_context(struct guard *g, void *stream, const void *memory)
{
	*g = (struct guard){.mode = RELAXED};
	g->relaxed = cu.thread_exchange_stream_capture_mode(&g->mode) == SUCCESS;
	if (!find_context(stream, memory, &g->ctx))
		return false;
	g->pushed = cu.ctx_push_current(g->ctx) == SUCCESS;
	return g->pushed;
}

static void guard_reset_context(struct guard *g)
{
	void *ctx;

	if (g->pushed)
		cu.ctx_pop_current(&ctx);
	if (g->relaxed)
		cu.thread_exchange_stream_capture_mode(&g->mode);
}

static bool is_stream_capturing(uint64_t stream)
{
	int state = 0, r = cu.stream_is_capturing((void *)(uintptr_t)stream, &state);

	/* Invalidated captures count as well, and so does a missing answer (because another capture blocks stream 0). */
	return r != NOT_INITIALIZED && (r != SUCCESS || state != 0);
}

/* ---- snapshots ---- */

static bool init_host_memory(void **region, size_t bytes)
{
	return cu.mem_host_alloc(region, bytes, 1 /* for all contexts */) == SUCCESS;
}

static bool init_event(void **event)
{
	return cu.event_create(event, NO_TIMING) == SUCCESS;
}

static void free_event(void *event)
{
	cu.event_destroy(event);
}

static bool copy_to_host(void *to, const void *from, size_t bytes, void *stream)
{
	return cu.memcpy_async((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes, stream) ==
	       SUCCESS;
}

static bool record_event(void *event, void *stream)
{
	return cu.event_record(event, stream) == SUCCESS;
}

static int check_event(void *event)
{
	int mode = RELAXED, state;
	bool relaxed = cu.thread_exchange_stream_capture_mode(&mode) == SUCCESS;

	state = cu.event_query(event);
	if (relaxed)
		cu.thread_exchange_stream_capture_mode(&mode);
	return state == SUCCESS ? 1 : state == NOT_READY ? 0 : -1;
}

static const struct snapshot_runtime snapshots = {
	.allocate = init_host_memory,
	.create_event = init_event,
	.destroy_event = free_event,
	.copy = copy_to_host,
	.record = record_event,
	.query = check_event,
};

/* A communicator is made: its context is the thread's. */
static void init_cuda_copies(void)
{
	int mode = RELAXED;
	bool relaxed = cu.thread_exchange_stream_capture_mode(&mode) == SUCCESS;
	void *ctx = NULL;

	if (cu.ctx_get_current(&ctx) == SUCCESS && ctx)
		snapshots_init(&snapshots);
	if (relaxed)
		cu.thread_exchange_stream_capture_mode(&mode);
}

static int cuda_copy(uint64_t stream, const void *from, size_t bytes, uint32_t *snapshot)
{
	void *s = (void *)(uintptr_t)stream;
	struct guard g;
	int err = -EIO;

	if (guard_set_context(&g, s, from))
		err = snapshot_copy(&snapshots, g.ctx, s, from, bytes, snapshot);
	guard_reset_context(&g);
	return err;
}

static int cuda_check_snapshot(uint32_t snapshot, const void **at)
{
	return snapshot_poll(&snapshots, snapshot, at);
}

static void cuda_remove_snapshot(uint32_t snapshot)
{
	snapshot_drop(&snapshots, snapshot);
}

static const struct device_backend cuda = {
	.name = "cuda",
	.library = "libcuda.so",
	.attach = cuda_load_functions,
	.memory = cuda_get_memory_kind,
	.capturing = is_stream_capturing,
	.init_copies = init_cuda_copies,
	.copy = cuda_copy,
	.poll = cuda_check_snapshot,
	.drop = cuda_remove_snapshot,
	.driver = &cuda_driver,
};

const struct device_backend *const device_backends[] = {&cuda, &hip_device, &ascend_device, NULL};
