/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the loaded object that contains an address. */
#ifndef PROBE_ELF_OBJECT_AT_H
#define PROBE_ELF_OBJECT_AT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct loaded_object {
	const struct dl_phdr_info *info;
	uintptr_t lo, hi; /* range of the load segments */
	bool us,
		/*
		 * the object is libprobe.so; it is libprobe.so or follows it in the loader's
		 * order
		 */
		after_libprobe;
};

/* Sets [*lo, *hi) to the addresses that the object occupies. */
void get_object_bounds(const struct dl_phdr_info *info, uintptr_t *lo, uintptr_t *hi);

/* Returns an address in libprobe.so. */
uintptr_t object_get_self(void);

/*
 * Calls fn with the object that has addr in one of its load segments, under the loader's lock of dl_iterate_phdr(); the
 * argument is valid only during that call. Returns false, without a call, if there is none. No allocation.
 */
bool elf_handle_object_at(
	uintptr_t addr, void (*fn)(const struct loaded_object *o, void *arg), void *arg);

/* Path of libprobe.so itself, "" if not known. */
const char *own_path_get(void);

#endif
