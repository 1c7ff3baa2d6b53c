/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real NCCL on one GPU, world size 1. Prints what it computed, and for each operation a line
 * "figure NUMBER IO MIN MAX", computed from a copy of its own, to compare records with (figures.py). The n-th line belongs to
 * the n-th recorded row that is measured.
 */
#include <cuda_runtime.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#define N 100000

#define CUDA(call)                                                         \
	do {                                                               \
		cudaError_t e_ = (call);                                   \
		if (e_ != cudaSuccess) {                                   \
			printf("%s: %s\n", #call, cudaGetErrorString(e_)); \
			exit(1);                                           \
		}                                                          \
	} while (0)
#define NCCL(call)                                                         \
	do {                                                               \
		ncclResult_t e_ = (call);                                  \
		if (e_ != ncclSuccess) {                                   \
			printf("%s: %s\n", #call, ncclGetErrorString(e_)); \
			exit(1);                                           \
		}                                                          \
	} while (0)

static float host[N];
static int rows;

static void figure(const char *io, const float *device, size_t n, cudaStream_t s)
{
	float lo, hi;

	CUDA(cudaMemcpyAsync(host, device, n * sizeof(float), cudaMemcpyDeviceToHost, s));
	CUDA(cudaStreamSynchronize(s));
	lo = hi = host[0];
	for (size_t i = 1; i < n; i++) {
		lo = host[i] < lo ? host[i] : lo;
		hi = host[i] > hi ? host[i] : hi;
	}
	printf("figure %d %s %.9g %.9g\n", rows++, io, (double)lo, (double)hi);
}

int main(void)
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
