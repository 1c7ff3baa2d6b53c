/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/dump_json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "text/text.h"

#define TEXT_CHUNK 8192

int dump_json_open(struct dump_json *j, int dirfd, const char *name)
{
	char tmp[80];

	j->dirfd = dirfd;
	j->len = 0;
	j->err = 0;
	j->mindspore = false;
	snprintf(j->name, sizeof(j->name), "%s", name);
	snprintf(tmp, sizeof(tmp), "%s.tmp", name);
	j->fd = io_create_file(dirfd, tmp);
	if (j->fd < 0)
		j->err = j->fd;
	return j->err;
}

static void write_out_json(struct dump_json *j)
{
	if (!j->err && j->len)
		j->err = io_write_all(j->fd, j->buf, j->len);
	j->len = 0;
}

static void write_json_bytes(struct dump_json *j, const char *s, size_t n)
{
	while (n) {
		size_t space = sizeof(j->buf) - j->len, k = n < space ? n : space;

		memcpy(j->buf + j->len, s, k);
		j->len += k;
		s += k;
		n -= k;
		if (j->len == sizeof(j->buf))
			write_out_json(j);
	}
}

void dump_write_json_raw(struct dump_json *j, const char *s)
{
	write_json_bytes(j, s, strlen(s));
}

void dump_write_json_text(struct dump_json *j, const char *s)
{
	char buf[TEXT_CHUNK];
	struct text t = text_init(buf, sizeof(buf));

	text_add_json(&t, s);
	if (t.cut) {
		/* Readers do not need more than some kilobytes of text. */
		t = text_init(buf, sizeof(buf));
		text_add_string(&t, "\"...\"");
	}
	write_json_bytes(j, t.buf, t.len);
}

void dump_write_json_u64(struct dump_json *j, uint64_t v)
{
	char buf[24];
	struct text t = text_init(buf, sizeof(buf));

	text_add_u64(&t, v);
	write_json_bytes(j, t.buf, t.len);
}

void dump_write_json_i64(struct dump_json *j, int64_t v)
{
	char buf[24];
	struct text t = text_init(buf, sizeof(buf));

	text_add_i64(&t, v);
	write_json_bytes(j, t.buf, t.len);
}

void dump_write_json_float(struct dump_json *j, double v, int digits)
{
	char buf[40];
	struct text t = text_init(buf, sizeof(buf));

	if (isnan(v)) {
		text_add_string(&t, "NaN");
	} else if (isinf(v)) {
		text_add_string(&t, v < 0 ? "-Infinity" : "Infinity");
	} else {
		text_add_double(&t, v, digits);
		if (!strpbrk(t.buf, ".e"))
			text_add_string(&t, ".0");
	}
	write_json_bytes(j, t.buf, t.len);
}

int dump_json_close(struct dump_json *j)
{
	char tmp[80];

	if (j->fd < 0)
		return j->err;
	write_out_json(j);
	if (close(j->fd) < 0 && !j->err)
		j->err = -errno;
	j->fd = -1;
	snprintf(tmp, sizeof(tmp), "%s.tmp", j->name);
	if (!j->err && renameat(j->dirfd, tmp, j->dirfd, j->name) < 0)
		j->err = -errno;
	if (j->err)
		unlinkat(j->dirfd, tmp, 0);
	return j->err;
}
