/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcublas.so.13 that computes on the processor what functions.def lists: tests only. Sums in double, in the order of the
 * elements, of complex numbers whatever the type. It refuses leading dimensions that are too small, as the real one does.
 */
#include <stdlib.h>

#include "number.h"

#pragma GCC visibility push(default)
#include "functions.h"

int cublasLtMatmulDescCreate(void **out, int32_t compute, int32_t scale);
int cublasLtMatmulDescSetAttribute(void *d, unsigned attribute, const void *v, size_t bytes);
int cublasLtMatmulDescDestroy(void *d);
int cublasLtMatrixLayoutCreate(void **out, int32_t type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutDestroy(void *d);
int cublasLtMatmul(void *handle, void *product, const void *alpha, const void *a, void *al,
	const void *b, void *bl, const void *beta, const void *c, void *cl, void *d, void *dl,
	const void *algo, void *workspace, size_t bytes, void *stream);

struct cublasContext {
	cudaStream_t stream;
	int mode;
};

enum { OK, ALLOC_FAILED = 3, INVALID_VALUE = 7 };

/* ---- handles ---- */

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	*handle = calloc(1, sizeof(**handle));
	return *handle ? OK : ALLOC_FAILED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	free(handle);
	return OK;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
	handle->stream = stream;
	return OK;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream)
{
	*stream = handle->stream;
	return OK;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
	handle->mode = mode;
	return OK;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
	*mode = handle->mode;
	return OK;
}

/* ---- a call ---- */

/* Its arguments, and what they stand for: `one` of a batch has the addresses of its own matrices in x. */
struct job {
	struct arguments x;
	cublasHandle_t handle;
	int factor, other; /* types of alpha, and of beta or the result */
	int arrays; /* a, b and c are arrays of addresses */
	int wide; /* integers have 64 bits */
	int64_t nth; /* of a batch */
	double complex alpha, beta;
};

typedef cublasStatus_t one_product(const struct job *j);

/* Type of the factors where the interface passes them as void pointers. */
static int factor_type(const struct arguments *x)
{
	switch (x->compute) {
	case 64: /* CUBLAS_COMPUTE_16F, _PEDANTIC; before CUDA 11 CUDA_R_16F */
	case 65:
	case 2:
		return R16;
	case 72: /* CUBLAS_COMPUTE_32I, _PEDANTIC */
	case 73:
		return RI32;
	case 70: /* CUBLAS_COMPUTE_64F, _PEDANTIC; before CUDA 11 CUDA_R_64F, CUDA_C_64F */
	case 71:
	case 1:
	case 5:
		return is_complex_type(x->ct) ? C64 : R64;
	}
	return is_complex_type(x->ct) ? C32 : R32;
}

/* An address "on the device". */
static void *device_place(const struct job *j, void *p)
{
	return j->handle->mode ? (char *)p + ON_DEVICE : p;
}

/* An array of addresses lies on the device whatever the mode. */
static void *nth_matrix(const struct job *j, void *p, int type, int64_t stride, int64_t i)
{
	if (!p)
		return NULL;
	if (j->arrays)
		return ((void *const *)((const char *)p + ON_DEVICE))[i];
	return (char *)p + i * stride * bytes_of_type[type];
}

static cublasStatus_t run_groups(struct job *j, one_product *one);

static cublasStatus_t run_job(struct job *j, one_product *one)
{
	const struct arguments *x = &j->x;
	cublasStatus_t status = OK;

	if (x->m < 0 || x->n < 0 || x->k < 0 || x->batch < 0)
		return INVALID_VALUE;
	if (j->factor < 0)
		j->factor = j->other = x->ft >= 0 ? x->ft : factor_type(x);
	if (x->rt >= 0)
		j->other = x->rt;
	if (x->sizes)
		return run_groups(j, one);
	if (x->alpha)
		j->alpha = get_complex(j->factor, device_place(j, x->alpha), 0);
	if (x->beta)
		j->beta = get_complex(j->other, device_place(j, x->beta), 0);
	for (int64_t i = 0; i < x->batch && status == OK; i++) {
		struct job o = *j;

		o.x.a = nth_matrix(j, x->a, x->at, x->sa, i);
		o.x.b = nth_matrix(j, x->b, x->bt, x->sb, i);
		o.x.c = nth_matrix(j, x->c, x->ct, x->sc, i);
		o.x.tau = nth_matrix(j, x->tau, x->ct, 0, i);
		o.nth = i;
		status = one(&o);
	}
	return status;
}

static int64_t group_number(const struct job *j, const void *p, int64_t i)
{
	return j->wide ? ((const int64_t *)p)[i] : ((const int *)p)[i];
}

/* Each a batch of its own, whose addresses lie after those of the ones before. */
static cublasStatus_t run_groups(struct job *j, one_product *one)
{
	const struct arguments *x = &j->x;
	int64_t before = 0;
	cublasStatus_t status = OK;

	for (int64_t g = 0; g < x->batch && status == OK; g++) {
		struct job o = *j;

		o.x.sizes = NULL;
		o.x.ta = ((const int *)x->tas)[g];
		o.x.tb = ((const int *)x->tbs)[g];
		o.x.m = group_number(j, x->ms, g);
		o.x.n = group_number(j, x->ns, g);
		o.x.k = group_number(j, x->ks, g);
		o.x.lda = group_number(j, x->ldas, g);
		o.x.ldb = group_number(j, x->ldbs, g);
		o.x.ldc = group_number(j, x->ldcs, g);
		o.x.alpha = (char *)x->alpha + g * bytes_of_type[j->factor];
		o.x.beta = (char *)x->beta + g * bytes_of_type[j->other];
		o.x.a = (void **)x->a + before;
		o.x.b = (void **)x->b + before;
		o.x.c = (void **)x->c + before;
		o.x.batch = group_number(j, x->sizes, g);
		before += o.x.batch;
		status = run_job(&o, one);
	}
	return status;
}

static cublasStatus_t do_gemm(const struct job *j);

static cublasStatus_t do_grouped(const struct job *j)
{
	return do_gemm(j);
}

static int is_ld_too_small(int64_t ld, int64_t rows)
{
	return ld < rows || ld < 1;
}

/* Element (i, j) of op(A): op 1 transposes, 2 conjugates as well. */
static double complex of_op(int type, const void *a, int64_t ld, int op, int64_t i, int64_t j)
{
	double complex v = get_complex(type, a, op ? j + i * ld : i + j * ld);

	return op == 2 ? conj(v) : v;
}

/* c[at] = alpha * sum + beta * c[at]; what is multiplied by 0 is not read. */
static void put_result(const struct job *j, int64_t at, double complex sum)
{
	const struct arguments *x = &j->x;
	double complex v = j->alpha != 0 ? j->alpha * sum : 0;

	if (j->beta != 0)
		v += j->beta * get_complex(x->ct, x->c, at);
	put_complex(x->ct, x->c, at, v);
}

/* ---- matrices ---- */

/* As the real one does: by a call of the other library, which anybody may interpose. */
static cublasStatus_t multiply_by_lt(const struct job *j)
{
	const struct arguments *x = &j->x;
	int ta = x->ta, tb = x->tb, mode = j->handle->mode, status;
	void *product, *al, *bl, *cl;

	cublasLtMatmulDescCreate(&product, x->compute, j->factor);
	cublasLtMatmulDescSetAttribute(product, 2, &mode, sizeof(mode));
	cublasLtMatmulDescSetAttribute(product, 3, &ta, sizeof(ta));
	cublasLtMatmulDescSetAttribute(product, 4, &tb, sizeof(tb));
	cublasLtMatrixLayoutCreate(
		&al, x->at, (uint64_t)(ta ? x->k : x->m), (uint64_t)(ta ? x->m : x->k), x->lda);
	cublasLtMatrixLayoutCreate(
		&bl, x->bt, (uint64_t)(tb ? x->n : x->k), (uint64_t)(tb ? x->k : x->n), x->ldb);
	cublasLtMatrixLayoutCreate(&cl, x->ct, (uint64_t)x->m, (uint64_t)x->n, x->ldc);
	status = cublasLtMatmul(j->handle, product, x->alpha, x->a, al, x->b, bl, x->beta, x->c, cl,
		x->c, cl, NULL, NULL, 0, j->handle->stream);
	cublasLtMatrixLayoutDestroy(al);
	cublasLtMatrixLayoutDestroy(bl);
	cublasLtMatrixLayoutDestroy(cl);
	cublasLtMatmulDescDestroy(product);
	return status;
}

static cublasStatus_t do_gemm(const struct job *j)
{
	const struct arguments *x = &j->x;

	if (is_ld_too_small(x->lda, x->ta ? x->k : x->m) ||
		is_ld_too_small(x->ldb, x->tb ? x->n : x->k) || is_ld_too_small(x->ldc, x->m))
		return INVALID_VALUE;
	if (x->compute && !is_complex_type(x->ct)) {
		/* By functions of its own, which anybody may interpose too. */
		if (j->arrays)
			return cublasGemmEx_64(j->handle, x->ta, x->tb, x->m, x->n, x->k, x->alpha,
				x->a, x->at, x->lda, x->b, x->bt, x->ldb, x->beta, x->c, x->ct,
				x->ldc, x->compute, x->algo);
		return multiply_by_lt(j);
	}
	for (int64_t c = 0; c < x->n; c++)
		for (int64_t r = 0; r < x->m; r++) {
			double complex sum = 0;

			for (int64_t l = 0; l < x->k && j->alpha != 0; l++)
				sum += of_op(x->at, x->a, x->lda, x->ta, r, l) *
				       of_op(x->bt, x->b, x->ldb, x->tb, l, c);
			put_result(j, r + c * x->ldc, sum);
		}
	return OK;
}

/* Kind of matrix that the stored triangle represents. */
enum half { TRIANGULAR, SYMMETRIC, HERMITIAN };

/* Storage of the triangle: in a full matrix, as a band with k diagonals beside the main one, or packed column after column. */
enum storage { FULL, BAND, PACKED };

/* Index of element (r, c) of the stored triangle; uplo 0: lower, 1: upper. */
static int64_t triangle_place(
	const struct arguments *x, enum storage s, int64_t ld, int64_t r, int64_t c)
{
	switch (s) {
	case BAND:
		return (x->uplo ? x->k + r - c : r - c) + c * ld;
	case PACKED:
		return x->uplo ? r + c * (c + 1) / 2 : r + c * (2 * x->n - c - 1) / 2;
	default:
		return r + c * ld;
	}
}

/* Element (r, c) of the whole. */
static double complex of_stored(
	const struct arguments *x, enum storage s, enum half half, int unit, int64_t r, int64_t c)
{
	int there = x->uplo ? r <= c : r >= c;
	int64_t away = r < c ? c - r : r - c;
	double complex v;

	if (r == c && unit)
		return 1;
	if ((!there && half == TRIANGULAR) || (s == BAND && away > x->k))
		return 0;
	v = get_complex(x->at, x->a,
		there ? triangle_place(x, s, x->lda, r, c) : triangle_place(x, s, x->lda, c, r));
	if (half != HERMITIAN)
		return v;
	return r == c ? creal(v) : there ? v : conj(v);
}

static double complex of_half(
	const struct arguments *x, enum half half, int unit, int64_t r, int64_t c)
{
	return of_stored(x, FULL, half, unit, r, c);
}

/* C = alpha A B + beta C, where A is what its half stands for, or op(A); from the right: B A. */
static cublasStatus_t multiply_from_side(const struct job *j, enum half half)
{
	const struct arguments *x = &j->x;
	int64_t order = x->side ? x->n : x->m;

	if (is_ld_too_small(x->lda, order) || is_ld_too_small(x->ldb, x->m) ||
		is_ld_too_small(x->ldc, x->m))
		return INVALID_VALUE;
	for (int64_t c = 0; c < x->n; c++)
		for (int64_t r = 0; r < x->m; r++) {
			double complex sum = 0;

			for (int64_t l = 0; l < order && j->alpha != 0; l++) {
				int64_t ar = x->side ? l : r, ac = x->side ? c : l;
				double complex a = x->ta ? of_half(x, half, x->diag, ac, ar)
							 : of_half(x, half, x->diag, ar, ac);

				sum += (x->ta == 2 ? conj(a) : a) *
				       get_complex(x->bt, x->b,
					       x->side ? r + l * x->ldb : l + c * x->ldb);
			}
			put_result(j, r + c * x->ldc, sum);
		}
	return OK;
}

static cublasStatus_t do_symm(const struct job *j)
{
	return multiply_from_side(j, SYMMETRIC);
}

static cublasStatus_t do_hemm(const struct job *j)
{
	return multiply_from_side(j, HERMITIAN);
}

static cublasStatus_t do_trmm(const struct job *j)
{
	return multiply_from_side(j, TRIANGULAR);
}

/* By substitution: op(A) X = alpha B, or X op(A) = alpha B. */
static cublasStatus_t do_trsm(const struct job *j)
{
	const struct arguments *x = &j->x;
	int64_t order = x->side ? x->n : x->m, others = x->side ? x->m : x->n;
	/* Does the first unknown stand alone? */
	int first = x->side ? (x->uplo != 0) != (x->ta != 0) : (x->uplo == 0) != (x->ta != 0);

	if (is_ld_too_small(x->lda, order) || is_ld_too_small(x->ldb, x->m))
		return INVALID_VALUE;
	for (int64_t o = 0; o < others; o++)
		for (int64_t s = 0; s < order; s++) {
			int64_t i = first ? s : order - 1 - s,
				at = x->side ? o + i * x->ldb : i + o * x->ldb;
			double complex sum = 0, d = of_half(x, TRIANGULAR, x->diag, i, i);

			if (j->alpha != 0)
				sum = j->alpha * get_complex(x->bt, x->b, at);
			for (int64_t r = 0; r < s && j->alpha != 0; r++) {
				int64_t l = first ? r : order - 1 - r;
				int turned = x->side ? !x->ta : !!x->ta;
				double complex a = turned ? of_half(x, TRIANGULAR, 0, l, i)
							  : of_half(x, TRIANGULAR, 0, i, l);

				sum -= (x->ta == 2 ? conj(a) : a) *
				       get_complex(x->bt, x->b,
					       x->side ? o + l * x->ldb : l + o * x->ldb);
			}
			put_complex(x->bt, x->b, at,
				j->alpha != 0 ? sum / (x->ta == 2 ? conj(d) : d) : 0);
		}
	return OK;
}

/*
 * C = alpha op(A) op(B)' + beta C, and the same with A and B exchanged where `both`, of one triangle. Without a B it is A. hermitian:
 * ' conjugates.
 */
static cublasStatus_t update_triangle(const struct job *j, int hermitian, int both)
{
	const struct arguments *x = &j->x;
	const void *b = x->b ? x->b : x->a;
	int64_t ldb = x->b ? x->ldb : x->lda, rows = x->ta ? x->k : x->n;
	/* That of op(B)' at (l, c) is op(B) at (c, l), conjugated or not. */
	double complex turned = j->alpha != 0 && hermitian ? conj(j->alpha) / j->alpha : 1;

	if (is_ld_too_small(x->lda, rows) || is_ld_too_small(ldb, rows) ||
		is_ld_too_small(x->ldc, x->n))
		return INVALID_VALUE;
	for (int64_t c = 0; c < x->n; c++)
		for (int64_t r = x->uplo ? 0 : c; r < (x->uplo ? c + 1 : x->n); r++) {
			double complex sum = 0, other = 0;

			for (int64_t l = 0; l < x->k && j->alpha != 0; l++) {
				double complex bc = of_op(x->at, b, ldb, x->ta, c, l),
					       ac = of_op(x->at, x->a, x->lda, x->ta, c, l);

				sum += of_op(x->at, x->a, x->lda, x->ta, r, l) *
				       (hermitian ? conj(bc) : bc);
				if (both)
					other += of_op(x->at, b, ldb, x->ta, r, l) *
						 (hermitian ? conj(ac) : ac);
			}
			put_result(j, r + c * x->ldc, sum + turned * other);
		}
	return OK;
}

static cublasStatus_t do_syrk(const struct job *j)
{
	return update_triangle(j, 0, 0);
}

static cublasStatus_t do_herk(const struct job *j)
{
	return update_triangle(j, 1, 0);
}

static cublasStatus_t do_syr2k(const struct job *j)
{
	return update_triangle(j, 0, 1);
}

static cublasStatus_t do_her2k(const struct job *j)
{
	return update_triangle(j, 1, 1);
}

static cublasStatus_t do_syrkx(const struct job *j)
{
	return update_triangle(j, 0, 0);
}

static cublasStatus_t do_herkx(const struct job *j)
{
	return update_triangle(j, 1, 0);
}

static cublasStatus_t do_geam(const struct job *j)
{
	const struct arguments *x = &j->x;

	if (is_ld_too_small(x->lda, x->ta ? x->n : x->m) ||
		is_ld_too_small(x->ldb, x->tb ? x->n : x->m) || is_ld_too_small(x->ldc, x->m))
		return INVALID_VALUE;
	for (int64_t c = 0; c < x->n; c++)
		for (int64_t r = 0; r < x->m; r++) {
			double complex v = 0;

			if (j->alpha != 0)
				v += j->alpha * of_op(x->at, x->a, x->lda, x->ta, r, c);
			if (j->beta != 0)
				v += j->beta * of_op(x->bt, x->b, x->ldb, x->tb, r, c);
			put_complex(x->ct, x->c, r + c * x->ldc, v);
		}
	return OK;
}

static cublasStatus_t do_gemm_bias(const struct job *j)
{
	const struct arguments *x = &j->x;

	if (is_ld_too_small(x->lda, x->ta ? x->k : x->m) ||
		is_ld_too_small(x->ldb, x->tb ? x->n : x->k) || is_ld_too_small(x->ldc, x->m))
		return INVALID_VALUE;
	for (int64_t c = 0; c < x->n; c++)
		for (int64_t r = 0; r < x->m; r++) {
			double sum = 0;

			for (int64_t l = 0; l < x->k; l++)
				sum += (creal(of_op(x->at, x->a, x->lda, x->ta, r, l)) -
					       x->bias_a) *
				       (creal(of_op(x->bt, x->b, x->ldb, x->tb, l, c)) - x->bias_b);
			put_complex(x->ct, x->c, r + c * x->ldc,
				floor(sum * x->factor / (double)(1 << x->shift)) + x->bias_c);
		}
	return OK;
}

#include "factors.h"
#include "vectors.h"

/* ---- the functions ---- */

static struct job make_job(cublasHandle_t handle, int factor, int other, int type, int last)
{
	return (struct job){
		.x = {.at = type, .bt = type, .ct = last, .batch = 1, .ft = -1, .rt = -1},
		.handle = handle,
		.factor = factor,
		.other = other};
}

#define KEEP_VALUE(which) j.x.which = which;
#define KEEP_ADDRESS(which) j.x.which = (void *)(uintptr_t)which;
#define KEEP_OP KEEP_VALUE
#define KEEP_SIDE KEEP_VALUE
#define KEEP_UPLO KEEP_VALUE
#define KEEP_DIAG KEEP_VALUE
#define KEEP_DTYPE KEEP_VALUE
#define KEEP_COMPUTE KEEP_VALUE
#define KEEP_ALGO KEEP_VALUE
#define KEEP_INT KEEP_VALUE
#define KEEP_LONG KEEP_VALUE
#define KEEP_ALPHA KEEP_ADDRESS
#define KEEP_BETA KEEP_ADDRESS
#define KEEP_RESULT KEEP_ADDRESS
#define KEEP_IN KEEP_ADDRESS
#define KEEP_BOTH KEEP_ADDRESS
#define KEEP_OUT KEEP_ADDRESS
#define KEEP_INS(which)     \
	KEEP_ADDRESS(which) \
	j.arrays = 1;
#define KEEP_OUTS KEEP_INS
#define KEEP_PLAIN KEEP_VALUE
#define KEEP_NUMBER KEEP_ADDRESS
#define KEEP_INDEX KEEP_ADDRESS
#define KEEP_PLACES KEEP_ADDRESS
#define KEEP_PLACES_IN KEEP_ADDRESS
#define KEEP_OPS KEEP_ADDRESS
#define KEEP_INTS KEEP_ADDRESS
#define KEEP(kind, which, t) KEEP_##kind(which)

#define DEFINE(form, op, name, t)                                                 \
	cublasStatus_t name(cublasHandle_t handle ARGUMENTS_##form(PARAMETER, t)) \
	{                                                                         \
		struct job j = make_job(handle, CODES t);                         \
		j.wide = sizeof(INTEGER) == 8;                                    \
                                                                                  \
		ARGUMENTS_##form(KEEP, t) return run_job(&j, do_##op);            \
	}
#define ROW(form, op, name, t) DEFINE(form, op, name, t)
#define INTEGER int
#include "functions.def"
#undef ROW
#undef INTEGER
#define ROW(form, op, name, t) DEFINE(form, op, name##_64, t)
#define INTEGER int64_t
#define WIDE
#include "functions.def"
