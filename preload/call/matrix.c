/* SPDX-License-Identifier: Apache-2.0 */
#include "call/matrix.h"

#include <string.h>

#include "api/roles.h"
#include "journal/layout.h"

/* Reads an integer through a pointer; if it has size 1, it is a letter. */
static int64_t read_integer_at(const void *p, unsigned size)
{
	int64_t wide;
	int32_t narrow;

	switch (size) {
	case 8:
		memcpy(&wide, p, sizeof(wide));
		return wide;
	case 4:
		memcpy(&narrow, p, sizeof(narrow));
		return narrow;
	case 1:
		return *(const uint8_t *)p;
	}
	return 0;
}

/* An integer argument, passed by value or, in Fortran, by pointer. Returns `none` if the row has no such argument. */
static int64_t get_integer_arg(const struct call *c, unsigned role, int64_t none)
{
	const struct api_spec *s = c->api->spec;
	unsigned i = find_argument_with_role(s, role);

	if (!i)
		return none;
	if (s->args[i - 1].ctype != CT_P)
		return c->v[i - 1].i;
	return c->v[i - 1].cp
		       ? read_integer_at(c->v[i - 1].cp, get_dtype_info(s->args[i - 1].dtype)->size)
		       : none;
}

static bool is_code_listed(const int16_t *list, unsigned n, int64_t value)
{
	for (unsigned i = 0; i < n && list[i]; i++)
		if (list[i] == value)
			return true;
	return false;
}

static const struct matrix_codes *find_matrix_codes(const struct call *c)
{
	return c->api->spec->lib->matrix;
}

static bool is_transposed(const struct call *c, unsigned role)
{
	const struct matrix_codes *k = find_matrix_codes(c);

	return role && k &&
	       is_code_listed(k->transposed, sizeof(k->transposed) / sizeof(k->transposed[0]),
		       get_integer_arg(c, role, 0));
}

static bool is_row_major(const struct call *c)
{
	const struct matrix_codes *k = find_matrix_codes(c);

	return k && k->row_major && get_integer_arg(c, ROLE_ORDER, 0) == k->row_major;
}

static bool is_left(const struct call *c)
{
	const struct matrix_codes *k = find_matrix_codes(c);
	int64_t side = get_integer_arg(c, ROLE_SIDE, 0);

	if (!k)
		return false;
	return k->right ? side != k->right
			: is_code_listed(k->left, sizeof(k->left) / sizeof(k->left[0]), side);
}

static int64_t get_dimension(const struct call *c, uint8_t term)
{
	int64_t v;

	if (term == TERM_SIDE)
		term = is_left(c) ? ROLE_M : ROLE_N;
	v = get_integer_arg(c, term, 0);
	return v > 0 ? v : 0;
}

static unsigned write_dimension(
	int64_t (*shape)[MATRIX_DIMS], unsigned n, int64_t size, int64_t stride)
{
	shape[0][n] = size;
	shape[1][n] = stride;
	return n + 1;
}

/* Returns false if the leading dimension is too small; libraries refuse such a call. */
static bool write_matrix(
	const struct call *c, const struct extent *e, int64_t (*shape)[MATRIX_DIMS], unsigned *n)
{
	bool turned = is_transposed(c, e->trans), by_row = is_row_major(c);
	int64_t rows = get_dimension(c, e->term[turned]),
		columns = get_dimension(c, e->term[!turned]);
	int64_t ld = get_integer_arg(c, e->step, by_row ? columns : rows);

	*n = write_dimension(shape, *n, rows, by_row ? ld : 1);
	*n = write_dimension(shape, *n, columns, by_row ? 1 : ld);
	return ld >= (by_row ? columns : rows);
}

/*
 * With a negative increment the vector is traversed backwards, but the pointer is still its
 * lowest address.
 */
static void write_vector(
	const struct call *c, const struct extent *e, int64_t (*shape)[MATRIX_DIMS], unsigned *n)
{
	int64_t inc = get_integer_arg(c, e->step, 1);
	uint8_t term = e->term[e->nterm > 1 && is_transposed(c, e->trans)];

	*n = write_dimension(shape, *n, get_dimension(c, term),
		inc == INT64_MIN ? 0
		: inc < 0	 ? -inc
				 : inc);
}

/*
 * True if the matrices of a batch are given by an array of addresses. The array may be in device
 * memory, so it is not read.
 */
static bool is_array_of_pointers(const struct call *c, uint8_t role)
{
	unsigned i = find_argument_with_role(c->api->spec, role);

	return i && c->api->spec->args[i - 1].pointers;
}

/* Adds the dimension of a batch, if the call has one. */
static void write_batch(
	const struct call *c, const struct extent *e, int64_t (*shape)[MATRIX_DIMS], unsigned *n)
{
	const union arg *stride =
		call_get_arg(c, ROLE_STRIDEA + (e->buf == ROLE_BUF	     ? 1
						       : e->buf == ROLE_RECV ? 2
									     : 0));
	const union arg *items = call_get_arg(c, ROLE_NITEMS);

	if (items)
		*n = write_dimension(
			shape, *n, items->i > 0 ? items->i : 0, stride ? stride->i : 0);
}

void describe_matrix_buffer(struct call *c, const struct extent *e, struct buffer *v)
{
	int64_t(*shape)[MATRIX_DIMS] = c->note.shape[e->buf - ROLE_SEND];
	unsigned n = 0;
	bool refused = false;
	uint64_t count = 1;

	write_batch(c, e, shape, &n);
	if (e->form == EXT_VECTOR)
		write_vector(c, e, shape, &n);
	else
		refused = !write_matrix(c, e, shape, &n);
	for (unsigned i = 0; i < n; i++)
		if (__builtin_mul_overflow(count, (uint64_t)shape[0][i], &count))
			count = 0;
	if (e->triangle || is_array_of_pointers(c, e->buf))
		v->nostats = 1;
	v->count = count;
	v->layout = BUFFER_STRIDED;
	v->arg = v->item = 0;
	v->n = n;
	v->ndim = refused ? JOURNAL_NDIM_NONE : (uint8_t)n;
	v->counts = shape[0];
	v->displs = shape[1];
}

/* All bits except the signs are tested. */
bool is_zero_element(const void *p, unsigned dt)
{
	const struct dtype_info *t = get_dtype_info(dt);
	unsigned size = t->component == DT_OTHER ? t->size : get_dtype_info(t->component)->size;
	uint8_t any = 0;

	for (unsigned i = 0; i < t->size; i++)
		any |= ((const uint8_t *)p)[i] & (i % size == size - 1 ? 0x7f : 0xff);
	return !any;
}

bool is_factor_set(const struct api_spec *s, const union arg *v, enum extent_where factor)
{
	unsigned i = find_argument_with_role(s, factor == ON_ALPHA ? ROLE_ALPHA : ROLE_BETA);
	const struct api_arg *a = i ? &s->args[i - 1] : NULL;

	if (!a)
		return true;
	if (a->ctype == CT_F32 || a->ctype == CT_F64)
		return !(v[i - 1].d == 0);
	if (a->ctype != CT_P || !v[i - 1].cp || a->dtype == DT_OTHER)
		return true;
	return !is_zero_element(v[i - 1].cp, a->dtype);
}

/* describe_matrix_buffer() has omitted the shape of a refused buffer. */
static bool is_any_refused(const struct buffer *v, unsigned n)
{
	for (; n; n--, v++)
		if (v->layout == BUFFER_STRIDED && v->ndim == JOURNAL_NDIM_NONE)
			return true;
	return false;
}

void check_matrices(struct operation *w)
{
	bool refused = is_any_refused(w->views, w->nin + w->nout);
	bool idle = w->nout && !w->all_out[0].count;

	if (idle) {
		w->nin = w->nout = 0;
		return;
	}
	for (unsigned i = 0; refused && i < w->nin + w->nout; i++)
		w->views[i].nostats = 1;
}
