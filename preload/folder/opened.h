/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.jsonl in the rank's folder: calls that have been open for a second and longer, one JSON object in a line. For
 * journals that may end before anybody reads them (docs/explanation/journal-format.md), and for readers on other hosts.
 */
#ifndef PROBE_SINK_OPENED_H
#define PROBE_SINK_OPENED_H

#include "journal/journal.h"

#define OPENED_FILE "open.jsonl"

/* Rewrites it if it would change; without such calls there is none. *last: 0 at first, kept between calls. -errno. */
int opened_write(const struct journal *j, int dirfd, uint64_t *last);

/*
 * Of a process that is gone, before its journal goes too: the Waits that its threads stood in become `waits` of meta.json, the same
 * objects in a list, for open calls get rows. buf: room for the text; what does not fit is left out. -errno.
 */
int opened_keep_waits(struct journal *j, char *buf, size_t cap);

#endif
