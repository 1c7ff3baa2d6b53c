/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of cuBLAS with shapes, leading dimensions, transpositions, types, batches and factors at random:
 * cublas_calls SEED CALLS TRUTH, as blas_calls.c. Factors lie on the host, or, as far as the library is concerned, on the device:
 * then their address must not be read. On stdout: sums of the results.
 */
#include "cublas_app.h"

#define V const void *
int cublasCreate_v2(void **h);
int cublasDestroy_v2(void *h);
int cublasSetPointerMode_v2(void *h, int mode);
int cublasSgemm_v2(void *h, int ta, int tb, int m, int n, int k, V alpha, V a, int lda, V b,
	int ldb, V beta, void *c, int ldc);
int cublasDgemm_v2(void *h, int ta, int tb, int m, int n, int k, V alpha, V a, int lda, V b,
	int ldb, V beta, void *c, int ldc);
int cublasDgemm_v2_64(void *h, int ta, int tb, int64_t m, int64_t n, int64_t k, V alpha, V a,
	int64_t lda, V b, int64_t ldb, V beta, void *c, int64_t ldc);
int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, V alpha, V a, int at, int lda, V b,
	int bt, int ldb, V beta, void *c, int ct, int ldc, int compute, int algo);
int cublasSgemmStridedBatched(void *h, int ta, int tb, int m, int n, int k, V alpha, V a, int lda,
	long long sa, V b, int ldb, long long sb, V beta, void *c, int ldc, long long sc,
	int batch);
int cublasGemmStridedBatchedEx(void *h, int ta, int tb, int m, int n, int k, V alpha, V a, int at,
	int lda, long long sa, V b, int bt, int ldb, long long sb, V beta, void *c, int ct, int ldc,
	long long sc, int batch, int compute, int algo);
int cublasDsymm_v2(void *h, int side, int uplo, int m, int n, V alpha, V a, int lda, V b, int ldb,
	V beta, void *c, int ldc);
int cublasDtrmm_v2(void *h, int side, int uplo, int t, int unit, int m, int n, V alpha, V a,
	int lda, V b, int ldb, void *c, int ldc);
int cublasDtrsm_v2(void *h, int side, int uplo, int t, int unit, int m, int n, V alpha, V a,
	int lda, void *b, int ldb);
int cublasSsyr2k_v2(void *h, int uplo, int t, int n, int k, V alpha, V a, int lda, V b, int ldb,
	V beta, void *c, int ldc);
int cublasSgemv_v2(void *h, int t, int m, int n, V alpha, V a, int lda, V x, int incx, V beta,
	void *y, int incy);
int cublasSgemmBatched(void *h, int ta, int tb, int m, int n, int k, V alpha, V a, int lda, V b,
	int ldb, V beta, V c, int ldc, int batch);
int cublasGemmBatchedEx(void *h, int ta, int tb, int m, int n, int k, V alpha, V a, int at, int lda,
	V b, int bt, int ldb, V beta, V c, int ct, int ldc, int batch, int compute, int algo);
int cublasDtrsmBatched(void *h, int side, int uplo, int t, int unit, int m, int n, V alpha, V a,
	int lda, V b, int ldb, int batch);
int cublasSgemvBatched(void *h, int t, int m, int n, V alpha, V a, int lda, V x, int incx, V beta,
	V y, int incy, int batch);
int cublasSgemvStridedBatched(void *h, int t, int m, int n, V alpha, V a, int lda, long long sa,
	V x, int incx, long long sx, V beta, void *y, int incy, long long sy, int batch);
int cublasDdot_v2(void *h, int n, V x, int incx, V y, int incy, double *result);
int cublasSaxpy_v2(void *h, int n, V alpha, V x, int incx, void *y, int incy);

static void *handle;

/* ---- factors ---- */

struct factors {
	int on_device;
	double alpha, beta;
	const void *a, *b; /* as the call is given them */
};

static struct factors factors(int type)
{
	static double d[2];
	static float f[2];
	struct factors x = {!below(3), below(7) - 3.5, below(7) - 3.5, NULL, NULL};

	if (!below(3))
		x.beta = 0;
	if (!below(5))
		x.alpha = 0;
	d[0] = x.alpha;
	d[1] = x.beta;
	f[0] = (float)x.alpha;
	f[1] = (float)x.beta;
	x.a = type == 1 ? (void *)&d[0] : &f[0];
	x.b = type == 1 ? (void *)&d[1] : &f[1];
	if (x.on_device) {
		/* What the call is given is a page below the number. */
		memcpy(device + 4096, x.a, type == 1 ? 8 : 4);
		memcpy(device + 4096 + 8, x.b, type == 1 ? 8 : 4);
		x.a = device;
		x.b = device + 8;
	}
	cublasSetPointerMode_v2(handle, x.on_device);
	return x;
}

/* What is read: of factors on the device nothing is known. by_type: the library knows what alpha is. */
static int reads_inputs(const struct factors *f, int by_type)
{
	return f->on_device || !by_type || f->alpha != 0;
}

static int reads_result(const struct factors *f)
{
	return f->on_device || f->beta != 0;
}

/* ---- calls ---- */

enum form { SGEMM, DGEMM, DGEMM64, EX, BATCHED, BATCHED_EX, FORMS };

static void gemm(void)
{
	static const char *const name[] = {"cublasSgemm_v2", "cublasDgemm_v2", "cublasDgemm_v2_64",
		"cublasGemmEx", "cublasSgemmStridedBatched", "cublasGemmStridedBatchedEx"};
	static const int no_type[] = {0, 1, 1, -1, 0, -1};
	enum form form = below(FORMS);
	int m = (int)below(20), n = (int)below(20), k = (int)below(20), ta = (int)below(3),
	    tb = (int)below(3), batch = form >= BATCHED ? 1 + (int)below(3) : 1, i = 0;
	int in = no_type[form] >= 0 ? no_type[form] : (int)below(3),
	    result = no_type[form] >= 0 ? no_type[form] : in == 1;
	int lda = (ta ? k : m) + (int)below(3), ldb = (tb ? n : k) + (int)below(3),
	    ldc = m + (int)below(3), dims = form >= BATCHED ? 3 : 2,
	    typed = form == SGEMM || form == DGEMM || form == DGEMM64 || form == BATCHED;
	long long sa, sb, sc;
	struct factors f = factors(result);

	lda = lda ? lda : 1;
	ldb = ldb ? ldb : 1;
	ldc = ldc ? ldc : 1;
	/* One A for all of them, now and then. */
	sa = below(4) ? (long long)lda * (ta ? m : k) + below(5) : 0;
	sb = (long long)ldb * (tb ? k : n) + below(5);
	sc = (long long)ldc * n + below(5);

	struct place a = make(in, dims, batch, ta ? k : m, ta ? m : k, sa, 1, lda, 1),
		     b = make(in, dims, batch, tb ? n : k, tb ? k : n, sb, 1, ldb, 1),
		     c = make(result, dims, batch, m, n, sc, 1, ldc, reads_result(&f));

	if (m && n) {
		if (reads_inputs(&f, typed)) {
			expect(name[form], "gemm", "in", i++, &a);
			expect(name[form], "gemm", "in", i++, &b);
		}
		if (reads_result(&f))
			expect(name[form], "gemm", "in", i++, &c);
	}
	switch (form) {
	case SGEMM:
		cublasSgemm_v2(
			handle, ta, tb, m, n, k, f.a, a.base, lda, b.base, ldb, f.b, c.base, ldc);
		break;
	case DGEMM:
		cublasDgemm_v2(
			handle, ta, tb, m, n, k, f.a, a.base, lda, b.base, ldb, f.b, c.base, ldc);
		break;
	case DGEMM64:
		cublasDgemm_v2_64(
			handle, ta, tb, m, n, k, f.a, a.base, lda, b.base, ldb, f.b, c.base, ldc);
		break;
	case EX:
		cublasGemmEx(handle, ta, tb, m, n, k, f.a, a.base, in, lda, b.base, in, ldb, f.b,
			c.base, result, ldc, result ? 70 : 68, -1);
		break;
	case BATCHED:
		cublasSgemmStridedBatched(handle, ta, tb, m, n, k, f.a, a.base, lda, sa, b.base,
			ldb, sb, f.b, c.base, ldc, sc, batch);
		break;
	default:
		cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, f.a, a.base, in, lda, sa,
			b.base, in, ldb, sb, f.b, c.base, result, ldc, sc, batch, result ? 70 : 68,
			-1);
	}
	if (m && n)
		expect(name[form], "gemm", "out", 0, &c);
	add(&c);
	free(a.base);
	free(b.base);
	free(c.base);
}

/* What multiplies or solves from a side. */
static void sided(void)
{
	static const char *const name[] = {"cublasDsymm_v2", "cublasDtrmm_v2", "cublasDtrsm_v2"},
				 *const op[] = {"symm", "trmm", "trsm"};
	int form = (int)below(3), m = 1 + (int)below(20), n = 1 + (int)below(20),
	    side = (int)below(2), uplo = (int)below(2), t = (int)below(3), unit = (int)below(2),
	    order = side ? n : m, lda = order + (int)below(3), ldb = m + (int)below(3),
	    ldc = m + (int)below(3), i = 0;
	struct factors f = factors(1);
	/* The other triangle is filled as well: whoever reads it gets other results, no NaN. */
	struct place a = make(1, 2, 1, order, order, 0, 1, lda, 1),
		     b = make(1, 2, 1, m, n, 0, 1, ldb, 1),
		     c = make(1, 2, 1, m, n, 0, 1, ldc, reads_result(&f));

	a.half = 1;
	/* Something to divide by. */
	for (long d = 0; d < order; d++)
		((double *)a.base)[d + d * lda] = 40 + (double)d;
	if (reads_inputs(&f, 1)) {
		expect(name[form], op[form], "in", i++, &a);
		expect(name[form], op[form], "in", i++, &b);
	}
	if (form == 0 && reads_result(&f))
		expect(name[form], op[form], "in", i++, &c);
	if (form == 0)
		cublasDsymm_v2(
			handle, side, uplo, m, n, f.a, a.base, lda, b.base, ldb, f.b, c.base, ldc);
	else if (form == 1)
		cublasDtrmm_v2(handle, side, uplo, t, unit, m, n, f.a, a.base, lda, b.base, ldb,
			c.base, ldc);
	else
		cublasDtrsm_v2(handle, side, uplo, t, unit, m, n, f.a, a.base, lda, b.base, ldb);
	expect(name[form], op[form], "out", 0, form == 2 ? &b : &c);
	add(form == 2 ? &b : &c);
	free(a.base);
	free(b.base);
	free(c.base);
}

static void rank_2k(void)
{
	int n = 1 + (int)below(20), k = 1 + (int)below(20), t = (int)below(3), uplo = (int)below(2),
	    lda = (t ? k : n) + (int)below(3), ldb = (t ? k : n) + (int)below(3),
	    ldc = n + (int)below(3), i = 0;
	struct factors f = factors(0);
	struct place a = make(0, 2, 1, t ? k : n, t ? n : k, 0, 1, lda, 1),
		     b = make(0, 2, 1, t ? k : n, t ? n : k, 0, 1, ldb, 1),
		     c = make(0, 2, 1, n, n, 0, 1, ldc, 1);

	c.half = 1;
	if (reads_inputs(&f, 1)) {
		expect("cublasSsyr2k_v2", "syr2k", "in", i++, &a);
		expect("cublasSsyr2k_v2", "syr2k", "in", i++, &b);
	}
	if (reads_result(&f))
		expect("cublasSsyr2k_v2", "syr2k", "in", i++, &c);
	cublasSsyr2k_v2(handle, uplo, t, n, k, f.a, a.base, lda, b.base, ldb, f.b, c.base, ldc);
	expect("cublasSsyr2k_v2", "syr2k", "out", 0, &c);
	add(&c);
	free(a.base);
	free(b.base);
	free(c.base);
}

static void gemv(void)
{
	int m = 1 + (int)below(30), n = 1 + (int)below(30), t = (int)below(2),
	    lda = m + (int)below(3), incx = 1 + (int)below(3), incy = 1 + (int)below(3), i = 0;
	struct factors f = factors(0);
	struct place a = make(0, 2, 1, m, n, 0, 1, lda, 1),
		     x = make(0, 1, 1, t ? m : n, 1, 0, incx, 1, 1),
		     y = make(0, 1, 1, t ? n : m, 1, 0, incy, 1, reads_result(&f));

	if (reads_inputs(&f, 1)) {
		expect("cublasSgemv_v2", "gemv", "in", i++, &a);
		expect("cublasSgemv_v2", "gemv", "in", i++, &x);
	}
	if (reads_result(&f))
		expect("cublasSgemv_v2", "gemv", "in", i++, &y);
	cublasSgemv_v2(handle, t, m, n, f.a, a.base, lda, x.base, incx, f.b, y.base, incy);
	expect("cublasSgemv_v2", "gemv", "out", 0, &y);
	add(&y);
	free(a.base);
	free(x.base);
	free(y.base);
}

static void gemm_of_arrays(void)
{
	int ex = (int)below(2), in = ex ? (int)below(3) : 0, result = in == 1, ta = (int)below(3),
	    tb = (int)below(3), m = 1 + (int)below(20), n = 1 + (int)below(20),
	    k = 1 + (int)below(20), batch = 1 + (int)below(4), lda = (ta ? k : m) + (int)below(3),
	    ldb = (tb ? n : k) + (int)below(3), ldc = m + (int)below(3), i = 0;
	const char *name = ex ? "cublasGemmBatchedEx" : "cublasSgemmBatched";
	struct factors f = factors(result);
	struct place a = make(in, 3, batch, ta ? k : m, ta ? m : k, lda * (ta ? m : k), 1, lda, 1),
		     b = make(in, 3, batch, tb ? n : k, tb ? k : n, ldb * (tb ? k : n), 1, ldb, 1),
		     c = make(result, 3, batch, m, n, ldc * n, 1, ldc, reads_result(&f));
	const void *pa = addresses(&a, 0), *pb = addresses(&b, 1), *pc = addresses(&c, 2);

	if (reads_inputs(&f, !ex)) {
		expect(name, "gemm", "in", i++, &a);
		expect(name, "gemm", "in", i++, &b);
	}
	if (reads_result(&f))
		expect(name, "gemm", "in", i++, &c);
	if (ex)
		cublasGemmBatchedEx(handle, ta, tb, m, n, k, f.a, pa, in, lda, pb, in, ldb, f.b, pc,
			result, ldc, batch, result ? 70 : 68, -1);
	else
		cublasSgemmBatched(
			handle, ta, tb, m, n, k, f.a, pa, lda, pb, ldb, f.b, pc, ldc, batch);
	expect(name, "gemm", "out", 0, &c);
	add(&c);
	free(a.base);
	free(b.base);
	free(c.base);
}

static void trsm_of_arrays(void)
{
	int m = 1 + (int)below(20), n = 1 + (int)below(20), side = (int)below(2),
	    order = side ? n : m, lda = order + (int)below(3), ldb = m + (int)below(3),
	    batch = 1 + (int)below(4), i = 0;
	struct factors f = factors(1);
	struct place a = make(1, 3, batch, order, order, lda * order, 1, lda, 1),
		     b = make(1, 3, batch, m, n, ldb * n, 1, ldb, 1);
	const void *pa = addresses(&a, 0), *pb = addresses(&b, 1);

	for (long d = 0; d < order * batch; d++)
		((double *)a.base)[d / order * a.s + d % order * (1 + lda)] = 40 + (double)d;
	if (reads_inputs(&f, 1)) {
		expect("cublasDtrsmBatched", "trsm", "in", i++, &a);
		expect("cublasDtrsmBatched", "trsm", "in", i++, &b);
	}
	cublasDtrsmBatched(
		handle, side, (int)below(2), (int)below(3), 0, m, n, f.a, pa, lda, pb, ldb, batch);
	expect("cublasDtrsmBatched", "trsm", "out", 0, &b);
	add(&b);
	free(a.base);
	free(b.base);
}

/* The vectors of a batch: by strides, or by an array of addresses. */
static void gemv_of_batches(void)
{
	int arrays = (int)below(2), m = 1 + (int)below(30), n = 1 + (int)below(30),
	    t = (int)below(2), batch = 1 + (int)below(4), lda = m + (int)below(3),
	    incx = 1 + (int)below(3), incy = 1 + (int)below(3), nx = t ? m : n, ny = t ? n : m,
	    i = 0;
	const char *name = arrays ? "cublasSgemvBatched" : "cublasSgemvStridedBatched";
	struct factors f = factors(0);
	struct place a = make(0, 3, batch, m, n, lda * n, 1, lda, 1),
		     x = make(0, 0, batch, nx, 1, nx * incx, incx, 1, 1),
		     y = make(0, 0, batch, ny, 1, ny * incy, incy, 1, reads_result(&f));
	const void *pa = NULL, *px = NULL, *py = NULL;

	if (arrays) {
		pa = addresses(&a, 0);
		px = addresses(&x, 1);
		py = addresses(&y, 2);
	}
	if (reads_inputs(&f, 1)) {
		expect(name, "gemv", "in", i++, &a);
		expect(name, "gemv", "in", i++, &x);
	}
	if (reads_result(&f))
		expect(name, "gemv", "in", i++, &y);
	if (arrays)
		cublasSgemvBatched(handle, t, m, n, f.a, pa, lda, px, incx, f.b, py, incy, batch);
	else
		cublasSgemvStridedBatched(handle, t, m, n, f.a, a.base, lda, a.s, x.base, incx, x.s,
			f.b, y.base, incy, y.s, batch);
	expect(name, "gemv", "out", 0, &y);
	add(&y);
	free(a.base);
	free(x.base);
	free(y.base);
}

static void vectors(void)
{
	int n = 1 + (int)below(200), incx = 1 + (int)below(3), incy = 1 + (int)below(3), i = 0,
	    dot = (int)below(2);
	struct factors f = factors(0);
	struct place x = make(dot, 1, 1, n, 1, 0, incx, 1, 1),
		     y = make(dot, 1, 1, n, 1, 0, incy, 1, 1);
	double sum = 0;

	if (dot) {
		expect("cublasDdot_v2", "dot", "in", 0, &x);
		expect("cublasDdot_v2", "dot", "in", 1, &y);
		cublasDdot_v2(handle, n, x.base, incx, y.base, incy, &sum);
		total += sum;
	} else {
		if (reads_inputs(&f, 1))
			expect("cublasSaxpy_v2", "axpy", "in", i++, &x);
		expect("cublasSaxpy_v2", "axpy", "in", i++, &y);
		cublasSaxpy_v2(handle, n, f.a, x.base, incx, y.base, incy);
		expect("cublasSaxpy_v2", "axpy", "out", 0, &y);
	}
	add(&y);
	free(x.base);
	free(y.base);
}

int main(int argc, char **argv)
{
	static void (*const each[])(void) = {gemm, gemm, gemm, sided, sided, rank_2k, gemv, vectors,
		gemm_of_arrays, trsm_of_arrays, gemv_of_batches};

	if (argc != 4 || !(out = fopen(argv[3], "w")) || cublasCreate_v2(&handle))
		return 2;
	if (!open_device())
		return 2;
	state = strtoull(argv[1], NULL, 0);
	for (int i = atoi(argv[2]); i > 0; i--)
		each[below(sizeof(each) / sizeof(*each))]();
	cublasDestroy_v2(handle);
	printf("%.17g\n", total);
	return fclose(out) != 0;
}
