/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a command with libprobe.so preloaded: finds the library, and checks whether the preload
 * can work.
 */
#ifndef PROBE_TOOLS_PRELOAD_H
#define PROBE_TOOLS_PRELOAD_H

#include <stdbool.h>

/*
 * Returns the absolute path of libprobe.so: $PROBE_LIBRARY, or else a file beside the command, or
 * else one in <prefix>/lib. Returns NULL if there is none or it cannot be loaded (reported).
 * malloc'd.
 */
char *preload_find_library(void);

/*
 * Returns the path whose folder is searched for the configuration file: the path of libprobe.so if it
 * exists, else the path of the command.
 */
const char *preload_get_config_base(void);

/*
 * Returns the value for LD_PRELOAD: a sanitizer's runtime (sanitizer.h; NULL: none), the library, a
 * stub object (NULL: none), and the previous value. Runtimes that are already in the variable also
 * come first. malloc'd.
 */
char *preload_format_value(const char *library, const char *stubs, const char *runtime);

/* Returns the file of a command name (PATH is searched), or NULL. malloc'd. */
char *preload_find_command(const char *name);

/*
 * Returns the program that is executed for a command name: for a script, its interpreter. NULL:
 * none. malloc'd.
 */
char *preload_find_program(const char *name);

/*
 * Returns why the preload has no effect in the program (static, setuid, another architecture ...),
 * or NULL. For a script, its interpreter is examined. malloc'd.
 */
char *preload_check_command(const char *const *argv);

#endif
