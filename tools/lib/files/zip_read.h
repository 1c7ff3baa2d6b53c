/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a zip file (APPNOTE.TXT 6.3, zip64 too) and their offsets: as PyTorch writes its checkpoints. */
#ifndef PROBE_TOOLS_LIB_ZIP_READ_H
#define PROBE_TOOLS_LIB_ZIP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zip_member {
	char *name;
	uint64_t packed, bytes; /* size in the file; size unpacked */
	uint64_t header; /* offset of its own header */
	bool deflated; /* else stored */
};

struct zip {
	int fd;
	struct zip_member *member;
	unsigned n, cap;
};

/* NULL: it succeeded; else the problem, a constant text. fd stays the caller's. Free with zip_free in any case. */
const char *zip_list(struct zip *z, int fd);
void zip_free(struct zip *z);

const struct zip_member *zip_find(const struct zip *z, const char *name);

/* The offset of its bytes in the file. Returns NULL or the problem. */
const char *zip_locate(const struct zip *z, const struct zip_member *m, uint64_t *offset);

/* The whole member, at most `max` bytes unpacked; malloc'd, followed by a NUL. NULL: see *why. */
char *zip_load(const struct zip *z, const struct zip_member *m, size_t max, const char **why);

#endif
