/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of BLAS, as C and as Fortran calls it, with shapes, leading dimensions, increments, orders, transpositions and factors
 * at random: blas_calls SEED CALLS TRUTH. Into TRUTH goes a line for each tensor that a call reads or writes, with statistics in
 * long double over its elements, one by one; between elements lie NaNs, which are in no sum. On stdout: sums of the results.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrix_sums.h"

/* Linked, beside what dlsym finds. */
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
	const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
	const double *beta, double *c, const int *ldc, size_t la, size_t lb);
double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);

enum {
	ROW = 101,
	COLUMN = 102,
	PLAIN = 111,
	TRANSPOSED = 112,
	CONJUGATED = 113,
	LEFT = 141,
	RIGHT = 142,
	UPPER = 121,
	LOWER = 122,
	NONUNIT = 131
};

static FILE *out;
static uint64_t state;
static double total;

static unsigned below(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

/* A type: its letter, name, number of components, bytes of one component. */
static const struct type {
	char letter;
	const char *name;
	int parts, bytes;
} types[] = {{'s', "float32", 1, 4}, {'d', "float64", 1, 8}, {'c', "complex64", 2, 4},
	{'z', "complex128", 2, 8}};

/* Where elements lie: element (i, j) at i * rs + j * cs. One dimension: c is 1 and not said. */
struct place {
	char *base;
	long r, c, rs, cs;
	int dims;
};

static long double part_at(const struct type *t, const struct place *p, long i, long j, int part)
{
	const char *at = p->base + ((i * p->rs + j * p->cs) * t->parts + part) * t->bytes;
	double d;
	float f;

	if (t->bytes == 8)
		return memcpy(&d, at, 8), d;
	return memcpy(&f, at, 4), f;
}

static void put_part(const struct type *t, struct place *p, long i, long j, int part, double v)
{
	char *at = p->base + ((i * p->rs + j * p->cs) * t->parts + part) * t->bytes;
	float f = (float)v;

	memcpy(at, t->bytes == 8 ? (void *)&v : (void *)&f, (size_t)t->bytes);
}

/* NaNs everywhere, then the elements. fill: 0 leaves the NaNs. */
static struct place make(const struct type *t, long r, long c, long rs, long cs, int dims, int fill)
{
	struct place p = {NULL, r, c, rs, cs, dims};
	size_t n = (size_t)((r + 2) * rs + (c + 2) * cs + 8) * (size_t)(t->parts * t->bytes);

	p.base = malloc(n);
	memset(p.base, 0xff, n);
	for (long i = 0; fill && i < r; i++)
		for (long j = 0; j < c; j++)
			for (int k = 0; k < t->parts; k++)
				put_part(t, &p, i, j, k,
					below(9) ? (below(2001) - 1000.0) / 512 : 0);
	return p;
}

/* known: 0 where only bytes and shape are to be said. */
static void expect(const char *api, const char *op, const char *io, int index, const struct type *t,
	const struct place *p, int known)
{
	struct matrix_sums s = MATRIX_SUMS_NONE;

	for (long i = 0; i < p->r; i++)
		for (long j = 0; j < p->c; j++)
			for (int k = 0; k < t->parts; k++)
				add_matrix_value(&s, part_at(t, p, i, j, k));
	fprintf(out, "%s %s %s %d %s %ld", api, op, io, index, t->name, p->r);
	if (p->dims == 2)
		fprintf(out, "x%ld", p->c);
	fprintf(out, " %ld %ld", p->r * p->c, s.n * t->bytes);
	print_matrix_sums(out, &s, known);
}

static void add(const struct type *t, const struct place *p)
{
	for (long i = 0; i < p->r; i++)
		for (long j = 0; j < p->c; j++) {
			long double x = part_at(t, p, i, j, 0);

			total += isnan(x) ? 1 : (double)x * (double)(i + 2 * j + 1);
		}
}

/* ---- a call, C's or Fortran's ---- */

struct call {
	const struct type *t;
	int fortran, order;
	char name[24];
	void *f;
	double alpha[2], beta[2]; /* as numbers */
	float salpha[2], sbeta[2];
};

/* letter: of the type of what lies in memory. */
static struct call begin_named(const char *name, char letter, int fortran)
{
	struct call c = {.fortran = fortran};

	for (c.t = types; c.t->letter != letter; c.t++)
		;
	snprintf(c.name, sizeof(c.name), c.fortran ? "%s_" : "cblas_%s", name);
	c.f = dlsym(RTLD_DEFAULT, c.name);
	if (!c.f) {
		fprintf(stderr, "no %s\n", c.name);
		exit(2);
	}
	c.order = c.fortran || below(2) ? COLUMN : ROW;
	for (int i = 0; i < c.t->parts; i++) {
		c.alpha[i] = c.salpha[i] = (float)below(7) - 3.5f;
		c.beta[i] = c.sbeta[i] = (float)below(7) - 3.5f;
	}
	if (!below(4))
		c.alpha[0] = c.alpha[1] = c.salpha[0] = c.salpha[1] = 0;
	if (!below(3))
		c.beta[0] = c.beta[1] = c.sbeta[0] = c.sbeta[1] = 0;
	return c;
}

static char one_of(const char *letters)
{
	return letters[below((unsigned)strlen(letters))];
}

static struct call begin(const char *stem, const char *letters)
{
	char letter = one_of(letters), name[16];

	snprintf(name, sizeof(name), "%c%s", letter, stem);
	return begin_named(name, letter, (int)below(2));
}

/* Named for the type of its result or factor, and for that of its complex vector: scnrm2, csscal. */
static struct call begin_mixed(const char *single, const char *twice)
{
	int wide = (int)below(2);
	struct call c = begin_named(wide ? twice : single, wide ? 'z' : 'c', (int)below(2));

	c.alpha[1] = c.salpha[1] = 0;
	return c;
}

/* beta is real, and of herk alpha too. */
static struct call begin_hermitian(const char *stem)
{
	struct call c = begin(stem, "cz");

	c.beta[1] = c.sbeta[1] = 0;
	if (strcmp(stem, "herk") == 0)
		c.alpha[1] = c.salpha[1] = 0;
	return c;
}

/* As it is called with factors that are real, whatever the matrices are. */
static struct call with_real_factors(const struct call *c)
{
	struct call real = *c;

	real.t = &types[c->t->bytes == 8];
	return real;
}

static const void *alpha_of(const struct call *c)
{
	return c->t->bytes == 8 ? (const void *)c->alpha : c->salpha;
}

static const void *beta_of(const struct call *c)
{
	return c->t->bytes == 8 ? (const void *)c->beta : c->sbeta;
}

static int has_alpha(const struct call *c)
{
	return c->alpha[0] != 0 || c->alpha[1] != 0;
}

static int has_beta(const struct call *c)
{
	return c->beta[0] != 0 || c->beta[1] != 0;
}

/* A stored matrix of r x c; *ld as the call is to say it. */
static struct place matrix(const struct call *c, long r, long cs, int *ld, int fill)
{
	*ld = (int)((c->order == ROW ? cs : r) + below(3));
	if (!*ld)
		*ld = 1;
	return make(c->t, r, cs, c->order == ROW ? *ld : 1, c->order == ROW ? 1 : *ld, 2, fill);
}

/* Elements from the lowest address on; the call says -inc for half of them. */
static struct place vector(const struct call *c, long n, int *inc, int fill)
{
	int step = 1 + (int)below(3);
	struct place p = make(c->t, n, 1, step, 1, 1, fill);

	*inc = below(2) ? step : -step;
	return p;
}

static char letter_of(int trans)
{
	return trans == PLAIN	     ? "Nn"[below(2)]
	       : trans == TRANSPOSED ? "Tt"[below(2)]
				     : "Cc"[below(2)];
}

#define FREE(...)                                                              \
	do {                                                                   \
		void *all_[] = {__VA_ARGS__};                                  \
		for (unsigned i_ = 0; i_ < sizeof(all_) / sizeof(*all_); i_++) \
			free(all_[i_]);                                        \
	} while (0)
#define V const void *
/* As C calls it: factors by value where they are real. ARGS are those before alpha, MIDDLE those between the factors. */
#define CALL2(c, T1, A1, T2, A2, T3, A3)                                    \
	do {                                                                \
		if ((c).t->parts == 2)                                      \
			((void (*)(T1, V, T2, V, T3))(c).f)(                \
				A1, alpha_of(&(c)), A2, beta_of(&(c)), A3); \
		else if ((c).t->bytes == 8)                                 \
			((void (*)(T1, double, T2, double, T3))(c).f)(      \
				A1, (c).alpha[0], A2, (c).beta[0], A3);     \
		else                                                        \
			((void (*)(T1, float, T2, float, T3))(c).f)(        \
				A1, (c).salpha[0], A2, (c).sbeta[0], A3);   \
	} while (0)
#define CALL1(c, T1, A1, T2, A2)                                                 \
	do {                                                                     \
		if ((c).t->parts == 2)                                           \
			((void (*)(T1, V, T2))(c).f)(A1, alpha_of(&(c)), A2);    \
		else if ((c).t->bytes == 8)                                      \
			((void (*)(T1, double, T2))(c).f)(A1, (c).alpha[0], A2); \
		else                                                             \
			((void (*)(T1, float, T2))(c).f)(A1, (c).salpha[0], A2); \
	} while (0)
#define LIST(...) __VA_ARGS__

static int any_trans(void)
{
	return PLAIN + (int)below(3);
}

static void gemm(void)
{
	struct call c = begin("gemm", "sdcz");
	int m = (int)below(40), n = (int)below(40), k = (int)below(40), ta = any_trans(),
	    tb = any_trans(), lda, ldb, ldc, i = 0;
	struct place a = matrix(&c, ta == PLAIN ? m : k, ta == PLAIN ? k : m, &lda, has_alpha(&c));
	struct place b = matrix(&c, tb == PLAIN ? k : n, tb == PLAIN ? n : k, &ldb, has_alpha(&c));
	struct place r = matrix(&c, m, n, &ldc, has_beta(&c));
	char la = letter_of(ta), lb = letter_of(tb);

	/* Without a result nothing is read. */
	if (has_alpha(&c) && m && n) {
		expect(c.name, "gemm", "in", i++, c.t, &a, 1);
		expect(c.name, "gemm", "in", i++, c.t, &b, 1);
	}
	if (has_beta(&c) && m && n)
		expect(c.name, "gemm", "in", i++, c.t, &r, 1);
	if (c.fortran)
		((void (*)(V, V, V, V, V, V, V, V, V, V, V, void *, V))c.f)(&la, &lb, &m, &n, &k,
			alpha_of(&c), a.base, &lda, b.base, &ldb, beta_of(&c), r.base, &ldc);
	else
		CALL2(c, LIST(int, int, int, int, int, int), LIST(c.order, ta, tb, m, n, k),
			LIST(V, int, V, int), LIST(a.base, lda, b.base, ldb), LIST(void *, int),
			LIST(r.base, ldc));
	if (m && n)
		expect(c.name, "gemm", "out", 0, c.t, &r, 1);
	add(c.t, &r);
	FREE(a.base, b.base, r.base);
}

static void symm(void)
{
	int hermitian = (int)below(2);
	struct call c = begin(hermitian ? "hemm" : "symm", hermitian ? "cz" : "sdcz");
	int m = 1 + (int)below(20), n = 1 + (int)below(20), left = (int)below(2),
	    upper = (int)below(2), lda, ldb, ldc, i = 0;
	struct place a = matrix(&c, left ? m : n, left ? m : n, &lda, 1),
		     b = matrix(&c, m, n, &ldb, 1), r = matrix(&c, m, n, &ldc, has_beta(&c));
	const char *op = hermitian ? "hemm" : "symm";

	if (has_alpha(&c)) {
		expect(c.name, op, "in", i++, c.t, &a, 0);
		expect(c.name, op, "in", i++, c.t, &b, 1);
	}
	if (has_beta(&c))
		expect(c.name, op, "in", i++, c.t, &r, 1);
	if (c.fortran)
		((void (*)(V, V, V, V, V, V, V, V, V, V, void *, V))c.f)(left ? "L" : "R",
			upper ? "U" : "L", &m, &n, alpha_of(&c), a.base, &lda, b.base, &ldb,
			beta_of(&c), r.base, &ldc);
	else
		CALL2(c, LIST(int, int, int, int, int),
			LIST(c.order, left ? LEFT : RIGHT, upper ? UPPER : LOWER, m, n),
			LIST(V, int, V, int), LIST(a.base, lda, b.base, ldb), LIST(void *, int),
			LIST(r.base, ldc));
	expect(c.name, op, "out", 0, c.t, &r, 1);
	add(c.t, &r);
	FREE(a.base, b.base, r.base);
}

/* given: the same with the factors' type. */
static void update_by_one(struct call c, struct call given, const char *op, int t)
{
	int n = 1 + (int)below(20), k = 1 + (int)below(20), upper = (int)below(2), lda, ldc, i = 0;
	struct place a = matrix(&c, t == PLAIN ? n : k, t == PLAIN ? k : n, &lda, 1),
		     r = matrix(&c, n, n, &ldc, 1);
	char l = letter_of(t);

	if (has_alpha(&c))
		expect(c.name, op, "in", i++, c.t, &a, 1);
	if (has_beta(&c))
		expect(c.name, op, "in", i++, c.t, &r, 0);
	if (c.fortran)
		((void (*)(V, V, V, V, V, V, V, V, void *, V))c.f)(upper ? "U" : "L", &l, &n, &k,
			alpha_of(&c), a.base, &lda, beta_of(&c), r.base, &ldc);
	else
		CALL2(given, LIST(int, int, int, int, int),
			LIST(c.order, upper ? UPPER : LOWER, t, n, k), LIST(V, int),
			LIST(a.base, lda), LIST(void *, int), LIST(r.base, ldc));
	expect(c.name, op, "out", 0, c.t, &r, 0);
	add(c.t, &r);
	FREE(a.base, r.base);
}

static void syrk(void)
{
	struct call c = begin("syrk", "sdcz");

	update_by_one(c, c, "syrk", PLAIN + (int)below(2));
}

static void herk(void)
{
	struct call c = begin_hermitian("herk");

	update_by_one(c, with_real_factors(&c), "herk", below(2) ? PLAIN : CONJUGATED);
}

/* real_beta: beta is real although alpha is complex. */
static void update_by_two(struct call c, const char *op, int t, int real_beta)
{
	int n = 1 + (int)below(20), k = 1 + (int)below(20), upper = (int)below(2), lda, ldb, ldc,
	    i = 0;
	struct place a = matrix(&c, t == PLAIN ? n : k, t == PLAIN ? k : n, &lda, 1),
		     b = matrix(&c, t == PLAIN ? n : k, t == PLAIN ? k : n, &ldb, 1),
		     r = matrix(&c, n, n, &ldc, 1);
	char l = letter_of(t);

	if (has_alpha(&c)) {
		expect(c.name, op, "in", i++, c.t, &a, 1);
		expect(c.name, op, "in", i++, c.t, &b, 1);
	}
	if (has_beta(&c))
		expect(c.name, op, "in", i++, c.t, &r, 0);
	if (c.fortran)
		((void (*)(V, V, V, V, V, V, V, V, V, V, void *, V))c.f)(upper ? "U" : "L", &l, &n,
			&k, alpha_of(&c), a.base, &lda, b.base, &ldb, beta_of(&c), r.base, &ldc);
	else if (!real_beta)
		CALL2(c, LIST(int, int, int, int, int),
			LIST(c.order, upper ? UPPER : LOWER, t, n, k), LIST(V, int, V, int),
			LIST(a.base, lda, b.base, ldb), LIST(void *, int), LIST(r.base, ldc));
	else if (c.t->bytes == 8)
		((void (*)(int, int, int, int, int, V, V, int, V, int, double, void *, int))c.f)(
			c.order, upper ? UPPER : LOWER, t, n, k, c.alpha, a.base, lda, b.base, ldb,
			c.beta[0], r.base, ldc);
	else
		((void (*)(int, int, int, int, int, V, V, int, V, int, float, void *, int))c.f)(
			c.order, upper ? UPPER : LOWER, t, n, k, c.salpha, a.base, lda, b.base, ldb,
			c.sbeta[0], r.base, ldc);
	expect(c.name, op, "out", 0, c.t, &r, 0);
	add(c.t, &r);
	FREE(a.base, b.base, r.base);
}

static void syr2k(void)
{
	update_by_two(begin("syr2k", "sdcz"), "syr2k", PLAIN + (int)below(2), 0);
}

static void her2k(void)
{
	update_by_two(begin_hermitian("her2k"), "her2k", below(2) ? PLAIN : CONJUGATED, 1);
}

static void trmm(void)
{
	int solve = (int)below(2);
	struct call c = begin(solve ? "trsm" : "trmm", "sdcz");
	const char *op = solve ? "trsm" : "trmm";
	int m = 1 + (int)below(12), n = 1 + (int)below(12), left = (int)below(2),
	    upper = (int)below(2), t = any_trans(), lda, ldb, i = 0;
	struct place a = matrix(&c, left ? m : n, left ? m : n, &lda, 1),
		     b = matrix(&c, m, n, &ldb, 1);
	char l = letter_of(t);

	for (long d = 0; d < a.r; d++)
		put_part(c.t, &a, d, d, 0, 4 + (double)d); /* solvable */
	if (has_alpha(&c)) {
		expect(c.name, op, "in", i++, c.t, &a, 0);
		expect(c.name, op, "in", i++, c.t, &b, 1);
	}
	if (c.fortran)
		((void (*)(V, V, V, V, V, V, V, V, V, void *, V))c.f)(left ? "l" : "r",
			upper ? "U" : "L", &l, "N", &m, &n, alpha_of(&c), a.base, &lda, b.base,
			&ldb);
	else
		CALL1(c, LIST(int, int, int, int, int, int, int),
			LIST(c.order, left ? LEFT : RIGHT, upper ? UPPER : LOWER, t, NONUNIT, m, n),
			LIST(V, int, void *, int), LIST(a.base, lda, b.base, ldb));
	expect(c.name, op, "out", 0, c.t, &b, 1);
	add(c.t, &b);
	FREE(a.base, b.base);
}

static void gemv(void)
{
	struct call c = begin("gemv", "sdcz");
	int m = 1 + (int)below(50), n = 1 + (int)below(50), t = any_trans(), lda, incx, incy, i = 0;
	struct place a = matrix(&c, m, n, &lda, 1), x = vector(&c, t == PLAIN ? n : m, &incx, 1),
		     y = vector(&c, t == PLAIN ? m : n, &incy, has_beta(&c));
	char l = letter_of(t);

	if (has_alpha(&c)) {
		expect(c.name, "gemv", "in", i++, c.t, &a, 1);
		expect(c.name, "gemv", "in", i++, c.t, &x, 1);
	}
	if (has_beta(&c))
		expect(c.name, "gemv", "in", i++, c.t, &y, 1);
	if (c.fortran)
		((void (*)(V, V, V, V, V, V, V, V, V, void *, V))c.f)(&l, &m, &n, alpha_of(&c),
			a.base, &lda, x.base, &incx, beta_of(&c), y.base, &incy);
	else
		CALL2(c, LIST(int, int, int, int), LIST(c.order, t, m, n), LIST(V, int, V, int),
			LIST(a.base, lda, x.base, incx), LIST(void *, int), LIST(y.base, incy));
	expect(c.name, "gemv", "out", 0, c.t, &y, 1);
	add(c.t, &y);
	FREE(a.base, x.base, y.base);
}

static void ger(void)
{
	static const char *const complex_form[] = {"geru", "gerc"};
	int real = (int)below(2);
	struct call c = begin(real ? "ger" : complex_form[below(2)], real ? "sd" : "cz");
	int m = 1 + (int)below(30), n = 1 + (int)below(30), lda, incx, incy, i = 0;
	struct place x = vector(&c, m, &incx, 1), y = vector(&c, n, &incy, 1),
		     a = matrix(&c, m, n, &lda, 1);

	if (has_alpha(&c)) {
		expect(c.name, "ger", "in", i++, c.t, &x, 1);
		expect(c.name, "ger", "in", i++, c.t, &y, 1);
	}
	expect(c.name, "ger", "in", i++, c.t, &a, 1);
	if (c.fortran)
		((void (*)(V, V, V, V, V, V, V, void *, V))c.f)(
			&m, &n, alpha_of(&c), x.base, &incx, y.base, &incy, a.base, &lda);
	else
		CALL1(c, LIST(int, int, int), LIST(c.order, m, n),
			LIST(V, int, V, int, void *, int),
			LIST(x.base, incx, y.base, incy, a.base, lda));
	expect(c.name, "ger", "out", 0, c.t, &a, 1);
	add(c.t, &a);
	FREE(x.base, y.base, a.base);
}

static void dot(void)
{
	struct call c = begin("dot", "sd");
	int n = (int)below(300), incx, incy;
	struct place x = vector(&c, n, &incx, 1), y = vector(&c, n, &incy, 1);
	double r;

	expect(c.name, "dot", "in", 0, c.t, &x, 1);
	expect(c.name, "dot", "in", 1, c.t, &y, 1);
	if (c.fortran && c.t->bytes == 8)
		r = ((double (*)(V, V, V, V, V))c.f)(&n, x.base, &incx, y.base, &incy);
	else if (c.fortran)
		r = ((float (*)(V, V, V, V, V))c.f)(&n, x.base, &incx, y.base, &incy);
	else if (c.t->bytes == 8)
		r = ((double (*)(int, V, int, V, int))c.f)(n, x.base, incx, y.base, incy);
	else
		r = ((float (*)(int, V, int, V, int))c.f)(n, x.base, incx, y.base, incy);
	total += r;
	FREE(x.base, y.base);
}

/* Of floats, summed in double: dsdot, and sdsdot, which adds a number. */
static void mixed_dot(void)
{
	int adds = (int)below(2), n = (int)below(300), incx, incy;
	struct call c = begin_named(adds ? "sdsdot" : "dsdot", 's', (int)below(2));
	struct place x = vector(&c, n, &incx, 1), y = vector(&c, n, &incy, 1);
	float more = 2.5f;

	expect(c.name, "dot", "in", 0, c.t, &x, 1);
	expect(c.name, "dot", "in", 1, c.t, &y, 1);
	if (adds && c.fortran)
		total += (double)((float (*)(V, V, V, V, V, V))c.f)(
			&n, &more, x.base, &incx, y.base, &incy);
	else if (adds)
		total += (double)((float (*)(int, float, V, int, V, int))c.f)(
			n, more, x.base, incx, y.base, incy);
	else if (c.fortran)
		total += ((double (*)(V, V, V, V, V))c.f)(&n, x.base, &incx, y.base, &incy);
	else
		total += ((double (*)(int, V, int, V, int))c.f)(n, x.base, incx, y.base, incy);
	FREE(x.base, y.base);
}

/* Fortran's return a complex number, each compiler in its own way: not wrapped. */
static void complex_dot(void)
{
	static const char *const names[] = {"cdotu_sub", "cdotc_sub", "zdotu_sub", "zdotc_sub"};
	int which = (int)below(4), n = (int)below(300), incx, incy;
	struct call c = begin_named(names[which], names[which][0], 0);
	struct place x = vector(&c, n, &incx, 1), y = vector(&c, n, &incy, 1);
	double wide[2] = {0, 0};
	float narrow[2] = {0, 0};

	expect(c.name, "dot", "in", 0, c.t, &x, 1);
	expect(c.name, "dot", "in", 1, c.t, &y, 1);
	((void (*)(int, V, int, V, int, void *))c.f)(
		n, x.base, incx, y.base, incy, c.t->bytes == 8 ? (void *)wide : narrow);
	total += wide[0] + 2 * wide[1] + (double)narrow[0] + 2 * (double)narrow[1];
	FREE(x.base, y.base);
}

static void axpy(void)
{
	struct call c = begin("axpy", "sdcz");
	int n = (int)below(300), incx, incy, i = 0;
	struct place x = vector(&c, n, &incx, 1), y = vector(&c, n, &incy, 1);

	if (n && has_alpha(&c))
		expect(c.name, "axpy", "in", i++, c.t, &x, 1);
	if (n)
		expect(c.name, "axpy", "in", i++, c.t, &y, 1);
	if (c.fortran)
		((void (*)(V, V, V, V, void *, V))c.f)(
			&n, alpha_of(&c), x.base, &incx, y.base, &incy);
	else
		CALL1(c, int, n, LIST(V, int, void *, int), LIST(x.base, incx, y.base, incy));
	if (n)
		expect(c.name, "axpy", "out", 0, c.t, &y, 1);
	add(c.t, &y);
	FREE(x.base, y.base);
}

/* One vector in, one number back: norms and sums. */
static void nrm2(void)
{
	int sum = (int)below(2);
	struct call c = below(2) ? begin(sum ? "asum" : "nrm2", "sd")
			: sum	 ? begin_mixed("scasum", "dzasum")
				 : begin_mixed("scnrm2", "dznrm2");
	int n = (int)below(300), inc;
	struct place x = vector(&c, n, &inc, 1);

	inc = abs(inc);
	expect(c.name, sum ? "asum" : "nrm2", "in", 0, c.t, &x, 1);
	if (c.fortran && c.t->bytes == 8)
		total += ((double (*)(V, V, V))c.f)(&n, x.base, &inc);
	else if (c.fortran)
		total += (double)((float (*)(V, V, V))c.f)(&n, x.base, &inc);
	else if (c.t->bytes == 8)
		total += ((double (*)(int, V, int))c.f)(n, x.base, inc);
	else
		total += (double)((float (*)(int, V, int))c.f)(n, x.base, inc);
	FREE(x.base);
}

static void scal(void)
{
	int mixed = !below(3);
	struct call c = mixed ? begin_mixed("csscal", "zdscal") : begin("scal", "sdcz"),
		    real = with_real_factors(&c);
	int n = 1 + (int)below(300), inc;
	struct place x = vector(&c, n, &inc, 1);

	inc = abs(inc);
	expect(c.name, "scal", "in", 0, c.t, &x, 1);
	if (c.fortran)
		((void (*)(V, V, void *, V))c.f)(&n, alpha_of(&c), x.base, &inc);
	else if (mixed)
		CALL1(real, int, n, LIST(void *, int), LIST(x.base, inc));
	else
		CALL1(c, int, n, LIST(void *, int), LIST(x.base, inc));
	expect(c.name, "scal", "out", 0, c.t, &x, 1);
	add(c.t, &x);
	FREE(x.base);
}

static void copy(void)
{
	int both = (int)below(2);
	struct call c = begin(both ? "swap" : "copy", "sdcz");
	const char *op = both ? "swap" : "copy";
	int n = 1 + (int)below(300), incx, incy;
	struct place x = vector(&c, n, &incx, 1), y = vector(&c, n, &incy, both);

	expect(c.name, op, "in", 0, c.t, &x, 1);
	if (both)
		expect(c.name, op, "in", 1, c.t, &y, 1);
	if (c.fortran)
		((void (*)(V, void *, V, void *, V))c.f)(&n, x.base, &incx, y.base, &incy);
	else
		((void (*)(int, void *, int, void *, int))c.f)(n, x.base, incx, y.base, incy);
	if (both)
		expect(c.name, op, "out", 0, c.t, &x, 1);
	expect(c.name, op, "out", both, c.t, &y, 1);
	add(c.t, &y);
	FREE(x.base, y.base);
}

/* Bound by the loader, and with pointers that must not be followed: a factor 0, an empty result. */
static void linked(void)
{
	static const struct type *const t = &types[1];
	double c[12], one = 1, zero = 0, *nowhere = (double *)16;
	struct place p = {(char *)c, 3, 4, 1, 3, 2};
	int m = 3, n = 4, k = 5, none = 0;

	for (int i = 0; i < 12; i++)
		c[i] = i;
	expect("dgemm_", "gemm", "in", 0, t, &p, 1);
	dgemm_("N", "T", &m, &n, &k, &zero, nowhere, &m, nowhere, &n, &one, c, &m, 1, 1);
	expect("dgemm_", "gemm", "out", 0, t, &p, 1);
	dgemm_("N", "N", &none, &n, &k, &one, nowhere, &m, nowhere, &k, &one, nowhere, &m, 1, 1);
	p = (struct place){(char *)c, 12, 1, 1, 1, 1};
	expect("cblas_ddot", "dot", "in", 0, t, &p, 1);
	expect("cblas_ddot", "dot", "in", 1, t, &p, 1);
	total += cblas_ddot(12, c, 1, c, 1);
}

int main(int argc, char **argv)
{
	static void (*const each[])(void) = {gemm, symm, syrk, herk, syr2k, her2k, trmm, gemv, ger,
		dot, mixed_dot, complex_dot, axpy, nrm2, scal, copy};

	if (argc != 4 || !(out = fopen(argv[3], "w")))
		return 2;
	state = strtoull(argv[1], NULL, 0);
	linked();
	for (int i = atoi(argv[2]); i > 0; i--)
		each[below(sizeof(each) / sizeof(*each))]();
	printf("%.17g\n", total);
	return fclose(out) != 0;
}
