/* SPDX-License-Identifier: Apache-2.0 */
/* What the adapters of cuBLAS and of cublasLt have in common. */
#ifndef PROBE_WRAPPERS_CUBLAS_H
#define PROBE_WRAPPERS_CUBLAS_H

#include <stdint.h>

#include "api/adapter.h"

#define CUBLAS_QUERIES 2u

/* Functions of a copy of the library that tell what a call is about; kept by thread. */
struct cublas_queries {
	const void *real; /* the function that is called, whose copy they are of; NULL: none yet */
	uint32_t age; /* real_generation(): what was loaded then may be gone */
	void *at[CUBLAS_QUERIES]; /* NULL: it has none */
};

/* The functions of those names, of the copy that `real` is of. Where *q has others they are looked up. Returns q->at. */
void *const *find_cublas_queries(
	struct cublas_queries *q, const void *real, const char *const names[CUBLAS_QUERIES]);

/* value: a cudaDataType. */
void cublas_dtype(uint64_t value, struct dtype_desc *d);

#endif
