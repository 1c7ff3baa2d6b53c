/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/io.h"
#include "tools/lib/tool.h"

#define GZ_IN 32768
#define FILES_MOST 65536
#define FILES_OTHER 128 /* files for everything else that the command may open */

struct source_gz {
	z_stream z;
	bool begun; /* a part of the current member was read */
	bool ended;
	unsigned char in[GZ_IN];
};

unsigned source_get_open_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return 0;
	if (l.rlim_cur < l.rlim_max && l.rlim_cur < FILES_MOST) {
		l.rlim_cur = l.rlim_max < FILES_MOST ? l.rlim_max : FILES_MOST;
		if (setrlimit(RLIMIT_NOFILE, &l) || getrlimit(RLIMIT_NOFILE, &l))
			return 0;
	}
	if (l.rlim_cur > FILES_MOST)
		return FILES_MOST - FILES_OTHER;
	return l.rlim_cur > FILES_OTHER ? (unsigned)l.rlim_cur - FILES_OTHER : 0;
}

int source_open(struct source *s, const char *path, uint64_t limit, bool keep_open)
{
	unsigned char magic[2];
	struct stat st;

	*s = (struct source){.fd = io_open_regular(AT_FDCWD, path, O_RDONLY, 0),
		.keep_open = keep_open,
		.limit = limit,
		.size = UINT64_MAX};
	if (s->fd < 0) {
		int err = s->fd;

		s->fd = -1;
		return err;
	}

	ssize_t n = pread(s->fd, magic, sizeof(magic), 0);

	if (n < 0) {
		int err = errno;

		close(s->fd);
		s->fd = -1;
		return -err;
	}
	s->path = tool_strdup(path);
	if (n == 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
		s->gz = tool_alloc(sizeof(*s->gz));
		if (inflateInit2(&s->gz->z, 15 + 16) != Z_OK) {
			free(s->gz);
			s->gz = NULL;
			source_close(s);
			return -ENOMEM;
		}
	} else if (fstat(s->fd, &st) == 0) {
		s->size = (uint64_t)st.st_size;
	}
	if (!keep_open) {
		close(s->fd);
		s->fd = -1;
	}
	return 0;
}

void source_set_decoder(struct source *s, const struct source_decoder *decoder)
{
	s->decoder = decoder;
	s->decoding = decoder->open();
}

void source_close(struct source *s)
{
	if (s->decoder)
		s->decoder->close(s->decoding);
	if (s->fd >= 0)
		close(s->fd);
	if (s->gz) {
		inflateEnd(&s->gz->z);
		free(s->gz);
	}
	free(s->path);
	*s = (struct source){.fd = -1};
}

ssize_t source_read_piece(struct source *s, void *buf, size_t cap)
{
	int fd = s->fd;
	ssize_t n;

	if (cap > s->limit - s->at)
		cap = (size_t)(s->limit - s->at);
	if (!cap)
		return 0;
	if (fd < 0)
		fd = io_open_regular(AT_FDCWD, s->path, O_RDONLY, 0);
	if (fd < 0)
		return fd;
	do
		n = pread(fd, buf, cap, (off_t)s->at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		n = -errno;
	else
		s->at += (uint64_t)n;
	if (s->keep_open)
		s->fd = fd;
	else
		close(fd);
	return n;
}

/* Several members one after the other are one text, as for gzip. */
static ssize_t read_inflated_piece(struct source *s, void *buf, size_t cap)
{
	struct source_gz *g = s->gz;
	z_stream *z = &g->z;

	z->next_out = buf;
	z->avail_out = (uInt)(cap < UINT32_MAX ? cap : UINT32_MAX);

	size_t space = z->avail_out;

	while (z->avail_out == space && !g->ended) {
		if (!z->avail_in) {
			ssize_t n = source_read_piece(s, g->in, sizeof(g->in));

			if (n < 0)
				return n;
			if (n == 0) {
				s->truncated |= g->begun;
				g->ended = true;
				break;
			}
			z->next_in = g->in;
			z->avail_in = (uInt)n;
		}
		g->begun = true;

		int r = inflate(z, Z_NO_FLUSH);

		if (r == Z_STREAM_END) {
			g->begun = false;
			inflateReset(z);
		} else if (r == Z_MEM_ERROR) {
			return -ENOMEM;
		} else if (r != Z_OK && r != Z_BUF_ERROR) {
			s->truncated = true;
			g->ended = true;
		}
	}
	return (ssize_t)(space - z->avail_out);
}

ssize_t source_read(struct source *s, void *buf, size_t cap)
{
	if (s->decoder)
		return s->decoder->read(s->decoding, s, buf, cap);
	return s->gz ? read_inflated_piece(s, buf, cap) : source_read_piece(s, buf, cap);
}
