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

/* State that this process continues. Numbers that were used already are not reused. */
struct resumed {
	bool is; /* true: continues in an earlier run's folder */
	uint32_t first; /* step that it begins with */
	uint32_t last_stack; /* number of the last stack there */
	uint64_t next_seq; /* of calls */
	char earlier[64]; /* rank<R>.<n> */
};

/* Callback of folder_take(). arg: a struct resumed with `first` set; the rest is filled in. */
int resume_earlier_run(void *arg, int out, int dirfd, const char *name);

/* As JSON text, for meta.json. */
void format_resumed(struct text *t, const struct resumed *r);

#endif
