/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a monitor's folder is. Jobs that have nothing else in common may share the folder that it lies in, so each has a
 * record in it of the process that writes there, made before its first file and removed when that ends: .owner, with the
 * owner and the journal as in meta.json.
 */
#ifndef PROBE_SINK_MONITOR_OWNER_H
#define PROBE_SINK_MONITOR_OWNER_H

#include "journal/journal.h"

#define MONITOR_OWNER_FILE ".owner"
#define MONITOR_OWNER_MAX (2 * JOURNAL_PATH_MAX + 512)

/* The record of the process that has that journal: its length, below cap, which is at least MONITOR_OWNER_MAX. */
size_t format_monitor_owner(char *buf, size_t cap, const struct journal *j);

/* Who has a folder, as the process of the journal `mine` sees it. */
enum monitor_use {
	MONITOR_LEFT, /* nobody: it can be gone on in, and moved */
	MONITOR_USED, /* a process that lives */
	MONITOR_UNJUDGED, /* one that cannot be judged from here, or whose last rows are in its journal still */
};

enum monitor_use monitor_folder_use(int dirfd, const struct journal *mine);

/* Puts the record of `mine` there if nobody else has the folder. 0, -EBUSY, -errno. */
int claim_monitor_folder(int dirfd, const struct journal *mine);

/* Takes the record away, if it is of that journal's process. */
void leave_monitor_folder(int dirfd, const struct journal *j);

#endif
