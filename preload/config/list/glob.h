/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of names: * any text, ? one byte, [a-z] [!a-z] one byte of a set, \x the character x itself. Like fnmatch(3)
 * without flags in the C locale, but independent of the job's locale, and time grows at most with the product of both
 * lengths.
 */
#ifndef PROBE_CONFIG_GLOB_H
#define PROBE_CONFIG_GLOB_H

#include <stdbool.h>

/* True if the text has any of * ? [ \, that is, if it is not a plain name. */
bool glob_is(const char *text);

/* NULL, or a static string about the error in the pattern. */
const char *glob_check(const char *pattern);

bool glob_match(const char *pattern, const char *name);

#endif
