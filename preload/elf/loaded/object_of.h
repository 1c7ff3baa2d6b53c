/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds definitions in the same copy of a library as a known function, since several copies may
 * be loaded.
 */
#ifndef PROBE_ELF_OBJECT_OF_H
#define PROBE_ELF_OBJECT_OF_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the function `name` of the object that contains address `near`; near NULL: of the only
 * object that has one. Returns NULL if there is none. Changes nothing in the loader, not even
 * dlerror().
 */
void *sibling_find_symbol(const void *near, const char *name);

/*
 * Writes the file name, without folders, of the object that contains address `near` to buf (cut
 * if necessary); "" if not known (the program itself, code made at run time). Returns buf.
 */
const char *sibling_copy_file_name(const void *near, char *buf, size_t bytes);

/* Returns the lowest address of the object that contains address `near`, 0 if there is none. */
uintptr_t sibling_get_base(const void *near);

#endif
