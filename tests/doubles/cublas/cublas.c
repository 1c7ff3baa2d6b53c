/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcublas.so.13 that computes on the processor, of what tests/apps/cublas_calls.c calls: tests only. Sums in double, in the
 * order of the elements.
 */
#include <stdlib.h>

#include "number.h"

#define OWN __attribute__((visibility("default")))

int cublasLtMatmulDescCreate(void **out, int32_t compute, int32_t scale);
int cublasLtMatmulDescSetAttribute(void *d, unsigned attribute, const void *v, size_t bytes);
int cublasLtMatmulDescDestroy(void *d);
int cublasLtMatrixLayoutCreate(void **out, int32_t type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutDestroy(void *d);
int cublasLtMatmul(void *handle, void *product, const void *alpha, const void *a, void *al,
	const void *b, void *bl, const void *beta, const void *c, void *cl, void *d, void *dl,
	const void *algo, void *workspace, size_t bytes, void *stream);

struct handle {
	void *stream;
	int mode;
};

/* ---- handles ---- */

OWN int cublasCreate_v2(struct handle **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : 3;
}

OWN int cublasDestroy_v2(struct handle *h)
{
	free(h);
	return 0;
}

OWN int cublasSetStream_v2(struct handle *h, void *stream)
{
	h->stream = stream;
	return 0;
}

OWN int cublasGetStream_v2(struct handle *h, void **stream)
{
	*stream = h->stream;
	return 0;
}

OWN int cublasSetPointerMode_v2(struct handle *h, int mode)
{
	h->mode = mode;
	return 0;
}

OWN int cublasGetPointerMode_v2(struct handle *h, int *mode)
{
	*mode = h->mode;
	return 0;
}

static double factor(const struct handle *h, int type, const void *p)
{
	return get(type, h->mode ? (const char *)p + ON_DEVICE : p, 0);
}

/* ---- matrices ---- */

struct gemm {
	int ta, tb, m, n, k, at, bt, ct;
	int64_t lda, ldb, ldc;
};

static void multiply(
	const struct gemm *g, double alpha, const void *a, const void *b, double beta, void *c)
{
	for (int64_t j = 0; j < g->n; j++)
		for (int64_t i = 0; i < g->m; i++) {
			double sum = 0;

			for (int64_t l = 0; l < g->k && alpha != 0; l++)
				sum += get(g->at, a, g->ta ? l + i * g->lda : i + l * g->lda) *
				       get(g->bt, b, g->tb ? j + l * g->ldb : l + j * g->ldb);
			put(g->ct, c, i + j * g->ldc,
				alpha * sum +
					(beta != 0 ? beta * get(g->ct, c, i + j * g->ldc) : 0));
		}
}

#define GEMM(name, T, type)                                                                 \
	OWN int name(struct handle *h, int ta, int tb, int m, int n, int k, const T *alpha, \
		const T *a, int lda, const T *b, int ldb, const T *beta, T *c, int ldc)     \
	{                                                                                   \
		struct gemm g = {ta, tb, m, n, k, type, type, type, lda, ldb, ldc};         \
                                                                                            \
		if (m < 0 || n < 0 || k < 0)                                                \
			return 7;                                                           \
		multiply(&g, factor(h, type, alpha), a, b, factor(h, type, beta), c);       \
		return 0;                                                                   \
	}
GEMM(cublasSgemm_v2, float, R32)
GEMM(cublasDgemm_v2, double, R64)

OWN int cublasDgemm_v2_64(struct handle *h, int ta, int tb, int64_t m, int64_t n, int64_t k,
	const double *alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
	const double *beta, double *c, int64_t ldc)
{
	return cublasDgemm_v2(h, ta, tb, (int)m, (int)n, (int)k, alpha, a, (int)lda, b, (int)ldb,
		beta, c, (int)ldc);
}

OWN int cublasGemmStridedBatchedEx(struct handle *h, int ta, int tb, int m, int n, int k,
	const void *alpha, const void *a, int at, int lda, long long sa, const void *b, int bt,
	int ldb, long long sb, const void *beta, void *c, int ct, int ldc, long long sc, int batch,
	int compute, int algo)
{
	struct gemm g = {ta, tb, m, n, k, at, bt, ct, lda, ldb, ldc};
	int type = compute == 70 ? R64 : R32;

	(void)algo;
	for (int64_t i = 0; i < batch; i++)
		multiply(&g, factor(h, type, alpha), (const char *)a + i * sa * bytes_of_type[at],
			(const char *)b + i * sb * bytes_of_type[bt], factor(h, type, beta),
			(char *)c + i * sc * bytes_of_type[ct]);
	return 0;
}

/* As the real one does: by a call of the other library, which anybody may interpose. */
OWN int cublasGemmEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha,
	const void *a, int at, int lda, const void *b, int bt, int ldb, const void *beta, void *c,
	int ct, int ldc, int compute, int algo)
{
	void *product, *al, *bl, *cl;
	int status;

	(void)algo;
	cublasLtMatmulDescCreate(&product, compute, compute == 70 ? R64 : R32);
	cublasLtMatmulDescSetAttribute(product, 2, &h->mode, sizeof(h->mode));
	cublasLtMatmulDescSetAttribute(product, 3, &ta, sizeof(ta));
	cublasLtMatmulDescSetAttribute(product, 4, &tb, sizeof(tb));
	cublasLtMatrixLayoutCreate(&al, at, (uint64_t)(ta ? k : m), (uint64_t)(ta ? m : k), lda);
	cublasLtMatrixLayoutCreate(&bl, bt, (uint64_t)(tb ? n : k), (uint64_t)(tb ? k : n), ldb);
	cublasLtMatrixLayoutCreate(&cl, ct, (uint64_t)m, (uint64_t)n, ldc);
	status = cublasLtMatmul(
		h, product, alpha, a, al, b, bl, beta, c, cl, c, cl, NULL, NULL, 0, h->stream);
	cublasLtMatrixLayoutDestroy(al);
	cublasLtMatrixLayoutDestroy(bl);
	cublasLtMatrixLayoutDestroy(cl);
	cublasLtMatmulDescDestroy(product);
	return status;
}

OWN int cublasSgemmStridedBatched(struct handle *h, int ta, int tb, int m, int n, int k,
	const float *alpha, const float *a, int lda, long long sa, const float *b, int ldb,
	long long sb, const float *beta, float *c, int ldc, long long sc, int batch)
{
	return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, R32, lda, sa, b, R32, ldb,
		sb, beta, c, R32, ldc, sc, batch, 68, 0);
}

/* An array of addresses lies on the device. */
static void *address_in(const void *array, int i)
{
	return ((void *const *)((const char *)array + ON_DEVICE))[i];
}

OWN int cublasGemmBatchedEx(struct handle *h, int ta, int tb, int m, int n, int k,
	const void *alpha, const void *const a[], int at, int lda, const void *const b[], int bt,
	int ldb, const void *beta, void *const c[], int ct, int ldc, int batch, int compute,
	int algo)
{
	for (int i = 0; i < batch; i++)
		cublasGemmEx(h, ta, tb, m, n, k, alpha, address_in(a, i), at, lda, address_in(b, i),
			bt, ldb, beta, address_in(c, i), ct, ldc, compute, algo);
	return 0;
}

OWN int cublasSgemmBatched(struct handle *h, int ta, int tb, int m, int n, int k,
	const float *alpha, const float *const a[], int lda, const float *const b[], int ldb,
	const float *beta, float *const c[], int ldc, int batch)
{
	return cublasGemmBatchedEx(h, ta, tb, m, n, k, alpha, (const void *const *)a, R32, lda,
		(const void *const *)b, R32, ldb, beta, (void *const *)c, R32, ldc, batch, 68, 0);
}

/* Element (i, j) of a triangle that stands for a whole matrix (symmetric), or for a triangular one. uplo 0: lower, 1: upper. */
static double half_of(
	const double *a, int64_t ld, int uplo, int symmetric, int unit, int64_t i, int64_t j)
{
	if (i == j && unit)
		return 1;
	if (uplo ? i <= j : i >= j)
		return a[i + j * ld];
	return symmetric ? a[j + i * ld] : 0;
}

OWN int cublasDsymm_v2(struct handle *h, int side, int uplo, int m, int n, const double *alpha,
	const double *a, int lda, const double *b, int ldb, const double *beta, double *c, int ldc)
{
	double f = factor(h, R64, alpha), g = factor(h, R64, beta);

	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i < m; i++) {
			double sum = 0;

			for (int64_t l = 0; l < (side ? n : m) && f != 0; l++)
				sum += side ? b[i + l * ldb] * half_of(a, lda, uplo, 1, 0, l, j)
					    : half_of(a, lda, uplo, 1, 0, i, l) * b[l + j * ldb];
			c[i + j * ldc] = f * sum + (g != 0 ? g * c[i + j * ldc] : 0);
		}
	return 0;
}

static double of_op(const double *a, int64_t lda, int uplo, int t, int unit, int64_t i, int64_t j)
{
	return t ? half_of(a, lda, uplo, 0, unit, j, i) : half_of(a, lda, uplo, 0, unit, i, j);
}

OWN int cublasDtrmm_v2(struct handle *h, int side, int uplo, int t, int unit, int m, int n,
	const double *alpha, const double *a, int lda, const double *b, int ldb, double *c, int ldc)
{
	double f = factor(h, R64, alpha);

	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i < m; i++) {
			double sum = 0;

			for (int64_t l = 0; l < (side ? n : m) && f != 0; l++)
				sum += side ? b[i + l * ldb] * of_op(a, lda, uplo, t, unit, l, j)
					    : of_op(a, lda, uplo, t, unit, i, l) * b[l + j * ldb];
			c[i + j * ldc] = f * sum;
		}
	return 0;
}

/* By substitution: op(A) X = alpha B, or X op(A) = alpha B. */
OWN int cublasDtrsm_v2(struct handle *h, int side, int uplo, int t, int unit, int m, int n,
	const double *alpha, const double *a, int lda, double *b, int ldb)
{
	double f = factor(h, R64, alpha);
	int64_t order = side ? n : m, others = side ? m : n;
	/* Does the first unknown stand alone? */
	int first = side ? (uplo != 0) != (t != 0) : (uplo == 0) != (t != 0);

	for (int64_t o = 0; o < others; o++)
		for (int64_t s = 0; s < order; s++) {
			int64_t i = first ? s : order - 1 - s;
			double *x = side ? &b[o + i * ldb] : &b[i + o * ldb],
			       sum = f != 0 ? f * *x : 0;

			for (int64_t r = 0; r < s && f != 0; r++) {
				int64_t l = first ? r : order - 1 - r;

				sum -= side ? b[o + l * ldb] * of_op(a, lda, uplo, t, unit, l, i)
					    : of_op(a, lda, uplo, t, unit, i, l) * b[l + o * ldb];
			}
			*x = f != 0 ? sum / of_op(a, lda, uplo, t, unit, i, i) : 0;
		}
	return 0;
}

OWN int cublasDtrsmBatched(struct handle *h, int side, int uplo, int t, int unit, int m, int n,
	const double *alpha, const double *const a[], int lda, double *const b[], int ldb,
	int batch)
{
	for (int i = 0; i < batch; i++)
		cublasDtrsm_v2(h, side, uplo, t, unit, m, n, alpha, address_in(a, i), lda,
			address_in(b, i), ldb);
	return 0;
}

OWN int cublasSsyr2k_v2(struct handle *h, int uplo, int t, int n, int k, const float *alpha,
	const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
	double f = factor(h, R32, alpha), g = factor(h, R32, beta);

	for (int64_t j = 0; j < n; j++)
		for (int64_t i = uplo ? 0 : j; i < (uplo ? j + 1 : n); i++) {
			double sum = 0;

			for (int64_t l = 0; l < k && f != 0; l++)
				sum += (double)a[t ? l + i * lda : i + l * lda] *
					       (double)b[t ? l + j * ldb : j + l * ldb] +
				       (double)b[t ? l + i * ldb : i + l * ldb] *
					       (double)a[t ? l + j * lda : j + l * lda];
			c[i + j * ldc] =
				(float)(f * sum + (g != 0 ? g * (double)c[i + j * ldc] : 0));
		}
	return 0;
}

/* ---- vectors ---- */

OWN int cublasSgemv_v2(struct handle *h, int t, int m, int n, const float *alpha, const float *a,
	int lda, const float *x, int incx, const float *beta, float *y, int incy)
{
	double f = factor(h, R32, alpha), g = factor(h, R32, beta);

	for (int64_t i = 0; i < (t ? n : m); i++) {
		double sum = 0;

		for (int64_t j = 0; j < (t ? m : n) && f != 0; j++)
			sum += (double)(t ? a[j + i * lda] : a[i + j * lda]) * (double)x[j * incx];
		y[i * incy] = (float)(f * sum + (g != 0 ? g * (double)y[i * incy] : 0));
	}
	return 0;
}

OWN int cublasSgemvBatched(struct handle *h, int t, int m, int n, const float *alpha,
	const float *const a[], int lda, const float *const x[], int incx, const float *beta,
	float *const y[], int incy, int batch)
{
	for (int i = 0; i < batch; i++)
		cublasSgemv_v2(h, t, m, n, alpha, address_in(a, i), lda, address_in(x, i), incx,
			beta, address_in(y, i), incy);
	return 0;
}

OWN int cublasSgemvStridedBatched(struct handle *h, int t, int m, int n, const float *alpha,
	const float *a, int lda, long long sa, const float *x, int incx, long long sx,
	const float *beta, float *y, int incy, long long sy, int batch)
{
	for (int i = 0; i < batch; i++)
		cublasSgemv_v2(h, t, m, n, alpha, a + i * sa, lda, x + i * sx, incx, beta,
			y + i * sy, incy);
	return 0;
}

OWN int cublasDdot_v2(struct handle *h, int n, const double *x, int incx, const double *y, int incy,
	double *result)
{
	(void)h;
	*result = 0;
	for (int64_t i = 0; i < n; i++)
		*result += x[i * incx] * y[i * incy];
	return 0;
}

OWN int cublasSaxpy_v2(
	struct handle *h, int n, const float *alpha, const float *x, int incx, float *y, int incy)
{
	for (int64_t i = 0; i < n; i++)
		y[i * incy] += (float)(factor(h, R32, alpha) * (double)x[i * incx]);
	return 0;
}
