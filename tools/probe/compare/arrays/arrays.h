/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors in files: .npy, safetensors and the zip files of torch.save(). Lists them, and reads their elements in order as doubles, with
 * memory that does not depend on the tensor's size. Nothing in a file is executed.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_ARRAYS_H
#define PROBE_TOOLS_PROBE_COMPARE_ARRAYS_H

#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#include "terms/dtype.h"

#define ARRAY_DIMS_MAX 32

struct array {
	char *name; /* "" in a file of one tensor */
	enum dtype dtype;
	unsigned ndim;
	uint64_t shape[ARRAY_DIMS_MAX];
	int64_t stride[ARRAY_DIMS_MAX]; /* in elements */
	uint64_t count;
	uint64_t
		at; /* offset of its first byte: in the file, or in the inflated data if its bytes are deflated */
	uint64_t end; /* bytes after this one are not part of its storage */
	uint64_t packed_at, packed; /* deflated: offset and number of the bytes in the file */
	bool deflated;
};

struct array_file {
	char *path;
	int fd;
	struct array *array; /* by name */
	unsigned n, cap;
	char *why; /* the problem */
};

/* Returns 0, or -1: `why`. Free with close_array_file in any case. */
int open_array_file(struct array_file *f, const char *path);
void close_array_file(struct array_file *f);

/* Whether the name has the extension of a tensor file. */
bool is_array_name(const char *name);

/* "[4, 3]" into buf. */
#define ARRAY_SHAPE_MAX (ARRAY_DIMS_MAX * 24)
const char *print_array_shape(char buf[ARRAY_SHAPE_MAX], const struct array *a);

#define ARRAY_WINDOW (1u << 16)

struct array_reader {
	const struct array_file *file;
	const struct array *array;
	uint64_t index; /* of the next element, in the order of the shape */
	uint64_t position[ARRAY_DIMS_MAX];
	int64_t offset; /* of the next element, in elements */
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

/* Large: allocate on the heap. */
struct array_reader *open_array(const struct array_file *f, const struct array *a);
void close_array(struct array_reader *r);

/*
 * Reads up to n further elements: as doubles, and their bytes (n times the size of one; NULL: not wanted). Complex ones by their absolute
 * value. Returns their number, 0 at the end or if `why` has a problem.
 */
unsigned read_elements(struct array_reader *r, double *out, void *bytes, unsigned n);

#endif
