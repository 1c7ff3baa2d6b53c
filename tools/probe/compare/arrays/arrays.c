/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/compare/arrays/arrays.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/arrays/array_list.h"

bool is_array_name(const char *name)
{
	static const char *const ends[] = {".npy", ".pt", ".pth", ".bin", ".ckpt", ".safetensors"};
	size_t n = strlen(name);

	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (n > strlen(ends[i]) && strcmp(name + n - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

static int compare_array_names(const void *x, const void *y)
{
	return strcmp(((const struct array *)x)->name, ((const struct array *)y)->name);
}

int open_array_file(struct array_file *f, const char *path)
{
	unsigned char head[8] = {0};
	const char *why;
	int fd = io_open_regular(AT_FDCWD, path, O_RDONLY, 0);

	*f = (struct array_file){.path = tool_strdup(path), .fd = fd};
	if (fd < 0) {
		f->why = tool_format("%s: %s", path, io_error_text(fd));
		return -1;
	}
	if (pread(fd, head, sizeof(head), 0) < 0)
		why = "cannot be read";
	else if (memcmp(head, "\x93NUMPY", 6) == 0)
		why = add_npy_arrays(f);
	else if (memcmp(head, "PK\3\4", 4) == 0)
		why = add_torch_arrays(f);
	else if (head[0] == 0x80 && head[1] < 6 && head[1] > 0)
		why = "was written by torch.save() in its format before PyTorch 1.6; save it "
		      "again";
	else
		why = add_safetensors_arrays(f);
	if (why) {
		f->why = tool_format("%s: %s", path, why);
		return -1;
	}
	if (f->n)
		qsort(f->array, f->n, sizeof(*f->array), compare_array_names);
	return 0;
}

void close_array_file(struct array_file *f)
{
	for (unsigned i = 0; i < f->n; i++)
		free(f->array[i].name);
	free(f->array);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f->why);
	*f = (struct array_file){.fd = -1};
}

const char *format_array_shape(char buf[ARRAY_SHAPE_MAX], const struct array *a)
{
	char *to = buf;

	*to++ = '[';
	for (unsigned i = 0; i < a->ndim; i++)
		to += sprintf(to, "%s%llu", i ? ", " : "", (unsigned long long)a->shape[i]);
	*to++ = ']';
	*to = 0;
	return buf;
}

bool set_array_shape(struct array *a, const int64_t *shape, const int64_t *stride, unsigned n)
{
	uint64_t least = a->at, most;
	unsigned size = get_dtype_info(a->dtype)->size;

	if (n > ARRAY_DIMS_MAX || !size)
		return false;
	a->ndim = n;
	a->count = 1;
	for (unsigned i = 0; i < n; i++) {
		if (shape[i] < 0 || __builtin_mul_overflow(a->count, (uint64_t)shape[i], &a->count))
			return false;
		a->shape[i] = (uint64_t)shape[i];
	}
	for (unsigned i = n; i-- > 0;)
		a->stride[i] = stride	   ? stride[i]
			       : i + 1 < n ? a->stride[i + 1] * (int64_t)a->shape[i + 1]
					   : 1;
	/* The last element must be in the storage. */
	most = least;
	for (unsigned i = 0; a->count && i < n; i++) {
		uint64_t reach;

		if (a->stride[i] < 0 ||
			__builtin_mul_overflow(
				(uint64_t)a->stride[i] * size, a->shape[i] - 1, &reach) ||
			__builtin_add_overflow(most, reach, &most))
			return false;
	}
	return !a->count || (most <= a->end && a->end - most >= size);
}

struct array *add_array(struct array_file *f, const char *name)
{
	TOOL_GROW(f->array, f->n, f->cap);
	f->array[f->n] = (struct array){.name = tool_strdup(name)};
	return &f->array[f->n++];
}

/* ---- elements ---- */

struct array_reader *open_array(const struct array_file *f, const struct array *a)
{
	struct array_reader *r = tool_alloc(sizeof(*r));
	int64_t step = 1;

	r->file = f;
	r->array = a;
	r->contiguous = true;
	for (unsigned i = a->ndim; i-- > 0; step *= (int64_t)a->shape[i])
		r->contiguous &= a->shape[i] == 1 || a->stride[i] == step;
	if (a->deflated) {
		r->inflating = inflateInit2(&r->z, -15) == Z_OK;
		r->in_at = a->packed_at;
		if (!r->inflating)
			r->why = "out of memory";
		if (!r->contiguous)
			r->why = "is a compressed view of a larger tensor";
	}
	return r;
}

void close_array(struct array_reader *r)
{
	if (r && r->inflating)
		inflateEnd(&r->z);
	free(r);
}

static ssize_t read_bytes_at(int fd, void *buf, size_t n, uint64_t offset)
{
	ssize_t k;

	do
		k = pread(fd, buf, n, (off_t)offset);
	while (k < 0 && errno == EINTR);
	return k;
}

/* Inflates the next bytes. */
static bool read_inflated_window(struct array_reader *r)
{
	const struct array *a = r->array;

	r->window_at += r->window_n;
	r->z.next_out = r->window;
	r->z.avail_out = ARRAY_WINDOW;
	while (r->z.avail_out == ARRAY_WINDOW) {
		int state;

		if (!r->z.avail_in) {
			uint64_t left = a->packed_at + a->packed - r->in_at;
			ssize_t n = read_bytes_at(r->file->fd, r->in,
				left < sizeof(r->in) ? (size_t)left : sizeof(r->in), r->in_at);

			if (n <= 0)
				return false;
			r->in_at += (uint64_t)n;
			r->z.next_in = r->in;
			r->z.avail_in = (unsigned)n;
		}
		state = inflate(&r->z, Z_NO_FLUSH);
		if (state == Z_STREAM_END)
			break;
		if (state != Z_OK)
			return false;
	}
	r->window_n = ARRAY_WINDOW - r->z.avail_out;
	return r->window_n > 0;
}

/*
 * Copies n bytes from offset `at` to `to`. n: at most the size of an element, or a multiple of it
 * that is inside one window.
 */
static bool copy_array_bytes(struct array_reader *r, uint64_t offset, void *to, unsigned n)
{
	unsigned char *p = to;

	while (n) {
		unsigned k;

		if (offset < r->window_at || offset >= r->window_at + r->window_n) {
			if (r->array->deflated) {
				if (offset < r->window_at || !read_inflated_window(r))
					return false;
				continue;
			}

			ssize_t got = read_bytes_at(r->file->fd, r->window, ARRAY_WINDOW, offset);

			if (got <= 0)
				return false;
			r->window_at = offset;
			r->window_n = (unsigned)got;
		}
		k = (unsigned)(r->window_at + r->window_n - offset);
		k = k < n ? k : n;
		memcpy(p, r->window + (offset - r->window_at), k);
		p += k;
		offset += k;
		n -= k;
	}
	return true;
}

static void set_next_position(struct array_reader *r)
{
	const struct array *a = r->array;

	r->index++;
	for (unsigned i = a->ndim; i-- > 0;) {
		r->offset += a->stride[i];
		if (++r->position[i] < a->shape[i])
			return;
		r->offset -= a->stride[i] * (int64_t)a->shape[i];
		r->position[i] = 0;
	}
}

unsigned read_elements(struct array_reader *r, double *out, void *bytes, unsigned n)
{
	const struct array *a = r->array;
	unsigned size = get_dtype_info(a->dtype)->size, most = ARRAY_WINDOW / size;
	unsigned char *raw = bytes, *own = NULL;
	uint64_t left = a->count - r->index;

	if (r->why || !left)
		return 0;
	n = n < most ? n : most;
	n = left < n ? (unsigned)left : n;
	if (!raw)
		raw = own = tool_alloc((size_t)n * size);
	if (r->contiguous) {
		if (!copy_array_bytes(r, a->at + r->index * size, raw, n * size))
			r->why = "is truncated";
		r->index += n;
	} else {
		for (unsigned i = 0; i < n && !r->why; i++) {
			if (!copy_array_bytes(r, a->at + (uint64_t)r->offset * size,
				    raw + (size_t)i * size, size))
				r->why = "is truncated";
			set_next_position(r);
		}
	}
	if (!r->why)
		read_elements_as_double(out, raw, a->dtype, n);
	free(own);
	return r->why ? 0 : n;
}
