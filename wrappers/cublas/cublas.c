/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuBLAS: what a handle says of the call, asked of the copy of the library that is called; both are fields of the handle and
 * take no time. Factors on the device are not read.
 */
#include "base/thread.h"
#include "call/call.h"
#include "call/describe.h"
#include "cublas_gen.h"
#include "elf/object_of.h"
#include "resolve/real.h"
#include "wrappers/cublas/cublas.h"

typedef int stream_query(uint64_t handle, uint64_t *stream);
typedef int mode_query(uint64_t handle, int *mode);

#define QUERIES_KEPT 4u

static const char *const queries[CUBLAS_QUERIES] = {
	"cublasGetStream_v2", "cublasGetPointerMode_v2"};
enum { OF_STREAM, OF_MODE };

static __thread struct cublas_queries kept[QUERIES_KEPT] __attribute__((tls_model("initial-exec")));

void *const *find_cublas_queries(
	struct cublas_queries *q, const void *real, const char *const names[CUBLAS_QUERIES])
{
	uint32_t age = real_generation();

	if (q->real == real && q->age == age)
		return q->at;
	for (unsigned i = 0; i < CUBLAS_QUERIES; i++)
		q->at[i] = sibling_symbol(real, names[i]);
	q->real = real;
	q->age = age;
	return q->at;
}

static void *const *queries_of(const void *real)
{
	return find_cublas_queries(&kept[(uintptr_t)real / 16 % QUERIES_KEPT], real, queries);
}

static uint64_t cublas_stream(const struct call *c)
{
	stream_query *ask = (stream_query *)queries_of(c->real)[OF_STREAM];
	uint64_t stream = 0;

	return ask && ask(call_arg(c, ROLE_HANDLE)->u, &stream) == 0 ? stream : 0;
}

/* CUBLAS_POINTER_MODE_HOST is 0. */
static bool factors_are_ours(const struct call *c)
{
	mode_query *ask = (mode_query *)queries_of(c->real)[OF_MODE];
	int mode = -1;

	return ask && ask(call_arg(c, ROLE_HANDLE)->u, &mode) == 0 && mode == 0;
}

/* cublasComputeType_t; before CUDA 11 it was a cudaDataType. The bytes of a factor, twice as many where C is complex. */
static unsigned factor_bytes(uint64_t compute)
{
	switch ((int32_t)compute) {
	case 64: /* CUBLAS_COMPUTE_16F, _PEDANTIC */
	case 65:
	case 2: /* CUDA_R_16F */
		return 2;
	case 70: /* CUBLAS_COMPUTE_64F, _PEDANTIC, _EMULATED_FIXEDPOINT */
	case 71:
	case 79:
	case 1: /* CUDA_R_64F, CUDA_C_64F */
	case 5:
		return 8;
	default:
		return 4;
	}
}

void cublas_dtype(uint64_t value, struct dtype_desc *d)
{
	d->dtype = DT_OTHER;
	for (size_t i = 0; i < sizeof(cublas_dtypes) / sizeof(*cublas_dtypes); i++)
		if (cublas_dtypes[i].value == (int32_t)value)
			d->dtype = cublas_dtypes[i].to;
	d->size = dtype_info(d->dtype)->size;
	d->extent = (int64_t)d->size;
}

/* Every bit but the signs. */
static bool is_zero_factor(const struct call *c, const union arg *factor)
{
	unsigned size = factor_bytes(call_arg(c, ROLE_COMPUTE)->u);
	struct dtype_desc d;
	const uint8_t *p = factor->cp;

	cublas_dtype(call_arg(c, ROLE_RDTYPE)->u, &d);

	unsigned bytes = dtype_info(d.dtype)->component != d.dtype ? 2 * size : size;

	for (unsigned i = 0; i < bytes; i++)
		if (p[i] & (i % size == size - 1 ? 0x7f : 0xff))
			return false;
	return true;
}

/* The result is not read where its factor is 0: it need not hold numbers yet. It is the last input. */
static void leave_out_result(struct operation *w, const void *result)
{
	if (w->nin && operation_inputs(w)[w->nin - 1].base == result)
		w->nin--;
}

static bool describe_cublas(struct call *c)
{
	union arg *alpha = call_arg(c, ROLE_ALPHA), *beta = call_arg(c, ROLE_BETA);
	union arg was[2] = {alpha ? *alpha : (union arg){0}, beta ? *beta : (union arg){0}};
	bool ours = factors_are_ours(c);

	/* A factor that is not there counts as one that is not 0. */
	if (!ours && alpha)
		alpha->p = NULL;
	if (!ours && beta)
		beta->p = NULL;
	describe_by_kind(c, NULL);
	if (alpha)
		*alpha = was[0];
	if (beta)
		*beta = was[1];
	if (ours && beta && beta->cp && call_arg(c, ROLE_COMPUTE) && is_zero_factor(c, beta))
		leave_out_result(&c->op, call_arg(c, ROLE_RECV)->cp);
	return true;
}

const struct adapter adapter_cublas = {
	LIB_CUBLAS_SPEC,
	.unknown_streams = true,
	.dtype = cublas_dtype,
	.describe = describe_cublas,
	.stream = cublas_stream,
};
