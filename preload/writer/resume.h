/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key append_output: a run continues in the folder of an earlier one. If that one was killed, its files are completed
 * from the journal. Rows of steps that run again, from start_iteration on, are moved to rank<R>.<n>, next to the
 * folder. That folder also gets its meta.json and the files needed to read these rows.
 */
#ifndef PROBE_WRITER_RESUME_H
#define PROBE_WRITER_RESUME_H

#include "text/text.h"
#include "folder/folder.h"

/*
 * The state of the earlier run that this process continues. Numbers that the earlier run used are
 * not reused.
 */
struct resumed {
	bool is; /* true: continues in the folder of an earlier run */
	uint32_t first; /* the first step of this run */
	uint32_t last_stack; /* number of the earlier run's last stack */
	uint64_t next_seq; /* number for the next call */
	char earlier[64]; /* folder of the moved rows, rank<R>.<n> */
};

/*
 * Callback of folder_take(). arg: a struct resumed with `first` set; the function fills in the
 * rest.
 */
int resume_earlier_run(void *arg, int out, int dirfd, const char *name);

/* Writes r as JSON text, for meta.json. */
void format_resumed(struct text *t, const struct resumed *r);

#endif
