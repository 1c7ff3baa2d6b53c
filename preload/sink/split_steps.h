/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that have rows of several steps, for a run that goes on where an earlier one got further than its last
 * checkpoint: what is of steps that run again is taken out of them.
 */
#ifndef PROBE_SINK_SPLIT_STEPS_H
#define PROBE_SINK_SPLIT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct split_steps {
	uint64_t kept,
		moved; /* rows that were looked at; of files that go or stay as a whole they are not counted */
	uint32_t files; /* that have less in them now, or are gone */
};

/*
 * Of each file in the folder `from` that is named by its steps (<word>_<a>-<b>.csv, .gz too), and of alerts.jsonl, moves what
 * belongs to steps from `first` on into the folder `to`, under the same name. A file is replaced as a whole, after what goes is in the
 * other: interrupted at any moment it can be done again, and no row is lost. -EPROTO: a table without a column `step`;
 * -errno.
 */
int split_steps(int from, int to, uint32_t first, struct split_steps *done);

/* Has the folder a calls file with that in its name that has steps before `first` and may have others too? */
bool has_divided_calls(int dirfd, const char *suffix, uint32_t first);

/* Calls visit() for each row's field of that column. Where there is no such table or column nothing is called. -errno. */
int visit_column(int dir, const char *table, const char *column,
	void (*visit)(void *arg, const char *field, const char *end), void *arg);

/* The largest number in a column of a table; 0 where there is none, or no table. -errno. */
int64_t find_column_max(int dir, const char *table, const char *column);

/* Copies a file of the one folder into the other, where none of that name is. -errno. */
int copy_between_folders(int from, int to, const char *name);

#endif
