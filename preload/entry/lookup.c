/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own dealings with the loader: dlsym, dlvsym, dlopen, dlmopen, dlclose. All are looked at and then jumped
 * to, so the real function sees the program's own return address: it decides by that what RTLD_NEXT means, which
 * RUNPATH counts and which namespace is meant.
 *
 * dlsym(handle, name) that finds a function to be recorded gives a wrapper bound to that function. A program that asks
 * whether a function exists must get the answer that it would get without us, although we have one of that name: where
 * only we do, the loader is asked from a place behind which there is none, and says so in its own words.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/thread.h"
#include "call/api.h"
#include "entry/bind.h"
#include "entry/elfsym.h"
#include "entry/real.h"
#include "entry/runtime.h"
#include "entry/stub.h"
#include "entry/tail.h"
#include "session.h"

typedef void *dlsym_fn(void *handle, const char *name);
typedef void *dlvsym_fn(void *handle, const char *name, const char *version);

struct tail hook_dlsym(
	void *handle, const char *name, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc);
struct tail hook_dlvsym(void *handle, const char *name, const char *version, uintptr_t a3,
	uintptr_t from, uintptr_t pc);
struct tail hook_dlopen(
	const char *file, int mode, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc);
struct tail hook_dlmopen(
	Lmid_t space, const char *file, int mode, uintptr_t a3, uintptr_t from, uintptr_t pc);
struct tail hook_dlclose(void);

static void *real_of(const char *name, _Atomic(void *) *cached)
{
	if (!*cached)
		*cached = real_symbol(name);
	return *cached;
}

/* Is it a name that libprobe.so or a stub object defines? */
static bool is_ours(const char *name)
{
	struct provider p;

	return api_find(name) || elfsym_stub(name, &p);
}

/* True if the loader would find our function for the caller at pc, and nothing if that did not exist. */
static bool only_ours(void *handle, const char *name, uintptr_t pc)
{
	struct elf_place at;
	struct provider p;

	if (elfsym_before_us(name) || real_next(name))
		return false;
	if (handle == RTLD_DEFAULT)
		return !elfsym_scope(name, pc, &p);
	/* RTLD_NEXT of an object behind us, or of a library with a scope of its own, does not lead to us. */
	return handle != RTLD_NEXT || (elfsym_place(pc, &at) && !at.behind_us);
}

/* What the loader has found by handle is replaced by a wrapper. */
static void *found(void *p, const char *name, uintptr_t pc)
{
	struct elf_place at;

	if (!elfsym_place((uintptr_t)p, &at) || !at.code)
		return p;
	if (at.us || at.stubs)
		return only_ours(NULL, name, pc) ? real_next(name) : p;
	if (!api_find(name) && !runtime_wants(name, at.path))
		return p;
	return bind(name, p, at.path, pc);
}

/* Names that are nobody's are none of our business. Stubs exist only where the configuration was read. */
static bool concerns_us(const char *name)
{
	uint32_t phase = atomic_load_explicit(&session.phase, memory_order_acquire);

	if (!name || thread_word.busy || session_is_settled())
		return false;
	return api_find(name) || (phase != SESSION_NEW && runtime_any());
}

struct tail hook_dlsym(
	void *handle, const char *name, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc)
{
	static _Atomic(void *) cached;
	dlsym_fn *real = (dlsym_fn *)real_of("dlsym", &cached);
	struct tail to = {.target = (void *)real};
	int err = errno;

	(void)a2;
	(void)a3;
	(void)from;
	if (!real || !concerns_us(name))
		return to;
	thread_word.busy++;
	if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) {
		if (is_ours(name) && only_ours(handle, name, pc))
			to = (struct tail){.value = real_next(name)};
		errno = err;
	} else {
		to = (struct tail){.value = real(handle, name)};
		err = errno;
		if (to.value)
			to.value = found(to.value, name, pc);
		errno = err;
	}
	thread_word.busy--;
	return to;
}

struct tail hook_dlvsym(void *handle, const char *name, const char *version, uintptr_t a3,
	uintptr_t from, uintptr_t pc)
{
	static _Atomic(void *) cached;
	dlvsym_fn *real = (dlvsym_fn *)real_of("dlvsym", &cached);
	struct tail to = {.target = (void *)real};
	int err;

	(void)a3;
	(void)from;
	if (!real || !concerns_us(name) || handle == RTLD_DEFAULT || handle == RTLD_NEXT)
		return to;
	thread_word.busy++;
	to = (struct tail){.value = real(handle, name, version)};
	err = errno;
	if (to.value)
		to.value = found(to.value, name, pc);
	errno = err;
	thread_word.busy--;
	return to;
}

struct tail hook_dlopen(
	const char *file, int mode, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc)
{
	static _Atomic(void *) cached;

	(void)a2;
	(void)a3;
	(void)from;
	stub_before_load(file, mode, pc);
	return (struct tail){.target = real_of("dlopen", &cached)};
}

/* Another namespace has libraries of its own, and nothing of ours is in it. */
struct tail hook_dlmopen(
	Lmid_t space, const char *file, int mode, uintptr_t a3, uintptr_t from, uintptr_t pc)
{
	static _Atomic(void *) cached;

	(void)a3;
	(void)from;
	if (space == LM_ID_BASE)
		stub_before_load(file, mode, pc);
	return (struct tail){.target = real_of("dlmopen", &cached)};
}

/* Whatever is unloaded now: real functions are looked for anew at the next call. */
struct tail hook_dlclose(void)
{
	static _Atomic(void *) cached;

	real_forget();
	stub_forget();
	for (unsigned i = 0; i < api_count; i++)
		if (atomic_load_explicit(&api_table[i].state, memory_order_relaxed) != API_NEW)
			atomic_store_explicit(&api_table[i].state, API_NEW, memory_order_release);
	return (struct tail){.target = real_of("dlclose", &cached)};
}
