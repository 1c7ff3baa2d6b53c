/* SPDX-License-Identifier: Apache-2.0 */
/* `probe compare --html`: scalars, parameter statistics and calls of two runs over their steps, as one page. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_CURVES_H
#define PROBE_TOOLS_PROBE_COMPARE_CURVES_H

#include "config/rooms/room.h"

/* series: a regular expression that is searched in the names of curves, NULL: all. Returns the exit status. */
int compare_curves(const char *path_a, const char *path_b, const char *file, const char *series,
	const struct ranges *ranks, const struct ranges *steps);

#endif
