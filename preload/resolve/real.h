/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real function behind a wrapper: the next function of that name behind us in the loader's order, as the dynamic
 * linker would have bound the caller without us. Another preloaded tool thus keeps its turn. Only where no object
 * has the name, the library's alias (PMPI_X for MPI_X) is taken.
 *
 * Several copies of a library may be loaded, none of them in the global scope: then it depends on the caller, and the
 * row's state is API_MULTI. No function here calls the loader unless there are several, takes a lock, or allocates.
 */
#ifndef PROBE_RESOLVE_REAL_H
#define PROBE_RESOLVE_REAL_H

#include <stdint.h>

#include "api/api.h"

/*
 * Looks the real function up; NULL if there is none. *several: more than one object defines it and none of them is in
 * the global scope, so that it depends on the caller (pc: a return address in the caller).
 */
void *real_find(const struct api_spec *spec, uintptr_t pc, bool *several);

/* The same for API_MULTI rows on each call: remembered by call site. */
void *real_of_caller(const struct api *a, uintptr_t pc);

/* A library is about to be unloaded: what was remembered is forgotten, and real_generation() is another number. */
void real_forget(void);
uint32_t real_generation(void);

/*
 * A library that a thread is about to load can be seen from some moment on, of which there is no notice. So long a function
 * that is the only one of its name may not remain so: its row becomes API_MULTI.
 *
 * real_loading(): the calling thread is about to load something. real_loaded(): it is at a place to which it comes only
 * when that can be seen. real_settled(): no other thread is on its way, nor has one begun since real_loads() was `loads`.
 */
void real_loading(void);
void real_loaded(void);
uint32_t real_loads(void);
bool real_settled(uint32_t loads);

/* The function of any name behind us, for our own calls into libraries (queries of an adapter, libc). NULL: none. */
void *real_symbol(const char *name);

/* What the linker calls the function of a row. */
static inline const char *real_name(const struct api_spec *s)
{
	return s->link_name ? s->link_name : s->symbol;
}

/* dlsym(RTLD_NEXT, name) as seen from libprobe.so: what is global behind us, stubs aside. Sets dlerror(). */
void *real_next(const char *name);

#endif
