/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of cublasLt with layouts, orders, types, batches and factors at random: cublaslt_calls SEED CALLS TRUTH, as
 * cublas_calls.c. Descriptors are those of the stand-in, which keeps their fields elsewhere than the real library. Between them
 * calls of cublasGemmEx, which calls cublasLtMatmul itself. On stdout: sums of the results.
 */
#include "cublas_app.h"

#define V const void *
int cublasCreate_v2(void **h);
int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, V alpha, V a, int at, int lda, V b,
	int bt, int ldb, V beta, void *c, int ct, int ldc, int compute, int algo);
int cublasLtCreate(void **h);
int cublasLtMatmulDescCreate(void **out, int compute, int scale);
int cublasLtMatmulDescSetAttribute(void *d, unsigned attribute, V v, size_t bytes);
int cublasLtMatmulDescDestroy(void *d);
int cublasLtMatrixTransformDescCreate(void **out, int scale);
int cublasLtMatrixTransformDescSetAttribute(void *d, unsigned attribute, V v, size_t bytes);
int cublasLtMatrixTransformDescDestroy(void *d);
int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void *d, unsigned attribute, V v, size_t bytes);
int cublasLtMatrixLayoutDestroy(void *d);
int cublasLtMatmul(void *h, void *product, V alpha, V a, void *al, V b, void *bl, V beta, V c,
	void *cl, void *d, void *dl, V algo, void *workspace, size_t bytes, void *stream);
int cublasLtMatrixTransform(void *h, void *transform, V alpha, V a, void *al, V beta, V b, void *bl,
	void *c, void *cl, void *stream);

static void *handle, *blas;

enum { COLUMNS, ROWS, TILES };
enum { HOST, DEVICE, BETA_ZERO = 3, BETA_HOST };

/* Factors of that type (F32, F64) as the operation's mode has them. */
struct factors {
	int mode;
	double alpha, beta;
	const void *a, *b;
};

static struct factors choose_factors(int type, const int *modes, unsigned n)
{
	static double d[2];
	static float f[2];
	struct factors x = {
		modes[below(n)], below(7) - 3.5, below(3) ? below(7) - 3.5 : 0, NULL, NULL};

	d[0] = x.alpha;
	d[1] = x.beta;
	f[0] = (float)x.alpha;
	f[1] = (float)x.beta;
	x.a = type == F64 ? (void *)&d[0] : &f[0];
	x.b = type == F64 ? (void *)&d[1] : &f[1];
	/* What the call is given is a page below the number. */
	memcpy(device + 4096, x.a, type == F64 ? 8 : 4);
	memcpy(device + 4096 + 8, x.b, type == F64 ? 8 : 4);
	if (x.mode != HOST)
		x.a = device;
	if (x.mode == DEVICE || x.mode == BETA_ZERO)
		x.b = device + 8;
	return x;
}

static int reads_added(const struct factors *f)
{
	return f->mode == DEVICE || (f->mode != BETA_ZERO && f->beta != 0);
}

/* A matrix, its layout, and what the call is given. */
struct matrix {
	struct place p;
	void *layout;
	const void *given;
};

static struct matrix make_matrix(int type, int order, long batch, long r, long c, int fill)
{
	long ld = (order == ROWS ? c : r) + (long)below(3), stride;
	struct matrix m;

	if (order == TILES)
		ld = 32 * r;
	stride = ld * (order == ROWS ? r : order == TILES ? (c + 31) / 32 : c) + (long)below(5);
	m.p = make(type, batch > 1 ? 3 : 2, batch, r, c, stride, order == ROWS ? ld : 1,
		order == ROWS ? 1 : ld, fill && order != TILES);
	if (order == TILES) {
		/* No other code knows where its elements are; only their number is reported. */
		m.p.half = 1;
		m.p.rs = m.p.cs = 1;
		free(m.p.base);
		m.p.base = calloc((size_t)(batch * stride), 8);
	}
	cublasLtMatrixLayoutCreate(&m.layout, type, (uint64_t)r, (uint64_t)c, ld);
	cublasLtMatrixLayoutSetAttribute(m.layout, 1, &order, sizeof(order));
	if (batch > 1 || below(2)) {
		int n = (int)batch;
		int64_t s = stride;

		cublasLtMatrixLayoutSetAttribute(m.layout, 5, &n, sizeof(n));
		cublasLtMatrixLayoutSetAttribute(m.layout, 6, &s, sizeof(s));
	}
	m.given = m.p.base;
	return m;
}

/* Its addresses are given instead, by an array on the device. */
static void give_addresses(struct matrix *m, int which)
{
	static const uint32_t pointers = 1;

	m->given = addresses(&m->p, which);
	cublasLtMatrixLayoutSetAttribute(m->layout, 8, &pointers, sizeof(pointers));
}

static void end_matrix(struct matrix *m)
{
	cublasLtMatrixLayoutDestroy(m->layout);
	release_place(&m->p);
}

static void add_bytes(const struct matrix *m)
{
	const unsigned char *p = (const unsigned char *)m->p.base;

	for (long i = 0; i < m->p.s * m->p.b * types[m->p.type].bytes; i++)
		total += p[i];
}

/* On a stream of a runtime that is not there it is not known when the result is there. */
static void *take_stream_of_case(struct matrix *result)
{
	if (below(8))
		return NULL;
	result->p.half = 1;
	return device;
}

static void multiply(void)
{
	static const int inputs[] = {F32, F64, F16, BF16},
			 modes[] = {HOST, HOST, DEVICE, BETA_ZERO, BETA_HOST};
	static const char name[] = "cublasLtMatmul";
	int in = inputs[below(4)], scale = in == F64 ? F64 : F32,
	    result = in == BF16 && below(2) ? BF16 : scale, ta = (int)below(3), tb = (int)below(3),
	    arrays = !below(6), i = 0, own_c = (int)below(2);
	long m = below(20), n = below(20), k = below(20), batch = below(3) ? 1 : 1 + below(4);
	struct factors f = choose_factors(scale, modes, 5);
	struct matrix a = make_matrix(in, (int)below(2), batch, ta ? k : m, ta ? m : k, 1),
		      b = make_matrix(in, (int)below(2), batch, tb ? n : k, tb ? k : n, 1),
		      d = make_matrix(result, (int)below(2), batch, m, n, reads_added(&f)),
		      c = own_c ? make_matrix(result, (int)below(2), batch, m, n, reads_added(&f))
				: d;
	void *product, *stream;

	if (arrays) {
		give_addresses(&a, 0);
		give_addresses(&b, 1);
		give_addresses(&d, 2);
		if (own_c)
			give_addresses(&c, 3);
		else
			c = d;
	}
	cublasLtMatmulDescCreate(&product, scale == F64 ? 70 : 68, scale);
	cublasLtMatmulDescSetAttribute(product, 2, &f.mode, sizeof(f.mode));
	cublasLtMatmulDescSetAttribute(product, 3, &ta, sizeof(ta));
	cublasLtMatmulDescSetAttribute(product, 4, &tb, sizeof(tb));
	if (m && n) {
		expect(name, "gemm", "in", i++, &a.p);
		expect(name, "gemm", "in", i++, &b.p);
		if (reads_added(&f))
			expect(name, "gemm", "in", i++, &c.p);
	}
	stream = take_stream_of_case(&d);
	if (!reads_added(&f) && below(2))
		c.given = NULL;
	cublasLtMatmul(handle, product, f.a, a.given, a.layout, b.given, b.layout, f.b, c.given,
		c.given ? c.layout : NULL, (void *)(uintptr_t)d.given, d.layout, NULL, NULL, 0,
		stream);
	if (m && n)
		expect(name, "gemm", "out", 0, &d.p);
	add(&d.p);
	if (own_c)
		end_matrix(&c);
	end_matrix(&a);
	end_matrix(&b);
	end_matrix(&d);
	cublasLtMatmulDescDestroy(product);
}

static void reorder(void)
{
	static const int modes[] = {HOST, DEVICE};
	static const char name[] = "cublasLtMatrixTransform";
	int type = (int)below(2), ta = (int)below(2), tb = (int)below(2), i = 0;
	long m = 1 + below(40), n = 1 + below(40), batch = below(3) ? 1 : 1 + below(4);
	struct factors f = choose_factors(type, modes, 2);
	struct matrix a = make_matrix(type, (int)below(3), batch, ta ? n : m, ta ? m : n, 1),
		      b = make_matrix(type, (int)below(2), batch, tb ? n : m, tb ? m : n, 1),
		      c = make_matrix(type, (int)below(3), batch, m, n, 0);
	void *transform, *stream;
	int with_b = (int)below(2);

	cublasLtMatrixTransformDescCreate(&transform, type);
	cublasLtMatrixTransformDescSetAttribute(transform, 1, &f.mode, sizeof(f.mode));
	cublasLtMatrixTransformDescSetAttribute(transform, 2, &ta, sizeof(ta));
	cublasLtMatrixTransformDescSetAttribute(transform, 3, &tb, sizeof(tb));
	expect(name, "transform", "in", i++, &a.p);
	if (with_b && reads_added(&f))
		expect(name, "transform", "in", i++, &b.p);
	stream = take_stream_of_case(&c);
	cublasLtMatrixTransform(handle, transform, f.a, a.given, a.layout, f.b,
		with_b ? b.given : NULL, with_b || below(2) ? b.layout : NULL,
		(void *)(uintptr_t)c.given, c.layout, stream);
	expect(name, "transform", "out", 0, &c.p);
	add_bytes(&c);
	end_matrix(&a);
	end_matrix(&b);
	end_matrix(&c);
	cublasLtMatrixTransformDescDestroy(transform);
}

/* What the library refuses: nothing but what the descriptors say of it is known. */
static const struct refusal {
	const char *is; /* type, shape, elements, bytes */
	int attribute;
	int64_t value;
	size_t bytes;
} refusals[] = {
	{NULL, 8, 2, 4}, /* groups, whose shapes are on the device */
	{"float32 unknown 35 140", 4, 6, 8}, /* a leading dimension that is too small */
	{"float32 unknown 35 140", 4, -7, 8}, /* no dtype, but bits */
	{"other 7x5 35 18", 0, 33, 4}, {"other 7x5 35 18", 0, 16, 4}, {"other 7x5 35 18", 0, 18, 4},
	{"other 7x5 35 35", 0, 30, 4}, {"other 7x5 35 70", 0, 7, 4}, {"other 7x5 35 70", 0, 9, 4},
	{"other 7x5 35 140", 0, 6, 4}, {"other 7x5 35 140", 0, 15, 4}, {"other 7x5 35 0", 0, 31, 4},
	{"complex64 7x5 35 280", 7, 64, 8}, /* real and imaginary parts apart */
};

static void refuse(const struct refusal *r)
{
	static const int complex64 = 4;
	static const char name[] = "cublasLtMatmul";
	struct matrix a = make_matrix(F32, COLUMNS, 1, 7, 5, 1),
		      b = make_matrix(F32, COLUMNS, 1, 5, 6, 1),
		      d = make_matrix(F32, COLUMNS, 1, 7, 6, 0);
	float one = 1, zero = 0;
	void *product;

	if (strncmp(r->is ? r->is : "", "complex", 7) == 0)
		cublasLtMatrixLayoutSetAttribute(a.layout, 0, &complex64, sizeof(complex64));
	cublasLtMatrixLayoutSetAttribute(a.layout, r->attribute, &r->value, r->bytes);
	cublasLtMatmulDescCreate(&product, 68, F32);
	if (r->is)
		fprintf(out, "%s gemm in 0 %s none\n", name, r->is);
	/* Where one of them makes no sense none is looked at. */
	b.p.half = r->attribute == 4;
	expect(name, "gemm", "in", r->is != NULL, &b.p);
	cublasLtMatmul(handle, product, &one, a.given, a.layout, b.given, b.layout, &zero, NULL,
		NULL, d.p.base, d.layout, NULL, NULL, 0, NULL);
	end_matrix(&a);
	end_matrix(&b);
	end_matrix(&d);
	cublasLtMatmulDescDestroy(product);
}

/* The other library's product, which calls this one's: with the argument `nested` it is that call which is expected. */
static const char *outermost = "cublasGemmEx";

static void multiply_nested(void)
{
	int m = 1 + (int)below(9), n = 1 + (int)below(9), k = 1 + (int)below(9);
	float one = 1, zero = 0;
	struct place a = make(F32, 2, 1, m, k, 0, 1, m, 1), b = make(F32, 2, 1, k, n, 0, 1, k, 1),
		     c = make(F32, 2, 1, m, n, 0, 1, m, 0);

	expect(outermost, "gemm", "in", 0, &a);
	expect(outermost, "gemm", "in", 1, &b);
	cublasGemmEx(blas, 0, 0, m, n, k, &one, a.base, F32, m, b.base, F32, k, &zero, c.base, F32,
		m, 68, -1);
	expect(outermost, "gemm", "out", 0, &c);
	add(&c);
	release_place(&a);
	release_place(&b);
	release_place(&c);
}

int main(int argc, char **argv)
{
	static void (*const each[])(void) = {
		multiply, multiply, multiply, multiply, reorder, reorder, multiply_nested};

	if (argc < 4 || !(out = fopen(argv[3], "w")) || cublasLtCreate(&handle) ||
		cublasCreate_v2(&blas) || !open_device())
		return 2;
	if (argc > 4)
		outermost = "cublasLtMatmul";
	state = strtoull(argv[1], NULL, 0);
	for (unsigned i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		refuse(&refusals[i]);
	for (int i = atoi(argv[2]); i > 0; i--)
		each[below(sizeof(each) / sizeof(*each))]();
	printf("%.17g\n", total);
	return fclose(out) != 0;
}
