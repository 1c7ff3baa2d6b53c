/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the adapters of cuBLAS and cublasLt. */
#ifndef PROBE_WRAPPERS_CUBLAS_H
#define PROBE_WRAPPERS_CUBLAS_H

#include <stdint.h>

#include "api/adapter.h"

#define CUBLAS_QUERIES 2u

/* Query functions of a copy of the library; cached by thread. */
struct cublas_queries {
	const void *real; /* the called function, of the same copy; NULL: none yet */
	uint32_t age; /* real_generation(): earlier copies may be unloaded */
	void *at[CUBLAS_QUERIES]; /* NULL: it has none */
};

/* The functions of those names, of the copy that `real` is of. Where *q has others they are looked up. Returns q->at. */
void *const *find_cublas_queries(
	struct cublas_queries *q, const void *real, const char *const names[CUBLAS_QUERIES]);

/* value: a cudaDataType. */
void cublas_dtype(uint64_t value, struct dtype_desc *d);

#endif
