/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that occur again and again (libraries, functions, operations) as small numbers. 0 is the empty name. Bounded:
 * a damaged file could hold millions; what comes when the table is full is called "(more names)". Any thread may ask.
 */
#ifndef PROBE_TOOLS_LIB_INTERN_H
#define PROBE_TOOLS_LIB_INTERN_H

#include <stddef.h>
#include <stdint.h>

uint32_t intern_text(const char *s, size_t n);
const char *intern_name(uint32_t id);

#endif
