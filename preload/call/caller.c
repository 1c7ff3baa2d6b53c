/* SPDX-License-Identifier: Apache-2.0 */
#include "call/caller.h"

#include <string.h>

#include "call/call.h"
#include "elf/loaded/object_of.h"

#define FILE_BYTES 64

/* libx.so.1.0 is the same library as libx.so.1, which programs are linked with, and libx.so. */
static bool is_same_library(const char *file, const char *soname)
{
	const char *so = strstr(soname, ".so");
	size_t n = so ? (size_t)(so - soname) + 3 : strlen(soname);

	return strncmp(file, soname, n) == 0 && (file[n] == '.' || !file[n]);
}

bool caller_is_recorded(const struct call *c)
{
	const struct adapter *lib, *last = c->api->spec->lib;
	char file[FILE_BYTES];

	if (!*sibling_copy_file_name((const void *)c->pc, file, sizeof(file)))
		return false;
	api_fill();
	for (unsigned i = 0; i < api_count; i++) {
		lib = api_get(i)->spec->lib;
		if (lib == last || lib == c->api->spec->lib)
			continue;
		last = lib;
		for (const char *const *soname = lib->sonames; *soname; soname++)
			if (is_same_library(file, *soname))
				return true;
	}
	return false;
}
