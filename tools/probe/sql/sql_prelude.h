/* SPDX-License-Identifier: Apache-2.0 */
/* What DuckDB reads before the query: views over the files of a run, and macros over the views. */
#ifndef PROBE_TOOLS_PROBE_SQL_PRELUDE_H
#define PROBE_TOOLS_PROBE_SQL_PRELUDE_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/sql/sql_files.h"

struct report;

/*
 * clock: of each folder, or NULL: their own. skip_damaged: lines that cannot be read are skipped; otherwise they are errors of
 * the query.
 */
void print_prelude(FILE *f, const struct folders *folders, const struct sql_files *files,
	const struct clock_fix *clock, bool skip_damaged);

/* The views that do not come from files: facts about each rank, and the findings of `probe report`. */
void print_ranks_view(FILE *f, const struct folders *folders, const struct clock_fix *clock);
void print_findings_view(FILE *f, struct report *r);

/* The report of a run; NULL (reported): it cannot be read. Free with free_sql_report(). */
struct report *read_sql_report(const char *path);
/* The clocks of the folders, or NULL: a folder was added since then. */
const struct clock_fix *get_report_clock(const struct report *r, const struct folders *f);
void free_sql_report(struct report *r);

#endif
