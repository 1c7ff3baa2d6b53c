/* SPDX-License-Identifier: Apache-2.0 */
#include "call/keep.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "call/comm.h"
#include "journal/layout.h"

struct kept_arrays {
	size_t bytes;
	/*
	 * For each buffer with segments: its counts, then its displacements. If the buffers
	 * themselves are kept too, they come first.
	 */
	uint64_t data[];
};

static _Atomic size_t kept_bytes; /* sum of all kept_arrays */

static bool has_arrays(const struct buffer *v)
{
	return v->layout == BUFFER_SEGMENTS && v->n && v->counts && v->displs;
}

/* True if the buffer has sizes and strides, which are 64-bit integers. */
static bool has_dims(const struct buffer *v)
{
	return v->layout == BUFFER_STRIDED && v->n && v->counts && v->displs;
}

static size_t size_of_counts(const struct buffer *v)
{
	return (size_t)v->n * (has_dims(v) ? 8 : v->width);
}

static size_t size_of_displs(const struct buffer *v)
{
	return (size_t)v->n * (has_dims(v) ? 8 : v->dwidth ? v->dwidth : v->width);
}

static size_t bytes_of_counts(const struct buffer *v)
{
	return (size_of_counts(v) + 7) & ~(size_t)7;
}

static size_t bytes_of_displs(const struct buffer *v)
{
	return (size_of_displs(v) + 7) & ~(size_t)7;
}

static size_t bytes_to_keep(const struct buffer *v, unsigned n)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		if (has_arrays(&v[i]))
			bytes += bytes_of_counts(&v[i]) + bytes_of_displs(&v[i]);
	return bytes;
}

/* Buffers in all_in and all_out have an owner that keeps their arrays. */
static size_t bytes_of_arrays(const struct operation *w)
{
	return (w->all_in ? 0 : bytes_to_keep(w->in, w->nin)) +
	       (w->all_out ? 0 : bytes_to_keep(w->out, w->nout));
}

static char *copy_arrays(char *to, const struct buffer *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!has_arrays(&v[i]))
			continue;
		memcpy(to, v[i].counts, size_of_counts(&v[i]));
		to += bytes_of_counts(&v[i]);
		memcpy(to, v[i].displs, size_of_displs(&v[i]));
		to += bytes_of_displs(&v[i]);
	}
	return to;
}

static struct kept_arrays *grow_kept_arrays(size_t bytes)
{
	struct kept_arrays *k = NULL;

	if (atomic_fetch_add_explicit(&kept_bytes, bytes, memory_order_relaxed) + bytes <=
		KEPT_BYTES_MAX)
		k = malloc(sizeof(*k) + bytes);
	if (!k) {
		atomic_fetch_sub_explicit(&kept_bytes, bytes, memory_order_relaxed);
		log_loss(LOSS_PENDING,
			"pending calls have more than %u MiB of counts and displacements: "
			"outputs of further ones are not measured",
			KEPT_BYTES_MAX >> 20);
		return NULL;
	}
	k->bytes = bytes;
	return k;
}

struct kept_arrays *kept_make(const struct operation *w)
{
	size_t bytes = bytes_of_arrays(w);
	struct kept_arrays *k = bytes ? grow_kept_arrays(bytes) : NULL;
	char *to;

	if (!k)
		return NULL;
	to = (char *)k->data;
	if (!w->all_in)
		to = copy_arrays(to, w->in, w->nin);
	if (!w->all_out)
		copy_arrays(to, w->out, w->nout);
	return k;
}

static const char *use_arrays(const char *from, struct buffer *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!has_arrays(&v[i]))
			continue;
		if (!from) {
			v[i].nostats = 1;
			v[i].n = 0;
			v[i].counts = v[i].displs = NULL;
			continue;
		}
		v[i].counts = from;
		from += bytes_of_counts(&v[i]);
		v[i].displs = from;
		from += bytes_of_displs(&v[i]);
	}
	return from;
}

void kept_use(struct operation *w, struct kept_arrays *k)
{
	const char *from = k ? (const char *)k->data : NULL;

	w->kept = k;
	if (!w->all_in)
		from = use_arrays(from, w->in, w->nin);
	if (!w->all_out)
		use_arrays(from, w->out, w->nout);
}

void kept_free(struct kept_arrays *k)
{
	if (k)
		atomic_fetch_sub_explicit(&kept_bytes, k->bytes, memory_order_relaxed);
	free(k);
}

void operation_keep(struct operation *copy)
{
	if (copy->comm)
		comm_hold(copy->comm);
	kept_use(copy, kept_make(copy));
}

/*
 * Returns the bytes from the first to the last element of an output whose values are to be
 * copied. 0: it is not copied.
 */
static size_t bytes_of_elements(const struct buffer *v)
{
	uintptr_t lo, hi;

	if (v->io != IO_OUT || v->snapshot || !v->host || v->nostats ||
		v->layout == BUFFER_SEGMENTS || !buffer_bounds(v, &lo, &hi) ||
		hi - lo > KEPT_VALUES_MAX)
		return 0;
	return (hi - lo + 7) & ~(size_t)7;
}

static size_t bytes_to_keep_whole(const struct buffer *v, unsigned n)
{
	size_t bytes = n * sizeof(*v);

	for (unsigned i = 0; i < n; i++) {
		if (has_arrays(&v[i]) || has_dims(&v[i]))
			bytes += bytes_of_counts(&v[i]) + bytes_of_displs(&v[i]);
		bytes += bytes_of_elements(&v[i]);
	}
	return bytes;
}

static void keep_elements(struct buffer *to, size_t bytes, char **at)
{
	uintptr_t lo, hi;

	if (!bytes) {
		to->nostats |= to->io == IO_OUT && !to->snapshot;
		return;
	}
	buffer_bounds(to, &lo, &hi);
	memcpy(*at, (const void *)lo, hi - lo);
	to->base = *at + ((uintptr_t)to->base - lo);
	*at += bytes;
}

/* Copies n buffers to `to`, and the arrays and elements that they refer to to *arrays. */
static void copy_whole(struct buffer *to, const struct buffer *v, unsigned n, char **arrays)
{
	for (unsigned i = 0; i < n; i++) {
		to[i] = v[i];
		keep_elements(&to[i], bytes_of_elements(&v[i]), arrays);
		if (!has_arrays(&v[i]) && !has_dims(&v[i]))
			continue;
		to[i].counts = memcpy(*arrays, v[i].counts, size_of_counts(&v[i]));
		*arrays += bytes_of_counts(&v[i]);
		to[i].displs = memcpy(*arrays, v[i].displs, size_of_displs(&v[i]));
		*arrays += bytes_of_displs(&v[i]);
	}
}

bool operation_keep_whole(struct operation *copy)
{
	const struct buffer *in = operation_inputs(copy), *out = operation_outputs(copy);
	unsigned nin = copy->nin, nout = copy->nout;
	struct kept_arrays *k =
		grow_kept_arrays(bytes_to_keep_whole(in, nin) + bytes_to_keep_whole(out, nout));
	struct buffer *to;
	char *arrays;

	if (!k)
		return false;
	to = (struct buffer *)k->data;
	arrays = (char *)(to + nin + nout);
	copy_whole(to, in, nin, &arrays);
	copy_whole(to + nin, out, nout, &arrays);
	copy->all_in = to;
	copy->all_out = to + nin;
	copy->kept = k;
	if (copy->comm)
		comm_hold(copy->comm);
	return true;
}

void operation_release(struct operation *w)
{
	if (w->comm)
		comm_release(w->comm);
	kept_free(w->kept);
	w->kept = NULL;
}

void kept_reset(void)
{
	atomic_store(&kept_bytes, 0);
}
