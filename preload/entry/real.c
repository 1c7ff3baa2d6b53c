/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "entry/elfsym.h"

#define PROVIDERS_MAX 8

typedef void *dlsym_fn(void *handle, const char *name);

/* dlsym itself is a hook of ours: inside libprobe it is always the next one that is meant. */
static dlsym_fn *next_dlsym(void)
{
	static _Atomic(dlsym_fn *) cached;
	dlsym_fn *f = cached;

	if (!f) {
		f = (dlsym_fn *)real_symbol("dlsym");
		cached = f;
	}
	return f;
}

static void *resolver(const struct provider *p)
{
	return p->ifunc ? ((void *(*)(void))p->addr)() : p->addr;
}

void *real_symbol(const char *name)
{
	struct provider p;

	return elfsym_after_us(name, &p, 1) ? resolver(&p) : NULL;
}

static void *find_name(const char *name, bool *several)
{
	struct provider p[PROVIDERS_MAX];
	int n = elfsym_after_us(name, p, PROVIDERS_MAX);

	*several = false;
	if (n <= 1)
		return n ? resolver(&p[0]) : NULL;

	/* The global scope comes before any local one, for every caller. */
	dlsym_fn *sym = next_dlsym();
	void *global = sym ? sym(RTLD_NEXT, name) : NULL;

	if (global)
		return global;
	*several = true;
	log_loss(LOSS_REAL,
		"%s is defined by %d libraries (%s, %s); calls go to the first one only; load one "
		"copy",
		name, n, p[0].path, p[1].path);
	return resolver(&p[0]);
}

void *real_find(const struct api_spec *spec, uintptr_t pc, bool *several)
{
	void *f = find_name(spec->link_name ? spec->link_name : spec->symbol, several);
	char alias[160];

	(void)pc;
	if (f || !spec->lib->alias_prefix || !spec->lib->alias_prefix[0] ||
		strncmp(spec->symbol, spec->lib->alias_prefix, strlen(spec->lib->alias_prefix)) ==
			0)
		return f;
	snprintf(alias, sizeof(alias), "%s%s", spec->lib->alias_prefix, spec->symbol);
	return find_name(alias, several);
}
