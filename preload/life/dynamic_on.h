/* SPDX-License-Identifier: Apache-2.0 */
/* Sets `dynamic_on: false` in the user's configuration file, as msprobe's monitor does when it has recorded enough. */
#ifndef PROBE_LIFE_DYNAMIC_ON_H
#define PROBE_LIFE_DYNAMIC_ON_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds the value of the file's own key dynamic_on in its text (JSON, also with comments and
 * without quotes, or YAML): [*begin, *end). Returns false if there is no such key.
 */
bool dynamic_on_find(const char *text, size_t len, size_t *begin, size_t *end);

/*
 * Sets the key to false, leaving everything else unchanged, by renaming a new file; mode and
 * links are kept. Returns 0, also if there is nothing to do, or -errno (reported).
 */
int dynamic_on_write_false(const char *path);

#endif
