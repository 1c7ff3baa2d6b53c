/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor in memory as a call describes it: where its elements lie. Nothing is copied; arrays that a buffer points to
 * (counts, displacements, sizes) are the caller's and live as long as the call; what goes on after it has copies (call/keep.h).
 */
#ifndef PROBE_CALL_VIEW_H
#define PROBE_CALL_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/dtype.h"

enum buffer_layout {
	BUFFER_CONTIG, /* count elements from base on */
	BUFFER_SEGMENTS, /* counts[i] elements at base + displs[i] * unit bytes, i in 0..n */
	/* n dimensions: sizes[] and strides[] in elements, both int64_t; strides may be 0 or negative; at most 16 longer than 1 */
	BUFFER_STRIDED,
};

#define BUFFER_AT_END UINT32_MAX

struct buffer {
	const void *base;
	uint64_t count; /* elements in all */
	uint64_t bytes;
	uint8_t dtype; /* DT_OTHER: no statistics */
	uint8_t layout;
	uint8_t io; /* enum tensor_io */
	uint8_t nostats; /* the memory must not be read (or holds what no dtype describes) */
	uint8_t arg; /* which argument of the function it is, from 1, 0: not known; or-ed TENSOR_GRAD ... */
	uint8_t host; /* it is known that the processor can read it; else that is to be found out */
	uint16_t index;
	uint8_t width; /* bytes of one integer in counts[]: 4 or 8 */
	uint8_t dwidth; /* ... in displs[]; 0: as in counts[] */
	uint8_t ndim; /* for the `shape` column: dims[0..ndim); JOURNAL_NDIM_NONE: unknown */
	uint8_t item; /* ... and which of the list there, from 1, 0: it is in none */
	int32_t peer, tag;
	uint8_t device; /* it lies in the memory of that device, from 1: only a stream can show it. 0: not known */
	int64_t comm_seq;
	uint32_t n;
	int64_t unit;
	const void *counts, *displs; /* or sizes, strides */
	/*
	 * Of an input that is looked at when the call ends: number of a device's snapshot of it that is on its way
	 * (call/stream.c), or BUFFER_AT_END: itself. 0: it was looked at when the call came.
	 */
	uint32_t shot;
	uint32_t
		name; /* JOURNAL_NAME_*, where the adapter knows it; 0: by its memory, tensor_namer */
};

/* A piece of a buffer: as struct tensor_observer's piece() (observer.h). */
typedef void buffer_piece_fn(
	void *arg, const void *p, uint64_t count, enum dtype dt, const void *next);

/* Of a strided one: a dimension comes before another one whose elements are further apart in memory (transposed, channels last). */
bool buffer_is_permuted(const struct buffer *v);
/* Of a strided one: what lies between its first and its last element in memory is more than its elements. */
bool buffer_has_gaps(const struct buffer *v);

/* Up to STATS_FEW elements, one after the other, that can be read. */
bool buffer_is_few(const struct buffer *v);

/*
 * Hands the buffer's elements to fn, piece by piece, each once. in_order: in the order of the buffer, those of a strided
 * one in the order in which they lie in memory; else short pieces may come later, gathered. False: it cannot be read, or not
 * all of it.
 */
bool buffer_show(const struct buffer *v, bool in_order, buffer_piece_fn *fn, void *arg);

/* The bytes [*lo, *hi) hold every element of the buffer. Returns 0 if it has none. */
int buffer_bounds(const struct buffer *v, uintptr_t *lo, uintptr_t *hi);

/* Of more than one element each; NumPy and PyTorch allow 64, but 16 of them make 65536 elements at least. */
#define BUFFER_DIMS_MAX 16

/* Dimensions of a strided buffer in the order that visits memory front to back, innermost first; steps in bytes. */
struct buffer_walk {
	uintptr_t base;
	unsigned n;
	uint64_t size[BUFFER_DIMS_MAX], step[BUFFER_DIMS_MAX];
};

/* Dimensions that follow from another are merged with it. False: there is nothing to walk, or it has too many. */
bool buffer_walk(const struct buffer *v, struct buffer_walk *w);

/* True if the memory of two buffers overlaps (their outer bounds do). */
int buffer_overlap(const struct buffer *a, const struct buffer *b);

#endif
