/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns for names: * any text, ? one byte, [a-z] [!a-z] one byte of a set, \x the character x
 * itself. Like fnmatch(3) without flags in the C locale, but independent of the job's locale, and
 * the time is at most proportional to the product of both lengths.
 */
#ifndef PROBE_CONFIG_GLOB_H
#define PROBE_CONFIG_GLOB_H

#include <stdbool.h>

/* True if `text` contains any of * ? [ \, so that it is a pattern and not a plain name. */
bool glob_is(const char *text);

/* Returns NULL, or a static text about the error in the pattern. */
const char *glob_check(const char *pattern);

bool glob_match(const char *pattern, const char *name);

#endif
