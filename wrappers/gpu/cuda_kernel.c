/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's driver, for measuring values on the device (device/driver.h), through the functions of the loaded libcuda.so.1. The
 * driver has no error state whose change a program could notice. It translates the PTX for the chip, and keeps the result in
 * its own cache in the user's home.
 */
#include "base/clock.h"
#include "base/log.h"
#include "device/stats_launch.h"
#include "wrappers/gpu/gpu.h"

enum {
	SUCCESS = 0,

	NOT_FOUND = 500,

	CONTEXT = 1, /* CU_POINTER_ATTRIBUTE_... */
	MEMORY_TYPE = 2,
	DEVICE_POINTER = 3,
	DEVICE_ORDINAL = 9,
	MAPPED = 13,
	ACCESS_FLAGS = 16,
	MAPPING_SIZE = 18,
	MAPPING_BASE = 19,
	MEMORY_OF_DEVICE = 2, /* CU_MEMORYTYPE_DEVICE */
	MAY_READ = 1, /* CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ */
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
	int (*device_get)(int *device, int ordinal);
	int (*device_primary_ctx_get_state)(int device, unsigned *flags, int *active);
	int (*device_primary_ctx_retain)(void **ctx, int device);
	int (*device_primary_ctx_release)(int device);
	/* Since CUDA 12. Without it a new context at the address of an old one would be taken for that. */
	int (*ctx_get_id)(void *ctx, unsigned long long *id);
} cu;
static bool attached;

bool cuda_kernel_load_functions(void)
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
		{"cuCtxGetId", &cu.ctx_get_id},
		{"cuDeviceGet", &cu.device_get},
		{"cuDevicePrimaryCtxGetState", &cu.device_primary_ctx_get_state},
		{"cuDevicePrimaryCtxRetain", &cu.device_primary_ctx_retain},
		{"cuDevicePrimaryCtxRelease_v2", &cu.device_primary_ctx_release},
	};
	const size_t n = sizeof(want) / sizeof(*want);

	attached = gpu_find_functions(want, n, "libcuda.so") == n;
	return attached;
}

static void set_relaxed_capture(struct device_guard *g)
{
	*g = (struct device_guard){.mode = RELAXED};
	g->relaxed = cu.thread_exchange_stream_capture_mode(&g->mode) == SUCCESS;
}

/* Describes the current context. */
static bool read_context(struct device_guard *g)
{
	unsigned long long id = 0;
	int device = 0;

	if (cu.ctx_get_id(g->context, &id) != SUCCESS || cu.ctx_get_device(&device) != SUCCESS)
		return false;
	g->id = id;
	g->device = (uint64_t)device;
	return true;
}

/* Streams that each context has: 0, CU_STREAM_LEGACY (1) and, for each thread, CU_STREAM_PER_THREAD (2). */
static bool is_default_stream(const void *stream)
{
	return (uintptr_t)stream <= 2;
}

/* The default stream of the memory's context is meant, whatever the thread's current context is. */
static bool find_stream_context(struct device_guard *g, void *stream, const void *memory)
{
	if (is_default_stream(stream) && memory &&
		cu.pointer_get_attribute(&g->context, CONTEXT, (uint64_t)(uintptr_t)memory) ==
			SUCCESS &&
		g->context)
		return true;
	return cu.stream_get_ctx(stream, &g->context) == SUCCESS && g->context;
}

static bool set_cuda_context(struct device_guard *g, uint64_t stream, const void *memory)
{
	if (!attached) {
		*g = (struct device_guard){0};
		log_loss(LOSS_DEVICE,
			"tensors on a device are not measured: that needs a driver of CUDA 12 or "
			"later; device: copy measures copies");
		return false;
	}
	set_relaxed_capture(g);
	if (!find_stream_context(g, (void *)(uintptr_t)stream, memory))
		return false;
	g->pushed = cu.ctx_push_current(g->context) == SUCCESS;
	return g->pushed && read_context(g);
}

static bool set_current_cuda_context(struct device_guard *g)
{
	if (!attached) {
		*g = (struct device_guard){0};
		return false;
	}
	set_relaxed_capture(g);
	return cu.ctx_get_current(&g->context) == SUCCESS && g->context && read_context(g);
}

/*
 * A primary context is retained while it is used here: the program may release it on another thread. Retaining one that is not
 * active would create it.
 */
static int set_cuda_device(struct device_guard *g, unsigned n)
{
	int device, active = 0;
	unsigned flags;

	if (!attached || cu.device_get(&device, (int)n) != SUCCESS) {
		*g = (struct device_guard){0};
		return -1;
	}
	set_relaxed_capture(g);
	if (cu.device_primary_ctx_get_state(device, &flags, &active) != SUCCESS || !active ||
		cu.device_primary_ctx_retain(&g->context, device) != SUCCESS)
		return 0;
	g->retained = true;
	g->device = (uint64_t)device;
	g->pushed = cu.ctx_push_current(g->context) == SUCCESS;
	return g->pushed && read_context(g);
}

static void reset_cuda_context(struct device_guard *g)
{
	void *ctx;

	if (g->pushed)
		cu.ctx_pop_current(&ctx);
	if (g->retained)
		cu.device_primary_ctx_release((int)g->device);
	if (g->relaxed)
		cu.thread_exchange_stream_capture_mode(&g->mode);
}

/*
 * True if kernels of the current context may read at p, by that address. CUDA's reference says of each: DEVICE_POINTER is the
 * address "through which kernels running in the current context may access" the memory (another one for host memory that
 * was registered where addresses are disjoint), an error if there is none; MAPPED is 0 for addresses that are only reserved;
 * ACCESS_FLAGS are those of the current context's device. The last two are missing in drivers before CUDA 10.2 and 11.4.
 * Memory of another device can be read only if the program has enabled that; it is not read.
 */
static bool is_readable(const struct device_guard *g, uint64_t p)
{
	uint64_t here = 0;
	unsigned type = 0, mapped = 0, flags = 0;
	int device = -1;

	if (cu.pointer_get_attribute(&type, MEMORY_TYPE, p) != SUCCESS ||
		cu.pointer_get_attribute(&here, DEVICE_POINTER, p) != SUCCESS || here != p)
		return false;
	if (type == MEMORY_OF_DEVICE &&
		(cu.pointer_get_attribute(&device, DEVICE_ORDINAL, p) != SUCCESS ||
			(uint64_t)device != g->device))
		return false;
	/* A bool, or an int. */
	if (cu.pointer_get_attribute(&mapped, MAPPED, p) == SUCCESS && !(mapped & 0xff))
		return false;
	return cu.pointer_get_attribute(&flags, ACCESS_FLAGS, p) != SUCCESS || flags & MAY_READ;
}

/*
 * The end of the mapping around p; 0: it cannot be read. Of memory that is mapped piece by piece (cuMemMap; PyTorch's
 * expandable segments) drivers answer cuMemGetAddressRange with the piece (openucx/ucx #11461), or with NOT_FOUND
 * (NVIDIA/nccl #2332); MAPPING_SIZE is the piece. The smaller of the answers is used.
 */
static uint64_t mapped_until(const struct device_guard *g, uint64_t p)
{
	uint64_t base = 0, map_base = 0, end = UINT64_MAX;
	size_t bytes = 0, map_bytes = 0;
	int range;

	if (!is_readable(g, p))
		return 0;
	range = cu.mem_get_address_range(&base, &bytes, p);
	if (range == SUCCESS && p >= base && p - base < bytes)
		end = base + bytes;
	else if (range != NOT_FOUND)
		return 0;
	if (cu.pointer_get_attribute(&map_bytes, MAPPING_SIZE, p) == SUCCESS && map_bytes &&
		cu.pointer_get_attribute(&map_base, MAPPING_BASE, p) == SUCCESS && p >= map_base &&
		p - map_base < map_bytes && map_base + map_bytes < end)
		end = map_base + map_bytes;
	return end == UINT64_MAX ? 0 : end;
}

#define PIECES_MAX 512 /* mappings of one tensor; PyTorch's are of 20 MiB, so this is 10 GiB */

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

static bool register_shared_memory(void *host, size_t bytes, uint64_t *device)
{
	return cu.mem_host_register(host, bytes, REGISTER) == SUCCESS &&
	       cu.mem_host_get_device_pointer(device, host, 0) == SUCCESS;
}

static bool init_device_memory(uint64_t *device, size_t bytes)
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

static bool start_kernel_once(
	void *function, uint64_t clear, size_t bytes, const void *arguments, size_t size)
{
	void *stream; /* kept, because destroying it might wait */

	return cu.stream_create(&stream, NON_BLOCKING) == SUCCESS &&
	       cu.memset_async(clear, 0, bytes, stream) == SUCCESS &&
	       launch_kernel(function, 1, arguments, size, (uint64_t)(uintptr_t)stream);
}

const struct device_driver cuda_driver = {
	.enter = set_cuda_context,
	.enter_current = set_current_cuda_context,
	.enter_device = set_cuda_device,
	.leave = reset_cuda_context,
	.covers = is_covered,
	.load = load_kernel,
	.share = register_shared_memory,
	.allocate = init_device_memory,
	.warm = start_kernel_once,
	.launch = launch_kernel,
};
