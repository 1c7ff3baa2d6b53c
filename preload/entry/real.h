/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real function behind a wrapper: the next function of that name behind us in the loader's order, as the dynamic
 * linker would have bound the caller without us. Another preloaded tool thus keeps its turn. Only where no object
 * has the name, the library's alias (PMPI_X for MPI_X) is taken.
 */
#ifndef PROBE_ENTRY_REAL_H
#define PROBE_ENTRY_REAL_H

#include <stdint.h>

#include "call/api.h"

/*
 * Looks the real function up; NULL if there is none. *several: more than one object defines it and none of them is in
 * the global scope, so that it depends on the caller (pc: a return address in the caller).
 */
void *real_find(const struct api_spec *spec, uintptr_t pc, bool *several);

/* The function of any name behind us, for our own calls into libraries (queries of an adapter, libc). NULL: none. */
void *real_symbol(const char *name);

#endif
