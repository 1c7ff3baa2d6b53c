/* SPDX-License-Identifier: Apache-2.0 */
#include "call/data/view.h"

#include <string.h>

#include "stats/stats.h"

/*
 * Runs shorter than DIRECT bytes, and elements that are not adjacent, are first gathered, because
 * starting a kernel for each would cost many times the measurement itself. The buffer is small
 * because it is on the stack of a thread of the job.
 */
#define DIRECT 512

struct gather {
	buffer_piece_fn *fn;
	void *arg;
	enum dtype dtype;
	bool in_order;
	size_t size; /* of an element */
	size_t used;
	unsigned char buf[2048];
};

static void handle_gathered_pieces(struct gather *g)
{
	if (g->used)
		g->fn(g->arg, g->buf, g->used / g->size, g->dtype, NULL);
	g->used = 0;
}

static inline __attribute__((always_inline)) void copy_elements(
	unsigned char *to, uintptr_t from, uint64_t n, uint64_t stride_bytes, size_t size)
{
	for (; n >= 4; n -= 4, from += 4 * stride_bytes, to += 4 * size) {
		memcpy(to, (const void *)from, size);
		memcpy(to + size, (const void *)(from + stride_bytes), size);
		memcpy(to + 2 * size, (const void *)(from + 2 * stride_bytes), size);
		memcpy(to + 3 * size, (const void *)(from + 3 * stride_bytes), size);
	}
	for (; n; n--, from += stride_bytes, to += size)
		memcpy(to, (const void *)from, size);
}

typedef uint32_t quad __attribute__((vector_size(16)));

/* Each compiler has its own function that picks elements of a vector. */
#ifdef __clang__
#define EVERY_OTHER(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#else
#define EVERY_OTHER(a, b) __builtin_shuffle(a, b, (quad){0, 2, 4, 6})
#endif

/*
 * Copies every other element of 4 bytes, such as the real parts of complex64. The bytes between them are read too, but
 * none after the last element. No prefetching: the CPU's own is enough, and more would be slower.
 */
static void copy_pairs(unsigned char *to, uintptr_t from, uint64_t n)
{
	for (; n > 8; n -= 8, from += 64, to += 32) {
		quad a, b, c, d;

		memcpy(&a, (const void *)from, 16);
		memcpy(&b, (const void *)(from + 16), 16);
		memcpy(&c, (const void *)(from + 32), 16);
		memcpy(&d, (const void *)(from + 48), 16);
		a = EVERY_OTHER(a, b);
		c = EVERY_OTHER(c, d);
		memcpy(to, &a, 16);
		memcpy(to + 16, &c, 16);
	}
	copy_elements(to, from, n, 8, 4);
}

/* One loop for each possible element size: memcpy() of a constant size is a single move. */
static void copy_strided(
	unsigned char *to, uintptr_t from, uint64_t n, uint64_t stride_bytes, size_t size)
{
	if (size == 4 && stride_bytes == 8) {
		copy_pairs(to, from, n);
		return;
	}
	switch (size) {
	case 1:
		copy_elements(to, from, n, stride_bytes, 1);
		break;
	case 2:
		copy_elements(to, from, n, stride_bytes, 2);
		break;
	case 4:
		copy_elements(to, from, n, stride_bytes, 4);
		break;
	case 8:
		copy_elements(to, from, n, stride_bytes, 8);
		break;
	default:
		copy_elements(to, from, n, stride_bytes, 16);
	}
}

/* Returns by how many runs of n elements the prefetched run is ahead of the measured one. */
static uint64_t compute_prefetch_distance(const struct gather *g, uint64_t n)
{
	return 1 + STATS_FAR / (n * g->size);
}

/* Adds a run of n elements, each stride_bytes after the previous one. next: the run that will follow soon, or 0. */
static void add_run(
	struct gather *g, uintptr_t at, uint64_t n, uint64_t stride_bytes, uintptr_t next)
{
	if (stride_bytes == g->size && n >= DIRECT / g->size) {
		if (g->in_order)
			handle_gathered_pieces(g);
		g->fn(g->arg, (const void *)at, n, g->dtype, (const void *)next);
		return;
	}
	while (n) {
		uint64_t space = (sizeof(g->buf) - g->used) / g->size;
		uint64_t len = n < space ? n : space;

		copy_strided(g->buf + g->used, at, len, stride_bytes, g->size);
		g->used += len * g->size;
		n -= len;
		at += len * stride_bytes;
		if (n)
			handle_gathered_pieces(g);
	}
}

static int64_t read_array_integer(const void *array, uint64_t i, unsigned width)
{
	const unsigned char *p = (const unsigned char *)array + i * width;
	int32_t narrow;
	int64_t wide;

	if (width == 8) {
		memcpy(&wide, p, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, p, sizeof(narrow));
	return narrow;
}

/* Addresses are computed as integers: displacements may be negative, or absolute if the base is NULL (MPI_BOTTOM). */
static uintptr_t get_segment_address(const struct buffer *v, uint32_t i)
{
	uint64_t displ =
		(uint64_t)read_array_integer(v->displs, i, v->dwidth ? v->dwidth : v->width);

	return (uintptr_t)v->base + displ * (uint64_t)v->unit;
}

/* Returns false if a segment has address 0, which cannot be. */
static int add_segments(struct gather *g, const struct buffer *v)
{
	for (uint32_t i = 0; i < v->n; i++) {
		int64_t n = read_array_integer(v->counts, i, v->width);
		uint64_t next;

		if (n <= 0)
			continue;
		if (!get_segment_address(v, i))
			return 0;
		next = i + compute_prefetch_distance(g, (uint64_t)n);
		add_run(g, get_segment_address(v, i), (uint64_t)n, g->size,
			next < v->n ? get_segment_address(v, (uint32_t)next) : 0);
	}
	return 1;
}

/*
 * Adds a dimension, ordered by stride, so that memory is visited front to back. Dimensions of stride 0 repeat the inner dimensions,
 * so they are outermost: 0 - 1 is the largest number.
 */
static void add_dim_by_stride(struct buffer_walk *w, uint64_t size, uint64_t stride_bytes)
{
	unsigned i = w->n++;

	for (; i && w->stride_bytes[i - 1] - 1 > stride_bytes - 1; i--) {
		w->size[i] = w->size[i - 1];
		w->stride_bytes[i] = w->stride_bytes[i - 1];
	}
	w->size[i] = size;
	w->stride_bytes[i] = stride_bytes;
}

/*
 * The results do not depend on the order of elements, so dimensions may be reversed and sorted. A transposed tensor is
 * then as contiguous as its original. Returns false if there is nothing to visit, or too many dimensions.
 */
bool buffer_compute_walk(const struct buffer *v, struct buffer_walk *w)
{
	const size_t elem = get_dtype_info(v->dtype)->size;
	unsigned last = 0;

	w->base = (uintptr_t)v->base;
	w->n = 0;
	for (uint32_t i = 0; i < v->n; i++) {
		int64_t size = read_array_integer(v->counts, i, 8),
			stride = read_array_integer(v->displs, i, 8);
		uint64_t stride_bytes = (uint64_t)stride * elem;

		if (size <= 0)
			return false;
		if (stride < 0) {
			w->base += (uint64_t)(size - 1) * stride_bytes;
			stride_bytes = -stride_bytes;
		}
		if (size == 1)
			continue;
		if (w->n == BUFFER_DIMS_MAX)
			return false;
		add_dim_by_stride(w, (uint64_t)size, stride_bytes);
	}
	if (!w->n) /* one element */
		add_dim_by_stride(w, 1, elem);
	for (unsigned i = 1; i < w->n; i++) {
		if (w->stride_bytes[i] == w->stride_bytes[last] * w->size[last]) {
			w->size[last] *= w->size[i];
		} else {
			last++;
			w->size[last] = w->size[i];
			w->stride_bytes[last] = w->stride_bytes[i];
		}
	}
	w->n = last + 1;
	return true;
}

bool buffer_compute_segment_walk(const struct buffer *v, struct buffer_walk *w)
{
	uint64_t size = get_dtype_info(v->dtype)->size, distance = 0, length = 0, n = 0, all = 0;
	uintptr_t last = 0;
	bool equal = true, adjacent = true;

	if (!v->counts || !v->displs)
		return false;
	for (uint32_t i = 0; i < v->n; i++) {
		int64_t count = read_array_integer(v->counts, i, v->width);
		uintptr_t at = get_segment_address(v, i);

		if (count <= 0)
			continue;
		if (!n)
			w->base = at;
		else if (at < last + length * size)
			return false; /* in another order, or one above another */
		else
			adjacent &= at == last + length * size;
		if (n == 1)
			distance = at - last;
		equal &= !n || ((uint64_t)count == length && at - last == distance);
		length = (uint64_t)count;
		last = at;
		all += length;
		n++;
	}
	if (!n || !size || !(adjacent || equal))
		return false;
	w->n = adjacent ? 1 : 2;
	w->size[0] = adjacent ? all : length;
	w->stride_bytes[0] = size;
	w->size[1] = n;
	w->stride_bytes[1] = distance;
	return true;
}

static int add_strided(struct gather *g, const struct buffer *v)
{
	struct buffer_walk w;
	uint64_t index[BUFFER_DIMS_MAX] = {0}, ahead;
	uintptr_t at;
	unsigned d;

	if (!buffer_compute_walk(v, &w))
		return 0;
	at = w.base;
	ahead = w.n > 1 ? compute_prefetch_distance(g, w.size[0]) * w.stride_bytes[1] : 0;
	do {
		add_run(g, at, w.size[0], w.stride_bytes[0], ahead ? at + ahead : 0);
		for (d = 1; d < w.n; d++) {
			at += w.stride_bytes[d];
			if (++index[d] < w.size[d])
				break;
			at -= w.size[d] * w.stride_bytes[d];
			index[d] = 0;
		}
	} while (d < w.n);
	return 1;
}

/*
 * Segments may begin anywhere. Other layouts begin at base, and base NULL is an error of the job.
 */
static int is_buffer_readable(const struct buffer *v)
{
	if (v->nostats)
		return 0;
	if (v->layout == BUFFER_CONTIG)
		return v->base && v->count;
	if (v->n && (!v->counts || !v->displs))
		return 0;
	return v->base || v->layout == BUFFER_SEGMENTS;
}

/* Separate from the usual case: gathering takes 2 KiB of stack. */
__attribute__((noinline)) static bool handle_pieces_gathered(
	const struct buffer *v, bool in_order, buffer_piece_fn *fn, void *arg)
{
	struct gather g;

	g.fn = fn;
	g.arg = arg;
	g.dtype = v->dtype;
	g.in_order = in_order;
	g.size = get_dtype_info(v->dtype)->size;
	g.used = 0;
	if (!g.size || !(v->layout == BUFFER_SEGMENTS ? add_segments : add_strided)(&g, v))
		return false;
	handle_gathered_pieces(&g);
	return true;
}

bool buffer_is_permuted(const struct buffer *v)
{
	const int64_t *size = v->counts, *stride = v->displs;
	int64_t outer = INT64_MAX;

	if (v->layout != BUFFER_STRIDED)
		return false;
	for (uint32_t i = 0; i < v->n; i++) {
		int64_t stride_bytes = stride[i] < 0 ? -stride[i] : stride[i];

		if (size[i] == 1)
			continue;
		if (stride_bytes > outer)
			return true;
		outer = stride_bytes;
	}
	return false;
}

bool buffer_has_gaps(const struct buffer *v)
{
	const int64_t *size = v->counts, *stride = v->displs;
	uint64_t extent = 1;

	if (v->layout != BUFFER_STRIDED || !v->count)
		return false;
	for (uint32_t i = 0; i < v->n; i++)
		extent += (uint64_t)(size[i] - 1) *
			  (uint64_t)(stride[i] < 0 ? -stride[i] : stride[i]);
	return extent > v->count;
}

bool buffer_is_few(const struct buffer *v)
{
	return v->layout == BUFFER_CONTIG && v->count <= STATS_FEW && is_buffer_readable(v);
}

bool buffer_read_pieces(const struct buffer *v, bool in_order, buffer_piece_fn *fn, void *arg)
{
	if (!is_buffer_readable(v))
		return false;
	if (v->layout != BUFFER_CONTIG)
		return handle_pieces_gathered(v, in_order, fn, arg);
	fn(arg, v->base, v->count, v->dtype, NULL);
	return true;
}

/* Size of one element in bytes; for a derived type, as far as the buffer's fields show it. */
static uint64_t get_element_bytes(const struct buffer *v)
{
	uint64_t size = get_dtype_info(v->dtype)->size;
	uint64_t unit = v->unit < 0 ? -(uint64_t)v->unit : (uint64_t)v->unit;

	if (size)
		return size;
	if (v->count)
		size = (v->bytes + v->count - 1) / v->count;
	if (v->layout == BUFFER_SEGMENTS && unit > size)
		size = unit; /* the extent of the type, or 1 if displacements are in bytes */
	return size;
}

int buffer_get_bounds(const struct buffer *v, uintptr_t *lo, uintptr_t *hi)
{
	uint64_t elem = get_element_bytes(v);

	*lo = (uintptr_t)v->base;
	*hi = *lo;
	if (v->layout == BUFFER_CONTIG) {
		*hi += v->bytes;
		return v->bytes != 0;
	}
	if (v->n && (!v->counts || !v->displs))
		return 0;
	if (v->layout == BUFFER_SEGMENTS) {
		*lo = UINTPTR_MAX;
		*hi = 0;
		for (uint32_t i = 0; i < v->n; i++) {
			int64_t n = read_array_integer(v->counts, i, v->width);
			uintptr_t at = get_segment_address(v, i);

			if (n <= 0)
				continue;
			*lo = at < *lo ? at : *lo;
			at += (uint64_t)n * elem;
			*hi = at > *hi ? at : *hi;
		}
		return *lo < *hi;
	}
	for (uint32_t i = 0; i < v->n; i++) {
		int64_t size = read_array_integer(v->counts, i, 8),
			stride = read_array_integer(v->displs, i, 8);
		uint64_t reach = ((uint64_t)size - 1) * (uint64_t)stride * elem;

		if (size <= 0)
			return 0;
		*(stride < 0 ? lo : hi) += reach;
	}
	*hi += elem;
	return elem != 0;
}

int is_buffer_overlap(const struct buffer *a, const struct buffer *b)
{
	uintptr_t alo, ahi, blo, bhi;

	return buffer_get_bounds(a, &alo, &ahi) && buffer_get_bounds(b, &blo, &bhi) && alo < bhi &&
	       blo < ahi;
}
