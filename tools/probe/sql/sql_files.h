/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV files of a run, by the view that shows them and by their header: files of other versions have other columns. */
#ifndef PROBE_TOOLS_PROBE_SQL_FILES_H
#define PROBE_TOOLS_PROBE_SQL_FILES_H

#include "tools/probe/model/read/folders.h"

enum sql_view {
	VIEW_CALLS,
	VIEW_COMMS,
	VIEW_STACKS,
	VIEW_SCALARS,
	VIEW_KINDS,
	VIEW_NAMES,
	VIEW_MODULES,
	SQL_VIEWS
};

/* Files of one view that have the same columns. */
struct file_group {
	char *header; /* names of the columns, a line feed after each */
	char **column;
	unsigned ncolumn;
	char **path;
	unsigned npath, cap;
};

struct sql_files {
	struct {
		struct file_group *group;
		unsigned n, cap;
	} view[SQL_VIEWS];
	unsigned compact; /* files of `format: compact`, which CSV readers cannot read */
	unsigned unreadable;
};

/* Files without a first line are skipped: they hold nothing. */
void find_sql_files(struct sql_files *f, const struct folders *folders);
void free_sql_files(struct sql_files *f);

#endif
