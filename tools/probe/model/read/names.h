/* SPDX-License-Identifier: Apache-2.0 */
/* Reads names.csv of a rank's folder: parameters of a training, modules, contents of buckets. */
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
	struct name_row *row; /* only the last row of a parameter: earlier ones are skipped */
	unsigned n, cap;
	uint64_t damaged;
};

/* 0, or -errno: there is no such file, or it cannot be read. Free with names_free in any case. */
int names_read(struct names *names, const char *folder);
void names_free(struct names *names);

/*
 * Describes a tensor of that name for people: "gradient of layers.0.weight (element 1,204 of bucket 7)"; for a bucket without a known
 * element the names of its contents. step: of the call. "" if nothing is known. malloc'd.
 */
char *names_describe(const struct names *names, const char *name, uint64_t step);

#endif
