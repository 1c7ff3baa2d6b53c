/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding symbols in the loaded objects by their own hash tables: no dlsym, so no loader lock, no allocation, no
 * change of dlerror(), and the order is visible.
 */
#ifndef PROBE_ENTRY_ELFSYM_H
#define PROBE_ENTRY_ELFSYM_H

#include <stdbool.h>
#include <stdint.h>

struct provider {
	void *addr;
	uintptr_t lo, hi; /* the object's load segments */
	const char *path; /* as the loader has it; valid while the object is loaded */
	bool ifunc; /* addr is a resolver, not the function */
};

/*
 * The objects behind libprobe.so in the loader's order that define `name` as a function, at most max of them; ourselves
 * and objects before us excluded. Returns how many there are.
 */
int elfsym_after_us(const char *name, struct provider *out, int max);

/* The same over all objects but ourselves. */
int elfsym_all(const char *name, struct provider *out, int max);

/* Any defined symbol (data too) in any object but ourselves, first one; NULL if there is none. */
void *elfsym_data(const char *name);

/* True if addr lies in libprobe.so itself. */
bool elfsym_is_us(uintptr_t addr);

#endif
