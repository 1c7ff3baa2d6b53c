/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statements that DuckDB runs before the query: views over the files of a run, and macros over
 * the views.
 */
#ifndef PROBE_TOOLS_PROBE_SQL_PRELUDE_H
#define PROBE_TOOLS_PROBE_SQL_PRELUDE_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/sql/sql_files.h"

struct report;

/*
 * Prints all of them. clock: the clock correction of each folder; NULL: none. skip_damaged: skip
 * lines that cannot be read; otherwise the query fails at them.
 */
void print_prelude(FILE *f, const struct folders *folders, const struct sql_files *files,
	const struct clock_fix *clock, bool skip_damaged);

/*
 * Print the views that do not come from files: facts about each rank, and the findings of `probe
 * report`.
 */
void print_ranks_view(FILE *f, const struct folders *folders, const struct clock_fix *clock);
void print_findings_view(FILE *f, struct report *r);

/*
 * Returns the report of a run, or NULL if it cannot be read (reported). Free with
 * free_sql_report().
 */
struct report *read_sql_report(const char *path);
/*
 * Returns the clock corrections of the folders, or NULL if a folder was added after the report was
 * read.
 */
const struct clock_fix *get_report_clock(const struct report *r, const struct folders *f);
void free_sql_report(struct report *r);

#endif
