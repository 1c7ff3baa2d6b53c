/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HIP as a device backend: AMD's GPUs, through the functions of the loaded libamdhip64.so (ROCm 5.6 and later). No AMD GPU was
 * available: it was only tested with a stand-in.
 *
 * Differences from CUDA's driver, by HIP's reference:
 * - Any function starts the runtime. The runtime has been started if the process has opened the kernel's driver, /dev/kfd.
 * - A thread has a current device, and streams belong to a device; there are no contexts to push.
 * - A failed call leaves an error that the program sees by hipGetLastError(). Until ROCm 7 a call that succeeds clears the
 *   program's own pending error (ROCm/rocPRIM #686). So nothing is called while an error is pending, and errors of libprobe's own
 *   calls are cleared.
 * - Values of hipMemoryType changed with ROCm 6.
 */
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/snapshots.h"
#include "device/stats_launch.h"
#include "wrappers/gpu/gpu.h"

enum {
	SUCCESS = 0,
	NOT_READY = 600,

	MEMORY_TYPE = 2, /* HIP_POINTER_ATTRIBUTE_... */
	DEVICE_POINTER = 3,
	IS_MANAGED = 8,
	DEVICE_ORDINAL = 9,
	RELAXED = 2, /* hipStreamCaptureModeRelaxed */
	NON_BLOCKING = 1, /* hipStreamNonBlocking */
	REGISTER = 1 | 2, /* hipHostRegisterPortable, ...Mapped */
	PORTABLE = 1, /* hipHostMallocPortable */
	NO_TIMING = 2, /* hipEventDisableTiming */
	TO_HOST = 2, /* hipMemcpyDeviceToHost */
	ROCM_6 = 60000000, /* hipRuntimeGetVersion() */
	THREADS = STATS_THREADS,
};

/* Streams, events, modules and functions are pointers, as are addresses of a device's memory. */
static struct {
	int (*peek_at_last_error)(void);
	int (*get_last_error)(void);
	int (*runtime_get_version)(int *version);
	int (*pointer_get_attribute)(void *out, int what, void *p);
	int (*mem_get_address_range)(void **base, size_t *bytes, void *p);
	int (*thread_exchange_stream_capture_mode)(int *mode);
	int (*stream_is_capturing)(void *stream, int *state);
	int (*stream_get_device)(void *stream, int *device);
	int (*get_device)(int *device);
	int (*set_device)(int device);
	int (*get_device_count)(int *count);
	int (*device_primary_ctx_get_state)(int device, unsigned *flags, int *active);
	int (*malloc)(void **p, size_t bytes);
	int (*host_malloc)(void **p, size_t bytes, unsigned flags);
	int (*host_register)(void *p, size_t bytes, unsigned flags);
	int (*host_get_device_pointer)(void **device, void *p, unsigned flags);
	int (*memset_async)(void *p, int value, size_t bytes, void *stream);
	int (*memcpy_async)(void *to, const void *from, size_t bytes, int kind, void *stream);
	int (*stream_create_with_flags)(void **stream, unsigned flags);
	int (*module_load_data)(void **module, const void *image);
	int (*module_get_function)(void **function, void *module, const char *name);
	int (*module_launch_kernel)(void *function, unsigned gx, unsigned gy, unsigned gz,
		unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
		void **arguments, void **extra);
	int (*event_create_with_flags)(void **event, unsigned flags);
	int (*event_destroy)(void *event);
	int (*event_record)(void *event, void *stream);
	int (*event_query)(void *event);
} hip;

static bool find_hip(void)
{
	static const struct gpu_function want[] = {
		{"hipPeekAtLastError", &hip.peek_at_last_error},
		{"hipGetLastError", &hip.get_last_error},
		{"hipRuntimeGetVersion", &hip.runtime_get_version},
		{"hipPointerGetAttribute", &hip.pointer_get_attribute},
		{"hipMemGetAddressRange", &hip.mem_get_address_range},
		{"hipThreadExchangeStreamCaptureMode", &hip.thread_exchange_stream_capture_mode},
		{"hipStreamIsCapturing", &hip.stream_is_capturing},
		{"hipStreamGetDevice", &hip.stream_get_device},
		{"hipGetDevice", &hip.get_device},
		{"hipSetDevice", &hip.set_device},
		{"hipGetDeviceCount", &hip.get_device_count},
		{"hipDevicePrimaryCtxGetState", &hip.device_primary_ctx_get_state},
		{"hipMalloc", &hip.malloc},
		{"hipHostMalloc", &hip.host_malloc},
		{"hipHostRegister", &hip.host_register},
		{"hipHostGetDevicePointer", &hip.host_get_device_pointer},
		{"hipMemsetAsync", &hip.memset_async},
		{"hipMemcpyAsync", &hip.memcpy_async},
		{"hipStreamCreateWithFlags", &hip.stream_create_with_flags},
		{"hipModuleLoadData", &hip.module_load_data},
		{"hipModuleGetFunction", &hip.module_get_function},
		{"hipModuleLaunchKernel", &hip.module_launch_kernel},
		{"hipEventCreateWithFlags", &hip.event_create_with_flags},
		{"hipEventDestroy", &hip.event_destroy},
		{"hipEventRecord", &hip.event_record},
		{"hipEventQuery", &hip.event_query},
	};
	const size_t n = sizeof(want) / sizeof(*want);

	return gpu_find_functions(want, n, "libamdhip64.so") == n;
}

/* ---- before anything is called ---- */

/* starting takes tens of milliseconds after /dev/kfd was opened */
#define LOOK_NS UINT64_C(5000000)

static bool has_opened_kfd(void)
{
	DIR *d = opendir("/proc/self/fd");
	bool found = false;

	for (struct dirent *e; d && !found && (e = readdir(d));) {
		char to[64];
		ssize_t n = readlinkat(dirfd(d), e->d_name, to, sizeof(to));

		found = n > 4 && n < (ssize_t)sizeof(to) && memcmp(to + n - 4, "/kfd", 4) == 0;
	}
	if (d)
		closedir(d);
	return found;
}

/* Asks at most once in LOOK_NS. Keeps errno. A child of a process that has started it must not call it: false there. */
static bool is_hip_started(void)
{
	static _Atomic bool started;
	static _Atomic uint32_t by; /* device_get_forks() */
	static _Atomic uint64_t last;
	uint64_t now;
	int err = errno;

	if (atomic_load_explicit(&started, memory_order_acquire))
		return atomic_load_explicit(&by, memory_order_relaxed) == device_get_forks();
	now = clock_ns(CLOCK_MONOTONIC);
	if (now - atomic_load_explicit(&last, memory_order_relaxed) < LOOK_NS)
		return false;
	atomic_store_explicit(&last, now, memory_order_relaxed);
	if (has_opened_kfd()) {
		atomic_store_explicit(&by, device_get_forks(), memory_order_relaxed);
		atomic_store_explicit(&started, true, memory_order_release);
	}
	errno = err;
	return atomic_load_explicit(&started, memory_order_relaxed);
}

/* False: the program has an error to see, which a call of libprobe's would clear. */
static bool can_call_hip(void)
{
	return hip.peek_at_last_error() == SUCCESS;
}

/* After calls that may have failed. */
static void reset_own_error(void)
{
	if (hip.peek_at_last_error() != SUCCESS)
		hip.get_last_error();
}

/* ---- memory ---- */

static bool is_type_host(unsigned type)
{
	int version = 0;

	if (hip.runtime_get_version(&version) != SUCCESS)
		return false;
	return type == (version >= ROCM_6 ? 1 : 0);
}

static enum device_memory find_memory_kind(void *p)
{
	unsigned type = 0, managed = 0;

	/* Memory that HIP does not know is the program's own. */
	if (hip.pointer_get_attribute(&type, MEMORY_TYPE, p) != SUCCESS)
		return DEVICE_HOST;
	if (!is_type_host(type) || hip.pointer_get_attribute(&managed, IS_MANAGED, p) != SUCCESS ||
		managed)
		return DEVICE_MEMORY;
	return DEVICE_PINNED;
}

static enum device_memory get_hip_memory_kind(const void *p)
{
	enum device_memory kind;

	if (!is_hip_started())
		return DEVICE_IDLE;
	if (!can_call_hip())
		return DEVICE_MEMORY;
	kind = find_memory_kind((void *)(uintptr_t)p);
	reset_own_error();
	return kind;
}

static bool is_hip_capturing(uint64_t stream)
{
	int state = 0;
	bool captures;

	if (!is_hip_started())
		return false;
	if (!can_call_hip())
		return true;
	captures = hip.stream_is_capturing((void *)(uintptr_t)stream, &state) != SUCCESS || state;
	reset_own_error();
	return captures;
}

/* ---- the device of a stream ---- */

/* Represents the context of a device. */
static char devices[64];

static bool is_default_hip_stream(uint64_t stream)
{
	return stream <= 2; /* 0, hipStreamLegacy, hipStreamPerThread */
}

static bool set_device(struct device_guard *g, int device)
{
	int before = 0;

	if (device < 0 || device >= (int)sizeof(devices) || hip.get_device(&before) != SUCCESS)
		return false;
	g->context = &devices[device];
	g->device = (uint64_t)device;
	g->before = &devices[before & 63];
	g->pushed = before != device && hip.set_device(device) == SUCCESS;
	return g->pushed || before == device;
}

/* False: nothing may be called; reset_hip() is called nevertheless. */
static bool start_hip_calls(struct device_guard *g)
{
	*g = (struct device_guard){.mode = RELAXED};
	/* retained: HIP was called, and an error may have to be cleared */
	g->retained = is_hip_started() && can_call_hip();
	if (!g->retained)
		return false;
	g->relaxed = hip.thread_exchange_stream_capture_mode(&g->mode) == SUCCESS;
	return true;
}

static bool set_hip_context(struct device_guard *g, uint64_t stream, const void *memory)
{
	int device = -1;

	if (!start_hip_calls(g))
		return false;
	if (is_default_hip_stream(stream)) {
		/* The default stream of the memory's device is meant. */
		if ((!memory || hip.pointer_get_attribute(&device, DEVICE_ORDINAL,
					(void *)(uintptr_t)memory) != SUCCESS) &&
			hip.get_device(&device) != SUCCESS)
			return false;
	} else if (hip.stream_get_device((void *)(uintptr_t)stream, &device) != SUCCESS) {
		return false;
	}
	return set_device(g, device);
}

static bool set_hip_current(struct device_guard *g)
{
	int device;

	return start_hip_calls(g) && hip.get_device(&device) == SUCCESS && set_device(g, device);
}

static int set_hip_device(struct device_guard *g, unsigned n)
{
	int count = 0, active = 0;
	unsigned flags;

	if (!start_hip_calls(g) || hip.get_device_count(&count) != SUCCESS || (int)n >= count)
		return -1;
	if (hip.device_primary_ctx_get_state((int)n, &flags, &active) != SUCCESS || !active)
		return 0;
	return set_device(g, (int)n);
}

static void reset_hip(struct device_guard *g)
{
	if (g->pushed)
		hip.set_device((int)((char *)g->before - devices));
	if (g->relaxed)
		hip.thread_exchange_stream_capture_mode(&g->mode);
	if (g->retained)
		reset_own_error();
}

/* ---- the kernel ---- */

/*
 * hipMemGetAddressRange answers for one allocation, or one piece of mapped memory. DEVICE_POINTER is the address for kernels of
 * the current device.
 */
static uint64_t find_readable_end(const struct device_guard *g, uint64_t p)
{
	void *at = (void *)(uintptr_t)p, *here = NULL, *base = NULL;
	unsigned type = 0;
	size_t bytes = 0;
	int device = -1;

	if (hip.pointer_get_attribute(&type, MEMORY_TYPE, at) != SUCCESS ||
		hip.pointer_get_attribute(&here, DEVICE_POINTER, at) != SUCCESS || here != at ||
		hip.pointer_get_attribute(&device, DEVICE_ORDINAL, at) != SUCCESS)
		return 0;
	if (!is_type_host(type) && (uint64_t)device != g->device)
		return 0;
	if (hip.mem_get_address_range(&base, &bytes, at) != SUCCESS ||
		p - (uint64_t)(uintptr_t)base >= bytes)
		return 0;
	return (uint64_t)(uintptr_t)base + bytes;
}

#define PIECES_MAX 512

static bool is_readable_by_hip(const struct device_guard *g, uint64_t lo, uint64_t hi)
{
	for (unsigned i = 0; i < PIECES_MAX && lo < hi; i++) {
		lo = find_readable_end(g, lo);
		if (!lo)
			return false;
	}
	return lo >= hi;
}

/* There is a code object for each chip; the runtime refuses those of others. */
static bool load_code_object(void **function, uint64_t *ns)
{
	const char *const images[] = {gpu_stats_gfx90a, gpu_stats_gfx942, gpu_stats_gfx1100};
	uint64_t from = clock_ns(CLOCK_MONOTONIC);
	void *module = NULL;
	bool ok = false;

	for (unsigned i = 0; i < sizeof(images) / sizeof(*images) && !ok; i++)
		ok = hip.module_load_data(&module, images[i]) == SUCCESS &&
		     hip.module_get_function(function, module, "probe_stats") == SUCCESS;
	*ns = clock_ns(CLOCK_MONOTONIC) - from;
	return ok;
}

static bool register_with_hip(void *host, size_t bytes, uint64_t *device)
{
	void *at = NULL;

	if (hip.host_register(host, bytes, REGISTER) != SUCCESS ||
		hip.host_get_device_pointer(&at, host, 0) != SUCCESS)
		return false;
	*device = (uint64_t)(uintptr_t)at;
	return true;
}

static bool get_hip_memory(uint64_t *device, size_t bytes)
{
	void *at = NULL;

	if (hip.malloc(&at, bytes) != SUCCESS)
		return false;
	*device = (uint64_t)(uintptr_t)at;
	return true;
}

static bool start_hip_kernel(
	void *function, uint32_t blocks, const void *arguments, size_t size, uint64_t stream)
{
	void *list[] = {(void *)(uintptr_t)arguments};

	(void)size;
	return hip.module_launch_kernel(function, blocks, 1, 1, THREADS, 1, 1, 0,
		       (void *)(uintptr_t)stream, list, NULL) == SUCCESS;
}

static bool start_first_hip_kernel(
	void *function, uint64_t clear, size_t bytes, const void *arguments, size_t size)
{
	void *stream; /* kept, because destroying it might wait */

	return hip.stream_create_with_flags(&stream, NON_BLOCKING) == SUCCESS &&
	       hip.memset_async((void *)(uintptr_t)clear, 0, bytes, stream) == SUCCESS &&
	       start_hip_kernel(function, 1, arguments, size, (uint64_t)(uintptr_t)stream);
}

static const struct device_driver hip_driver = {
	.enter = set_hip_context,
	.enter_current = set_hip_current,
	.enter_device = set_hip_device,
	.leave = reset_hip,
	.covers = is_readable_by_hip,
	.load = load_code_object,
	.share = register_with_hip,
	.allocate = get_hip_memory,
	.warm = start_first_hip_kernel,
	.launch = start_hip_kernel,
};

/* ---- snapshots ---- */

static bool get_hip_host_memory(void **region, size_t bytes)
{
	return hip.host_malloc(region, bytes, PORTABLE) == SUCCESS;
}

static bool open_hip_event(void **event)
{
	return hip.event_create_with_flags(event, NO_TIMING) == SUCCESS;
}

static void close_hip_event(void *event)
{
	hip.event_destroy(event);
}

static bool copy_by_hip(void *to, const void *from, size_t bytes, void *stream)
{
	return hip.memcpy_async(to, from, bytes, TO_HOST, stream) == SUCCESS;
}

static bool record_hip_event(void *event, void *stream)
{
	return hip.event_record(event, stream) == SUCCESS;
}

/* While the program has an error to see, nothing is asked: not yet. */
static int check_hip_event(void *event)
{
	int mode = RELAXED, state;
	bool relaxed;

	if (!can_call_hip())
		return 0;
	relaxed = hip.thread_exchange_stream_capture_mode(&mode) == SUCCESS;
	state = hip.event_query(event);
	if (relaxed)
		hip.thread_exchange_stream_capture_mode(&mode);
	reset_own_error();
	return state == SUCCESS ? 1 : state == NOT_READY ? 0 : -1;
}

static const struct snapshot_runtime hip_snapshots = {
	.allocate = get_hip_host_memory,
	.create_event = open_hip_event,
	.destroy_event = close_hip_event,
	.copy = copy_by_hip,
	.record = record_hip_event,
	.query = check_hip_event,
};

static void init_hip_copies(void)
{
	struct device_guard g;

	if (set_hip_current(&g))
		snapshots_init(&hip_snapshots);
	reset_hip(&g);
}

static int copy_hip(uint64_t stream, const void *from, size_t bytes, uint32_t *snapshot)
{
	struct device_guard g;
	int err = -EIO;

	if (set_hip_context(&g, stream, from))
		err = snapshot_copy(&hip_snapshots, g.context, (void *)(uintptr_t)stream, from,
			bytes, snapshot);
	reset_hip(&g);
	return err;
}

static int check_hip_copy(uint32_t snapshot, const void **at)
{
	return snapshot_poll(&hip_snapshots, snapshot, at);
}

static void remove_hip(uint32_t snapshot)
{
	snapshot_drop(&hip_snapshots, snapshot);
}

const struct device_backend hip_device = {
	.name = "hip",
	.library = "libamdhip64.so",
	.attach = find_hip,
	.memory = get_hip_memory_kind,
	.capturing = is_hip_capturing,
	.init_copies = init_hip_copies,
	.copy = copy_hip,
	.poll = check_hip_copy,
	.drop = remove_hip,
	.driver = &hip_driver,
};
