/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/early.h"

#include <dlfcn.h>
#include <stddef.h>

#include "base/at_start.h"
#include "elf/loaded/elf_object.h"

/*
 * glibc's list of objects, and musl's; each C library has only its own. Weak, so that libprobe.so
 * does not need ld.so by name. Both begin as in <link.h>.
 */
extern struct r_debug _r_debug __attribute__((weak));
extern struct r_debug *_dl_debug_addr __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static START_DATA _Atomic bool is_open;

START_CODE void entry_open(void)
{
	is_open = true;
}

START_CODE bool entry_is_open(void)
{
	return is_open;
}

static const struct link_map *first_object(void)
{
	const struct r_debug *list = &_r_debug	       ? &_r_debug
				     : &_dl_debug_addr ? _dl_debug_addr
						       : NULL;

	return list ? list->r_map : NULL;
}

static bool has_prefix(const char *s, const char *prefix)
{
	while (*prefix && *s == *prefix) {
		s++;
		prefix++;
	}
	return !*prefix;
}

/*
 * The objects that define the name: any before libprobe.so, libprobe.so itself, and the first after
 * it.
 */
struct found_in {
	bool before;
	void *us; /* the function in libprobe.so */
	void *after; /* the first function after libprobe.so */
};

static struct found_in find_early(const char *name)
{
	struct search s = {
		.name = name, .gnu = compute_gnu_hash(name), .sysv = compute_sysv_hash(name)};
	struct found_in in = {0};
	bool passed_us = false;

	for (const struct link_map *m = first_object(); m; m = m->l_next) {
		struct object o;
		const ElfW(Sym) * sym;

		/* The kernel's vDSO is not in any scope. */
		if (m->l_name && has_prefix(m->l_name, "linux-"))
			continue;
		if (!object_of_map(m, &o) || object_is_stubs(&o))
			sym = NULL;
		else
			sym = object_find(&o, &s);
		if (m->l_ld == _DYNAMIC) {
			passed_us = true;
			in.us = sym ? (void *)(o.base + sym->st_value) : NULL;
		} else if (sym && !passed_us) {
			in.before = true;
		} else if (sym) {
			void *at = (void *)(o.base + sym->st_value);

			in.after = ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC
					   ? ((void *(*)(void))at)()
					   : at;
			break;
		}
	}
	return in;
}

static struct tail straight_to(const char *name, void *otherwise)
{
	return (struct tail){.target = find_early(name).after, .value = otherwise};
}

#define GATE(symbol, hook, otherwise)                                              \
	struct tail gate_##symbol(void);                                           \
	struct tail gate_##symbol(void)                                            \
	{                                                                          \
		return is_open ? hook() : straight_to(#symbol, (void *)otherwise); \
	}

GATE(dlclose, hook_dlclose, -1L)
GATE(abort, hook_abort, 0L)
GATE(execve, hook_execve, -1L)
GATE(execv, hook_execv, -1L)
GATE(execvp, hook_execvp, -1L)
GATE(execvpe, hook_execvpe, -1L)
GATE(execl, hook_execl, -1L)
GATE(execlp, hook_execlp, -1L)
GATE(execle, hook_execle, -1L)
GATE(fexecve, hook_fexecve, -1L)

#define GATE_EXIT(symbol, hook)                                           \
	struct tail gate_##symbol(int code);                              \
	struct tail gate_##symbol(int code)                               \
	{                                                                 \
		return is_open ? hook(code) : straight_to(#symbol, NULL); \
	}

GATE_EXIT(_exit, hook_exit)
GATE_EXIT(_Exit, hook_Exit)

struct tail gate_dlopen(
	const char *file, int mode, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc);
struct tail gate_dlopen(
	const char *file, int mode, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc)
{
	return is_open ? hook_dlopen(file, mode, a2, a3, from, pc) : straight_to("dlopen", NULL);
}

struct tail gate_dlmopen(
	long space, const char *file, int mode, uintptr_t a3, uintptr_t from, uintptr_t pc);
struct tail gate_dlmopen(
	long space, const char *file, int mode, uintptr_t a3, uintptr_t from, uintptr_t pc)
{
	return is_open ? hook_dlmopen(space, file, mode, a3, from, pc)
		       : straight_to("dlmopen", NULL);
}

struct tail gate_dlvsym(void *handle, const char *name, const char *version, uintptr_t a3,
	uintptr_t from, uintptr_t pc);
struct tail gate_dlvsym(void *handle, const char *name, const char *version, uintptr_t a3,
	uintptr_t from, uintptr_t pc)
{
	return is_open ? hook_dlvsym(handle, name, version, a3, from, pc)
		       : straight_to("dlvsym", NULL);
}

/*
 * The loader answers, except for a name that only libprobe.so has, because the library is
 * missing: then the loader is called as if from an object after which no object has the name, and
 * reports the error.
 */
struct tail gate_dlsym(
	void *handle, const char *name, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc);
struct tail gate_dlsym(
	void *handle, const char *name, uintptr_t a2, uintptr_t a3, uintptr_t from, uintptr_t pc)
{
	void *(*real)(void *, const char *);
	struct found_in in;
	void *p;

	if (is_open)
		return hook_dlsym(handle, name, a2, a3, from, pc);
	real = (void *(*)(void *, const char *))find_early("dlsym").after;
	if (!real || !name || has_prefix(name, "probe_"))
		return (struct tail){.target = (void *)real};
	in = find_early(name);
	if (!in.us || in.before || in.after)
		return (struct tail){.target = (void *)real};
	if (handle != RTLD_DEFAULT && handle != RTLD_NEXT) {
		p = real(handle, name);
		if (!p || p != in.us)
			return (struct tail){.value = p};
	}
	return (struct tail){.value = real(RTLD_NEXT, name)};
}
