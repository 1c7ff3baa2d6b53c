/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/tool.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void print_message(const char *kind, const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "probe: %s", kind);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void tool_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message("", fmt, ap);
	va_end(ap);
}

void tool_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message("warning: ", fmt, ap);
	va_end(ap);
}

static void *check_allocated(void *p)
{
	if (!p) {
		tool_error("out of memory");
		exit(STATUS_USAGE);
	}
	return p;
}

void *tool_alloc(size_t bytes)
{
	return check_allocated(calloc(1, bytes ? bytes : 1));
}

void *tool_realloc(void *p, size_t bytes)
{
	return check_allocated(realloc(p, bytes ? bytes : 1));
}

char *tool_strdup(const char *s)
{
	return check_allocated(strdup(s));
}

char *tool_strndup(const char *s, size_t n)
{
	return check_allocated(strndup(s, n));
}

char *tool_format(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return check_allocated(s);
}

static void add_formatted(char **text, const char *separator, const char *fmt, va_list ap)
{
	char *old = *text, *more = NULL;

	if (vasprintf(&more, fmt, ap) < 0)
		more = NULL;
	*text = tool_format("%s%s%s", old ? old : "", old && *old ? separator : "",
		(char *)check_allocated(more));
	free(old);
	free(more);
}

void tool_add_text(char **text, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_formatted(text, "", fmt, ap);
	va_end(ap);
}

void tool_add_item(char **text, const char *separator, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_formatted(text, separator, fmt, ap);
	va_end(ap);
}

void *tool_grow_array(void *array, unsigned *cap, size_t element)
{
	unsigned want = *cap ? *cap * 2 : 16;

	if (want <= *cap)
		check_allocated(NULL);
	array = tool_realloc(array, (size_t)want * element);
	*cap = want;
	return array;
}

double read_monotonic_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

const char *tool_get_own_path(void)
{
	static char path[PATH_MAX];
	ssize_t n = path[0] ? 0 : readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n > 0)
		path[n] = 0;
	return path;
}

char *tool_get_absolute_path(const char *path)
{
	char *cwd, *all;

	if (path[0] == '/')
		return tool_strdup(path);
	cwd = getcwd(NULL, 0);
	if (!cwd) {
		tool_error("%s: the working directory was removed, so a relative path cannot be "
			   "resolved; use an absolute path",
			path);
		exit(STATUS_USAGE);
	}
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	all = strcmp(path, ".") == 0 ? tool_strdup(cwd)
				     : tool_format("%s/%s", strcmp(cwd, "/") ? cwd : "", path);
	free(cwd);
	return all;
}

void tool_remove_folder(const char *path)
{
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(path);
}

int tool_close_output(int status)
{
	/* A reader that has read enough (head, a closed pager) is not an error. */
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno == EPIPE)
		return status;
	tool_error("standard output: %s", strerror(errno));
	return STATUS_USAGE;
}
