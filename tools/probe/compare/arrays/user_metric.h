/* SPDX-License-Identifier: Apache-2.0 */
/* `probe compare --metric COMMAND`: the user's own measure for each pair of tensors. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_USER_METRIC_H
#define PROBE_TOOLS_PROBE_COMPARE_USER_METRIC_H

#include "tools/probe/compare/entries/rules.h"

/*
 * Runs the command with sh; its last two arguments are the files of both tensors. Sets r->measured
 * to the first line that it prints, to "failed: exit N" if it does not exit with 0, or to "N/A" if
 * one of the two files is missing.
 */
void measure_row_pair(
	struct row *r, const char *command, const char *dir_a, const char *dir_b, struct pool *p);

#endif
