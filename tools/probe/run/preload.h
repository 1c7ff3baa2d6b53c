/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a command under libprobe.so: finds the library, and checks in advance whether it can work. */
#ifndef PROBE_TOOLS_PRELOAD_H
#define PROBE_TOOLS_PRELOAD_H

#include <stdbool.h>

/*
 * Absolute path of libprobe.so: $PROBE_LIBRARY, else next to the command, else in <prefix>/lib. NULL (reported): there is none, or it
 * cannot be loaded. malloc'd.
 */
char *preload_library(void);

/* The path next to which the configuration is searched: libprobe.so's if there is one, else the command's own. */
const char *preload_beside(void);

/*
 * The value of LD_PRELOAD: a sanitizer's runtime (sanitizer.h; NULL: none; runtimes already in the variable come first, too),
 * the library, a stub object (NULL: none), and the previous value. malloc'd.
 */
char *preload_value(const char *library, const char *stubs, const char *runtime);

/* The file of a command name (PATH is searched), or NULL. malloc'd. */
char *preload_command(const char *name);

/* The program that is executed for it: for a script its interpreter. NULL: none. malloc'd. */
char *preload_program(const char *name);

/*
 * Why the preload will have no effect in that program (static, setuid, another architecture ...), or NULL. For scripts: in their
 * interpreter. malloc'd.
 */
char *preload_obstacle(const char *const *argv);

#endif
