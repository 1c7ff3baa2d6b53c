/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the members of a zip file (APPNOTE.TXT 6.3, also zip64) and their offsets. PyTorch writes
 * its checkpoints as such files.
 */
#ifndef PROBE_TOOLS_LIB_ZIP_READ_H
#define PROBE_TOOLS_LIB_ZIP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zip_member {
	char *name;
	uint64_t packed, bytes; /* packed: bytes in the file; bytes: bytes after unpacking */
	uint64_t header; /* offset of the member's own header */
	bool deflated; /* false: stored without compression */
};

struct zip {
	int fd;
	struct zip_member *member;
	unsigned n, cap;
};

/*
 * Lists the members of the open file fd, which remains the caller's. Returns NULL, or the problem,
 * a constant string. Call zip_free() in any case.
 */
const char *zip_read_directory(struct zip *z, int fd);
void zip_free(struct zip *z);

const struct zip_member *zip_find(const struct zip *z, const char *name);

/* Finds the offset of the member's data in the file. Returns NULL, or the problem. */
const char *zip_find_data(const struct zip *z, const struct zip_member *m, uint64_t *offset);

/*
 * Returns the unpacked member, at most `max` bytes, followed by a NUL; malloc'd. Returns NULL if
 * that fails; *why is then the problem.
 */
char *zip_load(const struct zip *z, const struct zip_member *m, size_t max, const char **why);

#endif
