/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's driver, for measuring values on the device (device/driver.h), through the functions of the loaded libcuda.so.1. The
 * driver has no error state whose change a program could notice. It translates the PTX for the chip, and keeps the result in
 * its own cache in the user's home.
 */
#include <string.h>

#include "base/clock.h"
#include "device/stats_launch.h"
#include "wrappers/gpu/gpu.h"

enum {
	SUCCESS = 0,

	CONTEXT = 1, /* CU_POINTER_ATTRIBUTE_... */
	MEMORY_TYPE = 2,
	DEVICE_ORDINAL = 9,
	MAPPED = 13,
	MAPPING_SIZE = 18,
	MAPPING_BASE = 19,
	MEMORY_OF_DEVICE = 2, /* CU_MEMORYTYPE_DEVICE */
	RELAXED = 2, /* CU_STREAM_CAPTURE_MODE_RELAXED */
	NON_BLOCKING = 1, /* CU_STREAM_NON_BLOCKING */
	REGISTER = 1 | 2, /* CU_MEMHOSTREGISTER_PORTABLE, _DEVICEMAP */
	THREADS = STATS_THREADS,
};

/* Contexts, streams, modules and functions are pointers, addresses of device memory 64-bit integers, devices int. */
static struct {
	int (*pointer_get_attribute)(void *out, int what, uint64_t p);
	int (*thread_exchange_stream_capture_mode)(int *mode);
	int (*stream_get_ctx)(void *stream, void **ctx);
	int (*ctx_get_current)(void **ctx);
	int (*ctx_push_current)(void *ctx);
	int (*ctx_pop_current)(void **ctx);
	int (*ctx_get_device)(int *device);
	int (*mem_get_address_range)(uint64_t *base, size_t *bytes, uint64_t p);
	int (*mem_alloc)(uint64_t *p, size_t bytes);
	int (*mem_host_register)(void *p, size_t bytes, unsigned flags);
	int (*mem_host_get_device_pointer)(uint64_t *device, void *p, unsigned flags);
	int (*memset_async)(uint64_t p, unsigned char value, size_t bytes, void *stream);
	int (*module_load_data)(void **module, const void *image);
	int (*module_get_function)(void **function, void *module, const char *name);
	int (*stream_create)(void **stream, unsigned flags);
	int (*launch_kernel)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		unsigned by, unsigned bz, unsigned shared, void *stream, void **arguments,
		void **extra);
	/* Since CUDA 12; NULL if it is missing. */
	int (*ctx_get_id)(void *ctx, unsigned long long *id);
} cu;
static bool attached;

bool cuda_kernel_attach(void)
{
	static const struct gpu_function want[] = {
		{"cuPointerGetAttribute", &cu.pointer_get_attribute},
		{"cuThreadExchangeStreamCaptureMode", &cu.thread_exchange_stream_capture_mode},
		{"cuStreamGetCtx", &cu.stream_get_ctx},
		{"cuCtxGetCurrent", &cu.ctx_get_current},
		{"cuCtxPushCurrent_v2", &cu.ctx_push_current},
		{"cuCtxPopCurrent_v2", &cu.ctx_pop_current},
		{"cuCtxGetDevice", &cu.ctx_get_device},
		{"cuMemGetAddressRange_v2", &cu.mem_get_address_range},
		{"cuMemAlloc_v2", &cu.mem_alloc},
		{"cuMemHostRegister_v2", &cu.mem_host_register},
		{"cuMemHostGetDevicePointer_v2", &cu.mem_host_get_device_pointer},
		{"cuMemsetD8Async", &cu.memset_async},
		{"cuModuleLoadData", &cu.module_load_data},
		{"cuModuleGetFunction", &cu.module_get_function},
		{"cuStreamCreate", &cu.stream_create},
		{"cuLaunchKernel", &cu.launch_kernel},
	};
	const size_t n = sizeof(want) / sizeof(*want);
	void *id = gpu_find_function("cuCtxGetId", "libcuda.so");

	memcpy(&cu.ctx_get_id, &id, sizeof(id));
	attached = gpu_find_functions(want, n, "libcuda.so") == n;
	return attached;
}

static void relax_capture(struct device_guard *g)
{
	*g = (struct device_guard){.mode = RELAXED};
	g->relaxed = cu.thread_exchange_stream_capture_mode(&g->mode) == SUCCESS;
}

/* Describes the current context. */
static bool describe_context(struct device_guard *g)
{
	unsigned long long id = 0;
	int device = 0;

	if (cu.ctx_get_id && cu.ctx_get_id(g->context, &id) != SUCCESS)
		return false;
	if (cu.ctx_get_device(&device) != SUCCESS)
		return false;
	g->id = id;
	g->device = (uint64_t)device;
	return true;
}

/* Each context has its own stream 0: the one of the memory's context is meant, whatever the thread's current context is. */
static bool find_stream_context(struct device_guard *g, void *stream, const void *memory)
{
	if (!stream && memory &&
		cu.pointer_get_attribute(&g->context, CONTEXT, (uint64_t)(uintptr_t)memory) ==
			SUCCESS &&
		g->context)
		return true;
	return cu.stream_get_ctx(stream, &g->context) == SUCCESS && g->context;
}

static bool enter_cuda(struct device_guard *g, uint64_t stream, const void *memory)
{
	if (!attached) {
		*g = (struct device_guard){0};
		return false;
	}
	relax_capture(g);
	if (!find_stream_context(g, (void *)(uintptr_t)stream, memory))
		return false;
	g->pushed = cu.ctx_push_current(g->context) == SUCCESS;
	return g->pushed && describe_context(g);
}

static bool enter_cuda_current(struct device_guard *g)
{
	if (!attached) {
		*g = (struct device_guard){0};
		return false;
	}
	relax_capture(g);
	return cu.ctx_get_current(&g->context) == SUCCESS && g->context && describe_context(g);
}

static void leave_cuda(struct device_guard *g)
{
	void *ctx;

	if (g->pushed)
		cu.ctx_pop_current(&ctx);
	if (g->relaxed)
		cu.thread_exchange_stream_capture_mode(&g->mode);
}

/*
 * The end of the mapping around p. Memory that is mapped piece by piece (cuMemMap) may be part of a larger reservation:
 * the smaller of the two answers is used. 0: it cannot be read.
 */
static uint64_t mapped_until(const struct device_guard *g, uint64_t p)
{
	uint64_t base = 0, end, map_base = 0;
	unsigned type = 0, mapped = 1;
	size_t bytes = 0, map_bytes = 0;
	int device = -1;

	if (cu.pointer_get_attribute(&type, MEMORY_TYPE, p) != SUCCESS ||
		cu.mem_get_address_range(&base, &bytes, p) != SUCCESS || p < base ||
		p - base >= bytes)
		return 0;
	if (type == MEMORY_OF_DEVICE &&
		(cu.pointer_get_attribute(&device, DEVICE_ORDINAL, p) != SUCCESS ||
			(uint64_t)device != g->device))
		return 0; /* memory of another device: it can be read only if the program has enabled that */
	if (cu.pointer_get_attribute(&mapped, MAPPED, p) == SUCCESS && !(mapped & 0xff))
		return 0;
	end = base + bytes;
	if (cu.pointer_get_attribute(&map_bytes, MAPPING_SIZE, p) == SUCCESS && map_bytes &&
		cu.pointer_get_attribute(&map_base, MAPPING_BASE, p) == SUCCESS &&
		p - map_base < map_bytes && map_base + map_bytes < end)
		end = map_base + map_bytes;
	return end;
}

#define PIECES_MAX 64 /* maximum number of mappings of one tensor */

static bool is_covered(const struct device_guard *g, uint64_t lo, uint64_t hi)
{
	for (unsigned i = 0; i < PIECES_MAX && lo < hi; i++) {
		lo = mapped_until(g, lo);
		if (!lo)
			return false;
	}
	return lo >= hi;
}

static bool load_kernel(void **function, uint64_t *ns)
{
	uint64_t from = clock_ns(CLOCK_MONOTONIC);
	void *module;
	bool ok = cu.module_load_data(&module, gpu_stats_ptx) == SUCCESS &&
		  cu.module_get_function(function, module, "probe_stats") == SUCCESS;

	*ns = clock_ns(CLOCK_MONOTONIC) - from;
	return ok;
}

static bool share_memory(void *host, size_t bytes, uint64_t *device)
{
	return cu.mem_host_register(host, bytes, REGISTER) == SUCCESS &&
	       cu.mem_host_get_device_pointer(device, host, 0) == SUCCESS;
}

static bool allocate_memory(uint64_t *device, size_t bytes)
{
	return cu.mem_alloc(device, bytes) == SUCCESS;
}

static bool launch_kernel(
	void *function, uint32_t blocks, const void *arguments, size_t size, uint64_t stream)
{
	void *list[] = {(void *)(uintptr_t)arguments};

	(void)size;
	return cu.launch_kernel(function, blocks, 1, 1, THREADS, 1, 1, 0, (void *)(uintptr_t)stream,
		       list, NULL) == SUCCESS;
}

static bool warm_kernel(
	void *function, uint64_t clear, size_t bytes, const void *arguments, size_t size)
{
	void *stream; /* kept, because destroying it might wait */

	return cu.stream_create(&stream, NON_BLOCKING) == SUCCESS &&
	       cu.memset_async(clear, 0, bytes, stream) == SUCCESS &&
	       launch_kernel(function, 1, arguments, size, (uint64_t)(uintptr_t)stream);
}

const struct device_driver cuda_driver = {
	.enter = enter_cuda,
	.enter_current = enter_cuda_current,
	.leave = leave_cuda,
	.covers = is_covered,
	.load = load_kernel,
	.share = share_memory,
	.allocate = allocate_memory,
	.warm = warm_kernel,
	.launch = launch_kernel,
};
