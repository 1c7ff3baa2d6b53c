/* SPDX-License-Identifier: Apache-2.0 */
/* `probe run --preset`: settings for common questions. */
#ifndef PROBE_TOOLS_PRESET_H
#define PROBE_TOOLS_PRESET_H

#include <stdbool.h>

/* Sets a variable of the environment. */
typedef void preset_set_fn(void *arg, const char *name, const char *value);

/* Returns true if the preset exists. Otherwise reports the names that do. */
bool preset_check_name(const char *name);

/*
 * Calls `set` for the PROBE_* variables of the preset. A key that the environment or the
 * configuration file sets to a value other than its default keeps that value. file: the
 * configuration file; NULL: the one that a job would find. Paths are absolute. Returns 0, or -1
 * (reported) if the preset's list of functions is missing.
 */
int preset_set_variables(const char *name, const char *file, preset_set_fn *set, void *arg);

#endif
