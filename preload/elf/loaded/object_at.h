/* SPDX-License-Identifier: Apache-2.0 */
/* Which loaded object holds an address. */
#ifndef PROBE_ELF_OBJECT_AT_H
#define PROBE_ELF_OBJECT_AT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct loaded_object {
	const struct dl_phdr_info *info;
	uintptr_t lo, hi; /* its load segments */
	bool us,
		after_libprobe; /* it is libprobe.so; libprobe.so or an object after it in the loader's order */
};

/* The addresses [*lo, *hi) that the object occupies. */
void object_bounds(const struct dl_phdr_info *info, uintptr_t *lo, uintptr_t *hi);

/* An address in libprobe.so. */
uintptr_t object_self(void);

/*
 * Calls fn with the object that has addr in one of its load segments, under the loader's lock of dl_iterate_phdr(); the
 * argument is valid only during that call. Returns false, without a call, if there is none. No allocation.
 */
bool elf_object_at(uintptr_t addr, void (*fn)(const struct loaded_object *o, void *arg), void *arg);

/* Path of libprobe.so itself, "" if not known. */
const char *startup_path(void);

#endif
