/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AddressSanitizer as a shared library (gcc's, clang's with -shared-libasan): its runtime ends the program if any library was loaded before
 * it, so it has to come before libprobe.so in LD_PRELOAD.
 */
#ifndef PROBE_TOOLS_SANITIZER_H
#define PROBE_TOOLS_SANITIZER_H

#include <stdbool.h>

/* A library of that name or path is such a runtime. */
bool sanitizer_is_runtime(const char *path);

/* The runtime that the program of a command needs, as it names it; NULL: none. malloc'd. */
char *sanitizer_of(const char *command);

/* If the program is a launcher that starts such a program: the consequence, as a sentence; NULL: none. malloc'd. */
char *find_sanitizer(const char *const *argv);

#endif
