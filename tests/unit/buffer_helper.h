/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers as adapters describe a framework's tensor in host memory. */
#ifndef TESTS_UNIT_BUFFER_HELPER_H
#define TESTS_UNIT_BUFFER_HELPER_H

#include "call/data/view.h"
#include "terms/dtype.h"

/* dims, strides: ndim numbers each, strides in elements; they must outlive the buffer. */
static inline struct buffer make_tensor(
	const void *base, enum dtype dt, unsigned ndim, const int64_t *dims, const int64_t *strides)
{
	uint64_t n = 1;

	for (unsigned i = 0; i < ndim; i++)
		n *= (uint64_t)dims[i];
	return (struct buffer){.base = base,
		.count = n,
		.bytes = n * get_dtype_info(dt)->size,
		.dtype = (uint8_t)dt,
		.layout = BUFFER_STRIDED,
		.host = 1,
		.ndim = (uint8_t)ndim,
		.n = ndim,
		.counts = dims,
		.displs = strides};
}

#endif
