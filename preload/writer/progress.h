/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the process makes progress: processor time and I/O of it and its descendants, measured by the writer thread. A reader
 * in another pid namespace or on another host cannot read its /proc. For a rank that is in no call, this is all the information
 * that such a reader has.
 */
#ifndef PROBE_WRITER_PROGRESS_H
#define PROBE_WRITER_PROGRESS_H

#include "journal/layout.h"

/*
 * Updates *p, at most once in 0.9 s. Only for the writer thread, whose own time and I/O are not counted. Opens a few
 * files of /proc. If the process itself made no progress, it also reads those of its threads and descendants. Allocates
 * nothing.
 */
void measure_progress(struct journal_progress *p);

#endif
