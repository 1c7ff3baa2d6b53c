/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions without a compiled wrapper: decides which symbols of a library are recorded, and
 * describes them. The code in entry/ (stub objects, libffi) asks when a library is about to be
 * loaded; it names no library itself.
 */
#ifndef PROBE_ENTRY_PROVIDER_H
#define PROBE_ENTRY_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"

struct runtime_provider {
	/*
	 * True if function `symbol` (the linker's name, without version), defined by file
	 * `object`, is to be recorded. Called for every function that a library exports, so it
	 * must be fast for names that it does not know.
	 */
	bool (*wants)(const char *symbol, const char *object);
	/*
	 * Makes a row for such a function, with state API_NEW, spec->link_name and spec->ffi; it
	 * lives as long as the process. Returns NULL if there is no memory, or there are too many
	 * (reported). Called with the stub lock.
	 */
	struct api *(*make)(const char *symbol, const char *object);
	/*
	 * For `probe check`: describes a function that the provider wants but cannot make a row
	 * for. Writes its name in column `api` to out, and sets its library and the reason.
	 * Returns false if the function is simply not listed. NULL: there are no such functions.
	 */
	bool (*refused)(
		const char *symbol, char *out, size_t cap, const char **lib, const char **why);
	/*
	 * False as long as the provider wants no function at all: then libraries are not even
	 * opened. NULL: always true.
	 */
	bool (*any)(void);
};

/* Functions that the user describes: configs/apis/custom.yaml. */
extern const struct runtime_provider custom_provider;

/* Providers of libraries, ending with NULL. Defined in wrappers/; programs without wrappers have none. */
extern const struct runtime_provider *const wrapper_providers[] __attribute__((weak));

/* ---- all providers together (provider.c) ---- */

bool runtime_any(void);
bool runtime_wants(const char *symbol, const char *object);
struct api *runtime_make(const char *symbol, const char *object);
bool runtime_refused(const char *symbol, char *out, size_t cap, const char **lib, const char **why);

#endif
