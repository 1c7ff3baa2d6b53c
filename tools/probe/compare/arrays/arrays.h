/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors in files: .npy, what torch.save() writes (zip), safetensors. Their list, and their elements one after the other as
 * doubles, in memory that does not grow with the tensor. Nothing of a file is run.
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
		at; /* of its first byte: in the file, or where its bytes are deflated in what comes out */
	uint64_t end; /* bytes behind this one are not its storage's */
	uint64_t packed_at, packed; /* deflated: where the bytes lie in the file, and how many */
	bool deflated;
};

struct array_file {
	char *path;
	int fd;
	struct array *array; /* by name */
	unsigned n, cap;
	char *why; /* what is wrong */
};

/* Returns 0, or -1: `why`. Free with close_array_file in any case. */
int open_array_file(struct array_file *f, const char *path);
void close_array_file(struct array_file *f);

const struct array *find_array(const struct array_file *f, const char *name);

/* Does the name end like that of a file of tensors? */
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

/* Large: from the heap. */
struct array_reader *open_array(const struct array_file *f, const struct array *a);
void close_array(struct array_reader *r);

/*
 * Up to n further elements: as doubles, and their bytes (n times the size of one; NULL: not wanted). Complex ones by their
 * absolute value. Returns their number, 0 at the end or where `why` says what is wrong.
 */
unsigned read_elements(struct array_reader *r, double *out, void *bytes, unsigned n);

#endif
