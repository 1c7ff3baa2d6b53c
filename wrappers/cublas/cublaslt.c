/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cublasLt: properties of a call's matrices are read from their descriptors, with functions of the copy of the library
 * that is called; they read fields and take no time. Numbers of attributes, their widths and values are those of
 * cublasLt.h (11.0 to 13.1; an older library refuses those it does not know). Factors on the device are not read.
 */
#include <string.h>

#include "base/thread.h"
#include "call/call.h"
#include "call/describe.h"
#include "call/matrix.h"
#include "cublaslt_gen.h"
#include "journal/layout.h"
#include "wrappers/cublas/cublas.h"

/* cublasLtMatrixLayoutGetAttribute, cublasLtMatmulDescGetAttribute, cublasLtMatrixTransformDescGetAttribute */
typedef int attribute_query(
	uint64_t descriptor, int attribute, void *value, size_t bytes, size_t *written);

/* cublasLtMatrixLayoutAttribute_t */
enum layout_attribute {
	LAYOUT_TYPE,
	LAYOUT_ORDER,
	LAYOUT_ROWS,
	LAYOUT_COLS,
	LAYOUT_LD,
	LAYOUT_BATCH_COUNT,
	LAYOUT_BATCH_STRIDE,
	LAYOUT_PLANE_OFFSET,
	LAYOUT_BATCH_MODE, /* since 12.9 */
};

enum { ORDER_COL, ORDER_ROW }; /* others: tiles */
enum { BATCH_STRIDED, BATCH_POINTERS, BATCH_GROUPED }; /* shapes of the last are on the device */
enum { FACTORS_HOST, FACTORS_BETA_ZERO = 3, FACTORS_BETA_HOST }; /* cublasLtPointerMode_t */

/* The differences between cublasLtMatmul and cublasLtMatrixTransform. */
struct described {
	/* names of the functions that query attributes of matrices, and of the operation */
	const char *query[CUBLAS_QUERIES];
	int scale_type, pointer_mode; /* attributes of the operation */
};
enum { OF_LAYOUT, OF_OPERATION };

static const struct described matmul = {
	{"cublasLtMatrixLayoutGetAttribute", "cublasLtMatmulDescGetAttribute"}, 1, 2};
static const struct described transform = {
	{"cublasLtMatrixLayoutGetAttribute", "cublasLtMatrixTransformDescGetAttribute"}, 0, 1};

static THREAD_OWN struct cublas_queries kept[2];

/*
 * Sizes, then strides, of C, for which c->note has no space. A variable per thread is enough,
 * because no call of these functions runs inside another one: the library calls its own functions
 * directly (-Bsymbolic).
 */
static THREAD_OWN int64_t added[2][MATRIX_DIMS];

static int64_t read_attribute_32(attribute_query *ask, uint64_t descriptor, int attribute)
{
	int32_t v = 0;
	size_t written;

	return ask(descriptor, attribute, &v, sizeof(v), &written) == 0 ? v : 0;
}

static int64_t read_attribute_64(attribute_query *ask, uint64_t descriptor, int attribute)
{
	int64_t v = 0;
	size_t written;

	return ask(descriptor, attribute, &v, sizeof(v), &written) == 0 ? v : 0;
}

/* Bits per element of a type without statistics (cudaDataType), 0 if not known. */
static unsigned get_other_bits(int64_t type)
{
	switch (type) {
	case 16: /* CUDA_R_4I */
	case 18: /* CUDA_R_4U */
	case 33: /* CUDA_R_4F_E2M1 */
		return 4;
	case 30: /* CUDA_R_8F_UE8M0 */
		return 8;
	case 7: /* CUDA_C_8I */
	case 9: /* CUDA_C_8U */
		return 16;
	case 6: /* CUDA_C_16F */
	case 15: /* CUDA_C_16BF */
		return 32;
	default:
		return 0;
	}
}

static void set_matrix_type(struct buffer *v, int64_t type)
{
	struct dtype_desc d;

	cublas_find_dtype((uint64_t)type, &d);
	v->dtype = d.dtype;
	v->unit = d.extent;
	v->bytes = d.size ? v->count * d.size : (v->count * get_other_bits(type) + 7) / 8;
	if (d.dtype == DT_OTHER)
		v->nostats = 1;
}

/*
 * Stores a matrix's sizes in shape[0] and its strides in shape[1]; returns the number of
 * dimensions.
 */
static unsigned write_matrix_shape(
	attribute_query *ask, uint64_t layout, bool by_row, int64_t (*shape)[MATRIX_DIMS])
{
	int64_t ld = read_attribute_64(ask, layout, LAYOUT_LD),
		matrices = read_attribute_32(ask, layout, LAYOUT_BATCH_COUNT);
	unsigned n = 0;

	if (matrices > 1) {
		shape[0][n] = matrices;
		shape[1][n++] = read_attribute_64(ask, layout, LAYOUT_BATCH_STRIDE);
	}
	shape[0][n] = read_attribute_64(ask, layout, LAYOUT_ROWS);
	shape[1][n++] = by_row ? ld : 1;
	shape[0][n] = read_attribute_64(ask, layout, LAYOUT_COLS);
	shape[1][n++] = by_row ? 1 : ld;
	for (unsigned i = 0; i < n; i++)
		if (shape[0][i] < 0)
			shape[0][i] = 0;
	return n;
}

static uint64_t compute_elements(const int64_t *sizes, unsigned n)
{
	uint64_t count = 1;

	for (unsigned i = 0; i < n; i++)
		if (__builtin_mul_overflow(count, (uint64_t)sizes[i], &count))
			return 0;
	return count;
}

/*
 * Describes the matrix argument with index `at`, which is followed by its descriptor. Returns
 * false if the call has none, or if only the device knows its size.
 */
static bool read_lt_matrix(
	attribute_query *ask, const union arg *at, int64_t (*shape)[MATRIX_DIMS], struct buffer *v)
{
	uint64_t layout = at[1].u;
	int64_t mode, order, ld;

	if (!at[0].cp || !layout)
		return false;
	mode = read_attribute_32(ask, layout, LAYOUT_BATCH_MODE);
	if (mode == BATCH_GROUPED)
		return false;
	order = read_attribute_32(ask, layout, LAYOUT_ORDER);
	*v = (struct buffer){
		.base = at[0].cp,
		.layout = BUFFER_STRIDED,
		.nostats = mode != BATCH_STRIDED || order > ORDER_ROW,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64,
		.counts = shape[0],
		.displs = shape[1],
	};
	v->n = write_matrix_shape(ask, layout, order == ORDER_ROW, shape);
	v->ndim = (uint8_t)v->n;
	v->count = compute_elements(shape[0], v->n);
	set_matrix_type(v, read_attribute_32(ask, layout, LAYOUT_TYPE));
	/* Such a matrix is refused (call/matrix.h). For tiles, ld has another meaning. */
	ld = shape[1][v->n - (order == ORDER_ROW ? 2 : 1)];
	if (order <= ORDER_ROW && ld < shape[0][v->n - (order == ORDER_ROW ? 1 : 2)])
		v->ndim = JOURNAL_NDIM_NONE;
	/* Real and imaginary parts are in separate planes. */
	if (get_dtype_info(v->dtype)->component != v->dtype &&
		read_attribute_64(ask, layout, LAYOUT_PLANE_OFFSET))
		v->nostats = 1;
	return true;
}

/* True if the matrix multiplied by beta is read. */
static bool is_beta_set(const struct call *c, attribute_query *ask, const struct described *d)
{
	uint64_t operation = call_get_arg(c, ROLE_ITEMS)->u;
	const void *beta = call_get_arg(c, ROLE_BETA)->cp;
	struct dtype_desc scale;

	switch (operation ? read_attribute_32(ask, operation, d->pointer_mode) : -1) {
	case FACTORS_BETA_ZERO:
		return false;
	case FACTORS_HOST:
	case FACTORS_BETA_HOST:
		cublas_find_dtype(
			(uint64_t)read_attribute_32(ask, operation, d->scale_type), &scale);
		return !beta || scale.dtype == DT_OTHER || !is_zero_element(beta, scale.dtype);
	default:
		return true;
	}
}

static void add_lt_input(struct operation *w, attribute_query *ask, const union arg *at,
	int64_t (*shape)[MATRIX_DIMS])
{
	struct buffer *v = &w->views[w->nin];

	if (!read_lt_matrix(ask, at, shape, v))
		return;
	v->io = IO_IN;
	v->index = w->nin++;
}

static bool read_cublaslt_call(struct call *c)
{
	bool multiplies = call_get_arg(c, ROLE_BETA) - call_get_arg(c, ROLE_ALPHA) > 3;
	const struct described *d = multiplies ? &matmul : &transform;
	void *const *query = find_cublas_queries(&own(kept)[multiplies], c->real, d->query);
	attribute_query *of_layout = (attribute_query *)query[OF_LAYOUT],
			*of_operation = (attribute_query *)query[OF_OPERATION];
	const union arg *beta = call_get_arg(c, ROLE_BETA), *at = call_get_arg(c, ROLE_ALPHA) + 1;
	struct operation *w = &c->op;

	if (!of_layout || !of_operation)
		return true;
	w->all_in = w->views;
	for (; at < beta; at += 2)
		add_lt_input(w, of_layout, at, c->note.shape[w->nin]);
	if (is_beta_set(c, of_operation, d))
		add_lt_input(w, of_layout, beta + 1, own(added));
	w->all_out = w->views + w->nin;
	if (read_lt_matrix(of_layout, beta + 3, c->note.shape[2], w->views + w->nin)) {
		w->views[w->nin].io = IO_OUT;
		w->nout = 1;
	}
	check_matrices(w);
	return true;
}

const struct adapter adapter_cublaslt = {
	LIB_CUBLASLT_SPEC,
	.unknown_streams = true,
	.describe = read_cublaslt_call,
};
