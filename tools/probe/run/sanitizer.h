/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AddressSanitizer as a shared library (gcc's, or clang's with -shared-libasan). Its runtime ends
 * the program if any library was loaded before it, so it must precede libprobe.so in LD_PRELOAD.
 */
#ifndef PROBE_TOOLS_SANITIZER_H
#define PROBE_TOOLS_SANITIZER_H

#include <stdbool.h>

/* Returns true if the library with this name or path is such a runtime. */
bool sanitizer_is_runtime(const char *path);

/*
 * Returns the name of the runtime that the program of a command needs, as the program contains it,
 * or NULL. malloc'd.
 */
char *sanitizer_find_runtime(const char *command);

/*
 * If the program is a launcher whose command needs such a runtime: returns a sentence with the problem
 * and its solution, else NULL. malloc'd.
 */
char *find_sanitizer(const char *const *argv);

#endif
