/* SPDX-License-Identifier: Apache-2.0 */
/* KernelTensor, Primitive and KernelMod as a kernel gets them: read by the layout of the release. */
#include <ctype.h>
#include <stdatomic.h>
#include <string.h>

#include "call/data/buffer_check.h"
#include "elf/memory.h"
#include "journal/layout.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/layout/kernel_layout.h"
#include "wrappers/mindspore/layout/kernel.h"

#define NAME_MAX_BYTES 120

/* std::vector<int64_t> */
struct dims {
	const int64_t *begin, *end;
};

/* Follows path w from object; returns NULL if a pointer on the path is NULL. */
const void *ms_get_member(const void *object, const struct layout_path *w)
{
	const char *p = (const char *)object + w->at[0];

	for (unsigned i = 1; i < LAYOUT_STEPS && w->at[i] != LAYOUT_END; i++) {
		p = *(const char *const *)p;
		if (!p)
			return NULL;
		p += w->at[i];
	}
	return p;
}

static bool read_dims(const void *vector, struct dims *d)
{
	if (!vector)
		return false;
	*d = *(const struct dims *)vector;
	return d->begin ? d->end >= d->begin && d->end - d->begin <= CXX_DIMS_MAX : !d->end;
}

static uint8_t get_dtype_of_id(const struct kernel_layout *l, int32_t id)
{
	for (unsigned i = 1; id > 0 && i < DT_COUNT; i++)
		if (l->type[i] == id)
			return (uint8_t)i;
	return DT_OTHER;
}

/*
 * Stores the number of elements in *count. Returns false if a dimension is negative (not known)
 * or the product overflows.
 */
static bool compute_dims_count(const struct dims *d, uint64_t *count)
{
	*count = 1;
	for (const int64_t *p = d->begin; p < d->end; p++)
		if (*p < 0 || __builtin_mul_overflow(*count, (uint64_t)*p, count))
			return false;
	return true;
}

/*
 * Stores in *reach the number of elements from the first one to the end of the last. Returns
 * false if some are before the first.
 */
static bool compute_view_extent(
	const struct dims *shape, const struct dims *strides, uint64_t *extent)
{
	*extent = 1;
	for (int64_t i = 0; i < shape->end - shape->begin; i++) {
		uint64_t far;

		if (strides->begin[i] < 0 ||
			__builtin_mul_overflow((uint64_t)(shape->begin[i] - 1),
				(uint64_t)strides->begin[i], &far) ||
			__builtin_add_overflow(*extent, far, extent))
			return false;
	}
	return true;
}

static _Atomic bool are_views_verified,
	/* a name was found at the table's offset: the kernel need not be asked each time */
	are_names_verified;

/*
 * True if the view's memory is mapped. Checked until one view was readable, so that no pointer is
 * followed into unmapped memory.
 */
static bool is_view_readable(const struct kernel_layout *l, const char *view)
{
	const void *const *shape = (const void *const *)(view + l->view_shape);
	const void *const *strides = (const void *const *)(view + l->view_strides);

	/* A view without dimensions has neither sizes nor strides. */
	return is_memory_readable((uintptr_t)(view + l->view_offset)) &&
	       is_memory_readable((uintptr_t)shape) && is_memory_readable((uintptr_t)strides) &&
	       (!*shape || is_memory_readable((uintptr_t)*shape)) &&
	       (!*strides || is_memory_readable((uintptr_t)*strides));
}

/*
 * Sets v's address to the first element of the view. Returns false, and leaves v without memory,
 * if that is not possible.
 */
static bool set_view_address(const struct kernel_layout *l, const char *view, const char *data,
	uint64_t bytes, struct buffer *v)
{
	struct dims shape, strides;
	uint64_t extent, offset, end;
	unsigned size = get_dtype_info(v->dtype)->size;

	if (!are_views_verified && !is_view_readable(l, view))
		return false;
	offset = *(const uint64_t *)(view + l->view_offset);
	if (!read_dims(view + l->view_shape, &shape) ||
		!read_dims(view + l->view_strides, &strides))
		return false;
	if (shape.end - shape.begin != v->ndim || strides.end - strides.begin != v->ndim ||
		memcmp(shape.begin, v->counts, v->ndim * sizeof(int64_t)) != 0)
		return false;
	if (!are_views_verified && v->ndim)
		are_views_verified = true;
	v->displs = strides.begin;
	v->layout = BUFFER_STRIDED;
	if (!compute_view_extent(&shape, &strides, &extent) ||
		__builtin_add_overflow(extent, offset, &end) ||
		__builtin_mul_overflow(end, size, &end) || end > bytes)
		return false;
	v->base = data + offset * size;
	return true;
}

/* Writes the strides of a contiguous tensor whose last dimension is innermost. */
static void write_contiguous_strides(const struct dims *shape, int64_t *strides)
{
	int64_t next = 1;

	for (int64_t i = shape->end - shape->begin; i-- > 0; next *= shape->begin[i])
		strides[i] = next;
}

/*
 * Makes v a contiguous view of that shape, without memory yet. Returns false if its size
 * overflows.
 */
static bool set_contiguous_view(struct buffer *v, const struct dims *shape, uint64_t count,
	enum dtype dtype, int64_t *strides)
{
	write_contiguous_strides(shape, strides);
	*v = (struct buffer){
		.count = count,
		.dtype = dtype,
		.layout = BUFFER_STRIDED,
		.nostats = 1,
		.ndim = (uint8_t)(shape->end - shape->begin),
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64,
		.n = (uint32_t)(shape->end - shape->begin),
		.counts = shape->begin ? shape->begin : strides,
		.displs = strides,
	};
	return !__builtin_mul_overflow(count, (uint64_t)get_dtype_info(dtype)->size, &v->bytes);
}

bool ms_read_tensor(
	const struct kernel_layout *l, const void *tensor, struct buffer *v, int64_t *strides)
{
	const char *data, *view, *const *data_at, *const *view_at;
	const uint64_t *bytes;
	const int32_t *type;
	struct dims shape;
	uint64_t count;

	if (!tensor || !read_dims(ms_get_member(tensor, &l->shape), &shape) ||
		!compute_dims_count(&shape, &count))
		return false;
	data_at = ms_get_member(tensor, &l->data);
	data = data_at ? *data_at : NULL;
	bytes = ms_get_member(tensor, &l->bytes);
	type = ms_get_member(tensor, &l->dtype);
	view_at = ms_get_member(tensor, &l->view);
	view = view_at ? *view_at : NULL;
	if (!set_contiguous_view(
		    v, &shape, count, type ? get_dtype_of_id(l, *type) : DT_OTHER, strides))
		return false;
	if (!data || !bytes || !v->bytes)
		return true;
	if (view) {
		v->nostats = !set_view_address(l, view, data, *bytes, v);
	} else if (v->bytes <= *bytes) {
		v->base = data;
		v->nostats = 0;
	}
	return true;
}

bool ms_read_tensor_buffer(const void *tensor, struct buffer *v, int64_t *strides)
{
	const struct kernel_layout *l = ms_get_layout();

	return l && ms_read_tensor(l, tensor, v, strides);
}

const void *ms_get_kernel_address(const struct kernel_layout *l, const void *tensor)
{
	return tensor ? *(const void *const *)((const char *)tensor + l->data.at[0]) : NULL;
}

/* ---- tensors of the program ---- */

/* From the second hop on, a path starts at the DeviceAddress. */
static const void *get_address_member(const void *address, const struct layout_path *w)
{
	struct layout_path rest = {{w->at[1], w->at[2], LAYOUT_END}};

	return ms_get_member(address, &rest);
}

#define PARAMETER_NAME_MAX 500

/* Reads a text in an object of MindSpore; returns NULL unless it is one line of text. */
static const char *read_parameter_name(const void *string)
{
	const char *s = *(const char *const *)string;

	if (!s || !is_memory_readable((uintptr_t)s))
		return NULL;
	for (unsigned i = 0; i < PARAMETER_NAME_MAX; i++) {
		if (!s[i])
			return i ? s : NULL;
		if ((unsigned char)s[i] < ' ')
			return NULL;
	}
	return NULL;
}

bool ms_read_host_tensor(const void *tensor, struct ms_tensor *t, int64_t *strides)
{
	const struct kernel_layout *l = ms_get_layout();
	const char *at = tensor, *info;
	const void *const *data;
	const uint64_t *bytes;
	struct dims shape;
	uint64_t count;

	if (!l || !l->host_bytes || !at || !ms_is_host_layout_valid() ||
		!read_dims(at + l->host_shape, &shape) || !compute_dims_count(&shape, &count))
		return false;
	info = *(const char *const *)(at + l->host_info);
	t->name = info ? read_parameter_name(info + l->info_name) : NULL;
	t->address = *(const void *const *)(at + l->host_address);
	if (!set_contiguous_view(&t->v, &shape, count,
		    get_dtype_of_id(l, *(const int32_t *)(at + l->host_dtype)), strides))
		return false;
	data = t->address ? get_address_member(t->address, &l->data) : NULL;
	bytes = t->address ? get_address_member(t->address, &l->bytes) : NULL;
	if (data && *data && bytes && t->v.bytes && t->v.bytes <= *bytes) {
		t->v.base = *data;
		t->v.nostats = !is_buffer_readable_now(&t->v);
	}
	return true;
}

/* ---- names ---- */

/*
 * A std::string, of either ABI: its first word is the address of the characters. An operator's name is a single word;
 * anything else is rejected.
 */
static const char *read_ms_name(const void *string)
{
	const char *s = *(const char *const *)string;

	if (!s)
		return NULL;
	for (unsigned i = 0; i < NAME_MAX_BYTES; i++) {
		if (!s[i])
			return i ? s : NULL;
		if (!isalnum((unsigned char)s[i]) && !strchr("_.-:/", s[i]))
			return NULL;
	}
	return NULL;
}

const char *ms_read_primitive_name(const struct kernel_layout *l, const void *primitive)
{
	return primitive ? read_ms_name((const char *)primitive + l->primitive_name) : NULL;
}

const char *ms_read_kernel_name(const struct kernel_layout *l, const void *mod)
{
	const char *const *string = (const char *const *)((const char *)mod + l->mod_name);
	const char *name;

	if (!mod || (!are_names_verified && (!is_memory_readable((uintptr_t)string) ||
						    !is_memory_readable((uintptr_t)*string))))
		return NULL;
	name = read_ms_name(string);
	if (name && !are_names_verified)
		are_names_verified = true;
	return name;
}

static _Atomic bool
	/* a name was found at the table's offset: the kernel need not be asked each time */
	are_node_names_verified;

/*
 * Returns the node's path in the program's graph, such as
 * Gradients/Default/network-Net/gradMatMul-expand/MatMul-op12. The text is accepted only if it
 * ends with the kernel's name and a number.
 */
const char *ms_read_node_name(const struct kernel_layout *l, const void *node, const char *kernel)
{
	const char *const *string;
	const char *s;
	size_t n = strlen(kernel);

	if (!node)
		return NULL;
	string = (const char *const *)((const char *)node + l->node_name);
	if (!are_node_names_verified && (!is_memory_readable((uintptr_t)string) || !*string ||
						!is_memory_readable((uintptr_t)*string)))
		return NULL;
	s = *string ? strrchr(*string, '/') : NULL;
	if (!s || strncmp(s + 1, kernel, n) != 0 || s[n + 1] != '-')
		return NULL;
	if (!are_node_names_verified)
		are_node_names_verified = true;
	return *string;
}

bool ms_read_kernel_tensor(const struct kernel_tensors *t, unsigned i, struct ms_tensor_view *s)
{
	if (t->end - t->begin <= i || !ms_read_tensor_buffer(t->begin[i], &s->v, s->strides))
		return false;
	return !s->v.nostats && s->v.base && is_buffer_readable_now(&s->v);
}
