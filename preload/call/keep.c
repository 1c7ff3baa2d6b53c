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

static size_t get_counts_size(const struct buffer *v)
{
	return (size_t)v->n * (has_dims(v) ? 8 : v->width);
}

static size_t get_displs_size(const struct buffer *v)
{
	return (size_t)v->n * (has_dims(v) ? 8 : v->dwidth ? v->dwidth : v->width);
}

static size_t compute_counts_bytes(const struct buffer *v)
{
	return (get_counts_size(v) + 7) & ~(size_t)7;
}

static size_t compute_displs_bytes(const struct buffer *v)
{
	return (get_displs_size(v) + 7) & ~(size_t)7;
}

static size_t compute_bytes_to_copy(const struct buffer *v, unsigned n)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		if (has_arrays(&v[i]))
			bytes += compute_counts_bytes(&v[i]) + compute_displs_bytes(&v[i]);
	return bytes;
}

/* Buffers in all_in and all_out have an owner that keeps their arrays. */
static size_t compute_arrays_bytes(const struct operation *w)
{
	return (w->all_in ? 0 : compute_bytes_to_copy(w->in, w->nin)) +
	       (w->all_out ? 0 : compute_bytes_to_copy(w->out, w->nout));
}

static char *copy_arrays(char *to, const struct buffer *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!has_arrays(&v[i]))
			continue;
		memcpy(to, v[i].counts, get_counts_size(&v[i]));
		to += compute_counts_bytes(&v[i]);
		memcpy(to, v[i].displs, get_displs_size(&v[i]));
		to += compute_displs_bytes(&v[i]);
	}
	return to;
}

static struct kept_arrays *add_kept_arrays(size_t bytes)
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

struct kept_arrays *kept_copy_arrays(const struct operation *w)
{
	size_t bytes = compute_arrays_bytes(w);
	struct kept_arrays *k = bytes ? add_kept_arrays(bytes) : NULL;
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

static const char *set_array_pointers(const char *from, struct buffer *v, unsigned n)
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
		from += compute_counts_bytes(&v[i]);
		v[i].displs = from;
		from += compute_displs_bytes(&v[i]);
	}
	return from;
}

void kept_set_arrays(struct operation *w, struct kept_arrays *k)
{
	const char *from = k ? (const char *)k->data : NULL;

	w->kept = k;
	if (!w->all_in)
		from = set_array_pointers(from, w->in, w->nin);
	if (!w->all_out)
		set_array_pointers(from, w->out, w->nout);
}

void kept_free(struct kept_arrays *k)
{
	if (k)
		atomic_fetch_sub_explicit(&kept_bytes, k->bytes, memory_order_relaxed);
	free(k);
}

void operation_copy_arrays(struct operation *copy)
{
	if (copy->comm)
		comm_add_user(copy->comm);
	kept_set_arrays(copy, kept_copy_arrays(copy));
}

/*
 * Returns the bytes from the first to the last element of an output whose values are to be
 * copied. 0: it is not copied.
 */
static size_t compute_elements_bytes(const struct buffer *v)
{
	uintptr_t lo, hi;

	if (v->io != IO_OUT || v->snapshot || !v->host || v->nostats ||
		v->layout == BUFFER_SEGMENTS || !buffer_get_bounds(v, &lo, &hi) ||
		hi - lo > KEPT_VALUES_MAX)
		return 0;
	return (hi - lo + 7) & ~(size_t)7;
}

static size_t compute_whole_bytes(const struct buffer *v, unsigned n)
{
	size_t bytes = n * sizeof(*v);

	for (unsigned i = 0; i < n; i++) {
		if (has_arrays(&v[i]) || has_dims(&v[i]))
			bytes += compute_counts_bytes(&v[i]) + compute_displs_bytes(&v[i]);
		bytes += compute_elements_bytes(&v[i]);
	}
	return bytes;
}

static void copy_output_elements(struct buffer *to, size_t bytes, char **at)
{
	uintptr_t lo, hi;

	if (!bytes) {
		to->nostats |= to->io == IO_OUT && !to->snapshot;
		return;
	}
	buffer_get_bounds(to, &lo, &hi);
	memcpy(*at, (const void *)lo, hi - lo);
	to->base = *at + ((uintptr_t)to->base - lo);
	*at += bytes;
}

/* Copies n buffers to `to`, and the arrays and elements that they refer to to *arrays. */
static void copy_whole(struct buffer *to, const struct buffer *v, unsigned n, char **arrays)
{
	for (unsigned i = 0; i < n; i++) {
		to[i] = v[i];
		copy_output_elements(&to[i], compute_elements_bytes(&v[i]), arrays);
		if (!has_arrays(&v[i]) && !has_dims(&v[i]))
			continue;
		to[i].counts = memcpy(*arrays, v[i].counts, get_counts_size(&v[i]));
		*arrays += compute_counts_bytes(&v[i]);
		to[i].displs = memcpy(*arrays, v[i].displs, get_displs_size(&v[i]));
		*arrays += compute_displs_bytes(&v[i]);
	}
}

bool operation_copy_all(struct operation *copy)
{
	const struct buffer *in = operation_get_inputs(copy), *out = operation_get_outputs(copy);
	unsigned nin = copy->nin, nout = copy->nout;
	struct kept_arrays *k =
		add_kept_arrays(compute_whole_bytes(in, nin) + compute_whole_bytes(out, nout));
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
		comm_add_user(copy->comm);
	return true;
}

void operation_free_copy(struct operation *w)
{
	if (w->comm)
		comm_remove_user(w->comm);
	kept_free(w->kept);
	w->kept = NULL;
}

void kept_reset(void)
{
	atomic_store(&kept_bytes, 0);
}
