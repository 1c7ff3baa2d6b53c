/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real NCCL on one GPU, world size 1. Prints what it computed, and figures of it.
 */
#include "gpu_app.h"
#include <nccl.h>

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
