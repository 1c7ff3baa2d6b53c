/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuBLAS: properties of the call come from its handle, through the copy of the library that is called; both queries
 * read fields and take no time. Factors on the device are not read.
 */
#include <string.h>

#include "base/thread.h"
#include "call/call.h"
#include "call/describe.h"
#include "call/matrix.h"
#include "cublas_gen.h"
#include "elf/loaded/object_of.h"
#include "journal/layout.h"
#include "resolve/real.h"
#include "wrappers/cublas/cublas.h"

typedef int stream_query(uint64_t handle, uint64_t *stream);
typedef int mode_query(uint64_t handle, int *mode);

#define QUERIES_KEPT 4u

static const char *const queries[CUBLAS_QUERIES] = {
	"cublasGetStream_v2", "cublasGetPointerMode_v2"};
enum { OF_STREAM, OF_MODE };

static THREAD_OWN struct cublas_queries kept[QUERIES_KEPT];

void *const *find_cublas_queries(
	struct cublas_queries *q, const void *real, const char *const names[CUBLAS_QUERIES])
{
	uint32_t age = real_get_generation();

	if (q->real == real && q->age == age)
		return q->at;
	for (unsigned i = 0; i < CUBLAS_QUERIES; i++)
		q->at[i] = sibling_find_symbol(real, names[i]);
	q->real = real;
	q->age = age;
	return q->at;
}

static void *const *get_query_functions(const void *real)
{
	return find_cublas_queries(&own(kept)[(uintptr_t)real / 16 % QUERIES_KEPT], real, queries);
}

static uint64_t get_cublas_stream(const struct call *c)
{
	stream_query *ask = (stream_query *)get_query_functions(c->real)[OF_STREAM];
	uint64_t stream = 0;

	return ask && ask(call_get_arg(c, ROLE_HANDLE)->u, &stream) == 0 ? stream : 0;
}

/* True if alpha and beta are in host memory: CUBLAS_POINTER_MODE_HOST is 0. */
static bool has_factors_on_host(const struct call *c)
{
	mode_query *ask = (mode_query *)get_query_functions(c->real)[OF_MODE];
	int mode = -1;

	return ask && ask(call_get_arg(c, ROLE_HANDLE)->u, &mode) == 0 && mode == 0;
}

/*
 * Size of a real factor in bytes (a complex one, where C is complex, has twice as many). compute:
 * cublasComputeType_t, or before CUDA 11 a cudaDataType.
 */
static unsigned get_factor_bytes(uint64_t compute)
{
	switch ((int32_t)compute) {
	case 64: /* CUBLAS_COMPUTE_16F, _PEDANTIC */
	case 65:
	case 2: /* CUDA_R_16F */
		return 2;
	case 70: /* CUBLAS_COMPUTE_64F, _PEDANTIC, _EMULATED_FIXEDPOINT */
	case 71:
	case 79:
	case 1: /* CUDA_R_64F, CUDA_C_64F */
	case 5:
		return 8;
	default:
		return 4;
	}
}

void cublas_find_dtype(uint64_t value, struct dtype_desc *d)
{
	set_plain_dtype(d, spec_value_find(&cublas_dtypes, (int32_t)value, DT_OTHER));
}

/* The size of a factor in memory. */
struct factor_form {
	unsigned part, bytes; /* of a real or imaginary part; of the whole factor */
};

/* The size of factors if the prototype does not give their type. result: cudaDataType of C. */
static struct factor_form get_factor_form(uint64_t compute, uint64_t result)
{
	unsigned part = get_factor_bytes(compute);
	struct dtype_desc d;

	cublas_find_dtype(result, &d);
	return (struct factor_form){
		part, get_dtype_info(d.dtype)->component != d.dtype ? 2 * part : part};
}

/* True if n factors at p are 0 or -0: all bits except the signs are 0. */
static bool is_every_factor_zero(const void *p, uint64_t n, struct factor_form f)
{
	const uint8_t *byte = p;

	for (uint64_t i = 0; i < n * f.bytes; i++)
		if (byte[i] & (i % f.part == f.part - 1 ? 0x7f : 0xff))
			return false;
	return true;
}

/*
 * Removes C, the last input, where beta is 0: cuBLAS does not read it then, and it may be
 * uninitialised.
 */
static void remove_unread_result(struct operation *w, const void *result)
{
	if (w->nin && operation_get_inputs(w)[w->nin - 1].base == result)
		w->nin--;
}

/* ---- groups of batches: cublasSgemmGroupedBatched and its like ---- */

/* The arguments of such a call. In ...Ex functions each matrix is followed by its type. */
struct grouped {
	/* arrays with one element for each group, like the following ones */
	const union arg *trans[2], *m, *n, *k;
	const union arg *alpha, *beta, *matrix[3], *ld[3];
	const union arg *sizes; /* number of matrices in each group */
	uint64_t groups;
	bool typed; /* an ...Ex function, which gets the types of its matrices */
};

/* Finds the arguments of a grouped call. Returns false if they cannot be read. */
static bool find_groups(const struct call *c, struct grouped *g)
{
	const union arg *alpha = call_get_arg(c, ROLE_ALPHA), *beta = call_get_arg(c, ROLE_BETA),
			*count = call_get_arg(c, ROLE_NITEMS);

	*g = (struct grouped){.alpha = alpha, .beta = beta, .sizes = count + 1};
	g->trans[0] = alpha - 5;
	g->trans[1] = alpha - 4;
	g->m = alpha - 3;
	g->n = alpha - 2;
	g->k = alpha - 1;
	g->typed = beta - alpha > 5;
	g->matrix[0] = alpha + 1;
	g->matrix[1] = alpha + (g->typed ? 4 : 3);
	g->matrix[2] = beta + 1;
	for (unsigned i = 0; i < 3; i++)
		g->ld[i] = g->matrix[i] + (g->typed ? 2 : 1);
	g->groups = count->i > 0 ? (uint64_t)count->i : 0;
	return g->groups && g->trans[0]->cp && g->trans[1]->cp && g->m->cp && g->n->cp &&
	       g->k->cp && g->ld[0]->cp && g->ld[1]->cp && g->ld[2]->cp && g->sizes->cp;
}

static const struct api_arg *declared_as(const struct call *c, const union arg *v)
{
	return &c->api->spec->args[v - c->v];
}

/* Element i of an array of int or int64_t; a negative value is returned as 0. */
static uint64_t get_group_value(const struct call *c, const union arg *array, uint64_t i)
{
	int64_t v = declared_as(c, array)->elem_bytes == 8 ? ((const int64_t *)array->cp)[i]
							   : ((const int32_t *)array->cp)[i];

	return v > 0 ? (uint64_t)v : 0;
}

static uint64_t compute_group_elements(
	const struct call *c, const struct grouped *g, const union arg *rows, const union arg *cols)
{
	uint64_t all = 0, n;

	for (uint64_t i = 0; i < g->groups; i++)
		if (__builtin_mul_overflow(
			    get_group_value(c, rows, i), get_group_value(c, cols, i), &n) ||
			__builtin_mul_overflow(n, get_group_value(c, g->sizes, i), &n) ||
			__builtin_add_overflow(all, n, &all))
			return 0;
	return all;
}

/*
 * Describes a call with a single group by the group's shape. Addresses of its matrices are in
 * device memory and not read. Matrix 2 is C.
 */
static void set_group_buffer(
	struct call *c, const struct grouped *g, unsigned which, uint8_t io, struct buffer *v)
{
	const union arg *rows = which == 1 ? g->k : g->m, *cols = which == 0 ? g->k : g->n, *swap;
	int64_t(*shape)[MATRIX_DIMS] = c->note.shape[which];
	struct dtype_desc d = {.dtype = declared_as(c, g->matrix[which])->dtype};

	if (g->typed)
		cublas_find_dtype(g->matrix[which][1].u, &d);
	if (which < 2 && get_group_value(c, g->trans[which], 0)) {
		swap = rows;
		rows = cols;
		cols = swap;
	}
	*v = (struct buffer){
		.base = g->matrix[which]->cp,
		.dtype = d.dtype,
		.io = io,
		.index = io == IO_IN ? c->op.nin : c->op.nout,
		.layout = BUFFER_STRIDED,
		.nostats = true,
		.ndim = JOURNAL_NDIM_NONE,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64,
		.unit = get_dtype_info(d.dtype)->size,
		.counts = shape[0],
		.displs = shape[1],
	};
	v->count = compute_group_elements(c, g, rows, cols);
	v->bytes = v->count * get_dtype_info(d.dtype)->size;
	if (g->groups > 1)
		return;
	shape[0][0] = (int64_t)get_group_value(c, g->sizes, 0);
	shape[0][1] = (int64_t)get_group_value(c, rows, 0);
	shape[0][2] = (int64_t)get_group_value(c, cols, 0);
	memset(shape[1], 0, sizeof(shape[1]));
	v->n = MATRIX_DIMS;
	if (get_group_value(c, g->ld[which], 0) >= get_group_value(c, rows, 0))
		v->ndim = MATRIX_DIMS;
}

/* True if any group has a factor other than 0, or one that cannot be read. */
static bool is_any_factor_set(
	const struct call *c, const struct grouped *g, const union arg *factors, bool ours)
{
	unsigned type = declared_as(c, factors)->dtype;
	struct factor_form f = {get_dtype_info(type)->size, get_dtype_info(type)->size};

	if (g->typed)
		f = get_factor_form(call_get_arg(c, ROLE_COMPUTE)->u, g->matrix[2][1].u);
	return !ours || !factors->cp || !is_every_factor_zero(factors->cp, g->groups, f);
}

static void describe_grouped(struct call *c, bool ours)
{
	struct operation *w = &c->op;
	struct grouped g;

	w->all_in = w->views;
	w->all_out = w->views;
	if (!find_groups(c, &g))
		return;
	if (is_any_factor_set(c, &g, g.alpha, ours))
		for (; w->nin < 2; w->nin++)
			set_group_buffer(c, &g, w->nin, IO_IN, &w->views[w->nin]);
	if (is_any_factor_set(c, &g, g.beta, ours)) {
		set_group_buffer(c, &g, 2, IO_IN, &w->views[w->nin]);
		w->nin++;
	}
	w->all_out = w->views + w->nin;
	set_group_buffer(c, &g, 2, IO_OUT, &w->views[w->nin]);
	w->nout = 1;
	check_matrices(w);
}

/* ---- any call ---- */

static bool read_cublas_call(struct call *c)
{
	union arg *alpha = call_get_arg(c, ROLE_ALPHA), *beta = call_get_arg(c, ROLE_BETA);
	union arg was[2] = {alpha ? *alpha : (union arg){0}, beta ? *beta : (union arg){0}};
	bool ours = has_factors_on_host(c);

	/* grouped_gemm: its kind has factors, but no arguments that are addresses of matrices. */
	if (!c->api->spec->kind->nin && !c->api->spec->kind->nout && alpha) {
		describe_grouped(c, ours);
		return true;
	}
	/* A beta that is not passed counts as not 0. */
	if (!ours && alpha)
		alpha->p = NULL;
	if (!ours && beta)
		beta->p = NULL;
	describe_by_kind(c, NULL);
	if (alpha)
		*alpha = was[0];
	if (beta)
		*beta = was[1];
	if (ours && beta && beta->cp && call_get_arg(c, ROLE_COMPUTE) &&
		is_every_factor_zero(beta->cp, 1,
			get_factor_form(
				call_get_arg(c, ROLE_COMPUTE)->u, call_get_arg(c, ROLE_RDTYPE)->u)))
		remove_unread_result(&c->op, call_get_arg(c, ROLE_RECV)->cp);
	return true;
}

const struct adapter adapter_cublas = {
	LIB_CUBLAS_SPEC,
	.unknown_streams = true,
	.describe = read_cublas_call,
	.stream = get_cublas_stream,
};
