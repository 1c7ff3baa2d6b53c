/* SPDX-License-Identifier: Apache-2.0 */
/* The options --rank and --step, with the same error messages in all verbs. */
#ifndef PROBE_TOOLS_LIB_RANGE_OPTION_H
#define PROBE_TOOLS_LIB_RANGE_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "config/rooms/room.h"

/*
 * Parses "3", "0-7" or "0,4-6" into *r, which the caller frees. Returns false if text has another
 * form (reported).
 */
bool parse_ranges_option(const char *verb, struct ranges *r, const char *name, const char *text);

/* Parses one step or one range of steps. Returns false if text has another form (reported). */
bool parse_steps_option(const char *verb, const char *text, uint64_t *lo, uint64_t *hi);

#endif
