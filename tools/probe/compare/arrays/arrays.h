/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads tensors from files: .npy, safetensors and the zip files of torch.save(). Lists the tensors of a
 * file, and reads the elements of one in order as doubles. The memory used does not depend on the size
 * of the tensor. Nothing in a file is executed.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_ARRAYS_H
#define PROBE_TOOLS_PROBE_COMPARE_ARRAYS_H

#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#include "terms/dtype.h"

#define ARRAY_DIMS_MAX 32

struct array {
	char *name; /* "" in a file with one tensor */
	enum dtype dtype;
	unsigned ndim;
	uint64_t shape[ARRAY_DIMS_MAX];
	int64_t stride[ARRAY_DIMS_MAX]; /* in elements */
	uint64_t count;
	/*
	 * Offset of the first byte: in the file, or, if the data is deflated, in the inflated data.
	 */
	uint64_t at;
	uint64_t end; /* end of its storage: the offset after the last byte that may be read */
	uint64_t packed_at, packed; /* if deflated: offset and number of the bytes in the file */
	bool deflated;
};

struct array_file {
	char *path;
	int fd;
	struct array *array; /* sorted by name */
	unsigned n, cap;
	char *why; /* the problem */
};

/*
 * Opens a file and lists its tensors. Returns 0, or -1 with f->why set. Call close_array_file() in
 * any case.
 */
int open_array_file(struct array_file *f, const char *path);
void close_array_file(struct array_file *f);

/* Returns true if the name has the extension of a tensor file. */
bool is_array_name(const char *name);

/* Formats the shape, "[4, 3]", into buf. */
#define ARRAY_SHAPE_MAX (ARRAY_DIMS_MAX * 24)
const char *format_array_shape(char buf[ARRAY_SHAPE_MAX], const struct array *a);

#define ARRAY_WINDOW (1u << 16)

struct array_reader {
	const struct array_file *file;
	const struct array *array;
	uint64_t index; /* index of the next element, in the order of the shape */
	uint64_t position[ARRAY_DIMS_MAX];
	int64_t offset; /* offset of the next element, in elements */
	bool contiguous;
	unsigned char window[ARRAY_WINDOW];
	uint64_t window_at;
	unsigned window_n;
	z_stream z;
	bool inflating;
	uint64_t in_at;
	unsigned char in[32768];
	const char *why;
};

/* The reader is large, so it is on the heap. */
struct array_reader *open_array(const struct array_file *f, const struct array *a);
void close_array(struct array_reader *r);

/*
 * Reads the next n elements or fewer as doubles; complex ones as their absolute value. bytes: NULL,
 * or memory for their n unconverted elements. Returns the number of elements; 0 at the end or if
 * r->why is set.
 */
unsigned read_elements(struct array_reader *r, double *out, void *bytes, unsigned n);

#endif
