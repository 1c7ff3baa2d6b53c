/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the adapters of cuBLAS and cublasLt. */
#ifndef PROBE_WRAPPERS_CUBLAS_H
#define PROBE_WRAPPERS_CUBLAS_H

#include <stdint.h>

#include "api/adapter.h"

#define CUBLAS_QUERIES 2u

/* Query functions of one copy of the library; cached by thread. */
struct cublas_queries {
	const void *real; /* a called function of this copy; NULL: none yet */
	/* real_get_generation() of the lookup: since then the copy may have been unloaded */
	uint32_t age;
	void *at[CUBLAS_QUERIES]; /* NULL: the copy has no such function */
};

/*
 * Returns q->at: the functions `names` of the copy of the library that contains `real`. They are
 * looked up unless *q has them.
 */
void *const *find_cublas_queries(
	struct cublas_queries *q, const void *real, const char *const names[CUBLAS_QUERIES]);

/* value: a cudaDataType. */
void cublas_find_dtype(uint64_t value, struct dtype_desc *d);

#endif
