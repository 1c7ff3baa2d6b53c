/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of `probe names` about communicators: their roles, the stages of pipelines, and single
 * messages.
 */
#ifndef PROBE_TOOLS_PRINT_GROUPS_H
#define PROBE_TOOLS_PRINT_GROUPS_H

#include "tools/lib/out.h"
#include "tools/probe/model/read/folders.h"

/*
 * Writes a cell with a name of the recorded program (NULL: an empty cell). Control characters become
 * blanks.
 */
void write_name_cell(struct out_table *t, const char *text);

/*
 * Prints the output for `rank`, or for all ranks (-1). groups: print roles and stages. messages:
 * print each message of steps lo to hi (lo > hi: the first steps that have any), as JSON if `json`.
 * Returns false if there is nothing to print.
 */
bool print_groups(const struct folders *f, int64_t rank, bool groups, bool messages, bool json,
	uint64_t lo, uint64_t hi);

#endif
