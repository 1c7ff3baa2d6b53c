/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key append_output: a run that goes on in the folder of an earlier one. Its files are completed from the journal if it was
 * killed; rows of the steps that run again, from start_iteration on, go into rank<R>.<n> beside it, with what these rows need to be read,
 * and its meta.json.
 */
#ifndef PROBE_WRITER_RESUME_H
#define PROBE_WRITER_RESUME_H

#include "text/text.h"
#include "folder/folder.h"

/* What this process takes over; numbers that were given already are not given again. */
struct resumed {
	bool is; /* it goes on in an earlier run's folder */
	uint32_t first; /* step that it begins with */
	uint32_t last_stack; /* number of the last stack there */
	uint64_t next_seq; /* of calls */
	char earlier[64]; /* rank<R>.<n> */
};

/* What folder_take() calls. arg: a struct resumed with `first`, which is filled in. */
int resume_earlier_run(void *arg, int out, int dirfd, const char *name);

/* As JSON text, for meta.json. */
void format_resumed(struct text *t, const struct resumed *r);

#endif
