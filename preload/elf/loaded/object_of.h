/* SPDX-License-Identifier: Apache-2.0 */
/* Several copies of a library may be loaded: finds definitions in the same copy as a known function. */
#ifndef PROBE_ELF_OBJECT_OF_H
#define PROBE_ELF_OBJECT_OF_H

#include <stddef.h>
#include <stdint.h>

/*
 * The function `name` of the object that contains the address `near`; near NULL: of the only object that has one. NULL: there
 * is none. Changes nothing in the loader, not even dlerror().
 */
void *sibling_symbol(const void *near, const char *name);

/*
 * The file name, without folders, of the object that contains that address, in buf (cut if necessary). "" if it is not known
 * (the program itself, code made at run time). Returns buf.
 */
const char *sibling_file(const void *near, char *buf, size_t bytes);

/* The lowest address of the object that contains that address, 0 if there is none. */
uintptr_t sibling_base(const void *near);

#endif
