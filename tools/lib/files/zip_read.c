/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/files/zip_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tools/lib/tool.h"

#define END_BYTES 22
#define COMMENT_MAX 65535
#define DIRECTORY_MAX ((uint64_t)1 << 28)
#define MEMBERS_MAX (1u << 24)

static const char damaged[] = "the zip file is damaged";

static uint64_t read_little_endian(const unsigned char *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static bool read_exactly(int fd, void *buf, size_t n, uint64_t offset)
{
	char *to = buf;

	while (n) {
		ssize_t k = pread(fd, to, n, (off_t)offset);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		to += k;
		offset += (uint64_t)k;
		n -= (size_t)k;
	}
	return true;
}

/*
 * Finds the list of members. Its offset is in the record at the end of the file; for large files in
 * the record before that.
 */
static bool find_directory(int fd, uint64_t size, uint64_t *offset, uint64_t *bytes)
{
	size_t n = size < END_BYTES + COMMENT_MAX ? (size_t)size : END_BYTES + COMMENT_MAX;
	unsigned char *tail = tool_alloc(n), far[56];
	uint64_t end = size - n, record;
	bool found = false;

	if (n < END_BYTES || !read_exactly(fd, tail, n, end)) {
		free(tail);
		return false;
	}
	for (size_t i = n - END_BYTES + 1; i-- > 0 && !found;) {
		if (memcmp(tail + i, "PK\5\6", 4) != 0)
			continue;
		found = true;
		*bytes = read_little_endian(tail + i + 12, 4);
		*offset = read_little_endian(tail + i + 16, 4);
		if (i >= 20 && memcmp(tail + i - 20, "PK\6\7", 4) == 0) {
			record = read_little_endian(tail + i - 20 + 8, 8);
			if (record <= size - sizeof(far) && size >= sizeof(far) &&
				read_exactly(fd, far, sizeof(far), record) &&
				memcmp(far, "PK\6\6", 4) == 0) {
				*bytes = read_little_endian(far + 40, 8);
				*offset = read_little_endian(far + 48, 8);
			}
		}
	}
	free(tail);
	return found && *offset <= size && *bytes <= size - *offset && *bytes <= DIRECTORY_MAX;
}

/* Reads the numbers of the extra field: those that do not fit into 32 bits. */
static void read_zip64_numbers(struct zip_member *m, const unsigned char *extra, size_t n)
{
	while (n >= 4) {
		size_t bytes = (size_t)read_little_endian(extra + 2, 2), at = 4;
		uint64_t *number[] = {&m->bytes, &m->packed, &m->header};

		if (bytes > n - 4)
			return;
		if (read_little_endian(extra, 2) == 1)
			for (unsigned i = 0; i < 3; i++)
				if (*number[i] == UINT32_MAX && at + 8 <= bytes + 4) {
					*number[i] = read_little_endian(extra + at, 8);
					at += 8;
				}
		extra += bytes + 4;
		n -= bytes + 4;
	}
}

const char *zip_read_directory(struct zip *z, int fd)
{
	unsigned char *list, *p, *end;
	uint64_t at = 0, bytes = 0;
	struct stat st;

	*z = (struct zip){.fd = fd};
	if (fstat(fd, &st) < 0 || !find_directory(fd, (uint64_t)st.st_size, &at, &bytes))
		return damaged;
	list = p = tool_alloc((size_t)bytes);
	end = p + bytes;
	if (!read_exactly(fd, list, (size_t)bytes, at)) {
		free(list);
		return damaged;
	}
	while (end - p >= 46 && memcmp(p, "PK\1\2", 4) == 0 && z->n < MEMBERS_MAX) {
		size_t name = (size_t)read_little_endian(p + 28, 2),
		       extra = (size_t)read_little_endian(p + 30, 2);
		size_t comment = (size_t)read_little_endian(p + 32, 2);
		unsigned method = (unsigned)read_little_endian(p + 10, 2);
		struct zip_member m = {.packed = read_little_endian(p + 20, 4),
			.bytes = read_little_endian(p + 24, 4),
			.header = read_little_endian(p + 42, 4),
			.deflated = method == 8};

		if ((size_t)(end - p) < 46 + name + extra + comment)
			break;
		read_zip64_numbers(&m, p + 46 + name, extra);
		if (method == 0 || method == 8) {
			m.name = tool_strndup((char *)p + 46, name);
			TOOL_GROW(z->member, z->n, z->cap);
			z->member[z->n++] = m;
		}
		p += 46 + name + extra + comment;
	}
	free(list);
	return z->n ? NULL : damaged;
}

void zip_free(struct zip *z)
{
	for (unsigned i = 0; i < z->n; i++)
		free(z->member[i].name);
	free(z->member);
	*z = (struct zip){.fd = -1};
}

const struct zip_member *zip_find(const struct zip *z, const char *name)
{
	for (unsigned i = 0; i < z->n; i++)
		if (strcmp(z->member[i].name, name) == 0)
			return &z->member[i];
	return NULL;
}

const char *zip_find_data(const struct zip *z, const struct zip_member *m, uint64_t *offset)
{
	unsigned char head[30];

	if (!read_exactly(z->fd, head, sizeof(head), m->header) || memcmp(head, "PK\3\4", 4) != 0)
		return damaged;
	*offset = m->header + 30 + read_little_endian(head + 26, 2) +
		  read_little_endian(head + 28, 2);
	return NULL;
}

char *zip_load(const struct zip *z, const struct zip_member *m, size_t max, const char **why)
{
	char *packed, *out;
	uint64_t at;

	*why = zip_find_data(z, m, &at);
	if (*why)
		return NULL;
	if (m->bytes > max || m->packed > max) {
		*why = "a member of the zip file is too large";
		return NULL;
	}
	packed = tool_alloc((size_t)m->packed + 1);
	if (!read_exactly(z->fd, packed, (size_t)m->packed, at)) {
		*why = damaged;
		free(packed);
		return NULL;
	}
	if (!m->deflated) {
		if (m->packed == m->bytes)
			return packed;
		*why = damaged;
		free(packed);
		return NULL;
	}
	out = tool_alloc((size_t)m->bytes + 1);

	z_stream s = {.next_in = (unsigned char *)packed,
		.avail_in = (uInt)m->packed,
		.next_out = (unsigned char *)out,
		.avail_out = (uInt)m->bytes};
	bool good = inflateInit2(&s, -15) == Z_OK;

	if (good) {
		good = inflate(&s, Z_FINISH) == Z_STREAM_END && s.total_out == m->bytes;
		inflateEnd(&s);
	}
	free(packed);
	if (good)
		return out;
	*why = damaged;
	free(out);
	return NULL;
}
