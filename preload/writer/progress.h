/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the process gets on: processor time and I/O of it and of its descendants, measured by the writer thread. A reader in another
 * pid namespace or on another host sees no /proc of it: what it knows of a rank that is in no call is this.
 */
#ifndef PROBE_WRITER_PROGRESS_H
#define PROBE_WRITER_PROGRESS_H

#include "journal/layout.h"

/*
 * Updates *p, at most once in 0.9 s. Only by the writer thread, whose own time and I/O do not count. Opens a few files of /proc; where the
 * process got on by itself nothing else, else also those of its threads and descendants. Allocates nothing.
 */
void measure_progress(struct journal_progress *p);

#endif
