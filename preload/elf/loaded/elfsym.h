/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds symbols in the loaded objects by their own hash tables: no dlsym, so no loader lock, no allocation, no change of
 * dlerror(), and the search order is known.
 */
#ifndef PROBE_ELF_ELFSYM_H
#define PROBE_ELF_ELFSYM_H

#include <stdbool.h>
#include <stdint.h>

#define STUB_SONAME "libprobe-stubs.so" /* name of libprobe's stub objects (stub_elf.h) */

struct provider {
	void *addr;
	uintptr_t lo, hi; /* range of the object's load segments */
	const char *path; /* the loader's string; valid while the object is loaded */
	bool ifunc; /* addr is the resolver of an ifunc, not the function */
};

/* The hash function of DT_GNU_HASH. */
uint32_t compute_gnu_hash(const char *name);

/*
 * Finds the objects after libprobe.so in the loader's order that define `name` as a function, at
 * most max, without libprobe's stub objects. Returns their number.
 */
int elfsym_find_after_us(const char *name, struct provider *out, int max);

/* Like elfsym_find_after_us(), in all objects except libprobe.so and its stub objects. */
int elfsym_find_all(const char *name, struct provider *out, int max);

/*
 * Returns the address of the first symbol `name` (function or data) defined in any object except
 * libprobe.so; NULL: none.
 */
void *elfsym_find_data(const char *name);

/*
 * True if an object before libprobe.so in the loader's order (the program, an earlier preload)
 * defines function `name`.
 */
bool elfsym_is_before_us(const char *name);

/* Finds the stub for `name`. Returns false if no stub object has one. */
bool elfsym_find_stub(const char *name, struct provider *out);
void elfsym_handle_stubs(void (*visit)(const char *name, void *arg), void *arg);

/*
 * Finds function `name` in the object around pc, or in an object that this one needs directly or
 * indirectly: what the loader would find in the object's own scope. out->path is "".
 */
bool elfsym_find_in_scope(const char *name, uintptr_t pc, struct provider *out);

/* True if libprobe.so itself exports the name. No loader lock: about 20 ns. */
bool elfsym_is_own(const char *name);

/*
 * Hides export `name` of libprobe.so from all further lookups; existing bindings stay. Returns
 * false if that is not possible (the symbols cannot be made writable, or the table of hidden
 * names is full).
 */
bool elfsym_hide_own(const char *name);
/* Shows the hidden exports again for which `wanted` returns true. */
void elfsym_show_own(bool (*wanted)(const char *name, void *arg), void *arg);

struct elf_place {
	const char *
		/* "" for the program; valid while the object is loaded, like rpath and runpath */
		path;
	uintptr_t base;
	const char *rpath, *runpath; /* NULL: none */
	bool no_default; /* DF_1_NODEFLIB */
	bool code; /* the address is in an executable segment */
	bool us, stubs; /* the object is libprobe.so; it is a stub object */
	bool after_libprobe; /* the object is after libprobe.so in the loader's order, or libprobe.so itself */
};

/* Finds the object around an address. Returns false if there is none. */
bool elfsym_find_place(uintptr_t addr, struct elf_place *out);

/* True if an object is loaded under that name: its path, or (name without slash) its DT_SONAME or file name. */
bool elfsym_loaded(const char *name);

#endif
