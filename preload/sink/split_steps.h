/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a run that resumes from a checkpoint before the end of the earlier run: moves the rows of
 * steps that will run again out of the earlier run's files.
 */
#ifndef PROBE_SINK_SPLIT_STEPS_H
#define PROBE_SINK_SPLIT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct split_steps {
	/* rows of the files that were divided; files kept or moved as a whole are not counted */
	uint64_t kept, moved;
	uint32_t files; /* files that now have fewer rows, or were removed */
};

/*
 * Moves the rows of steps from `first` on from folder `from` to the same file names in folder
 * `to`: of each file named by its steps (<word>_<a>-<b>.csv, .gz too), and of alerts.jsonl. A
 * file is replaced as a whole, after the moved rows are in `to`: the function can be interrupted
 * at any moment and repeated, and no row is lost. Returns 0, -EPROTO (a table has no column
 * `step`), or -errno.
 */
int move_steps(int from, int to, uint32_t first, struct split_steps *done);

/*
 * True if the folder has a calls file with this suffix that contains steps before `first` and may
 * contain later ones.
 */
bool has_divided_calls(int dirfd, const char *suffix, uint32_t first);

/*
 * Calls visit() with the field [field, end) of that column in each row of the table. Does nothing
 * if the table or the column does not exist. Returns 0 or -errno.
 */
int read_column(int dir, const char *table, const char *column,
	void (*visit)(void *arg, const char *field, const char *end), void *arg);

/*
 * Returns the largest number in a column of a table, 0 if the table, the column or a number is
 * missing, -errno on failure.
 */
int64_t find_column_max(int dir, const char *table, const char *column);

/* Copies file `name` to folder `to`, unless it exists there. Returns 0 or -errno. */
int copy_between_folders(int from, int to, const char *name);

#endif
