/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "resolve/bound_call.h"
#include "elf/loaded/elfsym.h"

#define PROVIDERS_MAX 8
/* a power of two; functions for additional call sites are looked up each time */
#define SITES 4096u

typedef void *dlsym_fn(void *handle, const char *name);

/* Written by bound_enter in stub_entry.S. */
__thread const struct bound *bound_now;

/*
 * Returns the dlsym() after libprobe's own, which is a hook: libprobe's own code always means the
 * next one.
 */
static dlsym_fn *find_next_dlsym(void)
{
	static _Atomic(dlsym_fn *) cached;
	dlsym_fn *f = cached;

	if (!f) {
		f = (dlsym_fn *)real_find_symbol("dlsym");
		cached = f;
	}
	return f;
}

static void *call_ifunc_resolver(const struct provider *p)
{
	return p->ifunc ? ((void *(*)(void))p->addr)() : p->addr;
}

void *real_find_symbol(const char *name)
{
	struct provider p;

	return elfsym_find_after_us(name, &p, 1) ? call_ifunc_resolver(&p) : NULL;
}

void *real_find_next(const char *name)
{
	dlsym_fn *sym = find_next_dlsym();
	void *p = sym ? sym(RTLD_NEXT, name) : NULL;
	struct elf_place at;

	/* A stub was found for a versioned name: the function after it cannot be looked up. */
	return p && elfsym_find_place((uintptr_t)p, &at) && at.stubs ? NULL : p;
}

/*
 * Returns the one of several functions to which the caller would be bound without libprobe; the
 * first if that is not known.
 */
static void *choose_for_caller(const char *name, uintptr_t pc, const struct provider *p, int n)
{
	struct provider own;

	for (int i = 0; i < n; i++)
		if (pc >= p[i].lo && pc < p[i].hi)
			return call_ifunc_resolver(&p[i]);
	if (elfsym_find_in_scope(name, pc, &own))
		return call_ifunc_resolver(&own);
	log_loss(LOSS_REAL,
		"%s is defined by %d libraries (%s, %s) and its caller depends on none of them; "
		"the call goes to the first one; load one copy",
		name, n, p[0].path, p[1].path);
	return call_ifunc_resolver(&p[0]);
}

static void *find_name(const char *name, uintptr_t pc, bool *several)
{
	struct provider p[PROVIDERS_MAX];
	int n = elfsym_find_after_us(name, p, PROVIDERS_MAX);

	/* A stub object may come before libprobe.so in the search, and so may libraries. */
	if (!n && elfsym_find_stub(name, &p[0]))
		n = elfsym_find_all(name, p, PROVIDERS_MAX);
	*several = false;
	if (n <= 1)
		return n ? call_ifunc_resolver(&p[0]) : NULL;

	/* The global scope precedes any local one, for every caller. */
	void *global = real_find_next(name);

	if (global)
		return global;
	*several = true;
	return choose_for_caller(name, pc, p, n < PROVIDERS_MAX ? n : PROVIDERS_MAX);
}

void *real_find(const struct api_spec *spec, uintptr_t pc, bool *several)
{
	void *f = find_name(get_real_name(spec), pc, several);
	char alias[160];

	if (f || !spec->lib->alias_prefix || !spec->lib->alias_prefix[0] ||
		strncmp(spec->symbol, spec->lib->alias_prefix, strlen(spec->lib->alias_prefix)) ==
			0)
		return f;
	snprintf(alias, sizeof(alias), "%s%s", spec->lib->alias_prefix, spec->symbol);
	return find_name(alias, pc, several);
}

/* ---- libraries being loaded ---- */

/* how often loading has begun; number of threads that may still be loading */
static _Atomic uint32_t loads, under_way;
static __thread bool loading THREAD_TLS;

void real_start_loading(void)
{
	if (!loading)
		atomic_fetch_add(&under_way, 1);
	loading = true;
	atomic_fetch_add(&loads, 1);
	/*
	 * Must precede reading the rows: a thread that sets one to API_ON reads this counter
	 * afterwards.
	 */
	atomic_thread_fence(memory_order_seq_cst);
}

void real_loaded(void)
{
	if (!loading)
		return;
	loading = false;
	atomic_fetch_sub(&under_way, 1);
}

uint32_t real_get_loads(void)
{
	return atomic_load(&loads);
}

bool real_settled(uint32_t since)
{
	return atomic_load(&loads) == since && atomic_load(&under_way) == (loading ? 1 : 0);
}

/* ---- per call site ---- */

/* Filled in once (pc, then api, then real); refreshed if `age` is older than the last unloading. */
struct site {
	_Atomic uintptr_t pc;
	_Atomic(const struct api *) api;
	_Atomic(void *) real;
	_Atomic uint32_t age;
};

static struct site sites[SITES];
static _Atomic uint32_t age = 1;

void real_reset_caches(void)
{
	atomic_fetch_add(&age, 1);
}

uint32_t real_get_generation(void)
{
	return atomic_load_explicit(&age, memory_order_relaxed);
}

void *real_find_for_caller(const struct api *a, uintptr_t pc)
{
	uint64_t h = hash_mix(pc ^ hash_mix((uintptr_t)a));
	uint32_t now = atomic_load_explicit(&age, memory_order_relaxed);
	struct site *mine = NULL;
	bool several;

	for (unsigned i = 0; i < 8; i++) {
		struct site *s = &sites[(h + i) % SITES];
		uintptr_t at = atomic_load_explicit(&s->pc, memory_order_acquire);

		if (at == pc && atomic_load_explicit(&s->api, memory_order_acquire) == a) {
			if (atomic_load_explicit(&s->age, memory_order_acquire) == now)
				return atomic_load_explicit(&s->real, memory_order_relaxed);
			mine = s;
			break;
		}
		if (!at && atomic_compare_exchange_strong(&s->pc, &at, pc)) {
			atomic_store_explicit(&s->api, a, memory_order_release);
			mine = s;
			break;
		}
	}

	void *real = real_find(a->spec, pc, &several);

	if (mine && real) {
		atomic_store_explicit(&mine->real, real, memory_order_relaxed);
		atomic_store_explicit(&mine->age, now, memory_order_release);
	}
	return real;
}
