/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a process that is gone, from what its journal still holds: for `probe recover`, and for a run that goes on. */
#ifndef PROBE_WRITER_COMPLETE_H
#define PROBE_WRITER_COMPLETE_H

#include <stdint.h>

#include "journal/journal.h"

struct completed {
	uint64_t rows, open; /* added; of them, of calls that had not ended */
	uint64_t damaged; /* entries that made no sense */
};

/*
 * j: opened for writing, of a process that no longer runs. dirfd: its rank's folder. Its own configuration says what is
 * written; formats: of these (FORMAT_BIT()) only, UINT32_MAX: all. Interrupted at any moment it can be done again. -errno
 * of what could not be written. The journal stays, and says that it is recovered.
 */
int complete_folder(struct journal *j, int dirfd, uint32_t formats, struct completed *done);

#endif
