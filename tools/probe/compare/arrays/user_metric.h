/* SPDX-License-Identifier: Apache-2.0 */
/* `probe compare --metric COMMAND`: a measure of the user's own for each pair of tensors. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_USER_METRIC_H
#define PROBE_TOOLS_PROBE_COMPARE_USER_METRIC_H

#include "tools/probe/compare/entries/rules.h"

/*
 * Runs the command by sh with both files of the row as its last two arguments: `measured` is the first line that it prints,
 * "failed: exit N" if it does not exit with 0, "N/A" without two files.
 */
void measure_row_pair(
	struct row *r, const char *command, const char *dir_a, const char *dir_b, struct pool *p);

#endif
