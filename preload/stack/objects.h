/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which loaded object an address belongs to, for unwinding. One table for the process, made again when
 * dl_iterate_phdr's counters say that something was loaded or unloaded. It is only touched inside dl_iterate_phdr's
 * callback, that is under the loader's own lock: dlclose unmaps under the same lock, so what the table names is
 * mapped as long as the callback runs. That lock is not the one held during constructors and dlsym.
 */
#ifndef PROBE_STACK_OBJECTS_H
#define PROBE_STACK_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

struct object {
	uintptr_t lo, hi; /* its load segments */
	uintptr_t text_lo, text_hi; /* its executable segments; equal: none */
	bool text_readable; /* all of [text_lo, text_hi) can be read */
	uintptr_t table; /* .eh_frame_hdr; 0: none */
	uintptr_t table_lo, table_hi; /* the load segment around it */
};

/*
 * Calls fn with the object that has a load segment around pc; o is valid only during that call, which must not use
 * the dynamic loader. Returns false, without a call, where there is none. 10-20 ns while nothing was loaded; no
 * allocation but, when objects were loaded, mmap.
 */
bool objects_find(uintptr_t pc, void (*fn)(void *arg, const struct object *o), void *arg);

#endif
