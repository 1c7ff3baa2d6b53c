/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions without a compiled wrapper: decides which symbols of a library are recorded, and describes them. The entry (stub
 * objects, libffi) asks when a library is about to be loaded; it names no library itself.
 */
#ifndef PROBE_ENTRY_PROVIDER_H
#define PROBE_ENTRY_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"

struct runtime_provider {
	/*
	 * True if the function `symbol` (as the linker knows it, without version) that the file `object` defines is to be
	 * recorded. Called for every function that a library exports, so it is quick about names that it does not know.
	 */
	bool (*wants)(const char *symbol, const char *object);
	/*
	 * A new row for such a function, state API_NEW, spec->link_name and spec->ffi set; it lives as long as the
	 * process. NULL: out of memory, or too many (reported). Called under the stub lock.
	 */
	struct api *(*make)(const char *symbol, const char *object);
	/*
	 * For a function that it wants but cannot make a row for: its name in the `api` column into out, its library, and the
	 * reason; for `probe check`. False: it is simply not listed. NULL: there are none.
	 */
	bool (*refused)(
		const char *symbol, char *out, size_t cap, const char **lib, const char **why);
	/* False as long as it wants nothing at all: then libraries are not even opened. NULL: always true. */
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
