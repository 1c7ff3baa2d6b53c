/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/runtime.h"

#include <stddef.h>
#include <string.h>

/* The user's own descriptions come first. */
static const struct runtime_provider *provider(unsigned i)
{
	return i == 0 ? &custom_provider : wrapper_providers ? wrapper_providers[i - 1] : NULL;
}

/* Names that must mean what they mean: the loader's and our own. */
static bool reserved(const char *symbol)
{
	return strncmp(symbol, "probe_", 6) == 0 || strncmp(symbol, "_dl_", 4) == 0 ||
	       strcmp(symbol, "_init") == 0 || strcmp(symbol, "_fini") == 0;
}

bool runtime_any(void)
{
	const struct runtime_provider *p;

	for (unsigned i = 0; (p = provider(i)); i++)
		if (!p->any || p->any())
			return true;
	return false;
}

static const struct runtime_provider *who(const char *symbol, const char *object)
{
	const struct runtime_provider *p;

	for (unsigned i = 0; (p = provider(i)); i++)
		if (p->wants(symbol, object))
			return p;
	return NULL;
}

bool runtime_wants(const char *symbol, const char *object)
{
	/* A compiled wrapper is better, and already in place. */
	return who(symbol, object) && !reserved(symbol) && !api_find(symbol);
}

struct api *runtime_make(const char *symbol, const char *object)
{
	const struct runtime_provider *p = who(symbol, object);

	return p ? p->make(symbol, object) : NULL;
}
