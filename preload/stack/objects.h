/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the loaded object that contains an address, for unwinding. There is one table for the
 * process, rebuilt when dl_iterate_phdr's counters show that something was loaded or unloaded. It
 * is accessed only inside dl_iterate_phdr's callback, that is, under a lock of the loader.
 * dlclose unmaps under the same lock, so objects in the table stay mapped while the callback
 * runs. This lock is not the one held during constructors and dlsym.
 */
#ifndef PROBE_STACK_OBJECTS_H
#define PROBE_STACK_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

struct object {
	uintptr_t lo, hi; /* range of the load segments */
	uintptr_t text_lo, text_hi; /* range of the executable segments; empty: none */
	bool text_readable; /* all of [text_lo, text_hi) is readable */
	uintptr_t table; /* address of .eh_frame_hdr; 0: none */
	uintptr_t table_lo, table_hi; /* the load segment that contains `table` */
};

/*
 * Calls fn with the object that has a load segment around pc; o is valid only during this call,
 * and fn must not use the dynamic loader. Returns false, without a call, if there is none. 10-20
 * ns if nothing was loaded. Allocates only with mmap, and only after objects were loaded.
 */
bool objects_find(uintptr_t pc, void (*fn)(void *arg, const struct object *o), void *arg);

#endif
