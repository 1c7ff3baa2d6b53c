/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the real function of a wrapper: the next function with the same name after libprobe.so in
 * the loader's order, as the dynamic linker would have bound the caller without libprobe. So
 * other preloaded tools are still called. If no object has the name, the library's alias (PMPI_X
 * for MPI_X) is used.
 *
 * Several copies of a library may be loaded, none of them in the global scope. Then the function
 * depends on the caller, and the row's state is API_MULTI. No function of this header takes a
 * lock or allocates, or calls the loader unless there are several copies.
 */
#ifndef PROBE_RESOLVE_REAL_H
#define PROBE_RESOLVE_REAL_H

#include <stdint.h>

#include "api/api.h"

/*
 * Looks up the real function; returns NULL if there is none. *several: more than one object
 * defines it and none of them is in the global scope, so that it depends on the caller (pc: a
 * return address in the caller).
 */
void *real_find(const struct api_spec *spec, uintptr_t pc, bool *several);

/* Like real_find(), for each call of an API_MULTI row: cached by call site. */
void *real_find_for_caller(const struct api *a, uintptr_t pc);

/*
 * To be called when a library is about to be unloaded: drops the caches and changes
 * real_get_generation().
 */
void real_reset_caches(void);
uint32_t real_get_generation(void);

/*
 * A library that a thread is loading becomes visible at some moment, without notice. Until then, a name's only function may get
 * a second definition: its row becomes API_MULTI.
 *
 * real_start_loading(): the calling thread is about to load a library. real_loaded(): it has reached a point after which the library
 * is visible. real_settled(): no other thread is loading, and none has begun since real_get_loads() was `loads`.
 */
void real_start_loading(void);
void real_loaded(void);
uint32_t real_get_loads(void);
bool real_settled(uint32_t loads);

/*
 * Returns the function `name` after libprobe.so in the loader's order, for libprobe's own calls
 * into libraries (queries of an adapter, libc). Returns NULL if there is none.
 */
void *real_find_symbol(const char *name);

/* Returns the linker's name for the function of a row. */
static inline const char *get_real_name(const struct api_spec *s)
{
	return s->link_name ? s->link_name : s->symbol;
}

/* dlsym(RTLD_NEXT, name) as seen from libprobe.so: the next global function, ignoring stubs. Sets dlerror(). */
void *real_find_next(const char *name);

#endif
