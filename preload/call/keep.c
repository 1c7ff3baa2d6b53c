/* SPDX-License-Identifier: Apache-2.0 */
#include "call/keep.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "call/comm.h"

struct kept_arrays {
	size_t bytes;
	uint64_t data[]; /* of each buffer with segments its counts, then its displacements */
};

static _Atomic size_t kept_bytes; /* of all */

static bool has_arrays(const struct buffer *v)
{
	return v->layout == BUFFER_SEGMENTS && v->n && v->counts && v->displs;
}

static size_t bytes_of_counts(const struct buffer *v)
{
	return ((size_t)v->n * v->width + 7) & ~(size_t)7;
}

static size_t bytes_of_displs(const struct buffer *v)
{
	return ((size_t)v->n * (v->dwidth ? v->dwidth : v->width) + 7) & ~(size_t)7;
}

static size_t bytes_to_keep(const struct buffer *v, unsigned n)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		if (has_arrays(&v[i]))
			bytes += bytes_of_counts(&v[i]) + bytes_of_displs(&v[i]);
	return bytes;
}

/* Those that are somewhere else (all_in) have an owner who keeps what they need. */
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
		memcpy(to, v[i].counts, (size_t)v[i].n * v[i].width);
		to += bytes_of_counts(&v[i]);
		memcpy(to, v[i].displs, (size_t)v[i].n * (v[i].dwidth ? v[i].dwidth : v[i].width));
		to += bytes_of_displs(&v[i]);
	}
	return to;
}

struct kept_arrays *kept_make(const struct operation *w)
{
	size_t bytes = bytes_of_arrays(w);
	struct kept_arrays *k = NULL;
	char *to;

	if (!bytes)
		return NULL;
	if (atomic_fetch_add_explicit(&kept_bytes, bytes, memory_order_relaxed) + bytes <=
		KEPT_BYTES_MAX)
		k = malloc(sizeof(*k) + bytes);
	if (!k) {
		atomic_fetch_sub_explicit(&kept_bytes, bytes, memory_order_relaxed);
		log_loss(LOSS_PENDING,
			"calls under way have more than %u MiB of counts and displacements: "
			"outputs of "
			"further ones are not measured",
			KEPT_BYTES_MAX >> 20);
		return NULL;
	}
	k->bytes = bytes;
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
