/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libamdhip64.so without a GPU: functions of hip_runtime_api.h by those of the stand-in for CUDA's driver, as a chip gfx942. What is
 * HIP's own: any function starts the runtime (which opens a file named kfd), threads have a current device, a failed call leaves
 * an error for hipGetLastError(), and, as until ROCm 7, a call that succeeds removes it.
 */
#include "../cuda/cuda_double.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static __thread int last_error, device;
static bool started;

static char folder[64], file[80];

/* A link's text is all that is looked at: the file is there as long as the process. */
static void open_kfd(void)
{
	snprintf(folder, sizeof(folder), "/tmp/hip-XXXXXX");
	if (!mkdtemp(folder))
		abort();
	snprintf(file, sizeof(file), "%s/kfd", folder);
	if (open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0600) < 0)
		abort();
}

__attribute__((destructor)) static void remove_kfd(void)
{
	if (started) {
		unlink(file);
		rmdir(folder);
	}
}

static void start_runtime(void)
{
	CUcontext c;

	if (!started) {
		started = true;
		if (cuInit(0))
			abort();
		open_kfd();
	}
	cuDevicePrimaryCtxRetain(&c, device);
	cuCtxSetCurrent(c);
}

static int leave(int r)
{
	/* Since ROCm 7 an error stays until hipGetLastError(). */
	if (r || !getenv("DOUBLE_ROCM_7"))
		last_error = r;
	return r;
}

#define CALL(e) (start_runtime(), leave(e))

EXPORT bool double_hip_started(void)
{
	return started;
}

EXPORT int hipPeekAtLastError(void)
{
	start_runtime();
	return last_error;
}

EXPORT int hipGetLastError(void)
{
	int r = last_error;

	start_runtime();
	last_error = 0;
	return r;
}

EXPORT int hipRuntimeGetVersion(int *version)
{
	*version = getenv("DOUBLE_ROCM_5") ? 50631061 : 60342131;
	return CALL(0);
}

EXPORT int hipPointerGetAttribute(void *out, int what, void *p)
{
	int r = CALL(cuPointerGetAttribute(out, what, (CUdeviceptr)(uintptr_t)p));

	/* hipMemoryTypeHost, ...Device: 0 and 1, since ROCm 6 1 and 2 as CUDA's. */
	if (!r && what == 2 && getenv("DOUBLE_ROCM_5"))
		--*(int *)out;
	return r;
}

EXPORT int hipMemGetAddressRange(void **base, size_t *bytes, void *p)
{
	return CALL(cuMemGetAddressRange_v2((CUdeviceptr *)base, bytes, (CUdeviceptr)(uintptr_t)p));
}

EXPORT int hipThreadExchangeStreamCaptureMode(int *mode)
{
	return CALL(cuThreadExchangeStreamCaptureMode(mode));
}

EXPORT int hipStreamIsCapturing(void *stream, int *state)
{
	return CALL(cuStreamIsCapturing(stream, state));
}

EXPORT int hipStreamGetDevice(void *stream, int *out)
{
	CUcontext c;
	int r = CALL(cuStreamGetCtx(stream, &c));

	if (!r && !(r = cuCtxPushCurrent_v2(c))) {
		cuCtxGetDevice(out);
		cuCtxPopCurrent_v2(&c);
	}
	return r;
}

EXPORT int hipGetDevice(int *out)
{
	*out = device;
	return CALL(0);
}

EXPORT int hipSetDevice(int n)
{
	if (n < 0 || n > 1)
		return CALL(CUDA_ERROR_INVALID_DEVICE);
	device = n;
	return CALL(0);
}

EXPORT int hipGetDeviceCount(int *n)
{
	*n = 2;
	return CALL(0);
}

EXPORT int hipDevicePrimaryCtxGetState(int n, unsigned *flags, int *active)
{
	return CALL(cuDevicePrimaryCtxGetState(n, flags, active));
}

EXPORT int hipMalloc(void **p, size_t bytes)
{
	return CALL(cuMemAlloc_v2((CUdeviceptr *)p, bytes));
}

EXPORT int hipHostMalloc(void **p, size_t bytes, unsigned flags)
{
	return CALL(cuMemHostAlloc(p, bytes, flags));
}

EXPORT int hipHostRegister(void *p, size_t bytes, unsigned flags)
{
	return CALL(cuMemHostRegister_v2(p, bytes, flags));
}

EXPORT int hipHostGetDevicePointer(void **at, void *p, unsigned flags)
{
	return CALL(cuMemHostGetDevicePointer_v2((CUdeviceptr *)at, p, flags));
}

EXPORT int hipMemsetAsync(void *p, int value, size_t bytes, void *stream)
{
	return CALL(
		cuMemsetD8Async((CUdeviceptr)(uintptr_t)p, (unsigned char)value, bytes, stream));
}

EXPORT int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
	(void)kind;
	return CALL(cuMemcpyAsync(
		(CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, bytes, stream));
}

EXPORT int hipStreamCreateWithFlags(void **stream, unsigned flags)
{
	return CALL(cuStreamCreate((CUstream *)stream, flags));
}

/* An ELF object of AMD's for that chip: EF_AMDGPU_MACH of its flags (LLVM's AMDGPUUsage). */
EXPORT int hipModuleLoadData(void **module, const void *image)
{
	const unsigned char *e = image;
	uint32_t flags;

	memcpy(&flags, e + 48, sizeof(flags));
	if (memcmp(e, "\177ELF", 4) || (flags & 0xff) != 0x4c)
		return CALL(209); /* hipErrorNoBinaryForGpu */
	return CALL(cuModuleLoadData(module, ".entry probe_stats("));
}

EXPORT int hipModuleGetFunction(void **function, void *module, const char *name)
{
	return CALL(cuModuleGetFunction(function, module, name));
}

EXPORT int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, void *stream, void **arguments, void **extra)
{
	return CALL(
		cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra));
}

EXPORT int hipEventCreateWithFlags(void **event, unsigned flags)
{
	return CALL(cuEventCreate((CUevent *)event, flags));
}

EXPORT int hipEventDestroy(void *event)
{
	return CALL(cuEventDestroy_v2(event));
}

EXPORT int hipEventRecord(void *event, void *stream)
{
	return CALL(cuEventRecord(event, stream));
}

EXPORT int hipEventQuery(void *event)
{
	return CALL(cuEventQuery(event));
}
