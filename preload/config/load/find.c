/* SPDX-License-Identifier: Apache-2.0 */
/* Where configuration files are: beside the build tree, beside the installation, compiled in. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/builtin.h"
#include "config/config.h"
#include "config/preset.h"

/* lib_dir/below/name if it can be read, malloc'd and with all symbolic links resolved, else NULL. */
static char *readable_candidate(
	const char *lib_dir, size_t dlen, const char *below, const char *name)
{
	size_t blen = strlen(below), nlen = strlen(name);
	char *path = malloc(dlen + blen + nlen + 1);
	char *real = NULL;
	struct stat st;

	if (!path)
		return NULL;
	memcpy(path, lib_dir, dlen);
	memcpy(path + dlen, below, blen);
	memcpy(path + dlen + blen, name, nlen + 1);
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0)
		real = realpath(path, NULL);
	free(path);
	return real;
}

static char *config_beside_library(const char *lib_path, const char *name)
{
	/* The last one: of a library in a folder of its architecture, lib/x86_64-linux-gnu. */
	static const char *const below[] = {
		"/../configs/", "/../share/libprobe/", "/../../share/libprobe/"};
	const char *slash = strrchr(lib_path, '/');
	char *found = NULL;

	for (unsigned i = 0; i < sizeof(below) / sizeof(*below) && !found; i++)
		found = slash ? readable_candidate(
					lib_path, (size_t)(slash - lib_path), below[i], name)
			      : readable_candidate(".", 1, below[i], name);
	return found;
}

char *config_find(const char *name, const char *lib_path)
{
	int saved = errno;
	char *found = config_beside_library(lib_path, name);

	if (!found) { /* the path may be a symbolic link into the real place */
		char *real = realpath(lib_path, NULL);

		if (real && strcmp(real, lib_path) != 0)
			found = config_beside_library(real, name);
		free(real);
	}
	errno = saved;
	return found;
}

char *config_find_list(const struct config *cfg, const char *lib_path)
{
	const char *ops = cfg->wrap_ops, *list = config_presets[cfg->preset].list;

	if (ops && *ops)
		return strdup(ops);
	return config_find(*list ? list : "support_wrap_ops.yaml", lib_path);
}

const char *config_builtin(const char *name)
{
	for (const struct builtin_text *b = builtin_texts; b->name; b++)
		if (strcmp(b->name, name) == 0)
			return b->text;
	return NULL;
}
