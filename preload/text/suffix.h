/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the end of a text. */
#ifndef PROBE_TEXT_SUFFIX_H
#define PROBE_TEXT_SUFFIX_H

#include <stdbool.h>
#include <string.h>

/* True if s ends with `suffix`; equal texts count. */
static inline bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

#endif
