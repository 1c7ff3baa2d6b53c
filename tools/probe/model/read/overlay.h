/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of a killed process's journal as files in a temporary folder: the same rows that `probe recover` would add, without touching
 * the rank's folder (it may be read-only). The files there are complete up to the lengths given.
 */
#ifndef PROBE_TOOLS_OVERLAY_H
#define PROBE_TOOLS_OVERLAY_H

#include "journal/layout.h"
#include "tools/probe/model/read/folders.h"

struct overlay {
	char *path; /* temporary folder; NULL: there is none */
	uint64_t rows, spilled;
	char *ending; /* what the process recorded about its own end, as JSON; NULL: nothing */
	unsigned nfile;
	struct journal_file
		file[JOURNAL_FILES]; /* committed lengths of files in the rank's folder */
};

/* Makes the overlay of a folder whose owner is gone. NULL: success; otherwise the problem, malloc'd. */
char *overlay_make(struct overlay *o, const struct rank_dir *r);
void overlay_remove(struct overlay *o);

/* The length up to which that file of the rank's folder is valid. */
uint64_t overlay_limit(const struct overlay *o, const char *file);

#endif
