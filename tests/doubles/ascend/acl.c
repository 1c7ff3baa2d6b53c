/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libascendcl.so without an NPU: functions of acl_rt.h by those of the stand-in for CUDA's driver, which executes streams in
 * order and whose device memory the processor must not touch. Its own functions (double_hold ...) are exported, too.
 */
#include "../cuda/cuda_double.h"

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

struct attributes {
	uint32_t device, type, page_size, reserved[4];
};

EXPORT int aclrtPointerGetAttributes(const void *p, struct attributes *out)
{
	unsigned type = 0;

	out->device = 0;
	out->type = cuPointerGetAttribute(&type, 2, (CUdeviceptr)(uintptr_t)p) ? 2
		    : type == 1						       ? 0
									       : 1;
	return 0;
}

/* ACL_ERROR_RT_CONTEXT_NULL */
EXPORT int aclrtGetCurrentContext(void **context)
{
	return cuCtxGetCurrent(context) || !*context ? 107002 : 0;
}

EXPORT int aclrtMallocHost(void **p, size_t bytes)
{
	return cuMemHostAlloc(p, bytes, 0);
}

EXPORT int aclrtMalloc(void **p, size_t bytes, int policy)
{
	(void)policy;
	return cuMemAlloc_v2((CUdeviceptr *)p, bytes);
}

EXPORT int aclrtMemcpyAsync(
	void *to, size_t most, const void *from, size_t bytes, int kind, void *stream)
{
	return most < bytes || kind != 2 ? 100000
					 : cuMemcpyAsync((CUdeviceptr)(uintptr_t)to,
						   (CUdeviceptr)(uintptr_t)from, bytes, stream);
}

EXPORT int aclrtCreateStream(void **stream)
{
	return cuStreamCreate((CUstream *)stream, 0);
}

EXPORT int aclrtCreateEvent(void **event)
{
	return cuEventCreate((CUevent *)event, 0);
}

EXPORT int aclrtDestroyEvent(void *event)
{
	return cuEventDestroy_v2(event);
}

EXPORT int aclrtRecordEvent(void *event, void *stream)
{
	return cuEventRecord(event, stream);
}

EXPORT int aclrtQueryEventStatus(void *event, int *status)
{
	int r = cuEventQuery(event);

	*status = r == CUDA_SUCCESS;
	return r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY ? 0 : r;
}

EXPORT int aclmdlRICaptureGetInfo(void *stream, int *status, void **model)
{
	*model = NULL;
	return cuStreamIsCapturing(stream, status);
}
