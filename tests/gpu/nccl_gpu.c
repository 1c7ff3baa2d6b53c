/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real NCCL on one GPU, world size 1. Prints what it computed, and figures of it. nccl_gpu loop N: N collectives, and what each
 * takes of the host.
 */
#include "gpu_app.h"
#include <nccl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define N 100000

#define NCCL(call)                                                         \
	do {                                                               \
		ncclResult_t e_ = (call);                                  \
		if (e_ != ncclSuccess) {                                   \
			printf("%s: %s\n", #call, ncclGetErrorString(e_)); \
			exit(1);                                           \
		}                                                          \
	} while (0)

static float host[N];

static void figure(const char *io, const float *device, size_t n, cudaStream_t s)
{
	print_figure("all_reduce", io, device, sizeof(float), n, 1, n, s);
}

/* The time of each call alone, the median; the device catches up after each 32, so that values are not dropped. */
static int compare_times(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void run_loop(int n, const float *a, float *b, ncclComm_t c, cudaStream_t s)
{
	double *us = calloc((size_t)n, sizeof(*us));

	for (int i = 0; i < n; i++) {
		struct timespec from, until;

		clock_gettime(CLOCK_MONOTONIC, &from);
		NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclSum, c, s));
		clock_gettime(CLOCK_MONOTONIC, &until);
		us[i] = 1e6 * (double)(until.tv_sec - from.tv_sec) +
			1e-3 * (double)(until.tv_nsec - from.tv_nsec);
		if (i % 32 == 31)
			CUDA(cudaStreamSynchronize(s));
	}
	CUDA(cudaStreamSynchronize(s));
	qsort(us, (size_t)n, sizeof(*us), compare_times);
	fprintf(stderr, "host %.2f\n", us[n / 2]);
	free(us);
}

int main(int argc, char **argv)
{
	cudaStream_t s, other;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	ncclUniqueId id;
	float *a, *b;
	ncclComm_t c;

	CUDA(cudaSetDevice(0));
	CUDA(cudaStreamCreate(&s));
	CUDA(cudaStreamCreate(&other));
	CUDA(cudaMalloc((void **)&a, N * sizeof(float)));
	CUDA(cudaMalloc((void **)&b, N * sizeof(float)));
	NCCL(ncclGetUniqueId(&id));
	NCCL(ncclCommInitRank(&c, 1, id, 0));
	if (argc == 3 && strcmp(argv[1], "loop") == 0) {
		CUDA(cudaMemset(a, 0, N * sizeof(float)));
		CUDA(cudaDeviceSynchronize());
		usleep(300000); /* the kernel is there */
		run_loop(atoi(argv[2]), a, b, c, s);
		NCCL(ncclCommDestroy(c));
		return 0;
	}
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < N; i++)
			host[i] = (float)((i * 7 + step * 13) % 1001) / 8.0f - 50.0f;
		CUDA(cudaMemcpyAsync(a, host, sizeof(host), cudaMemcpyHostToDevice, s));
		CUDA(cudaStreamSynchronize(s));
		NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclSum, c, s));
		figure("in", a, N, s);
		figure("out", b, N, s);
		figure("in", a, N / 2, s);
		NCCL(ncclGroupStart());
		NCCL(ncclAllReduce(a, a, N / 2, ncclFloat32, ncclMax, c, s));
		NCCL(ncclGroupEnd());
		figure("out", a, N / 2, s);
	}
	/* A graph with an operation in it, replayed. */
	CUDA(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal));
	NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclSum, c, other));
	CUDA(cudaStreamEndCapture(other, &graph));
	CUDA(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CUDA(cudaGraphLaunch(exec, other));
	CUDA(cudaStreamSynchronize(other));
	CUDA(cudaMemcpy(host, b, sizeof(host), cudaMemcpyDeviceToHost));
	printf("graph %.9g %.9g\n", (double)host[0], (double)host[N - 1]);
	printf("last error %d\n", (int)cudaGetLastError());
	CUDA(cudaDeviceSynchronize());
	NCCL(ncclCommDestroy(c));
	return 0;
}
