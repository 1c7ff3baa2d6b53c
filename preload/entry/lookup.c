/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym and dlvsym. Libprobe exports functions under other libraries' names; a program that asks whether such a
 * function exists must get the answer that it would get without us. Everything else is passed on untouched: the real
 * function is jumped to, so it sees the program's own return address.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "call/api.h"
#include "entry/elfsym.h"
#include "entry/real.h"
#include "entry/tail.h"

struct tail hook_dlsym(void *handle, const char *name);
struct tail hook_dlvsym(void *handle, const char *name, const char *version);

/* True if only we define the name, so that the honest answer is "not found". */
static int only_ours(void *handle, const char *name)
{
	struct provider p;

	return handle == RTLD_DEFAULT && name && api_find(name) && elfsym_all(name, &p, 1) == 0;
}

struct tail hook_dlsym(void *handle, const char *name)
{
	static _Atomic(void *) cached;
	void *(*real)(void *, const char *) = (void *(*)(void *, const char *))cached;

	if (!real) {
		real = (void *(*)(void *, const char *))real_symbol("dlsym");
		cached = (void *)real;
	}
	/* Asked from here, behind us there is none: the loader answers NULL and sets dlerror() in its own words. */
	if (real && only_ours(handle, name))
		return (struct tail){.value = real(RTLD_NEXT, name)};
	return (struct tail){.target = (void *)real};
}

struct tail hook_dlvsym(void *handle, const char *name, const char *version)
{
	static _Atomic(void *) cached;

	(void)handle;
	(void)name;
	(void)version;
	if (!cached)
		cached = real_symbol("dlvsym");
	return (struct tail){.target = cached};
}
