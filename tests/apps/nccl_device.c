/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL on streams of a device, with buffers where the processor must not look; on the doubles of NCCL and of CUDA's
 * driver. What is computed goes to stdout; what each part asked of the driver goes to the file APP_LOG.<rank>. 2 ranks.
 */
#include "nccl_app.h"

#include "../doubles/cuda/cuda_double.h"

static FILE *logged;
static cudaStream_t s1, s2;

static void part(const char *name)
{
	fprintf(logged, "[%s]\n", name);
}

static void part_end(void)
{
	fputs(double_log(), logged);
}

static float *device(float value)
{
	CUdeviceptr p;
	float *host;

	if (cuMemAlloc_v2(&p, 4096) || cuMemHostAlloc((void **)&host, 4096, 0))
		exit(2);
	for (int i = 0; i < 4; i++)
		host[i] = value * (float)(i + 1);
	if (cuMemcpyAsync(p, (CUdeviceptr)(uintptr_t)host, 16, NULL) || cuStreamSynchronize(NULL))
		exit(2);
	double_log();
	return (float *)(uintptr_t)p;
}

/* Through the device's eyes. */
static void show(const char *what, const float *p, int n)
{
	const float *v = double_device_alias(p);

	printf("rank %d %s", app_rank, what);
	for (int i = 0; i < n; i++)
		printf(" %g", (double)v[i]);
	printf("\n");
}

int main(void)
{
	float plain[4] = {1, 2, 3, 4}, *a, *b, *pinned;
	ncclComm_t c = app_init(), other;
	CUdeviceptr managed;
	CUgraph graph;
	char path[512];
	int captured;

	snprintf(path, sizeof(path), "%s.%d", getenv("APP_LOG") ? getenv("APP_LOG") : "/dev/null",
		app_rank);
	logged = fopen(getenv("APP_LOG") ? path : "/dev/null", "w");
	if (!logged)
		return 2;

	/* The driver is loaded, and was never started. */
	NCCL(ncclAllReduce(plain, plain, 4, ncclFloat32, ncclSum, c, NULL));
	show("before cuInit", plain, 4);
	if (cuInit(0) || cuStreamCreate((CUstream *)&s1, 0) || cuStreamCreate((CUstream *)&s2, 0))
		return 2;
	/* A communicator that is made while the driver works: what libprobe needs is made then. */
	NCCL(ncclCommSplit(c, 0, app_rank, &other, NULL));
	NCCL(ncclCommDestroy(other));
	usleep(300000);
	a = device((float)(app_rank + 1));
	b = device(0);

	part("all_reduce");
	double_hold((CUstream)s1);
	NCCL(ncclAllReduce(a, b, 4, ncclFloat32, ncclSum, c, s1));
	show("before its stream gets there", b, 4);
	double_release((CUstream)s1);
	cuStreamSynchronize((CUstream)s1);
	part_end();
	show("all_reduce", b, 4);

	part("in place");
	NCCL(ncclAllReduce(a, a, 4, ncclFloat32, ncclMax, c, s1));
	cuStreamSynchronize((CUstream)s1);
	part_end();
	show("in place", a, 4);

	part("group");
	NCCL(ncclGroupStart());
	NCCL(ncclBroadcast(a, b, 4, ncclFloat32, 0, c, s1));
	NCCL(ncclAllReduce(a, a, 2, ncclFloat32, ncclSum, c, s1));
	NCCL(ncclGroupEnd());
	cuStreamSynchronize((CUstream)s1);
	part_end();
	show("group", a, 4);
	show("group", b, 4);

	part("capture");
	cuStreamBeginCapture_v2((CUstream)s2, 0);
	NCCL(ncclAllReduce(a, b, 4, ncclFloat32, ncclSum, c, s2));
	captured = cuStreamEndCapture((CUstream)s2, &graph);
	part_end();
	printf("rank %d capture %d\n", app_rank, captured);

	/* Another thread's capture is under way: what we ask must not spoil it. */
	part("beside a capture");
	cuStreamBeginCapture_v2((CUstream)s2, 0);
	NCCL(ncclAllReduce(a, b, 4, ncclFloat32, ncclSum, c, s1));
	cuStreamSynchronize((CUstream)s1);
	NCCL(ncclAllReduce(b, b, 4, ncclFloat32, ncclMin, c, s1));
	cuStreamSynchronize((CUstream)s1);
	captured = cuStreamEndCapture((CUstream)s2, &graph);
	part_end();
	printf("rank %d capture %d\n", app_rank, captured);
	show("beside a capture", b, 4);

	part("other memory");
	if (cuMemHostAlloc((void **)&pinned, 4096, 0) || cuMemAllocManaged(&managed, 4096, 1))
		return 2;
	for (int i = 0; i < 4; i++)
		pinned[i] = plain[i];
	NCCL(ncclAllReduce(pinned, (void *)(uintptr_t)managed, 4, ncclFloat32, ncclSum, c, NULL));
	cuStreamSynchronize(NULL);
	part_end();
	show("other memory", (float *)(uintptr_t)managed, 4);
	NCCL(ncclCommDestroy(c));
	fclose(logged);
	return 0;
}
