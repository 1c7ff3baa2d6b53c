/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `probe compare --html`: a page with scalars, parameter statistics and calls of two runs, as
 * curves over the steps.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_CURVES_H
#define PROBE_TOOLS_PROBE_COMPARE_CURVES_H

#include "config/rooms/room.h"

/*
 * file: the page. series: a regular expression that must match a part of a curve's name; NULL: all
 * curves. Returns the exit status.
 */
int compare_curves(const char *path_a, const char *path_b, const char *file, const char *series,
	const struct ranges *ranks, const struct ranges *steps);

#endif
