/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.c: vectors, with a negative increment from the last element in memory to the first; matrices with them. */
#ifndef PROBE_TESTS_DOUBLES_CUBLAS_VECTORS_H
#define PROBE_TESTS_DOUBLES_CUBLAS_VECTORS_H

static int64_t element_at(int64_t n, int64_t inc, int64_t i)
{
	return inc < 0 ? (i - n + 1) * inc : i * inc;
}

static cublasStatus_t do_gemv(const struct job *j)
{
	const struct arguments *x = &j->x;
	int64_t nx = x->ta ? x->m : x->n, ny = x->ta ? x->n : x->m;

	if (is_ld_too_small(x->lda, x->m) || !x->incx || !x->incy)
		return INVALID_VALUE;
	for (int64_t i = 0; i < ny; i++) {
		double complex sum = 0;

		for (int64_t l = 0; l < nx && j->alpha != 0; l++)
			sum += of_op(x->at, x->a, x->lda, x->ta, i, l) *
			       get_complex(x->bt, x->b, element_at(nx, x->incx, l));
		put_result(j, element_at(ny, x->incy, i), sum);
	}
	return OK;
}

/* With kl diagonals below and ku above, one row of storage for each. */
static cublasStatus_t do_gbmv(const struct job *j)
{
	const struct arguments *x = &j->x;
	int64_t nx = x->ta ? x->m : x->n, ny = x->ta ? x->n : x->m;

	if (is_ld_too_small(x->lda, x->kl + x->ku + 1) || !x->incx || !x->incy)
		return INVALID_VALUE;
	for (int64_t i = 0; i < ny; i++) {
		double complex sum = 0;

		for (int64_t l = 0; l < nx && j->alpha != 0; l++) {
			int64_t r = x->ta ? l : i, c = x->ta ? i : l;
			double complex a;

			if (r - c > x->kl || c - r > x->ku)
				continue;
			a = get_complex(x->at, x->a, x->ku + r - c + c * x->lda);
			sum += (x->ta == 2 ? conj(a) : a) *
			       get_complex(x->bt, x->b, element_at(nx, x->incx, l));
		}
		put_result(j, element_at(ny, x->incy, i), sum);
	}
	return OK;
}

static int is_storage_too_small(const struct arguments *x, enum storage s, int64_t ld)
{
	return s == FULL ? is_ld_too_small(ld, x->n) : s == BAND && is_ld_too_small(ld, x->k + 1);
}

static cublasStatus_t multiply_by_stored(const struct job *j, enum storage s, enum half half)
{
	const struct arguments *x = &j->x;

	if (is_storage_too_small(x, s, x->lda) || !x->incx || !x->incy)
		return INVALID_VALUE;
	for (int64_t i = 0; i < x->n; i++) {
		double complex sum = 0;

		for (int64_t l = 0; l < x->n && j->alpha != 0; l++)
			sum += of_stored(x, s, half, 0, i, l) *
			       get_complex(x->bt, x->b, element_at(x->n, x->incx, l));
		put_result(j, element_at(x->n, x->incy, i), sum);
	}
	return OK;
}

#define STORED(op, storage, half)                            \
	static cublasStatus_t do_##op(const struct job *j)   \
	{                                                    \
		return multiply_by_stored(j, storage, half); \
	}
STORED(symv, FULL, SYMMETRIC)
STORED(hemv, FULL, HERMITIAN)
STORED(sbmv, BAND, SYMMETRIC)
STORED(hbmv, BAND, HERMITIAN)
STORED(spmv, PACKED, SYMMETRIC)
STORED(hpmv, PACKED, HERMITIAN)
#undef STORED

/* A += alpha x y', of one triangle, and the same with x and y exchanged where there is a y. */
static cublasStatus_t add_to_triangle(const struct job *j, enum storage s, int hermitian)
{
	const struct arguments *x = &j->x;

	if (is_storage_too_small(x, s, x->ldc) || !x->incx || (x->b && !x->incy))
		return INVALID_VALUE;
	for (int64_t c = 0; c < x->n && j->alpha != 0; c++)
		for (int64_t r = x->uplo ? 0 : c; r < (x->uplo ? c + 1 : x->n); r++) {
			int64_t at = triangle_place(x, s, x->ldc, r, c);
			double complex xr = get_complex(x->at, x->a, element_at(x->n, x->incx, r)),
				       xc = get_complex(x->at, x->a, element_at(x->n, x->incx, c)),
				       yr = xr, yc = xc, v;

			if (x->b) {
				yr = get_complex(x->bt, x->b, element_at(x->n, x->incy, r));
				yc = get_complex(x->bt, x->b, element_at(x->n, x->incy, c));
			}
			v = j->alpha * xr * (hermitian ? conj(yc) : yc);
			if (x->b)
				v += (hermitian ? conj(j->alpha) : j->alpha) * yr *
				     (hermitian ? conj(xc) : xc);
			put_complex(x->ct, x->c, at, get_complex(x->ct, x->c, at) + v);
		}
	return OK;
}

#define ADDED(op, storage, hermitian)                          \
	static cublasStatus_t do_##op(const struct job *j)     \
	{                                                      \
		return add_to_triangle(j, storage, hermitian); \
	}
ADDED(syr, FULL, 0)
ADDED(her, FULL, 1)
ADDED(syr2, FULL, 0)
ADDED(her2, FULL, 1)
ADDED(spr, PACKED, 0)
ADDED(hpr, PACKED, 1)
ADDED(spr2, PACKED, 0)
ADDED(hpr2, PACKED, 1)
#undef ADDED

static double complex of_triangle(const struct arguments *x, enum storage s, int64_t r, int64_t c)
{
	double complex v = x->ta ? of_stored(x, s, TRIANGULAR, x->diag, c, r)
				 : of_stored(x, s, TRIANGULAR, x->diag, r, c);

	return x->ta == 2 ? conj(v) : v;
}

/* x = op(A) x, or what it is to become that: in the order in which nothing is needed that is overwritten, or that is not known yet. */
static cublasStatus_t apply_triangle(const struct job *j, enum storage s, int solves)
{
	const struct arguments *x = &j->x;
	int upper = (x->uplo != 0) != (x->ta != 0);

	if (is_storage_too_small(x, s, x->lda) || !x->incx)
		return INVALID_VALUE;
	for (int64_t t = 0; t < x->n; t++) {
		int64_t i = upper != solves ? t : x->n - 1 - t, at = element_at(x->n, x->incx, i);
		double complex v = get_complex(x->ct, x->c, at), d = of_triangle(x, s, i, i);

		if (!solves)
			v *= d;
		for (int64_t l = upper ? i + 1 : 0; l < (upper ? x->n : i); l++) {
			double complex other =
				of_triangle(x, s, i, l) *
				get_complex(x->ct, x->c, element_at(x->n, x->incx, l));

			v += solves ? -other : other;
		}
		put_complex(x->ct, x->c, at, solves ? v / d : v);
	}
	return OK;
}

#define APPLIED(op, storage, solves)                       \
	static cublasStatus_t do_##op(const struct job *j) \
	{                                                  \
		return apply_triangle(j, storage, solves); \
	}
APPLIED(trmv, FULL, 0)
APPLIED(trsv, FULL, 1)
APPLIED(tbmv, BAND, 0)
APPLIED(tbsv, BAND, 1)
APPLIED(tpmv, PACKED, 0)
APPLIED(tpsv, PACKED, 1)
#undef APPLIED

/* A times a diagonal, or a diagonal times A. */
static cublasStatus_t do_dgmm(const struct job *j)
{
	const struct arguments *x = &j->x;
	int64_t order = x->side ? x->n : x->m;

	if (is_ld_too_small(x->lda, x->m) || is_ld_too_small(x->ldc, x->m))
		return INVALID_VALUE;
	for (int64_t c = 0; c < x->n; c++)
		for (int64_t r = 0; r < x->m; r++)
			put_complex(x->ct, x->c, r + c * x->ldc,
				get_complex(x->at, x->a, r + c * x->lda) *
					get_complex(x->bt, x->b,
						element_at(order, x->incx, x->side ? c : r)));
	return OK;
}

static cublasStatus_t add_outer_product(const struct job *j, int conjugated)
{
	const struct arguments *x = &j->x;

	if (is_ld_too_small(x->ldc, x->m) || !x->incx || !x->incy)
		return INVALID_VALUE;
	for (int64_t c = 0; c < x->n && j->alpha != 0; c++)
		for (int64_t r = 0; r < x->m; r++) {
			double complex y = get_complex(x->bt, x->b, element_at(x->n, x->incy, c));

			put_complex(x->ct, x->c, r + c * x->ldc,
				get_complex(x->ct, x->c, r + c * x->ldc) +
					j->alpha *
						get_complex(
							x->at, x->a, element_at(x->m, x->incx, r)) *
						(conjugated ? conj(y) : y));
		}
	return OK;
}

static cublasStatus_t do_ger(const struct job *j)
{
	return add_outer_product(j, 0);
}

static cublasStatus_t do_gerc(const struct job *j)
{
	return add_outer_product(j, 1);
}

static cublasStatus_t multiply_vectors(const struct job *j, int conjugated)
{
	const struct arguments *x = &j->x;
	double complex sum = 0;

	for (int64_t i = 0; i < x->n; i++) {
		double complex v = get_complex(x->at, x->a, element_at(x->n, x->incx, i));

		sum += (conjugated ? conj(v) : v) *
		       get_complex(x->bt, x->b, element_at(x->n, x->incy, i));
	}
	put_complex(j->other, device_place(j, x->result), 0, sum);
	return OK;
}

static cublasStatus_t do_dot(const struct job *j)
{
	return multiply_vectors(j, 0);
}

static cublasStatus_t do_dotc(const struct job *j)
{
	return multiply_vectors(j, 1);
}

static cublasStatus_t do_nrm2(const struct job *j)
{
	const struct arguments *x = &j->x;
	double sum = 0;

	for (int64_t i = 0; i < x->n; i++) {
		double complex v = get_complex(x->at, x->a, i * x->incx);

		sum += creal(v) * creal(v) + cimag(v) * cimag(v);
	}
	put(j->other, device_place(j, x->result), 0, sqrt(sum));
	return OK;
}

static cublasStatus_t do_asum(const struct job *j)
{
	const struct arguments *x = &j->x;
	double sum = 0;

	for (int64_t i = 0; i < x->n; i++) {
		double complex v = get_complex(x->at, x->a, i * x->incx);

		sum += fabs(creal(v)) + fabs(cimag(v));
	}
	put(j->other, device_place(j, x->result), 0, sum);
	return OK;
}

static cublasStatus_t do_axpy(const struct job *j)
{
	const struct arguments *x = &j->x;

	for (int64_t i = 0; i < x->n && j->alpha != 0; i++) {
		int64_t at = element_at(x->n, x->incy, i);

		put_complex(x->ct, x->c, at,
			get_complex(x->ct, x->c, at) +
				j->alpha * get_complex(x->at, x->a, element_at(x->n, x->incx, i)));
	}
	return OK;
}

static cublasStatus_t do_scal(const struct job *j)
{
	const struct arguments *x = &j->x;

	for (int64_t i = 0; i < x->n; i++)
		put_complex(
			x->ct, x->c, i * x->incx, j->alpha * get_complex(x->ct, x->c, i * x->incx));
	return OK;
}

static cublasStatus_t do_copy(const struct job *j)
{
	const struct arguments *x = &j->x;

	for (int64_t i = 0; i < x->n; i++)
		put_complex(x->ct, x->c, element_at(x->n, x->incy, i),
			get_complex(x->at, x->a, element_at(x->n, x->incx, i)));
	return OK;
}

static cublasStatus_t do_swap(const struct job *j)
{
	const struct arguments *x = &j->x;

	for (int64_t i = 0; i < x->n; i++) {
		int64_t from = element_at(x->n, x->incx, i), to = element_at(x->n, x->incy, i);
		double complex v = get_complex(x->at, x->a, from);

		put_complex(x->at, x->a, from, get_complex(x->ct, x->c, to));
		put_complex(x->ct, x->c, to, v);
	}
	return OK;
}

/* The first of those whose absolute value (of the parts, added) is the largest, or the smallest; it counts from 1, 0: none. */
static cublasStatus_t find_extreme(const struct job *j, int smallest)
{
	const struct arguments *x = &j->x;
	void *to = device_place(j, x->result);
	double best = 0;
	int64_t found = 0;

	for (int64_t i = 0; i < x->n; i++) {
		double complex v = get_complex(x->at, x->a, i * x->incx);
		double size = fabs(creal(v)) + fabs(cimag(v));

		if (!found || (smallest ? size < best : size > best)) {
			best = size;
			found = i + 1;
		}
	}
	if (j->wide)
		*(int64_t *)to = found;
	else
		*(int *)to = (int)found;
	return OK;
}

static cublasStatus_t do_iamax(const struct job *j)
{
	return find_extreme(j, 0);
}

static cublasStatus_t do_iamin(const struct job *j)
{
	return find_extreme(j, 1);
}

/* alpha is the cosine, beta the sine. */
static cublasStatus_t do_rot(const struct job *j)
{
	const struct arguments *x = &j->x;

	for (int64_t i = 0; i < x->n; i++) {
		int64_t from = element_at(x->n, x->incx, i), to = element_at(x->n, x->incy, i);
		double complex v = get_complex(x->at, x->a, from), w = get_complex(x->ct, x->c, to);

		put_complex(x->at, x->a, from, j->alpha * v + j->beta * w);
		put_complex(x->ct, x->c, to, j->alpha * w - conj(j->beta) * v);
	}
	return OK;
}

/* By a flag and four numbers, of which those that the flag says are 1, -1 or 0. */
static cublasStatus_t do_rotm(const struct job *j)
{
	const struct arguments *x = &j->x;
	const void *param = device_place(j, x->alpha);
	double flag = get(j->factor, param, 0), h[4];

	for (int i = 0; i < 4; i++)
		h[i] = get(j->factor, param, 1 + i);
	if (flag == 0)
		h[0] = h[3] = 1;
	if (flag == 1) {
		h[1] = -1;
		h[2] = 1;
	}
	for (int64_t i = 0; i < x->n && flag != -2; i++) {
		int64_t from = element_at(x->n, x->incx, i), to = element_at(x->n, x->incy, i);
		double v = get(x->at, x->a, from), w = get(x->ct, x->c, to);

		put(x->at, x->a, from, h[0] * v + h[2] * w);
		put(x->ct, x->c, to, h[1] * v + h[3] * w);
	}
	return OK;
}

/* a becomes the length of (a, b), c and result what turns b to 0; b becomes 0 here. */
static cublasStatus_t do_rotg(const struct job *j)
{
	const struct arguments *x = &j->x;
	double complex a = get_complex(x->at, device_place(j, x->a), 0),
		       b = get_complex(x->at, device_place(j, x->b), 0);
	double length = sqrt(pow(cabs(a), 2) + pow(cabs(b), 2));
	double complex direction = cabs(a) > 0 ? a / cabs(a) : 1;

	put_complex(j->factor, device_place(j, x->c), 0, length > 0 ? cabs(a) / length : 1);
	put_complex(j->other, device_place(j, x->result), 0,
		length > 0 ? direction * conj(b) / length : 0);
	put_complex(x->at, device_place(j, x->a), 0, direction * length);
	put_complex(x->at, device_place(j, x->b), 0, 0);
	return OK;
}

/* a and b are what x (c) and y (alpha) are scaled by, squared. */
static cublasStatus_t do_rotmg(const struct job *j)
{
	const struct arguments *x = &j->x;
	double d1 = get(x->at, device_place(j, x->a), 0), d2 = get(x->at, device_place(j, x->b), 0),
	       x1 = get(x->at, device_place(j, x->c), 0),
	       y1 = get(x->at, device_place(j, x->alpha), 0), h[5] = {-2, 0, 0, 0, 0};
	double p1 = d1 * x1, p2 = d2 * y1;

	if (p2 != 0 && fabs(p1 * x1) > fabs(p2 * y1)) {
		double u = 1 + p2 / p1 * (y1 / x1);

		h[0] = 0;
		h[2] = -y1 / x1;
		h[3] = p2 / p1;
		put(x->at, device_place(j, x->a), 0, d1 / u);
		put(x->at, device_place(j, x->b), 0, d2 / u);
		put(x->at, device_place(j, x->c), 0, x1 * u);
	} else if (p2 != 0) {
		double u = 1 + p1 / p2 * (x1 / y1);

		h[0] = 1;
		h[1] = p1 / p2;
		h[4] = x1 / y1;
		put(x->at, device_place(j, x->a), 0, d2 / u);
		put(x->at, device_place(j, x->b), 0, d1 / u);
		put(x->at, device_place(j, x->c), 0, y1 * u);
	}
	for (int i = 0; i < 5; i++)
		put(j->other, device_place(j, x->result), i, h[i]);
	return OK;
}

#endif
