/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of every function of tests/doubles/cublas/functions.def, with 32-bit integers and with 64-bit ones, with shapes, leading
 * dimensions, increments, transpositions, sides, types, batches, factors and streams at random: cublas_calls SEED CALLS TRUTH, as
 * blas_calls.c. First each is called once with something to record. Factors and results of a single number lie on the host, or, as
 * far as the library is concerned, on the device: then their address must not be read. On stdout: sums of the results.
 */
#include "cublas_app.h"
#include "functions.h"

static cublasHandle_t handle;

/* ---- the functions ---- */

struct row {
	const char *name, *op, *form;
	int wide; /* integers have 64 bits */
	int alpha, beta, in, out; /* types, -1: the call says it */
	cublasStatus_t (*call)(const struct arguments *x);
};

#define PASS(kind, which, t) , (TYPE_##kind t)x->which
#define CALLER(form, name, t)                                        \
	static cublasStatus_t call_##name(const struct arguments *x) \
	{                                                            \
		return name(handle ARGUMENTS_##form(PASS, t));       \
	}
#define ROW(form, op, name, t) CALLER(form, name, t)
#define INTEGER int
#include "functions.def"
#undef ROW
#undef INTEGER
#define ROW(form, op, name, t) CALLER(form, name##_64, t)
#define INTEGER int64_t
#define WIDE
#include "functions.def"
#undef WIDE
#undef ROW

static const struct row functions[] = {
#define ROW(form, op, name, t) {#name, #op, #form, 0, CODES t, call_##name},
#include "functions.def"
#undef ROW
#define ROW(form, op, name, t) {#name "_64", #op, #form, 1, CODES t, call_##name##_64},
#define WIDE
#include "functions.def"
#undef WIDE
#undef ROW
};
#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

/* ---- a call ---- */

/* Of cublasGemmEx and its like: A and B, C, a cublasComputeType_t (or a cudaDataType, as before CUDA 11), factors. */
static const struct mix {
	int in, out, compute, factor;
} mixes[] = {{F32, F32, 68, F32}, {F32, F32, 69, F32}, {F32, F32, 77, F32}, {F32, F32, F32, F32},
	{F64, F64, 70, F64}, {F64, F64, 71, F64}, {F64, F64, F64, F64}, {F16, F16, 64, F16},
	{F16, F16, 65, F16}, {F16, F16, F16, F16}, {F16, F16, 68, F32}, {F16, F32, 68, F32},
	{BF16, BF16, 68, F32}, {BF16, F32, 68, F32}, {I8, I32, 72, I32}, {I8, I32, 73, I32},
	{I8, F32, 68, F32}, {C32, C32, 68, C32}, {C32, C32, C32, C32}, {C64, C64, 70, C64},
	{C64, C64, C64, C64}},
  /* Of cublasSgemmEx. */
	single_mixes[] = {{F32, F32, 0, F32}, {F16, F16, 0, F32}, {F16, F32, 0, F32},
		{BF16, BF16, 0, F32}, {BF16, F32, 0, F32}, {I8, F32, 0, F32}},
  /* Of cublasCgemmEx, cublasCsyrkEx and their like. */
	complex_mixes[] = {{C32, C32, 0, C32}},
  /* Of vectors: the type that is computed in is a cudaDataType; the last ones are complex. */
	vector_mixes[] = {{F32, F32, F32, F32}, {F64, F64, F64, F64}, {F16, F16, F32, F32},
		{BF16, BF16, F32, F32}, {C32, C32, C32, C32}, {C64, C64, C64, C64}};
#define REAL_VECTOR_MIXES 4

static const struct row *row;
static const char *op; /* what the call is recorded as */
static struct arguments x;
static int plain; /* nothing out of the ordinary: there is something to record */
static int arrays, strides; /* what a batch is given by */
static int result_type, alpha_set, beta_set, on_device;
static int refused,
	to_spoil; /* the library refuses the call, for the leading dimension of that matrix */
static int inputs;

static int64_t any_size(void)
{
	int64_t n = below(4) ? below(20) : below(4);

	return plain ? n + 1 : n;
}

static void put_factor(int type, char *at, int set)
{
	const struct type *t = &types[type];
	int only = (int)below(3); /* 2: both */

	memset(at, 0, 16);
	for (int k = 0; k < t->parts; k++) {
		char *part = at + k * types[t->part].bytes;
		int some = set && (t->parts == 1 || only == 2 || only == k);

		if (!some && t->part != I32 && below(2))
			part[types[t->part].bytes - 1] = (char)0x80; /* -0 */
		else if (some && t->part == F16)
			memcpy(part, &halves[1 + below(4)], 2);
		else if (some)
			put_part(t->part, part,
				t->part == I32 ? below(2) ? 1.0 + below(3) : -1.0 - below(3)
					       : below(7) - 3.5);
	}
}

/* Bytes after alpha, where there is room for several factors. */
enum { BETA_AT = 256, RESULT_AT = 512, NUMBERS_AT = 576 };

static void choose_factors(int alpha, int beta)
{
	static char host[1024] __attribute__((aligned(16)));
	char *at;

	on_device = !plain && !below(3);
	/* What the call is given is a page below the number. */
	at = on_device ? device + 4096 : host;
	alpha_set = plain || refused || below(5);
	/* What is not read is not known to be refused. */
	beta_set = below(3) != 0 || (refused && strcmp(row->op, "geam") == 0);
	put_factor(alpha, at, alpha_set);
	put_factor(beta, at + BETA_AT, beta_set);
	memset(at + RESULT_AT, 0, 64);
	at = on_device ? device : host;
	x.alpha = at;
	x.beta = at + BETA_AT;
	x.result = at + RESULT_AT;
	cublasSetPointerMode_v2(handle, on_device);
}

/* What is read: of factors on the device nothing is known, nor of alpha where the prototype does not say its type. */
static int reads_inputs(void)
{
	return on_device || row->alpha < 0 || alpha_set;
}

static int reads_result(void)
{
	return on_device || beta_set;
}

/* Of a row that says no types. */
static const struct mix *choose_mix(void)
{
	int real_only = strncmp(row->op, "rotm", 4) == 0;

#define ANY_OF(list) (&(list)[below(sizeof(list) / sizeof(*(list)))])
	if (row->alpha < 0 && strncmp(row->form, "gemm", 4) == 0)
		return ANY_OF(mixes);
	if (row->alpha < 0)
		return real_only ? &vector_mixes[below(REAL_VECTOR_MIXES)] : ANY_OF(vector_mixes);
	if (row->alpha == C32 || row->form[1] == 'y')
		return ANY_OF(complex_mixes);
	return ANY_OF(single_mixes);
#undef ANY_OF
}

static void choose_types(void)
{
	const struct mix *mix = choose_mix();
	int given = row->in < 0;
	int sums = strcmp(row->form, "sum_ex") == 0;

	x.at = x.bt = given ? mix->in : row->in;
	x.ct = given ? mix->out : row->out;
	x.compute = x.xt = mix->compute;
	x.algo = -1;
	x.ft = mix->factor;
	x.rt = sums ? types[mix->in].part : mix->in;
	result_type = row->beta < 0 ? x.rt : row->beta;
	choose_factors(
		row->alpha < 0 ? mix->factor : row->alpha, row->beta < 0 ? mix->factor : row->beta);
}

/* matrices: how many have a leading dimension. */
static void begin_blas_call(const struct row *r, int matrices)
{
	row = r;
	x = (struct arguments){.m = any_size(), .n = any_size(), .k = any_size(), .batch = 1};
	strides = strstr(r->name, "Strided") != NULL;
	arrays = !strides && strstr(r->name, "Batched") != NULL;
	if (strides || arrays)
		x.batch = plain ? 1 + below(3) : below(4);
	refused = !plain && matrices && !below(12);
	to_spoil = refused ? (int)below((unsigned)matrices) : -1;
	if (refused && r->wide) {
		/* More than 32 bits, of data that is not read. */
		int64_t *const size[] = {&x.m, &x.n, &x.k, &x.batch};

		*size[below(strides || arrays ? 4 : 3)] += 1LL << 32;
	}
	x.side = (int)below(2);
	x.uplo = (int)below(2);
	x.diag = (int)below(2);
	x.ta = (int)below(3);
	x.tb = (int)below(3);
	inputs = 0;
	choose_types();
}

static struct place place_of_call(
	int type, int dims, int64_t rows, int64_t cols, int64_t s, int64_t rs, int64_t cs, int fill)
{
	static char address[1];

	if (refused)
		return (struct place){type, dims, x.batch, rows, cols, s, rs, cs, address, 1, 0, 0};
	return make(type, dims, x.batch, rows, cols, s, rs, cs, fill);
}

/* Elements more than 32 bits apart, now and then. */
static int64_t far_apart(int64_t n)
{
	return row->wide && !plain && n > 1 && n < 4 && !below(4) ? 1LL << 32 : 0;
}

static struct place matrix(
	int type, int64_t rows, int64_t cols, int64_t *ld, int64_t *stride, int fill)
{
	int spoil = to_spoil-- == 0;
	struct place p;

	*ld = (rows ? rows : 1) + below(3) + far_apart(cols);
	if (spoil)
		*ld = rows - 1 - below(2);
	*stride = refused ? 1 : *ld * cols + below(5);
	p = place_of_call(type, strides || arrays ? 3 : 2, rows, cols, *stride, 1, *ld, fill);
	p.refused = spoil;
	return p;
}

/* Where `backwards`, the call says -inc for half of them: the elements begin at the same address. */
static struct place vector(
	int type, int64_t n, int64_t *inc, int64_t *stride, int fill, int backwards)
{
	int64_t step = 1 + below(3) + far_apart(n);

	*stride = n * step + below(5);
	*inc = backwards && below(2) ? -step : step;
	return place_of_call(type, strides || arrays ? 0 : 1, n, 1, *stride, step, 1, fill);
}

/* What the call is given: the place, or the addresses of its matrices. */
static void *given(struct place *p, int which)
{
	return arrays ? (void *)(uintptr_t)addresses(p, which) : p->base;
}

static int is_idle(const struct place *result)
{
	return !count_place(result);
}

/* What is recorded of a call without tensors. */
static void expect_call(void)
{
	fprintf(out, "%s %s -\n", row->name, op);
}

static void expect_input(const struct place *p)
{
	expect(row->name, op, "in", inputs++, p);
}

/* results: up to two. On a stream of a runtime that is not there it is not known when they are there. */
static void call_with_results(struct place *first, struct place *second)
{
	int streamed = !plain && !below(8);
	struct place *const results[] = {first, second};
	cublasStatus_t status;

	cublasSetStream_v2(handle, streamed ? (cudaStream_t)device : NULL);
	status = row->call(&x);
	if ((status != 0) > refused) {
		fprintf(stderr, "%s: %d\n", row->name, (int)status);
		exit(2);
	}
	for (int i = 0; i < 2; i++) {
		if (!results[i] || refused)
			continue;
		results[i]->half |= streamed;
		if (!is_idle(results[0]))
			expect(row->name, op, "out", i, results[i]);
		add(results[i]);
	}
}

/* Of at most three; what is refused has no memory. */
static void release(struct place *a, struct place *b, struct place *c)
{
	struct place *const all[] = {a, b, c};

	for (int i = 0; i < 3; i++)
		if (all[i] && !refused)
			release_place(all[i]);
}

/* ---- matrices ---- */

static void try_gemm(const struct row *r)
{
	begin_blas_call(r, 3);

	struct place a = matrix(x.at, x.ta ? x.k : x.m, x.ta ? x.m : x.k, &x.lda, &x.sa, 1),
		     b = matrix(x.bt, x.tb ? x.n : x.k, x.tb ? x.k : x.n, &x.ldb, &x.sb, 1),
		     c = matrix(x.ct, x.m, x.n, &x.ldc, &x.sc, reads_result());

	/* One A for all of them, now and then. */
	if (strides && !below(4))
		a.s = x.sa = 0;
	x.a = given(&a, 0);
	x.b = given(&b, 1);
	x.c = given(&c, 2);
	if (!is_idle(&c) && reads_inputs()) {
		expect_input(&a);
		expect_input(&b);
	}
	if (!is_idle(&c) && reads_result())
		expect_input(&c);
	call_with_results(&c, NULL);
	release(&a, &b, &c);
}

static void multiply_sided(const struct row *r, int adds)
{
	begin_blas_call(r, 3);
	if (adds)
		x.ta = x.diag = 0;

	int64_t order = x.side ? x.n : x.m;
	/* The other triangle is filled as well: a reader of it gets other results, no NaN. */
	struct place a = matrix(x.at, order, order, &x.lda, &x.sa, 1),
		     b = matrix(x.bt, x.m, x.n, &x.ldb, &x.sb, 1),
		     c = matrix(x.ct, x.m, x.n, &x.ldc, &x.sc, adds && reads_result());

	a.half = 1;
	x.a = a.base;
	x.b = b.base;
	x.c = c.base;
	if (!is_idle(&c) && reads_inputs()) {
		expect_input(&a);
		expect_input(&b);
	}
	if (!is_idle(&c) && adds && reads_result())
		expect_input(&c);
	call_with_results(&c, NULL);
	release(&a, &b, &c);
}

static void try_symm(const struct row *r)
{
	multiply_sided(r, 1);
}

static void try_trmm(const struct row *r)
{
	multiply_sided(r, 0);
}

static void try_trsm(const struct row *r)
{
	begin_blas_call(r, 2);

	int64_t order = x.side ? x.n : x.m;
	struct place a = matrix(x.at, order, order, &x.lda, &x.sa, 1),
		     b = matrix(x.bt, x.m, x.n, &x.ldb, &x.sb, 1);

	a.half = 1;
	/* Something to divide by. */
	for (long i = 0; !refused && i < a.b * order; i++)
		put_part(types[a.type].part, element_of(&a, i / order, i % order, i % order),
			40 + (double)i);
	x.a = given(&a, 0);
	x.b = given(&b, 1);
	if (!is_idle(&b) && reads_inputs()) {
		expect_input(&a);
		expect_input(&b);
	}
	call_with_results(&b, NULL);
	release(&a, &b, NULL);
}

/* Of rank k: two_k with a second matrix. */
static void update_triangle_of(const struct row *r, int two_k)
{
	int hermitian = r->op[0] == 'h';

	begin_blas_call(r, two_k ? 3 : 2);
	x.ta = hermitian ? 2 * (int)below(2) : (int)below(x.at == C32 || x.at == C64 ? 2 : 3);

	int64_t rows = x.ta ? x.k : x.n, cols = x.ta ? x.n : x.k;
	struct place a = matrix(x.at, rows, cols, &x.lda, &x.sa, 1), b = a, c;

	if (two_k)
		b = matrix(x.bt, rows, cols, &x.ldb, &x.sb, 1);
	c = matrix(x.ct, x.n, x.n, &x.ldc, &x.sc, 1);
	c.half = 1;
	x.a = a.base;
	x.b = b.base;
	x.c = c.base;
	if (!is_idle(&c) && reads_inputs()) {
		expect_input(&a);
		if (two_k)
			expect_input(&b);
	}
	if (!is_idle(&c) && reads_result())
		expect_input(&c);
	call_with_results(&c, NULL);
	release(&a, two_k ? &b : NULL, &c);
}

static void try_syrk(const struct row *r)
{
	update_triangle_of(r, 0);
}

static void try_syr2k(const struct row *r)
{
	update_triangle_of(r, 1);
}

static void try_geam(const struct row *r)
{
	begin_blas_call(r, 3);

	struct place a = matrix(x.at, x.ta ? x.n : x.m, x.ta ? x.m : x.n, &x.lda, &x.sa, 1),
		     b = matrix(x.bt, x.tb ? x.n : x.m, x.tb ? x.m : x.n, &x.ldb, &x.sb, 1),
		     c = matrix(x.ct, x.m, x.n, &x.ldc, &x.sc, 0);

	x.a = a.base;
	x.b = b.base;
	x.c = c.base;
	if (!is_idle(&c) && reads_inputs())
		expect_input(&a);
	if (!is_idle(&c) && reads_result())
		expect_input(&b);
	call_with_results(&c, NULL);
	release(&a, &b, &c);
}

static void try_gemm_bias(const struct row *r)
{
	begin_blas_call(r, 3);
	x.tc = 0;
	x.bias_a = (int)below(5);
	x.bias_b = (int)below(5);
	x.bias_c = (int)below(5);
	x.factor = 1 + (int)below(3);
	x.shift = (int)below(4);

	struct place a = matrix(x.at, x.ta ? x.k : x.m, x.ta ? x.m : x.k, &x.lda, &x.sa, 1),
		     b = matrix(x.bt, x.tb ? x.n : x.k, x.tb ? x.k : x.n, &x.ldb, &x.sb, 1),
		     c = matrix(x.ct, x.m, x.n, &x.ldc, &x.sc, 0);

	x.a = a.base;
	x.b = b.base;
	x.c = c.base;
	if (!is_idle(&c)) {
		expect_input(&a);
		expect_input(&b);
	}
	call_with_results(&c, NULL);
	release(&a, &b, &c);
}

#include "cublas_batches.h"
#include "cublas_vectors.h"

/* By what a row computes: what that is recorded as, and what calls it. */
static const struct {
	const char *op, *recorded;
	void (*call)(const struct row *r);
} ops[] = {{"gemm", "gemm", try_gemm}, {"symm", "symm", try_symm}, {"hemm", "hemm", try_symm},
	{"trmm", "trmm", try_trmm}, {"trsm", "trsm", try_trsm}, {"syrk", "syrk", try_syrk},
	{"herk", "herk", try_syrk}, {"syr2k", "syr2k", try_syr2k}, {"her2k", "her2k", try_syr2k},
	{"gemv", "gemv", try_gemv}, {"ger", "ger", try_ger}, {"gerc", "ger", try_ger},
	{"dot", "dot", try_dot}, {"dotc", "dot", try_dot}, {"nrm2", "nrm2", try_sum},
	{"asum", "asum", try_sum}, {"axpy", "axpy", try_axpy}, {"scal", "scal", try_scal},
	{"copy", "copy", try_copy}, {"swap", "swap", try_swap}, {"rot", "rot", try_swap},
	{"rotm", "rotm", try_swap}, {"rotg", "rotg", try_rotg}, {"rotmg", "rotmg", try_rotg},
	{"iamax", "iamax", try_index}, {"iamin", "iamin", try_index}, {"syrkx", "syrkx", try_syr2k},
	{"herkx", "herkx", try_syr2k}, {"geam", "geam", try_geam}, {"dgmm", "dgmm", try_dgmm},
	{"gemm_bias", "gemm", try_gemm_bias}, {"grouped", "gemm", try_grouped},
	{"getrf", "getrf", try_getrf}, {"getri", "getri", try_getri},
	{"matinv", "matinv", try_getri}, {"getrs", "getrs", try_getrs},
	{"geqrf", "geqrf", try_geqrf}, {"gels", "gels", try_gels}, {"tpttr", "tpttr", try_tpttr},
	{"trttp", "trttp", try_trttp}, {"symv", "symv", try_symv}, {"hemv", "hemv", try_symv},
	{"gbmv", "gbmv", try_gbmv}, {"sbmv", "sbmv", try_sbmv}, {"hbmv", "hbmv", try_sbmv},
	{"spmv", "spmv", try_spmv}, {"hpmv", "hpmv", try_spmv}, {"syr", "syr", try_syr},
	{"her", "her", try_syr}, {"syr2", "syr2", try_syr}, {"her2", "her2", try_syr},
	{"spr", "spr", try_spr}, {"hpr", "hpr", try_spr}, {"spr2", "spr2", try_spr},
	{"hpr2", "hpr2", try_spr}, {"trmv", "trmv", try_trmv}, {"trsv", "trsv", try_trmv},
	{"tbmv", "tbmv", try_tbmv}, {"tbsv", "tbsv", try_tbmv}, {"tpmv", "tpmv", try_tpmv},
	{"tpsv", "tpsv", try_tpmv}};

static void try_row(const struct row *r)
{
	for (unsigned i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (strcmp(ops[i].op, r->op) == 0) {
			op = ops[i].recorded;
			ops[i].call(r);
		}
}

int main(int argc, char **argv)
{
	if (argc != 4 || !(out = fopen(argv[3], "w")) || cublasCreate_v2(&handle))
		return 2;
	if (!open_device())
		return 2;
	state = strtoull(argv[1], NULL, 0);
	plain = 1;
	for (unsigned i = 0; i < FUNCTIONS; i++)
		try_row(&functions[i]);
	plain = 0;
	for (int i = atoi(argv[2]); i > 0; i--)
		try_row(&functions[below(FUNCTIONS)]);
	cublasDestroy_v2(handle);
	printf("%.17g\n", total);
	return fclose(out) != 0;
}
