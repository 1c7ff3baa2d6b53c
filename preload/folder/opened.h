/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.jsonl in the rank's folder: calls that have been open for one second or longer, one JSON object per line. For
 * journals that may be lost before they are read (docs/explanation/journal-format.md), and for readers on other hosts.
 */
#ifndef PROBE_SINK_OPENED_H
#define PROBE_SINK_OPENED_H

#include "journal/journal.h"

#define OPENED_FILE "open.jsonl"

/*
 * Rewrites the file if its content would change; removes it if no call is open that long. *last:
 * 0 at first, kept between calls. Returns 0 or -errno.
 */
int opened_write(const struct journal *j, int dirfd, uint64_t *last);

/*
 * For a dead process, before its journal is removed: stores the Waits in which its threads were
 * blocked as `waits` of meta.json, as a list of the same objects as in open.jsonl (open calls get
 * rows instead). buf: space for the text; objects that do not fit are omitted. Returns 0 or
 * -errno.
 */
int opened_keep_waits(struct journal *j, char *buf, size_t cap);

#endif
