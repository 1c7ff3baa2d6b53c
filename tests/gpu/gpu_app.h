/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the programs of this folder: CUDA's errors, and lines "figure OP IO MIN MAX" of tensors on the device, computed from a copy of
 * their own. The n-th line of an operation belongs to the n-th row of it (figures.py).
 */
#ifndef GPU_APP_H
#define GPU_APP_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CUDA(call)                                                         \
	do {                                                               \
		cudaError_t e_ = (call);                                   \
		if (e_ != cudaSuccess) {                                   \
			printf("%s: %s\n", #call, cudaGetErrorString(e_)); \
			exit(1);                                           \
		}                                                          \
	} while (0)

/* `columns` of `rows` numbers, one column `stride` after the other. */
static inline void print_figure(const char *op, const char *io, const void *device, int bytes,
	size_t rows, size_t columns, size_t stride, cudaStream_t s)
{
	size_t n = stride * (columns - 1) + rows;
	char *host = malloc(n * (size_t)bytes);
	double lo = 0, hi = 0;
	int some = 0;

	CUDA(cudaMemcpyAsync(host, device, n * (size_t)bytes, cudaMemcpyDeviceToHost, s));
	CUDA(cudaStreamSynchronize(s));
	for (size_t c = 0; c < columns; c++)
		for (size_t r = 0; r < rows; r++) {
			size_t at = c * stride + r;
			double v = bytes == 8 ? ((double *)(void *)host)[at]
					      : (double)((float *)(void *)host)[at];

			lo = some && lo < v ? lo : v;
			hi = some && hi > v ? hi : v;
			some = 1;
		}
	printf("figure %s %s %.17g %.17g\n", op, io, lo, hi);
	free(host);
}

#endif
