/* SPDX-License-Identifier: Apache-2.0 */
/* Files <word>_<a>-<b>.csv of a rank's folder: numbers of a training in steps a to b. */
#ifndef PROBE_TOOLS_PROBE_TRAINING_STEP_FILES_H
#define PROBE_TOOLS_PROBE_TRAINING_STEP_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lib/files/csv.h"
#include "tools/probe/model/read/overlay.h"

struct step_file {
	char *path;
	uint64_t first, last; /* steps */
	uint64_t limit; /* length of the part that is valid, in bytes */
};

struct step_files {
	struct step_file *file; /* by first step */
	unsigned n, cap;
};

/*
 * Lists the files of folder `dir` whose names begin with `word`. overlay: the additional rows of
 * the rank's journal, or NULL. Free with step_files_free().
 */
void step_files_list(
	struct step_files *files, const char *dir, const struct overlay *overlay, const char *word);
void step_files_free(struct step_files *files);

#endif
