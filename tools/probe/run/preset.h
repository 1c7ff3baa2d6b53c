/* SPDX-License-Identifier: Apache-2.0 */
/* `probe run --preset`: settings for common questions. */
#ifndef PROBE_TOOLS_PRESET_H
#define PROBE_TOOLS_PRESET_H

#include <stdbool.h>

/* Receives a variable of the environment and its value. */
typedef void preset_set_fn(void *arg, const char *name, const char *value);

/* True if there is a preset of that name; else reported, with the existing names. */
bool preset_known(const char *name);

/*
 * Passes the PROBE_* variables that the preset sets to `set`. If the environment or the configuration file `file` (NULL: the
 * one that a job would find) sets a key to a value other than its default, that value is kept. Paths are absolute. Returns 0,
 * or -1 (reported): the preset's list of functions is missing.
 */
int preset_apply(const char *name, const char *file, preset_set_fn *set, void *arg);

#endif
