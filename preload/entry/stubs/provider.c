/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/stubs/provider.h"

#include <stddef.h>
#include <string.h>

/* The user's own descriptions come first. */
static const struct runtime_provider *runtime_provider_at(unsigned i)
{
	return i == 0 ? &custom_provider : wrapper_providers ? wrapper_providers[i - 1] : NULL;
}

/* True for names that must keep their meaning: those of the loader and of libprobe. */
static bool is_reserved_name(const char *symbol)
{
	return strncmp(symbol, "probe_", 6) == 0 || strncmp(symbol, "_dl_", 4) == 0 ||
	       strcmp(symbol, "_init") == 0 || strcmp(symbol, "_fini") == 0;
}

bool runtime_any(void)
{
	const struct runtime_provider *p;

	for (unsigned i = 0; (p = runtime_provider_at(i)); i++)
		if (!p->any || p->any())
			return true;
	return false;
}

static const struct runtime_provider *provider_that_wants(const char *symbol, const char *object)
{
	const struct runtime_provider *p;

	for (unsigned i = 0; (p = runtime_provider_at(i)); i++)
		if (p->wants(symbol, object))
			return p;
	return NULL;
}

bool runtime_wants(const char *symbol, const char *object)
{
	/* A function with a compiled wrapper needs no stub. */
	return provider_that_wants(symbol, object) && !is_reserved_name(symbol) &&
	       !api_find(symbol);
}

struct api *runtime_make(const char *symbol, const char *object)
{
	const struct runtime_provider *p = provider_that_wants(symbol, object);

	return p ? p->make(symbol, object) : NULL;
}

bool runtime_refused(const char *symbol, char *out, size_t cap, const char **lib, const char **why)
{
	const struct runtime_provider *p;

	for (unsigned i = 0; (p = runtime_provider_at(i)); i++)
		if (p->refused && p->refused(symbol, out, cap, lib, why))
			return true;
	return false;
}
