/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor in memory as a call describes it: where its elements lie. Nothing is copied; arrays that a view points to
 * (counts, displacements, sizes) are the caller's and live as long as the call, or until the request completes.
 */
#ifndef PROBE_CALL_VIEW_H
#define PROBE_CALL_VIEW_H

#include <stdint.h>

#include "stats/stats.h"

enum view_layout {
	VIEW_CONTIG, /* count elements from base on */
	VIEW_SEGMENTS, /* counts[i] elements at base + displs[i] * unit bytes, i in 0..n */
	/* n dimensions: sizes[] and strides[] in elements, both int64_t; strides may be 0 or negative; at most 16 longer than 1 */
	VIEW_STRIDED,
};

struct view {
	const void *base;
	uint64_t count; /* elements in all */
	uint64_t bytes;
	uint8_t dtype; /* DT_OTHER: no statistics */
	uint8_t layout;
	uint8_t io; /* enum tensor_io */
	uint8_t nostats; /* the memory must not be read (or holds what no dtype describes) */
	uint8_t host; /* it is known that the processor can read it; else that is to be found out */
	uint16_t index;
	uint8_t width; /* bytes of one integer in counts[]: 4 or 8 */
	uint8_t dwidth; /* ... in displs[]; 0: as in counts[] */
	uint8_t ndim; /* for the `shape` column: dims[0..ndim); JOURNAL_NDIM_NONE: unknown */
	int32_t peer, tag;
	int64_t comm_seq;
	uint32_t n;
	int64_t unit;
	const void *counts, *displs; /* or sizes, strides */
	uint32_t
		shot; /* number of a device's snapshot of it that is on its way (call/stream.c); 0: none */
};

/* Measures the view; out->n is 0 if it cannot be measured. The caller has entered stats_fenv. */
void view_measure(const struct view *v, double eps, struct stats *out);

/*
 * The same, and a checksum of its bytes; true if there is one. Elements count in the order of the view, those of a
 * strided one in the order in which they lie in memory.
 */
int view_measure_sum(const struct view *v, double eps, enum stats_checksum kind, struct stats *out,
	uint32_t *sum);

/* The bytes [*lo, *hi) hold every element of the view. Returns 0 if it has none. */
int view_bounds(const struct view *v, uintptr_t *lo, uintptr_t *hi);

/* True if the memory of two views overlaps (their outer bounds do). */
int view_overlap(const struct view *a, const struct view *b);

#endif
