/* SPDX-License-Identifier: Apache-2.0 */
/* Options --rank and --step of verbs, with the same error messages. */
#ifndef PROBE_TOOLS_LIB_RANGE_OPTION_H
#define PROBE_TOOLS_LIB_RANGE_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "config/rooms/room.h"

/* "3", "0-7", "0,4-6" into *r, which the caller frees. False: reported. */
bool option_ranges(const char *verb, struct ranges *r, const char *name, const char *text);

/* One step or one range of steps. */
bool option_steps(const char *verb, const char *text, uint64_t *lo, uint64_t *hi);

#endif
