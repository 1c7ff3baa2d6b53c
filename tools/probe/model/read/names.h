/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads names.csv of a rank's folder: parameters of a training, modules, contents of gradient
 * buckets.
 */
#ifndef PROBE_TOOLS_NAMES_H
#define PROBE_TOOLS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

enum name_what { NAME_PARAM, NAME_PART, NAME_BAD, NAME_MODULE };

struct name_row {
	enum name_what what;
	uint64_t id, bucket, offset, count, step;
	int64_t optimizer, group, vpp_stage; /* -1: empty */
	char *name, *module, *type, *shape, *dtype, *flags;
};

struct names {
	struct name_row *row; /* one row per parameter, the last one of the file */
	unsigned n, cap;
	uint64_t damaged;
};

/*
 * Returns 0, or -errno if the file does not exist or cannot be read. Call names_free() in any case.
 */
int names_read(struct names *names, const char *folder);
void names_free(struct names *names);

/*
 * Describes the tensor `name` for people: "gradient of layers.0.weight, element 180 (element
 * 1,204 of bucket 7)", counted in the tensor and in the bucket. If the element of a bucket is not known: the names of all its contents. step: the step of
 * the call. Returns "" if nothing is known. malloc'd.
 */
char *names_format_tensor(const struct names *names, const char *name, uint64_t step);

#endif
