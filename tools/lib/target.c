/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/target.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "text/text.h"
#include "tools/lib/tool.h"

#define BUFFER (1u << 18)
#define GZ_MODE "wb4" /* the text is repetitive: higher levels are slower and hardly smaller */

/* Creates the folders of the file's path. */
static void add_parent_folders(const char *path)
{
	char *copy = tool_strdup(path);

	for (char *p = strchr(copy + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		mkdir(copy, 0777);
		*p = '/';
	}
	free(copy);
}

int target_open(struct target *t, const char *path)
{
	size_t n = strlen(path);

	*t = (struct target){.path = tool_strdup(path)};
	t->buf = tool_alloc(BUFFER);
	if (strcmp(path, "-") == 0) {
		t->file = stdout;
		return 0;
	}
	add_parent_folders(path);
	t->part = tool_format("%s.part", path);
	errno = 0;
	if (n > 3 && strcmp(path + n - 3, ".gz") == 0)
		t->gz = gzopen(t->part, GZ_MODE);
	else
		t->file = fopen(t->part, "wb");
	if (t->gz || t->file)
		return 0;
	tool_error("%s: cannot be written: %s; choose another path", t->part,
		strerror(errno ? errno : ENOMEM));
	free(t->path);
	free(t->part);
	free(t->buf);
	return STATUS_USAGE;
}

int target_open_file(struct target *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash && slash > path ? tool_strndup(path, (size_t)(slash - path)) : NULL;
	struct stat st;
	int err = 0;

	if (folder && stat(folder, &st) < 0)
		err = errno;
	else if (folder && !S_ISDIR(st.st_mode))
		err = ENOTDIR;
	if (err)
		tool_error("%s: cannot be written: folder %s: %s", path, folder, strerror(err));
	free(folder);
	return err ? STATUS_USAGE : target_open(t, path);
}

static void write_target_buffer(struct target *t)
{
	if (t->n && !t->err) {
		errno = 0;
		if (t->gz ? gzwrite(t->gz, t->buf, (unsigned)t->n) != (int)t->n
			  : fwrite(t->buf, 1, t->n, t->file) != t->n)
			t->err = errno ? errno : EIO;
	}
	t->n = 0;
}

int target_close(struct target *t, bool keep)
{
	int status = 0;

	write_target_buffer(t);
	errno = 0;
	if (t->gz && gzclose(t->gz) != Z_OK && !t->err)
		t->err = errno ? errno : EIO;
	if (t->file && (t->file == stdout ? fflush(stdout) : fclose(t->file)) && !t->err)
		t->err = errno ? errno : EIO;
	if (keep && !t->err && t->part && rename(t->part, t->path) < 0)
		t->err = errno;
	if (keep && t->err) {
		tool_error("%s: cannot be written: %s; the partial file was removed", t->path,
			strerror(t->err));
		status = STATUS_USAGE;
	}
	if (t->part && (!keep || t->err))
		unlink(t->part);
	free(t->path);
	free(t->part);
	free(t->buf);
	return status;
}

void target_write(struct target *t, const void *bytes, size_t n)
{
	const char *p = bytes;

	t->bytes += n;
	while (n) {
		size_t k = n < BUFFER - t->n ? n : BUFFER - t->n;

		memcpy(t->buf + t->n, p, k);
		t->n += k;
		p += k;
		n -= k;
		if (t->n == BUFFER)
			write_target_buffer(t);
	}
}

void target_write_text(struct target *t, const char *s)
{
	target_write(t, s, strlen(s));
}

void target_print(struct target *t, const char *fmt, ...)
{
	char buf[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (n > 0)
		target_write(t, buf, (size_t)n < sizeof(buf) ? (size_t)n : sizeof(buf) - 1);
}

void target_write_json(struct target *t, const char *s)
{
	size_t cap = 6 * strlen(s) + 3;
	char small[1024], *buf = cap <= sizeof(small) ? small : tool_alloc(cap);
	struct text x = text_init(buf, cap);

	text_add_json(&x, s);
	/* Escaped, because the string may be part of a page, which </script> would end. */
	for (char *p = buf, *q; *p; p = q + (*q != 0)) {
		q = p + strcspn(p, "<");
		target_write(t, p, (size_t)(q - p));
		if (*q)
			target_write_text(t, "\\u003c");
	}
	if (buf != small)
		free(buf);
}

void target_write_us(struct target *t, int64_t ns)
{
	uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	target_print(t, "%s%llu.%03u", ns < 0 ? "-" : "", (unsigned long long)(v / 1000),
		(unsigned)(v % 1000));
}

void target_write_double(struct target *t, double v)
{
	if (isfinite(v))
		target_print(t, "%.9g", v);
	else
		target_write_text(t, "null");
}
