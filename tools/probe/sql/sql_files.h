/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the CSV files of a run, grouped by view and by header. The files of one view may have different
 * headers, because other versions wrote other columns.
 */
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

/* Files of one view with the same columns. */
struct file_group {
	char *header; /* names of the columns, each followed by a line feed */
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
	unsigned compact; /* number of files of `format: compact`, which CSV readers cannot read */
	unsigned unreadable;
};

/* Finds the files. A file without a first line is empty and is skipped. */
void find_sql_files(struct sql_files *f, const struct folders *folders);
void free_sql_files(struct sql_files *f);

#endif
