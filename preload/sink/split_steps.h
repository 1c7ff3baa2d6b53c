/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a run that resumes from a checkpoint although the earlier run got further: moves the rows of steps that will run
 * again out of the earlier run's files.
 */
#ifndef PROBE_SINK_SPLIT_STEPS_H
#define PROBE_SINK_SPLIT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct split_steps {
	/* rows that were read; rows of files that are moved or kept as a whole are not counted */
	uint64_t kept, moved;
	uint32_t files; /* files that now have fewer rows, or were removed */
};

/*
 * From each file in folder `from` that is named by its steps (<word>_<a>-<b>.csv, .gz too), and from alerts.jsonl,
 * moves the rows of steps from `first` on into folder `to`, under the same name. A file is replaced as a whole, after
 * the moved rows are in the other folder: the function can be interrupted at any moment and repeated, and no row is
 * lost. Returns 0, -EPROTO (a table without a column `step`), or -errno.
 */
int split_steps(int from, int to, uint32_t first, struct split_steps *done);

/* True if the folder has a calls file with that suffix that has steps before `first` and may have others too. */
bool has_divided_calls(int dirfd, const char *suffix, uint32_t first);

/*
 * Calls visit() for each row's field of that column; never, if there is no such table or column. Returns 0 or -errno.
 */
int visit_column(int dir, const char *table, const char *column,
	void (*visit)(void *arg, const char *field, const char *end), void *arg);

/* The largest number in a column of a table; 0 if there is none, or no table. Returns -errno on failure. */
int64_t find_column_max(int dir, const char *table, const char *column);

/* Copies a file from one folder to the other unless one of that name is there. Returns 0 or -errno. */
int copy_between_folders(int from, int to, const char *name);

#endif
