/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of Ascend's on a stream, on tensors in the device's memory (stand-ins of libopapi.so and libascendcl.so): c = a + b,
 * then d = c + c, while the stream does not get on, so that nothing is computed when the calls return; then b = d + a several
 * times. Prints the largest elements, as the device's side of the memory has them.
 *
 *	aclnn_device LIBOPAPI
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "aclnn.h"
#include "cuda_double.h"

#define N 8
#define CALLS 4 /* later ones, by which libprobe reads what has arrived */

static struct {
	aclCreateTensor_fn *create;
	aclDestroyTensor_fn *destroy;
	aclCreateScalar_fn *scalar;
	aclnnAddGetWorkspaceSize_fn *size;
	second_phase *add;
} acl;
static CUstream stream;

static float *device_numbers(float factor)
{
	CUdeviceptr at;
	float *seen;

	if (cuMemAlloc_v2(&at, N * sizeof(float)))
		exit(1);
	seen = double_device_alias((void *)(uintptr_t)at);
	for (int i = 0; i < N; i++)
		seen[i] = factor * (float)i;
	return (float *)(uintptr_t)at;
}

static aclTensor *tensor(float *at)
{
	static const int64_t dims[] = {N};

	return acl.create(dims, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 1, at);
}

/* As PyTorch's plugin does, the tensors are destroyed as soon as the second phase has returned. */
static void add(float *a, float *b, float *out)
{
	static char workspace[1024];
	float one = 1;
	aclTensor *t[3] = {tensor(a), tensor(b), tensor(out)};
	aclOpExecutor *executor;
	uint64_t bytes;

	if (acl.size(t[0], t[1], acl.scalar(&one, ACL_FLOAT), t[2], &bytes, &executor) ||
		acl.add(workspace, bytes, executor, stream))
		exit(1);
	for (int i = 0; i < 3; i++)
		acl.destroy(t[i]);
}

static float last_of(float *at)
{
	return ((float *)double_device_alias(at))[N - 1];
}

int main(int argc, char **argv)
{
	void *h = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	float *a, *b, *c, *d;

	if (!h || cuInit(0) || cuStreamCreate(&stream, 0))
		return 1;
	*(void **)&acl.create = dlsym(h, "aclCreateTensor");
	*(void **)&acl.destroy = dlsym(h, "aclDestroyTensor");
	*(void **)&acl.scalar = dlsym(h, "aclCreateScalar");
	*(void **)&acl.size = dlsym(h, "aclnnAddGetWorkspaceSize");
	*(void **)&acl.add = dlsym(h, "aclnnAdd");
	a = device_numbers(1);
	b = device_numbers(10);
	c = device_numbers(0);
	d = device_numbers(0);
	double_hold(stream);
	add(a, b, c);
	add(c, c, d);
	printf("before: %g %g\n", (double)last_of(c), (double)last_of(d));
	double_release(stream);
	cuStreamSynchronize(stream);
	printf("after: %g %g\n", (double)last_of(c), (double)last_of(d));
	for (int i = 0; i < CALLS; i++) {
		add(d, a, b);
		cuStreamSynchronize(stream);
	}
	printf("last: %g\n", (double)last_of(b));
	return 0;
}
