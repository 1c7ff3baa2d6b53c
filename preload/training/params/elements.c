/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/elements.h"

#include "stats/convert.h"
#include "terms/dtype.h"

static double load_float(const unsigned char *p)
{
	return load_f32(p);
}

static double load_double(const unsigned char *p)
{
	return load_f64(p);
}

static double load_half(const unsigned char *p)
{
	return load_f16(p);
}

static double load_brain(const unsigned char *p)
{
	return load_bf16(p);
}

static double load_index(const unsigned char *p)
{
	return (double)(int64_t)load_u64(p);
}

static double load_narrow_index(const unsigned char *p)
{
	return (double)(int32_t)load_u32(p);
}

static double load_bool(const unsigned char *p)
{
	return *p != 0;
}

element_load_fn *find_element_loader(uint8_t dtype)
{
	switch (dtype) {
	case DT_FLOAT32:
		return load_float;
	case DT_FLOAT64:
		return load_double;
	case DT_FLOAT16:
		return load_half;
	case DT_BFLOAT16:
		return load_brain;
	case DT_INT64:
		return load_index;
	case DT_INT32:
		return load_narrow_index;
	case DT_BOOL:
		return load_bool;
	}
	return NULL;
}

bool read_element_view(const struct buffer *b, struct element_view *v)
{
	const int64_t *size = b->counts, *stride = b->displs;
	int64_t step = 1;

	v->load = find_element_loader(b->dtype);
	if (!v->load || b->nostats || !b->base || !b->count || b->ndim > ELEMENT_DIMS_MAX ||
		(b->layout != BUFFER_STRIDED && b->layout != BUFFER_CONTIG))
		return false;
	v->at = b->base;
	v->ndim = b->ndim;
	v->bytes = get_dtype_info(b->dtype)->size;
	for (unsigned i = b->ndim; i-- > 0;) {
		v->size[i] = (uint64_t)size[i];
		v->step[i] = (b->layout == BUFFER_STRIDED ? stride[i] : step) * (int64_t)v->bytes;
		step *= size[i];
	}
	return true;
}
