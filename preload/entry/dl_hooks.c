/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of the program's calls to the loader: dlsym, dlvsym, dlopen, dlmopen, dlclose. Each hook
 * examines the call and then jumps to the real function, which therefore sees the program's own
 * return address: this address decides the meaning of RTLD_NEXT, the RUNPATH that applies, and
 * the namespace.
 *
 * If dlsym(handle, name) finds a function to be recorded, it returns a wrapper bound to this
 * function. A program that tests whether a function exists must get the same answer as without
 * libprobe, although libprobe exports the name. If only libprobe has the name, the loader is
 * called as if from an object after which no object has it, and reports the error itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/thread.h"
#include "api/api.h"
#include "api/enabled.h"
#include "device/device.h"
#include "elf/loaded/elfsym.h"
#include "entry/stubs/bound_stub.h"
#include "entry/early.h"
#include "entry/stubs/hook_jump.h"
#include "entry/stubs/provider.h"
#include "entry/stubs/stub.h"
#include "resolve/real.h"
#include "session/state.h"

typedef void *dlsym_fn(void *handle, const char *name);
typedef void *dlvsym_fn(void *handle, const char *name, const char *version);

static void *find_real_of(const char *name, _Atomic(void *) *cached)
{
	if (!*cached)
		*cached = real_find_symbol(name);
	return *cached;
}

/*
 * True for names that libprobe.so exports in place of other libraries: wrappers, and hooks
 * written by hand. probe_* functions are libprobe's own.
 */
static bool is_exported_by_us(const char *name)
{
	return elfsym_is_own(name) && strncmp(name, "probe_", 6) != 0;
}

/*
 * True if the loader would search objects after libprobe.so at all, for RTLD_DEFAULT or RTLD_NEXT
 * from the caller at pc.
 */
static bool is_search_after_libprobe(void *handle, const char *name, uintptr_t pc)
{
	struct elf_place at;

	if (elfsym_is_before_us(name))
		return false;
	/*
	 * From an object after libprobe.so, or a library with a separate scope, RTLD_NEXT does
	 * not find libprobe.so.
	 */
	return handle != RTLD_NEXT || (elfsym_find_place(pc, &at) && !at.after_libprobe);
}

/*
 * Handles RTLD_DEFAULT and RTLD_NEXT. The loader would find libprobe's wrapper: if no other
 * object has the name, the loader is called as if from libprobe.so. It would not find a stub: if
 * the loader finds the function, the stub is returned.
 */
static struct tail find_in_scope(struct tail to, void *handle, const char *name, uintptr_t pc)
{
	struct provider own, stub;
	bool wrapper = is_exported_by_us(name), there;

	if ((!wrapper && !elfsym_find_stub(name, &stub)) ||
		!is_search_after_libprobe(handle, name, pc))
		return to;
	there = real_find_next(name) ||
		(handle == RTLD_DEFAULT && elfsym_find_in_scope(name, pc, &own));
	if (wrapper && !there)
		return (struct tail){.value = real_find_next(name)};
	if (!wrapper && there)
		return (struct tail){.value = stub.addr};
	return to;
}

/* Returns the wrapper for function p that the loader found for a handle, or p itself. */
static void *get_wrapper_of_found(void *p, const char *name, uintptr_t pc)
{
	struct elf_place at;

	if (!elfsym_find_place((uintptr_t)p, &at) || !at.code)
		return p;
	/*
	 * p is libprobe's own: found through a handle of the program, whose scope is the global
	 * one, or through libprobe's handle.
	 */
	if (at.us && !is_exported_by_us(name))
		return p;
	if (at.us || at.stubs)
		return elfsym_is_before_us(name) || real_find_next(name) ? p : real_find_next(name);
	if (!recording_enabled() || (!api_find(name) && !runtime_wants(name, at.path)))
		return p;
	return bind_wrapper(name, p, at.path, pc);
}

static void record_any_stub(const char *name, void *arg)
{
	(void)name;
	*(int *)arg = 1;
}

/*
 * True if there were stubs at process start (`probe run`). Later stubs are only made once the
 * configuration has been read.
 */
static bool stubs_at_start(void)
{
	static _Atomic int known; /* 1: no, 2: yes */
	int any = 0;

	if (!known) {
		elfsym_handle_stubs(record_any_stub, &any);
		known = 1 + any;
	}
	return known == 2;
}

/* False for names that no provider wants; the configuration is not read for them. */
static bool is_name_of_interest(const char *name)
{
	if (!name || thread_state.busy)
		return false;
	/*
	 * True even if nothing is recorded (any more): the result must not be the wrapper of a
	 * missing function.
	 */
	if (is_exported_by_us(name))
		return true;
	if (!recording_enabled())
		return false;
	if (atomic_load_explicit(&session.phase, memory_order_acquire) == SESSION_NEW &&
		!stubs_at_start())
		return false;
	return session_configure() && runtime_any();
}

/* Notes a caller that looks up dlopen(): it may get the loader's own. */
static void record_way_past_us(const char *name)
{
	if (name && (strcmp(name, "dlopen") == 0 || strcmp(name, "dlmopen") == 0))
		device_loading(true);
}

/* A lookup and its result; not on the caller's stack, which may be small. */
struct asked {
	void *handle;
	const char *name, *version;
	uintptr_t pc;
	struct tail to; /* .target: the loader's function */
};

static void find_scope_answer(void *arg)
{
	struct asked *q = arg;
	int err = errno;

	q->to = find_in_scope(q->to, q->handle, q->name, q->pc);
	errno = err;
}

static void find_handle_answer(void *arg)
{
	struct asked *q = arg;
	void *p = q->version ? ((dlvsym_fn *)q->to.target)(q->handle, q->name, q->version)
			     : ((dlsym_fn *)q->to.target)(q->handle, q->name);
	int err = errno;

	if (p)
		p = get_wrapper_of_found(p, q->name, q->pc);
	q->to = (struct tail){.value = p};
	errno = err;
}

struct tail hook_dlsym(
	void *handle, const char *name, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc)
{
	static _Atomic(void *) cached;
	struct asked q = {handle, name, NULL, pc, {.target = find_real_of("dlsym", &cached)}};

	(void)a2;
	(void)a3;
	(void)from;
	real_loaded();
	record_way_past_us(name);
	if (!q.to.target || !is_name_of_interest(name))
		return q.to;
	thread_state.busy++;
	private_stack_call(handle == RTLD_DEFAULT || handle == RTLD_NEXT ? find_scope_answer
									 : find_handle_answer,
		&q);
	thread_state.busy--;
	return q.to;
}

struct tail hook_dlvsym(void *handle, const char *name, const char *version, uintptr_t a3,
	uintptr_t from, uintptr_t pc)
{
	static _Atomic(void *) cached;
	struct asked q = {handle, name, version, pc, {.target = find_real_of("dlvsym", &cached)}};

	(void)a3;
	(void)from;
	record_way_past_us(name);
	if (!q.to.target || !version || !is_name_of_interest(name) || handle == RTLD_DEFAULT ||
		handle == RTLD_NEXT)
		return q.to;
	thread_state.busy++;
	private_stack_call(find_handle_answer, &q);
	thread_state.busy--;
	return q.to;
}

struct tail hook_dlopen(
	const char *file, int mode, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc)
{
	static _Atomic(void *) cached;

	(void)a2;
	(void)a3;
	(void)from;
	device_loading(mode & RTLD_DEEPBIND);
	real_start_loading();
	stub_before_load(file, mode, pc);
	return (struct tail){.target = find_real_of("dlopen", &cached)};
}

/* Another namespace has separate libraries, without libprobe.so. */
struct tail hook_dlmopen(
	long space, const char *file, int mode, uintptr_t a3, uintptr_t from, uintptr_t pc)
{
	static _Atomic(void *) cached;

	(void)a3;
	(void)from;
	device_loading(true); /* the library may call the dlopen() of the other namespace */
	if (space == LM_ID_BASE) {
		real_start_loading();
		stub_before_load(file, mode, pc);
	}
	return (struct tail){.target = find_real_of("dlmopen", &cached)};
}

/* Any library may have been unloaded, so real functions are looked up again at the next call. */
struct tail hook_dlclose(void)
{
	static _Atomic(void *) cached;

	real_loaded();
	real_reset_caches();
	stub_forget();
	for (unsigned i = 0; i < api_count; i++)
		reset_api(api_get(i));
	return (struct tail){.target = find_real_of("dlclose", &cached)};
}
