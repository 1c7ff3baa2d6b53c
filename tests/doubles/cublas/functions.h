/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the functions of functions.def look like. It can be included after NVIDIA's cublas_v2.h too, which then says whether that is
 * true (of all of them in C++: in C the header has none of __half and __nv_bfloat16).
 */
#ifndef PROBE_TESTS_DOUBLES_CUBLAS_FUNCTIONS_H
#define PROBE_TESTS_DOUBLES_CUBLAS_FUNCTIONS_H

#include <stdint.h>

#ifndef CUBLAS_API_H_ /* of cublas_v2.h */
typedef int cublasStatus_t, cublasOperation_t, cublasFillMode_t, cublasSideMode_t, cublasDiagType_t;
typedef int cudaDataType, cublasComputeType_t, cublasGemmAlgo_t, cublasPointerMode_t;
typedef struct cublasContext *cublasHandle_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct {
	float x, y;
} cuComplex;
typedef struct {
	double x, y;
} cuDoubleComplex;
typedef struct {
	uint16_t x;
} __half, __nv_bfloat16;
#endif

/* Any function's, beside the handle. a, b and c: matrices, vectors, or arrays of their addresses; *t: their types. */
struct arguments {
	int ta, tb, side, uplo, diag, at, bt, ct, compute, algo;
	int ft, rt, xt; /* types of the factors, of the result, and of what is computed in */
	int tc, bias_a, bias_b, bias_c, factor, shift;
	int64_t m, n, k, kl, ku, lda, ldb, ldc, incx, incy, sa, sb, sc, batch;
	void *alpha, *beta, *a, *b, *c, *result;
	void *tau, *pivots, *info, *infos;
	/* Of groups of batches: arrays. */
	void *tas, *tbs, *ms, *ns, *ks, *ldas, *ldbs, *ldcs, *sizes;
};

#include "forms.def"

/* C's types of those kinds; INTEGER: of a function's integers. */
#define TYPE_OP(F, G, X, Y) cublasOperation_t
#define TYPE_SIDE(F, G, X, Y) cublasSideMode_t
#define TYPE_UPLO(F, G, X, Y) cublasFillMode_t
#define TYPE_DIAG(F, G, X, Y) cublasDiagType_t
#define TYPE_DTYPE(F, G, X, Y) cudaDataType
#define TYPE_COMPUTE(F, G, X, Y) cublasComputeType_t
#define TYPE_ALGO(F, G, X, Y) cublasGemmAlgo_t
#define TYPE_INT(F, G, X, Y) INTEGER
#define TYPE_LONG(F, G, X, Y) long long
#define TYPE_ALPHA(F, G, X, Y) const F *
#define TYPE_BETA(F, G, X, Y) const G *
#define TYPE_RESULT(F, G, X, Y) G *
#define TYPE_IN(F, G, X, Y) const X *
#define TYPE_INS(F, G, X, Y) const X *const *
#define TYPE_BOTH(F, G, X, Y) X *
#define TYPE_OUT(F, G, X, Y) Y *
#define TYPE_OUTS(F, G, X, Y) Y *const *
#define TYPE_PLAIN(F, G, X, Y) int
#define TYPE_NUMBER(F, G, X, Y) F *
#define TYPE_INDEX(F, G, X, Y) INTEGER *
#define TYPE_PLACES(F, G, X, Y) int *
#define TYPE_PLACES_IN(F, G, X, Y) const int *
#define TYPE_OPS(F, G, X, Y) const cublasOperation_t *
#define TYPE_INTS(F, G, X, Y) const INTEGER *

/* cudaDataType; of void none. */
#define CODE_float 0
#define CODE_double 1
#define CODE___half 2
#define CODE_cuComplex 4
#define CODE_cuDoubleComplex 5
#define CODE_uint8_t 8
#define CODE___nv_bfloat16 14
#define CODE_void -1
#define CODES(F, G, X, Y) CODE_##F, CODE_##G, CODE_##X, CODE_##Y

#define PARAMETER(kind, which, t) , TYPE_##kind t which

#ifdef __cplusplus
extern "C" {
#endif
#define ROW(form, op, name, t) \
	cublasStatus_t name(cublasHandle_t handle ARGUMENTS_##form(PARAMETER, t));
#define INTEGER int
#include "functions.def"
#undef ROW
#undef INTEGER
#define ROW(form, op, name, t) \
	cublasStatus_t name##_64(cublasHandle_t handle ARGUMENTS_##form(PARAMETER, t));
#define INTEGER int64_t
#define WIDE
#include "functions.def"
#undef WIDE
#undef ROW
#undef INTEGER
cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream);
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode);
#ifdef __cplusplus
}
#endif

#endif
