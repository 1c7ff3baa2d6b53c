/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes the files of a dead process from the rest of its journal. Used by `probe recover`,
 * and by a run that continues an earlier one.
 */
#ifndef PROBE_WRITER_COMPLETE_H
#define PROBE_WRITER_COMPLETE_H

#include <stdint.h>

#include "journal/journal.h"

struct completed {
	uint64_t rows, open; /* rows added; those among them whose calls had not ended */
	uint64_t damaged; /* invalid entries */
};

/*
 * Completes the files of a process that no longer runs. j: its journal, opened for writing.
 * dirfd: its rank's folder. What is written is decided by that process' configuration; formats
 * (FORMAT_BIT()) limits it further, UINT32_MAX: no limit. May be interrupted at any moment and
 * repeated. The journal is kept, marked as recovered. Returns 0, or -errno of what could not be
 * written.
 */
int complete_folder(struct journal *j, int dirfd, uint32_t formats, struct completed *done);

#endif
