/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.c: factorisations, and what is solved by them; triangles from one storage to another. Pivots count from 1. */
#ifndef PROBE_TESTS_DOUBLES_CUBLAS_FACTORS_H
#define PROBE_TESTS_DOUBLES_CUBLAS_FACTORS_H

static double complex of_c(const struct arguments *x, int64_t r, int64_t c)
{
	return get_complex(x->ct, x->c, r + c * x->ldc);
}

static void put_c(const struct arguments *x, int64_t r, int64_t c, double complex v)
{
	put_complex(x->ct, x->c, r + c * x->ldc, v);
}

static void swap_rows(const struct arguments *x, int64_t columns, int64_t r, int64_t s)
{
	for (int64_t c = 0; c < columns && r != s; c++) {
		double complex v = of_c(x, r, c);

		put_c(x, r, c, of_c(x, s, c));
		put_c(x, s, c, v);
	}
}

static int *pivots_of(const struct job *j)
{
	return j->x.pivots ? (int *)j->x.pivots + j->nth * j->x.n : NULL;
}

static void put_info(const struct job *j, int64_t v)
{
	((int *)j->x.info)[j->nth] = (int)v;
}

/* C = L U, of n rows. */
static cublasStatus_t do_getrf(const struct job *j)
{
	const struct arguments *x = &j->x;
	int *pivot = pivots_of(j);

	if (is_ld_too_small(x->ldc, x->n))
		return INVALID_VALUE;
	put_info(j, 0);
	for (int64_t i = 0; i < x->n; i++) {
		int64_t best = i;

		for (int64_t r = i + 1; r < x->n && pivot; r++)
			if (cabs(of_c(x, r, i)) > cabs(of_c(x, best, i)))
				best = r;
		if (pivot)
			pivot[i] = (int)best + 1;
		swap_rows(x, x->n, i, best);
		if (of_c(x, i, i) == 0) {
			put_info(j, i + 1);
			continue;
		}
		for (int64_t r = i + 1; r < x->n; r++) {
			double complex f = of_c(x, r, i) / of_c(x, i, i);

			put_c(x, r, i, f);
			for (int64_t c = i + 1; c < x->n; c++)
				put_c(x, r, c, of_c(x, r, c) - f * of_c(x, i, c));
		}
	}
	return OK;
}

/* op(L U) X = C, in place, of `columns` columns; pivot: of the rows of C, or, transposed, of those of X. */
static void solve_by_factors(const struct job *j, int64_t columns, const int *pivot)
{
	const struct arguments *x = &j->x;
	int64_t n = x->n;

	for (int64_t i = 0; i < n && pivot && !x->ta; i++)
		swap_rows(x, columns, i, pivot[i] - 1);
	for (int pass = 0; pass < 2; pass++) {
		/* L is the lower triangle, U the upper one; transposed it is the other way round. */
		int unit = (pass == 0) != (x->ta != 0);

		for (int64_t c = 0; c < columns; c++)
			for (int64_t s = 0; s < n; s++) {
				int64_t i = pass ? n - 1 - s : s;
				double complex sum = of_c(x, i, c);

				for (int64_t l = pass ? i + 1 : 0; l < (pass ? n : i); l++)
					sum -= of_op(x->at, x->a, x->lda, x->ta, i, l) *
					       of_c(x, l, c);
				put_c(x, i, c,
					unit ? sum : sum / of_op(x->at, x->a, x->lda, x->ta, i, i));
			}
	}
	for (int64_t i = n - 1; i >= 0 && pivot && x->ta; i--)
		swap_rows(x, columns, i, pivot[i] - 1);
}

static cublasStatus_t do_getrs(const struct job *j)
{
	const struct arguments *x = &j->x;

	if (is_ld_too_small(x->lda, x->n) || is_ld_too_small(x->ldc, x->n))
		return INVALID_VALUE;
	*(int *)x->info = 0;
	solve_by_factors(j, x->k, pivots_of(j));
	return OK;
}

static void put_identity(const struct arguments *x)
{
	for (int64_t c = 0; c < x->n; c++)
		for (int64_t r = 0; r < x->n; r++)
			put_c(x, r, c, r == c);
}

static cublasStatus_t do_getri(const struct job *j)
{
	const struct arguments *x = &j->x;

	if (is_ld_too_small(x->lda, x->n) || is_ld_too_small(x->ldc, x->n))
		return INVALID_VALUE;
	put_info(j, 0);
	put_identity(x);
	solve_by_factors(j, x->n, pivots_of(j));
	return OK;
}

/* By a copy that is factorised. */
static cublasStatus_t do_matinv(const struct job *j)
{
	struct job copy = *j;
	struct arguments *x = &copy.x;
	int *pivot = malloc((size_t)(x->n + 1) * sizeof(*pivot));
	cublasStatus_t status = INVALID_VALUE;

	if (!is_ld_too_small(x->lda, x->n) && !is_ld_too_small(x->ldc, x->n)) {
		size_t bytes = (size_t)(x->n * x->n + 1) * (size_t)bytes_of_type[x->at];
		void *factors = malloc(bytes), *to = x->c;
		int64_t ld = x->ldc;

		for (int64_t c = 0; c < x->n; c++)
			for (int64_t r = 0; r < x->n; r++)
				put_complex(x->at, factors, r + c * x->n,
					get_complex(x->at, x->a, r + c * x->lda));
		x->c = x->a = factors;
		x->ldc = x->lda = x->n ? x->n : 1;
		x->pivots = pivot - copy.nth * x->n;
		status = do_getrf(&copy);
		x->c = to;
		x->ldc = ld;
		put_identity(x);
		solve_by_factors(&copy, x->n, pivot);
		free(factors);
	}
	free(pivot);
	return status;
}

/* What makes zeros below (i, i) of an m x n matrix: (1, v) with v there, and tau; applied to columns from `first` on of another. */
static double complex make_reflector(int type, void *a, int64_t ld, int64_t m, int64_t i)
{
	double complex head = get_complex(type, a, i + i * ld), tau, beta;
	double sum = 0;

	for (int64_t r = i + 1; r < m; r++)
		sum += pow(cabs(get_complex(type, a, r + i * ld)), 2);
	if (sum == 0 && cimag(head) == 0)
		return 0;
	beta = (creal(head) > 0 ? -1 : 1) * sqrt(sum + pow(cabs(head), 2));
	tau = (beta - head) / beta;
	for (int64_t r = i + 1; r < m; r++)
		put_complex(type, a, r + i * ld, get_complex(type, a, r + i * ld) / (head - beta));
	put_complex(type, a, i + i * ld, beta);
	return tau;
}

static void apply_reflector(const void *v, int64_t ldv, double complex tau, int type, void *a,
	int64_t ld, int64_t m, int64_t i, int64_t c)
{
	double complex sum = get_complex(type, a, i + c * ld);

	for (int64_t r = i + 1; r < m; r++)
		sum += conj(get_complex(type, v, r + i * ldv)) * get_complex(type, a, r + c * ld);
	sum *= conj(tau);
	put_complex(type, a, i + c * ld, get_complex(type, a, i + c * ld) - sum);
	for (int64_t r = i + 1; r < m; r++)
		put_complex(type, a, r + c * ld,
			get_complex(type, a, r + c * ld) - sum * get_complex(type, v, r + i * ldv));
}

static cublasStatus_t do_geqrf(const struct job *j)
{
	const struct arguments *x = &j->x;

	if (is_ld_too_small(x->ldc, x->m))
		return INVALID_VALUE;
	*(int *)x->info = 0;
	for (int64_t i = 0; i < x->m && i < x->n; i++) {
		double complex tau = make_reflector(x->ct, x->c, x->ldc, x->m, i);

		put_complex(x->ct, x->tau, i, tau);
		for (int64_t c = i + 1; c < x->n; c++)
			apply_reflector(x->c, x->ldc, tau, x->ct, x->c, x->ldc, x->m, i, c);
	}
	return OK;
}

/* Least squares: A becomes its factors, and C what solves it. */
static cublasStatus_t do_gels(const struct job *j)
{
	const struct arguments *x = &j->x;

	if (is_ld_too_small(x->lda, x->m) || is_ld_too_small(x->ldc, x->m) || x->m < x->n || x->ta)
		return INVALID_VALUE;
	*(int *)x->info = 0;
	if (x->infos)
		((int *)x->infos)[j->nth] = 0;
	for (int64_t i = 0; i < x->n; i++) {
		double complex tau = make_reflector(x->at, x->a, x->lda, x->m, i);

		for (int64_t c = i + 1; c < x->n; c++)
			apply_reflector(x->a, x->lda, tau, x->at, x->a, x->lda, x->m, i, c);
		for (int64_t c = 0; c < x->k; c++)
			apply_reflector(x->a, x->lda, tau, x->at, x->c, x->ldc, x->m, i, c);
	}
	for (int64_t c = 0; c < x->k; c++)
		for (int64_t i = x->n - 1; i >= 0; i--) {
			double complex sum = of_c(x, i, c);

			for (int64_t l = i + 1; l < x->n; l++)
				sum -= get_complex(x->at, x->a, i + l * x->lda) * of_c(x, l, c);
			put_c(x, i, c, sum / get_complex(x->at, x->a, i + i * x->lda));
		}
	return OK;
}

/* ---- a triangle, from one storage to another ---- */

static cublasStatus_t move_triangle(const struct job *j, enum storage from, enum storage to)
{
	const struct arguments *x = &j->x;

	if (from == FULL ? is_ld_too_small(x->lda, x->n) : is_ld_too_small(x->ldc, x->n))
		return INVALID_VALUE;
	for (int64_t c = 0; c < x->n; c++)
		for (int64_t r = x->uplo ? 0 : c; r < (x->uplo ? c + 1 : x->n); r++)
			put_complex(x->ct, x->c, triangle_place(x, to, x->ldc, r, c),
				get_complex(x->at, x->a, triangle_place(x, from, x->lda, r, c)));
	return OK;
}

static cublasStatus_t do_tpttr(const struct job *j)
{
	return move_triangle(j, PACKED, FULL);
}

static cublasStatus_t do_trttp(const struct job *j)
{
	return move_triangle(j, FULL, PACKED);
}

#endif
