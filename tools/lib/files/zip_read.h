/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a zip file (APPNOTE.TXT 6.3, zip64 too), and where: as PyTorch writes its checkpoints. */
#ifndef PROBE_TOOLS_LIB_ZIP_READ_H
#define PROBE_TOOLS_LIB_ZIP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zip_member {
	char *name;
	uint64_t packed, bytes; /* in the file; unpacked */
	uint64_t header; /* where its own header lies */
	bool deflated; /* else stored */
};

struct zip {
	int fd;
	struct zip_member *member;
	unsigned n, cap;
};

/* NULL: fine; else what is wrong, a constant text. fd stays the caller's. Free with zip_free in any case. */
const char *zip_list(struct zip *z, int fd);
void zip_free(struct zip *z);

const struct zip_member *zip_find(const struct zip *z, const char *name);

/* Where its bytes begin in the file. NULL or what is wrong. */
const char *zip_locate(const struct zip *z, const struct zip_member *m, uint64_t *offset);

/* All of it, at most `max` bytes unpacked; malloc'd, NUL behind it. NULL: *why. */
char *zip_load(const struct zip *z, const struct zip_member *m, size_t max, const char **why);

#endif
