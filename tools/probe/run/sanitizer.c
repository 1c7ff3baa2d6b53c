/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/run/sanitizer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "tools/probe/run/preload.h"
#include "tools/lib/tool.h"

static const char *find_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool sanitizer_is_runtime(const char *path)
{
	static const char *const prefix[] = {"libasan.so", "libclang_rt.asan"};

	for (unsigned i = 0; i < sizeof(prefix) / sizeof(*prefix); i++)
		if (strncmp(find_file_name(path), prefix[i], strlen(prefix[i])) == 0)
			return true;
	return false;
}

char *sanitizer_find_runtime(const char *command)
{
	char *program = preload_find_program(command), *runtime = NULL;
	struct elf_file file;
	const char *name;

	if (program && elf_file_open(&file, program) == 0) {
		for (size_t at = 0; !runtime && (name = elf_file_needed(&file, &at));)
			if (sanitizer_is_runtime(name))
				runtime = tool_strdup(name);
		elf_file_close(&file);
	}
	free(program);
	return runtime;
}

char *find_sanitizer(const char *const *argv)
{
	for (unsigned i = 1; argv[i]; i++) {
		char *runtime, *text;

		/* This command has its own `probe run`. */
		if (strcmp(find_file_name(argv[i]), "probe") == 0)
			return NULL;
		runtime = argv[i][0] == '-' ? NULL : sanitizer_find_runtime(argv[i]);
		if (!runtime)
			continue;
		text = tool_format("%s is built with AddressSanitizer, whose runtime (%s) ends it "
				   "if another library was loaded first; put `probe run` "
				   "directly before it: %s ... probe run %s",
			argv[i], runtime, argv[0], argv[i]);
		free(runtime);
		return text;
	}
	return NULL;
}
