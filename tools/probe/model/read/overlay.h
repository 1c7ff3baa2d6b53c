/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of a killed process's journal as files in a temporary folder: the rows that `probe
 * recover` would add. The rank's folder is not changed; it may be read-only. The files in the
 * rank's folder are complete up to the lengths in `file`.
 */
#ifndef PROBE_TOOLS_OVERLAY_H
#define PROBE_TOOLS_OVERLAY_H

#include "journal/layout.h"
#include "tools/probe/model/read/folders.h"

struct overlay {
	char *path; /* temporary folder; NULL: there is none */
	uint64_t rows, spilled;
	/* members of meta.json that the file may lack, because the process did not write it again:
	 * its own end, its control group; a JSON object, NULL: there is none */
	char *members;
	unsigned nfile;
	/* Committed lengths of the files in the rank's folder. */
	struct journal_file file[JOURNAL_FILES];
};

/*
 * Makes the overlay of folder r, whose process has ended. Returns NULL, or a description of the
 * problem, malloc'd.
 */
char *overlay_open(struct overlay *o, const struct rank_dir *r);
void overlay_remove(struct overlay *o);

/* Returns the length up to which `file` of the rank's folder is valid. */
uint64_t overlay_get_limit(const struct overlay *o, const char *file);

#endif
