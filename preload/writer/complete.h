/* SPDX-License-Identifier: Apache-2.0 */
/* Completes the files of a dead process from the rest of its journal. Used by `probe recover`, and by a run that is resumed. */
#ifndef PROBE_WRITER_COMPLETE_H
#define PROBE_WRITER_COMPLETE_H

#include <stdint.h>

#include "journal/journal.h"

struct completed {
	uint64_t rows, open; /* rows added; how many of them are of calls that had not ended */
	uint64_t damaged; /* entries that are not valid */
};

/*
 * Completes the files of a process that no longer runs. j: its journal, opened for writing. dirfd: its rank's folder.
 * The process' own configuration decides what is written. formats: limits that to these formats (FORMAT_BIT());
 * UINT32_MAX: all. It may be interrupted at any moment and repeated. Returns 0, or -errno of what could not be written.
 * The journal stays, marked as recovered.
 */
int complete_folder(struct journal *j, int dirfd, uint32_t formats, struct completed *done);

#endif
