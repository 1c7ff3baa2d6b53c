/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements of a tensor in the host's memory, as doubles. */
#ifndef PROBE_TRAIN_ELEMENTS_H
#define PROBE_TRAIN_ELEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"

typedef double element_load_fn(const unsigned char *p);

/* For float16, bfloat16, float32, float64, int32, int64, bool; NULL: another type. */
element_load_fn *find_element_loader(uint8_t dtype);

/* Dimensions, and the bytes from one element to the next of each. */
#define ELEMENT_DIMS_MAX 4
struct element_view {
	const unsigned char *at;
	element_load_fn *load;
	uint64_t size[ELEMENT_DIMS_MAX];
	int64_t step[ELEMENT_DIMS_MAX];
	unsigned ndim;
	uint64_t bytes; /* of an element */
};

/* Returns false if the tensor cannot be read, has no elements, too many dimensions, or another type. */
bool read_element_view(const struct buffer *b, struct element_view *v);

#endif
