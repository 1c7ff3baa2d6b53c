/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a tensor's elements are in memory, as a call describes it. Nothing is copied. Arrays that
 * a buffer points to (counts, displacements, sizes) belong to the caller and live as long as the
 * call. An operation that outlives its call has copies (call/keep.h).
 */
#ifndef PROBE_CALL_VIEW_H
#define PROBE_CALL_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/dtype.h"

enum buffer_layout {
	BUFFER_CONTIG, /* count elements from base on, adjacent */
	BUFFER_SEGMENTS, /* counts[i] elements at base + displs[i] * unit bytes, i in 0..n */
	/*
	 * n dimensions: sizes[] and strides[] in elements, int64_t; strides may be <= 0; at most
	 * 16 sizes > 1
	 */
	BUFFER_STRIDED,
};

#define BUFFER_AT_END UINT32_MAX

/* Members that are set together stand together, so that one store sets several of them. */
struct buffer {
	const void *base;
	uint64_t count; /* elements in all */
	uint64_t bytes;
	/* index, dtype and io: in the order of struct journal_tensor */
	uint16_t index;
	uint8_t dtype; /* DT_OTHER: no statistics */
	uint8_t io; /* enum tensor_io */
	uint8_t layout;
	uint8_t nostats; /* the memory must not be read (or its elements have no dtype of ours) */
	uint8_t host; /* known to be readable by the processor; if not set, it must be checked */
	uint8_t ndim; /* for the `shape` column: dims[0..ndim); JOURNAL_NDIM_NONE: unknown */
	int32_t peer, tag;
	int64_t comm_seq;
	int64_t unit;
	/*
	 * For an input that is measured when the call ends: number of its pending snapshot on a
	 * device (call/stream.c), or BUFFER_AT_END: its memory is read. 0: it was measured when
	 * the call began.
	 */
	uint32_t snapshot;
	/* JOURNAL_NAME_*, if the adapter knows it; 0: tensor_namer finds it by the address */
	uint32_t name;
	/* number of the function's argument, from 1; 0: not known; or-ed with TENSOR_GRAD ... */
	uint8_t arg;
	uint8_t item; /* position in the list passed as this argument, from 1; 0: not in a list */
	uint8_t width; /* bytes of an integer in counts[]: 4 or 8 */
	uint8_t dwidth; /* bytes of an integer in displs[]; 0: as in counts[] */
	uint32_t n;
	const void *counts, *displs; /* BUFFER_STRIDED: sizes and strides */
	/* number of the device with the memory, from 1: only a stream can read it. 0: not known */
	uint8_t device;
};

/* A piece of a buffer; see piece() of struct tensor_observer (observer.h). */
typedef void buffer_piece_fn(
	void *arg, const void *p, uint64_t count, enum dtype dt, const void *next);

/*
 * For a strided buffer: true if a dimension precedes one with a larger stride (transposed,
 * channels last).
 */
bool buffer_is_permuted(const struct buffer *v);
/* For a strided buffer: true if there are gaps between its elements in memory. */
bool buffer_has_gaps(const struct buffer *v);

/* True for at most STATS_FEW adjacent elements in memory that may be read. */
bool buffer_is_few(const struct buffer *v);

/*
 * Passes the buffer's elements to fn, piece by piece, each once. in_order: in the order of the
 * buffer, for a strided one in memory order; else short pieces may come later, gathered. Returns
 * false if the buffer cannot be read, or only in part.
 */
bool buffer_read_pieces(const struct buffer *v, bool in_order, buffer_piece_fn *fn, void *arg);

/*
 * Sets [*lo, *hi) to the address range that contains every element of the buffer. Returns 0 if it
 * has no element.
 */
int buffer_get_bounds(const struct buffer *v, uintptr_t *lo, uintptr_t *hi);

/*
 * Limit for dimensions of size > 1. NumPy and PyTorch allow 64, but 16 of them already make at
 * least 65,536 elements.
 */
#define BUFFER_DIMS_MAX 16

/* Dimensions of a strided buffer in the order that visits memory front to back, innermost first. */
struct buffer_walk {
	uintptr_t base;
	unsigned n;
	uint64_t size[BUFFER_DIMS_MAX], stride_bytes[BUFFER_DIMS_MAX];
};

/*
 * Fills in *w, with adjacent dimensions merged where possible. Returns false if there is no
 * element, or too many dimensions.
 */
bool buffer_compute_walk(const struct buffer *v, struct buffer_walk *w);

/*
 * Like buffer_compute_walk(), for segments in the order of memory: adjacent segments become one dimension, segments of equal length
 * at equal distances become two. Returns false for other segments, and if there is no element.
 */
bool buffer_compute_segment_walk(const struct buffer *v, struct buffer_walk *w);

/* Returns 1 if the address ranges of two buffers (buffer_get_bounds()) overlap. */
int is_buffer_overlap(const struct buffer *a, const struct buffer *b);

#endif
