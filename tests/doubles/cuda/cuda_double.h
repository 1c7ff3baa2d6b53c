/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 without a device, for tests. Streams are threads, the device's memory is memory that the processor must
 * not touch: its addresses are mapped without any right, so a wrong read ends the test; the device's side uses a
 * second mapping of it. Captures record nothing; what must not be done while one is under way spoils it. There are two devices, of
 * which the second is started by cuDevicePrimaryCtxRetain(). A context refuses streams, functions and memory of the other.
 *
 * The first functions are those of CUDA's driver that the tests use, the last ones are the double's own.
 */
#ifndef TESTS_DOUBLES_CUDA_DOUBLE_H
#define TESTS_DOUBLES_CUDA_DOUBLE_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef void *CUcontext, *CUgraph;
typedef uint64_t CUdeviceptr;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
};

CUresult cuInit(unsigned flags);
CUresult cuStreamCreate(CUstream *out, unsigned flags);
CUresult cuStreamSynchronize(CUstream s);
CUresult cuStreamGetCtx(CUstream s, CUcontext *ctx);
CUresult cuStreamIsCapturing(CUstream s, int *state);
CUresult cuStreamBeginCapture_v2(CUstream s, int mode);
CUresult cuStreamEndCapture(CUstream s, CUgraph *graph);
CUresult cuThreadExchangeStreamCaptureMode(int *mode);
CUresult cuCtxPushCurrent_v2(CUcontext ctx);
CUresult cuCtxPopCurrent_v2(CUcontext *ctx);
CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr p);
CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags);
CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags);
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s);
CUresult cuPointerGetAttribute(void *out, int what, CUdeviceptr p);
CUresult cuLaunchHostFunc(CUstream s, void (*fn)(void *), void *arg);
CUresult cuEventCreate(CUevent *out, unsigned flags);
CUresult cuEventDestroy_v2(CUevent e);
CUresult cuEventRecord(CUevent e, CUstream s);
CUresult cuEventQuery(CUevent e);

CUresult cuCtxSetCurrent(CUcontext ctx);
CUresult cuCtxGetCurrent(CUcontext *ctx);
CUresult cuDeviceGet(int *device, int ordinal);
CUresult cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, int device);
CUresult cuDevicePrimaryCtxRelease_v2(int device);
CUresult cuCtxGetDevice(int *device);
CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr p);
CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *p, unsigned flags);
CUresult cuModuleLoadData(void **module, const void *image);
CUresult cuModuleGetFunction(void **function, void *module, const char *name);
CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char value, size_t bytes, CUstream s);
/* Knows only the statistics kernel (stats_host.h); any other ends the program. */
CUresult cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, CUstream s, void **arguments, void **extra);

/* The address at which the device's side finds the memory that the program calls p. */
void *double_device_alias(const void *p);
/* Memory that is mapped piece by piece, see there. */
void *double_map(int pieces, size_t bytes, int hole, int locked);
void *double_register_elsewhere(size_t bytes);
/* Holds the stream: its work waits until double_release(). */
void double_hold(CUstream s);
void double_release(CUstream s);
/* Number of calls so far of functions that may wait for the device or query it. */
unsigned double_waits(void);
/* The requests to the driver since the last call of this function, one line each: "s1 copy 16". */
const char *double_log(void);

#endif
