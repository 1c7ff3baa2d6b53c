/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/cxx/cxx_version.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"

#define PATH_BYTES 4096

/* __version__ = '2.13.0+cpu' */
static bool read_version_file(const char *path, char *out, size_t cap)
{
	static const char key[] = "__version__ = ";
	char text[2048];
	const char *v, *quote;
	ssize_t n = io_read_file(AT_FDCWD, path, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = 0;
	v = strstr(text, key);
	if (!v || !v[sizeof(key) - 1])
		return false;
	v += sizeof(key);
	quote = strchr(v, v[-1]);
	if (!quote)
		return false;
	snprintf(out, cap, "%.*s", (int)(quote - v), v);
	return true;
}

bool cxx_read_package_version(const char *library, char *out, size_t cap)
{
	static const char above[][4] = {"/..", ""};
	const char *slash = strrchr(library, '/');
	char path[PATH_BYTES];

	for (size_t i = 0; slash && i < sizeof(above) / sizeof(*above); i++)
		if (snprintf(path, sizeof(path), "%.*s%s/version.py", (int)(slash - library),
			    library, above[i]) < (int)sizeof(path) &&
			read_version_file(path, out, cap))
			return true;
	return false;
}
