/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcublasLt.so.13 that computes on the processor, of what tests/apps/cublaslt_calls.c and the stand-in for libcublas call:
 * tests only. The fields of its descriptors lie elsewhere than in the real ones, so only its own functions can tell them.
 */
#include <stddef.h>
#include <stdlib.h>

#include "number.h"

#define OWN __attribute__((visibility("default")))

enum { OK, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { ORDER_COL, ORDER_ROW, ORDER_COL32 };
enum { BATCH_STRIDED, BATCH_POINTERS, BATCH_GROUPED };
enum { FACTORS_HOST, FACTORS_DEVICE, FACTORS_BETA_ZERO = 3, FACTORS_BETA_HOST };

struct layout {
	int64_t plane, stride, ld;
	uint64_t cols, rows;
	int32_t mode, matrices, order, type;
};

/* Attributes of a product or of a matrix transformation. */
struct operation {
	int32_t tb, ta, mode, scale, compute;
};

struct field {
	size_t at, bytes;
};
#define FIELD(type, name)                                                     \
	{                                                                     \
		offsetof(struct type, name), sizeof(((struct type *)0)->name) \
	}
static const struct field layout_fields[] = {FIELD(layout, type), FIELD(layout, order),
	FIELD(layout, rows), FIELD(layout, cols), FIELD(layout, ld), FIELD(layout, matrices),
	FIELD(layout, stride), FIELD(layout, plane), FIELD(layout, mode)};
static const struct field product_fields[] = {FIELD(operation, compute), FIELD(operation, scale),
	FIELD(operation, mode), FIELD(operation, ta), FIELD(operation, tb)};
static const struct field transform_fields[] = {FIELD(operation, scale), FIELD(operation, mode),
	FIELD(operation, ta), FIELD(operation, tb)};

#define ATTRIBUTES(what, list)                                                                   \
	OWN int what##SetAttribute(void *d, unsigned attribute, const void *v, size_t bytes)     \
	{                                                                                        \
		if (attribute >= sizeof(list) / sizeof(*list) || list[attribute].bytes != bytes) \
			return INVALID_VALUE;                                                    \
		memcpy((char *)d + list[attribute].at, v, bytes);                                \
		return OK;                                                                       \
	}                                                                                        \
	OWN int what##GetAttribute(                                                              \
		const void *d, unsigned attribute, void *v, size_t bytes, size_t *written)       \
	{                                                                                        \
		if (attribute >= sizeof(list) / sizeof(*list) || list[attribute].bytes != bytes) \
			return INVALID_VALUE;                                                    \
		memcpy(v, (const char *)d + list[attribute].at, bytes);                          \
		*written = bytes;                                                                \
		return OK;                                                                       \
	}                                                                                        \
	OWN int what##Destroy(void *d)                                                           \
	{                                                                                        \
		free(d);                                                                         \
		return OK;                                                                       \
	}
ATTRIBUTES(cublasLtMatrixLayout, layout_fields)
ATTRIBUTES(cublasLtMatmulDesc, product_fields)
ATTRIBUTES(cublasLtMatrixTransformDesc, transform_fields)

OWN int cublasLtMatrixLayoutCreate(
	struct layout **out, int32_t type, uint64_t rows, uint64_t cols, int64_t ld)
{
	*out = calloc(1, sizeof(**out));
	**out = (struct layout){.type = type, .rows = rows, .cols = cols, .ld = ld, .matrices = 1};
	return OK;
}

OWN int cublasLtMatmulDescCreate(struct operation **out, int32_t compute, int32_t scale)
{
	*out = calloc(1, sizeof(**out));
	(*out)->compute = compute;
	(*out)->scale = scale;
	return OK;
}

OWN int cublasLtMatrixTransformDescCreate(struct operation **out, int32_t scale)
{
	return cublasLtMatmulDescCreate(out, 0, scale);
}

OWN int cublasLtCreate(void **out)
{
	*out = malloc(1);
	return OK;
}

OWN int cublasLtDestroy(void *handle)
{
	free(handle);
	return OK;
}

/* ---- numbers ---- */

struct factors {
	double alpha, beta;
};

static struct factors factors_of(const struct operation *o, const void *alpha, const void *beta)
{
	const char *a = alpha, *b = beta;
	struct factors f = {0, 0};

	f.alpha = get(o->scale, o->mode == FACTORS_HOST ? a : a + ON_DEVICE, 0);
	if (o->mode != FACTORS_BETA_ZERO && b)
		f.beta = get(o->scale, o->mode == FACTORS_DEVICE ? b + ON_DEVICE : b, 0);
	return f;
}

static void *matrix_at(const struct layout *l, const void *p, int64_t nth)
{
	if (l->mode == BATCH_POINTERS)
		return ((void *const *)((const char *)p + ON_DEVICE))[nth];
	return (char *)p + nth * l->stride * bytes_of_type[l->type];
}

static int64_t locate_element(const struct layout *l, int64_t i, int64_t j)
{
	return l->order == ORDER_COL   ? i + j * l->ld
	       : l->order == ORDER_ROW ? i * l->ld + j
				       : j / 32 * l->ld + i * 32 + j % 32;
}

static double element(const struct layout *l, const void *m, int turned, int64_t i, int64_t j)
{
	return get(l->type, m, turned ? locate_element(l, j, i) : locate_element(l, i, j));
}

static int is_refused(const struct layout *l)
{
	return l->mode == BATCH_GROUPED || l->plane || (unsigned)l->type >= CUDA_TYPES ||
	       !bytes_of_type[l->type] || (l->order == ORDER_COL && l->ld < (int64_t)l->rows) ||
	       (l->order == ORDER_ROW && l->ld < (int64_t)l->cols);
}

OWN int cublasLtMatmul(void *handle, const struct operation *o, const void *alpha, const void *a,
	const struct layout *al, const void *b, const struct layout *bl, const void *beta,
	const void *c, const struct layout *cl, void *d, const struct layout *dl, const void *algo,
	void *workspace, size_t bytes, void *stream)
{
	int64_t k = (int64_t)(o->ta ? al->rows : al->cols);
	struct factors f;

	(void)handle, (void)algo, (void)workspace, (void)bytes, (void)stream;
	if (is_refused(al) || is_refused(bl) || is_refused(dl))
		return NOT_SUPPORTED;
	f = factors_of(o, alpha, beta);
	for (int64_t x = 0; x < dl->matrices; x++) {
		const void *am = matrix_at(al, a, x), *bm = matrix_at(bl, b, x),
			   *cm = f.beta != 0 ? matrix_at(cl, c, x) : NULL;
		void *dm = matrix_at(dl, d, x);

		for (int64_t j = 0; j < (int64_t)dl->cols; j++)
			for (int64_t i = 0; i < (int64_t)dl->rows; i++) {
				double sum = 0;

				for (int64_t l = 0; l < k && f.alpha != 0; l++)
					sum += element(al, am, o->ta, i, l) *
					       element(bl, bm, o->tb, l, j);
				put(dl->type, dm, locate_element(dl, i, j),
					f.alpha * sum +
						(cm ? f.beta * element(cl, cm, 0, i, j) : 0));
			}
	}
	return OK;
}

OWN int cublasLtMatrixTransform(void *handle, const struct operation *o, const void *alpha,
	const void *a, const struct layout *al, const void *beta, const void *b,
	const struct layout *bl, void *c, const struct layout *cl, void *stream)
{
	struct factors f;

	(void)handle, (void)stream;
	if (is_refused(al) || is_refused(cl))
		return NOT_SUPPORTED;
	f = factors_of(o, alpha, beta);
	for (int64_t x = 0; x < cl->matrices; x++)
		for (int64_t j = 0; j < (int64_t)cl->cols; j++)
			for (int64_t i = 0; i < (int64_t)cl->rows; i++)
				put(cl->type, matrix_at(cl, c, x), locate_element(cl, i, j),
					f.alpha * element(al, matrix_at(al, a, x), o->ta, i, j) +
						(f.beta != 0 && b ? f.beta * element(bl,
										     matrix_at(bl,
											     b, x),
										     o->tb, i, j)
								  : 0));
	return OK;
}
