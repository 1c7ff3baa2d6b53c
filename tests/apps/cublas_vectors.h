/* SPDX-License-Identifier: Apache-2.0 */
/* cublas_calls.c: vectors, and matrices with them. */
#ifndef PROBE_TESTS_APPS_CUBLAS_VECTORS_H
#define PROBE_TESTS_APPS_CUBLAS_VECTORS_H

/* y = alpha A x + beta y; a: what A is stored in. */
static void multiply_vector(struct place *a, int64_t nx, int64_t ny, int seen)
{
	struct place v = vector(x.bt, nx, &x.incx, &x.sb, 1, 1),
		     y = vector(x.ct, ny, &x.incy, &x.sc, reads_result(), 1);

	x.a = a->base;
	x.b = v.base;
	x.c = y.base;
	if (!is_idle(&y) && reads_inputs()) {
		if (seen)
			expect_input(a);
		expect_input(&v);
	}
	if (!is_idle(&y) && reads_result())
		expect_input(&y);
	call_with_results(&y, NULL);
	release(&v, &y, NULL);
}

static void try_symv(const struct row *r)
{
	begin_blas_call(r, 1);

	struct place a = matrix(x.at, x.n, x.n, &x.lda, &x.sa, 1);

	a.half = 1;
	multiply_vector(&a, x.n, x.n, 1);
	release(&a, NULL, NULL);
}

/* k, kl and ku are small then, for all of the storage is filled. */
static struct place band(int64_t rows)
{
	return matrix(x.at, rows, x.n, &x.lda, &x.sa, 1);
}

static void try_sbmv(const struct row *r)
{
	begin_blas_call(r, 0);
	x.k = below(4);

	struct place a = band(x.k + 1);

	multiply_vector(&a, x.n, x.n, 0);
	release(&a, NULL, NULL);
}

static void try_gbmv(const struct row *r)
{
	begin_blas_call(r, 0);
	x.kl = below(3);
	x.ku = below(3);

	struct place a = band(x.kl + x.ku + 1);

	multiply_vector(&a, x.ta ? x.m : x.n, x.ta ? x.n : x.m, 0);
	release(&a, NULL, NULL);
}

static void try_spmv(const struct row *r)
{
	begin_blas_call(r, 0);

	struct place a = unseen(x.at, packed_size());

	multiply_vector(&a, x.n, x.n, 0);
	release(&a, NULL, NULL);
}

static int has_two_vectors(void)
{
	return strchr(row->form, '2') != NULL;
}

static void try_syr(const struct row *r)
{
	begin_blas_call(r, 1);

	struct place v = vector(x.at, x.n, &x.incx, &x.sa, 1, 1), y = v, a;

	if (has_two_vectors())
		y = vector(x.bt, x.n, &x.incy, &x.sb, 1, 1);
	a = matrix(x.ct, x.n, x.n, &x.ldc, &x.sc, 1);
	a.half = 1;
	x.a = v.base;
	x.b = y.base;
	x.c = a.base;
	if (!is_idle(&a) && reads_inputs()) {
		expect_input(&v);
		if (has_two_vectors())
			expect_input(&y);
	}
	if (!is_idle(&a))
		expect_input(&a);
	call_with_results(&a, NULL);
	release(&v, &a, has_two_vectors() ? &y : NULL);
}

static void try_spr(const struct row *r)
{
	begin_blas_call(r, 0);

	struct place v = vector(x.at, x.n, &x.incx, &x.sa, 1, 1), y = v,
		     a = unseen(x.ct, packed_size());

	if (has_two_vectors())
		y = vector(x.bt, x.n, &x.incy, &x.sb, 1, 1);
	x.a = v.base;
	x.b = y.base;
	x.c = a.base;
	if (reads_inputs())
		expect_input(&v);
	else
		expect_call();
	if (reads_inputs() && has_two_vectors())
		expect_input(&y);
	call_with_results(NULL, NULL);
	add(&a);
	release(&v, &a, has_two_vectors() ? &y : NULL);
}

static void apply_to_vector(struct place *a, int seen)
{
	struct place v = vector(x.ct, x.n, &x.incx, &x.sc, 1, 1);

	x.a = a->base;
	x.c = v.base;
	if (!is_idle(&v)) {
		if (seen)
			expect_input(a);
		expect_input(&v);
	}
	call_with_results(&v, NULL);
	release(a, &v, NULL);
}

static void try_trmv(const struct row *r)
{
	begin_blas_call(r, 1);

	struct place a = matrix(x.at, x.n, x.n, &x.lda, &x.sa, 1);

	a.half = 1;
	strengthen(&a);
	apply_to_vector(&a, 1);
}

static void try_tbmv(const struct row *r)
{
	begin_blas_call(r, 0);
	x.k = below(4);

	struct place a = band(x.k + 1);

	for (long i = 0; i < x.n; i++)
		put_part(
			types[a.type].part, element_of(&a, 0, x.uplo ? x.k : 0, i), 40 + (double)i);
	apply_to_vector(&a, 0);
}

static void try_tpmv(const struct row *r)
{
	begin_blas_call(r, 0);

	struct place a = unseen(x.at, packed_size());

	for (long i = 0, at = 0; i < x.n; i++, at += x.uplo ? i + 1 : x.n - i + 1)
		put_part(types[a.type].part, element_of(&a, 0, at, 0), 40 + (double)i);
	apply_to_vector(&a, 0);
}

static void try_dgmm(const struct row *r)
{
	begin_blas_call(r, 2);

	struct place a = matrix(x.at, x.m, x.n, &x.lda, &x.sa, 1),
		     v = vector(x.bt, x.side ? x.n : x.m, &x.incx, &x.sb, 1, 1),
		     c = matrix(x.ct, x.m, x.n, &x.ldc, &x.sc, 0);

	x.a = a.base;
	x.b = v.base;
	x.c = c.base;
	if (!is_idle(&c)) {
		expect_input(&a);
		expect_input(&v);
	}
	call_with_results(&c, NULL);
	release(&a, &v, &c);
}

static void try_gemv(const struct row *r)
{
	begin_blas_call(r, 1);

	struct place a = matrix(x.at, x.m, x.n, &x.lda, &x.sa, 1),
		     v = vector(x.bt, x.ta ? x.m : x.n, &x.incx, &x.sb, 1, 1),
		     y = vector(x.ct, x.ta ? x.n : x.m, &x.incy, &x.sc, reads_result(), 1);

	x.a = given(&a, 0);
	x.b = given(&v, 1);
	x.c = given(&y, 2);
	if (!is_idle(&y) && reads_inputs()) {
		expect_input(&a);
		expect_input(&v);
	}
	if (!is_idle(&y) && reads_result())
		expect_input(&y);
	call_with_results(&y, NULL);
	release(&a, &v, &y);
}

static void try_ger(const struct row *r)
{
	begin_blas_call(r, 1);

	struct place v = vector(x.at, x.m, &x.incx, &x.sa, 1, 1),
		     y = vector(x.bt, x.n, &x.incy, &x.sb, 1, 1),
		     a = matrix(x.ct, x.m, x.n, &x.ldc, &x.sc, 1);

	x.a = v.base;
	x.b = y.base;
	x.c = a.base;
	if (!is_idle(&a) && reads_inputs()) {
		expect_input(&v);
		expect_input(&y);
	}
	if (!is_idle(&a))
		expect_input(&a);
	call_with_results(&a, NULL);
	release(&v, &y, &a);
}

/* A number comes back. */
static void add_single_result(void)
{
	struct place number = {result_type, 1, 1, 1, 1, 1, 1, 1, x.result, 0, 0, 0};

	if (on_device)
		number.base += 4096;
	add(&number);
}

static void try_dot(const struct row *r)
{
	begin_blas_call(r, 0);

	struct place v = vector(x.at, x.n, &x.incx, &x.sa, 1, 1),
		     y = vector(x.bt, x.n, &x.incy, &x.sb, 1, 1);

	x.a = v.base;
	x.b = y.base;
	expect_input(&v);
	expect_input(&y);
	call_with_results(NULL, NULL);
	add_single_result();
	release(&v, &y, NULL);
}

static void try_sum(const struct row *r)
{
	begin_blas_call(r, 0);

	struct place v = vector(x.at, x.n, &x.incx, &x.sa, 1, 0);

	x.a = v.base;
	expect_input(&v);
	call_with_results(NULL, NULL);
	add_single_result();
	release(&v, NULL, NULL);
}

static void try_index(const struct row *r)
{
	begin_blas_call(r, 0);

	struct place v = vector(x.at, x.n, &x.incx, &x.sa, 1, 0);
	const char *number = x.result;

	x.a = v.base;
	expect_input(&v);
	call_with_results(NULL, NULL);
	number += on_device ? 4096 : 0;
	total += row->wide ? (double)*(const int64_t *)(const void *)number
			   : *(const int *)(const void *)number;
	release(&v, NULL, NULL);
}

/* Numbers one by one, where factors lie. */
static struct place single_number(int type, int which)
{
	struct place p = {type, 1, 1, 1, 1, 1, 1, 1, NULL, 0, 0, 0};

	p.base = (char *)x.alpha + NUMBERS_AT + 16 * which + (on_device ? 4096 : 0);
	put_part(types[type].part, p.base, (below(2001) - 1000.0) / 512);
	if (types[type].parts > 1)
		put_part(types[type].part, p.base + types[types[type].part].bytes, below(3) - 1.0);
	return p;
}

static void *said_of(const struct place *p)
{
	return p->base - (on_device ? 4096 : 0);
}

/* What makes a rotation: nothing but that it was called. */
static void try_rotg(const struct row *r)
{
	int modified = strncmp(r->op, "rotmg", 5) == 0;

	begin_blas_call(r, 0);

	int cosine = row->alpha < 0 ? x.ft : row->alpha;
	struct place a = single_number(x.at, 0), b = single_number(x.at, 1),
		     c = single_number(modified ? x.at : cosine, 2), y = single_number(x.at, 3);

	x.rt = x.ft;
	x.a = said_of(&a);
	x.b = said_of(&b);
	x.c = said_of(&c);
	if (modified) {
		x.alpha = said_of(&y);
		x.xt = x.at;
	}
	expect_call();
	call_with_results(NULL, NULL);
	add(&a);
	add(&b);
	add(&c);
	result_type = row->beta < 0 ? x.ft : row->beta;
	add_single_result();
}

static void try_axpy(const struct row *r)
{
	begin_blas_call(r, 0);

	struct place v = vector(x.at, x.n, &x.incx, &x.sa, 1, 1),
		     y = vector(x.ct, x.n, &x.incy, &x.sc, 1, 1);

	x.a = v.base;
	x.c = y.base;
	if (!is_idle(&y) && reads_inputs())
		expect_input(&v);
	if (!is_idle(&y))
		expect_input(&y);
	call_with_results(&y, NULL);
	release(&v, &y, NULL);
}

static void try_scal(const struct row *r)
{
	begin_blas_call(r, 0);

	struct place v = vector(x.ct, x.n, &x.incx, &x.sc, 1, 0);

	x.c = v.base;
	if (!is_idle(&v))
		expect_input(&v);
	call_with_results(&v, NULL);
	release(&v, NULL, NULL);
}

/* A flag, and four numbers. */
static void choose_rotation(void)
{
	static const double flags[] = {-2, -1, 0, 1};
	int type = row->alpha < 0 ? x.ft : row->alpha;

	for (int i = 0; i < 5; i++)
		put_part(type, (char *)x.alpha + (on_device ? 4096 : 0) + i * types[type].bytes,
			i ? (below(2001) - 1000.0) / 512 : flags[below(4)]);
}

static void move(const struct row *r, int both)
{
	begin_blas_call(r, 0);
	if (strcmp(r->op, "rotm") == 0)
		choose_rotation();

	struct place v = vector(x.at, x.n, &x.incx, &x.sa, 1, 1),
		     y = vector(x.ct, x.n, &x.incy, &x.sc, both, 1);

	x.a = v.base;
	x.c = y.base;
	if (!is_idle(&y)) {
		expect_input(&v);
		if (both)
			expect_input(&y);
	}
	call_with_results(both ? &v : &y, both ? &y : NULL);
	release(&v, &y, NULL);
}

static void try_copy(const struct row *r)
{
	move(r, 0);
}

static void try_swap(const struct row *r)
{
	move(r, 1);
}

#endif
