/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds configuration files: in the source tree of a library that was not installed, in the
 * installation, or as the text that is compiled in.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/rooms/files.h"
#include "config/rooms/process.h"
#include "text/text.h"
#include "config/builtin.h"
#include "config/key.h"
#include "config/preset.h"

/*
 * Returns lib_dir/below/name, malloc'd and with all symbolic links resolved, if it is readable,
 * else NULL.
 */
static char *find_readable_candidate(
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

/*
 * Folders relative to the library's. The last one is for a library in an architecture's folder,
 * lib/x86_64-linux-gnu.
 */
static const char below[][28] = {"/../configs/", "/../share/libprobe/", "/../../share/libprobe/"};
#define PLACES (sizeof(below) / sizeof(*below))

static char *find_config_beside_library(const char *lib_path, const char *name)
{
	const char *slash = strrchr(lib_path, '/');
	char *found = NULL;

	for (unsigned i = 0; i < PLACES && !found; i++)
		found = slash ? find_readable_candidate(
					lib_path, (size_t)(slash - lib_path), below[i], name)
			      : find_readable_candidate(".", 1, below[i], name);
	return found;
}

char *config_find(const char *name, const char *lib_path)
{
	int saved = errno;
	char *found = find_config_beside_library(lib_path, name);

	if (!found) { /* the library's path may be a symbolic link: try the real one */
		char *real = realpath(lib_path, NULL);

		if (real && strcmp(real, lib_path) != 0)
			found = find_config_beside_library(real, name);
		free(real);
	}
	errno = saved;
	return found;
}

static void emit_missing_list(
	const struct preset *p, const char *lib_path, config_report_fn *missing, void *arg)
{
	const char *slash = strrchr(lib_path, '/');
	char line[1024];
	struct text t = text_init(line, sizeof(line));

	text_add_format(&t, "preset %s: its list of functions, %s, was not found; looked for in",
		p->name, p->list);
	for (unsigned i = 0; i < PLACES; i++) {
		text_add_string(&t, i ? ", " : " ");
		text_add_bytes(&t, slash ? lib_path : ".", slash ? (size_t)(slash - lib_path) : 1);
		text_add_string(&t, below[i]);
	}
	text_add_string(&t,
		"; the default list is used, without operators: install configs/presets there, or "
		"name a list by key wrap_ops");
	missing(arg, line);
}

char *config_find_list(
	const struct config *cfg, const char *lib_path, config_report_fn *missing, void *arg)
{
	const struct preset *p = &config_presets[get_process_keys(cfg)->preset];
	const char *ops = get_files_keys(cfg)->wrap_ops;
	char *found;

	if (ops && *ops)
		return strdup(ops);
	found = config_find(*p->list ? p->list : "support_wrap_ops.yaml", lib_path);
	if (!found && *p->list)
		emit_missing_list(p, lib_path, missing, arg);
	return found;
}

const char *config_get_builtin(const char *name)
{
	for (const struct builtin_text *b = builtin_texts; b->name; b++)
		if (strcmp(b->name, name) == 0)
			return b->text;
	return NULL;
}
