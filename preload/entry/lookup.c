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
#include <string.h>

#include "base/thread.h"
#include "call/api.h"
#include "device/device.h"
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

/* We export it in the place of others: wrappers, and hooks written by hand. What is called probe_* is really ours. */
static bool exported(const char *name)
{
	return elfsym_own(name) && strncmp(name, "probe_", 6) != 0;
}

/* Would the loader, asked for RTLD_DEFAULT or RTLD_NEXT by the caller at pc, look behind us at all? */
static bool asks_behind_us(void *handle, const char *name, uintptr_t pc)
{
	struct elf_place at;

	if (elfsym_before_us(name))
		return false;
	/* RTLD_NEXT of an object behind us, or of a library with a scope of its own, does not lead to us. */
	return handle != RTLD_NEXT || (elfsym_place(pc, &at) && !at.behind_us);
}

/*
 * RTLD_DEFAULT and RTLD_NEXT. Our wrapper would be found by the loader: where nothing else has the name, it is asked
 * from our place. A stub would not: where the loader finds the function, the stub is the answer.
 */
static struct tail in_scope(struct tail to, void *handle, const char *name, uintptr_t pc)
{
	struct provider own, stub;
	bool wrapper = exported(name), there;

	if ((!wrapper && !elfsym_stub(name, &stub)) || !asks_behind_us(handle, name, pc))
		return to;
	there = real_next(name) || (handle == RTLD_DEFAULT && elfsym_scope(name, pc, &own));
	if (wrapper && !there)
		return (struct tail){.value = real_next(name)};
	if (!wrapper && there)
		return (struct tail){.value = stub.addr};
	return to;
}

/* What the loader has found by handle is replaced by a wrapper. */
static void *found(void *p, const char *name, uintptr_t pc)
{
	struct elf_place at;

	if (!elfsym_place((uintptr_t)p, &at) || !at.code)
		return p;
	/* By a handle of the program, whose scope is the global one. */
	if (at.us || at.stubs)
		return elfsym_before_us(name) || real_next(name) ? p : real_next(name);
	if (session_is_settled() || (!api_find(name) && !runtime_wants(name, at.path)))
		return p;
	return bind(name, p, at.path, pc);
}

static void any_stub(const char *name, void *arg)
{
	(void)name;
	*(int *)arg = 1;
}

/* Are there stubs from the start on (`probe run`)? Later ones come with the configuration having been read. */
static bool stubs_at_start(void)
{
	static _Atomic int known; /* 1: no, 2: yes */
	int any = 0;

	if (!known) {
		elfsym_each_stub(any_stub, &any);
		known = 1 + any;
	}
	return known == 2;
}

/* Names that are nobody's are none of our business, and not worth reading the configuration for. */
static bool concerns_us(const char *name)
{
	if (!name || thread_word.busy)
		return false;
	/* Also when nothing is recorded (any more): the answer must not be a wrapper of what is not there. */
	if (exported(name))
		return true;
	if (session_is_settled())
		return false;
	if (atomic_load_explicit(&session.phase, memory_order_acquire) == SESSION_NEW &&
		!stubs_at_start())
		return false;
	return session_configure() && runtime_any();
}

/* Who asks for dlopen() may get the loader's own. */
static void note_way_past_us(const char *name)
{
	if (name && (strcmp(name, "dlopen") == 0 || strcmp(name, "dlmopen") == 0))
		device_loading(true);
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
	real_loaded();
	note_way_past_us(name);
	if (!real || !concerns_us(name))
		return to;
	thread_word.busy++;
	if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) {
		to = in_scope(to, handle, name, pc);
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
	note_way_past_us(name);
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
	device_loading(mode & RTLD_DEEPBIND);
	real_loading();
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
	device_loading(true); /* in a namespace of its own it finds its own dlopen() */
	if (space == LM_ID_BASE) {
		real_loading();
		stub_before_load(file, mode, pc);
	}
	return (struct tail){.target = real_of("dlmopen", &cached)};
}

/* Whatever is unloaded now: real functions are looked for anew at the next call. */
struct tail hook_dlclose(void)
{
	static _Atomic(void *) cached;

	real_loaded();
	real_forget();
	stub_forget();
	for (unsigned i = 0; i < api_count; i++)
		if (atomic_load_explicit(&api_table[i].state, memory_order_relaxed) != API_NEW)
			atomic_store_explicit(&api_table[i].state, API_NEW, memory_order_release);
	return (struct tail){.target = real_of("dlclose", &cached)};
}
