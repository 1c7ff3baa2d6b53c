/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the process makes progress: processor time and I/O of the process and its descendants,
 * measured by the writer thread. A reader in another pid namespace or on another host cannot read
 * /proc of the process. For a rank that is in no call, such a reader has no other information.
 */
#ifndef PROBE_WRITER_PROGRESS_H
#define PROBE_WRITER_PROGRESS_H

#include "journal/layout.h"

/*
 * Updates *p, at most once in 0.9 s. Only for the writer thread, whose own time and I/O are not
 * counted. Reads a few files of /proc; if the process itself made no progress, also those of its
 * threads and descendants. Allocates nothing.
 */
void measure_progress(struct journal_progress *p);

#endif
