/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real cuBLAS on a GPU: products of columns that lie apart (between them are NaNs, which no record may show), of float and
 * double, by batches, vectors, and a dot product. Prints what it computed, and figures of it.
 */
#include "gpu_app.h"
#include <cublas_v2.h>
#include <math.h>

enum { M = 300, N = 200, K = 100, LD = 320, BATCH = 3, STEPS = 10 };

#define CUBLAS(call)                                   \
	do {                                           \
		cublasStatus_t e_ = (call);            \
		if (e_ != CUBLAS_STATUS_SUCCESS) {     \
			printf("%s: %d\n", #call, e_); \
			exit(1);                       \
		}                                      \
	} while (0)

static void fill(void *device, int bytes, size_t rows, size_t columns, int seed)
{
	size_t n = (size_t)LD * columns;
	char *host = malloc(n * (size_t)bytes);

	for (size_t i = 0; i < n; i++) {
		double v = i % LD < rows ? (double)((i * 7 + (size_t)seed * 13) % 101) / 8 - 6
					 : (double)NAN;

		if (bytes == 8)
			((double *)(void *)host)[i] = v;
		else
			((float *)(void *)host)[i] = (float)v;
	}
	CUDA(cudaMemcpy(device, host, n * (size_t)bytes, cudaMemcpyHostToDevice));
	free(host);
}

int main(void)
{
	double alpha = 0.5, beta = 0, *da, *db, *dc;
	float falpha = 0.5f, fbeta = 0.25f, *a, *b, *c, result;
	cublasHandle_t handle;
	cudaStream_t s;

	CUDA(cudaSetDevice(0));
	CUDA(cudaStreamCreate(&s));
	CUDA(cudaMalloc((void **)&a, sizeof(float) * LD * K * BATCH));
	CUDA(cudaMalloc((void **)&b, sizeof(float) * LD * N * BATCH));
	CUDA(cudaMalloc((void **)&c, sizeof(float) * LD * N * BATCH));
	CUDA(cudaMalloc((void **)&da, sizeof(double) * LD * K));
	CUDA(cudaMalloc((void **)&db, sizeof(double) * LD * N));
	CUDA(cudaMalloc((void **)&dc, sizeof(double) * LD * N));
	CUBLAS(cublasCreate(&handle));
	CUBLAS(cublasSetStream(handle, s));
	for (int step = 0; step < STEPS; step++) {
		fill(a, 4, M, K * BATCH, step);
		fill(b, 4, K, N * BATCH, step + 1);
		fill(c, 4, M, N * BATCH, step + 2);
		fill(da, 8, M, K, step);
		fill(db, 8, K, N, step + 1);
		fill(dc, 8, M, N, step + 2);
		print_figure("gemm", "in", a, 4, M, K, LD, s);
		print_figure("gemm", "in", b, 4, K, N, LD, s);
		print_figure("gemm", "in", c, 4, M, N, LD, s);
		CUBLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &falpha, a, LD, b, LD,
			&fbeta, c, LD));
		print_figure("gemm", "out", c, 4, M, N, LD, s);
		/* With a beta of 0 the result is not read: it is no input. */
		print_figure("gemm", "in", da, 8, M, K, LD, s);
		print_figure("gemm", "in", db, 8, K, N, LD, s);
		CUBLAS(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &alpha, da, LD, db,
			LD, &beta, dc, LD));
		print_figure("gemm", "out", dc, 8, M, N, LD, s);
		print_figure("gemv", "in", a, 4, M, K, LD, s);
		print_figure("gemv", "in", b, 4, K, 1, LD, s);
		print_figure("gemv", "in", c, 4, M, 1, LD, s);
		CUBLAS(cublasSgemv(handle, CUBLAS_OP_N, M, K, &falpha, a, LD, b, 1, &fbeta, c, 1));
		print_figure("gemv", "out", c, 4, M, 1, LD, s);
		print_figure("dot", "in", a, 4, M, 1, LD, s);
		print_figure("dot", "in", c, 4, M, 1, LD, s);
		CUBLAS(cublasSdot(handle, M, a, 1, c, 1, &result));
		print_figure("gemm", "in", a, 4, M, K * BATCH, LD, s);
		print_figure("gemm", "in", b, 4, K, N * BATCH, LD, s);
		print_figure("gemm", "in", c, 4, M, N * BATCH, LD, s);
		CUBLAS(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &falpha,
			a, LD, (long long)LD * K, b, LD, (long long)LD * N, &fbeta, c, LD,
			(long long)LD * N, BATCH));
		print_figure("gemm", "out", c, 4, M, N * BATCH, LD, s);
	}
	CUDA(cudaStreamSynchronize(s));
	printf("last error %d\n", (int)cudaGetLastError());
	CUBLAS(cublasDestroy(handle));
	return 0;
}
