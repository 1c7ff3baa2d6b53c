/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of a monitor's folder. Unrelated jobs may share the parent folder. So each folder contains a record of the
 * process that writes there, made before its first file and removed when that process ends: .owner, with the owner and
 * the journal as in meta.json.
 */
#ifndef PROBE_SINK_MONITOR_OWNER_H
#define PROBE_SINK_MONITOR_OWNER_H

#include "journal/journal.h"

#define MONITOR_OWNER_FILE ".owner"
#define MONITOR_OWNER_MAX (2 * JOURNAL_PATH_MAX + 512)

/* The record of the process with that journal. Returns its length, below cap, which is at least MONITOR_OWNER_MAX. */
size_t format_monitor_owner(char *buf, size_t cap, const struct journal *j);

/* Use of a folder, as seen by the process of journal `mine`. */
enum monitor_use {
	MONITOR_LEFT, /* no process uses it: a run can continue in it, or move it */
	MONITOR_USED, /* a process that lives */
	/* cannot be judged from here, or its last rows are still in its journal */
	MONITOR_UNJUDGED,
};

enum monitor_use monitor_folder_use(int dirfd, const struct journal *mine);

/*
 * True if the process of journal `mine`, which ended, had just made the folder: the record is of that process, or is not
 * written yet and there are no rows.
 */
bool was_made_by(int dirfd, const struct journal *mine);

/* Writes the record of `mine` if no other process uses the folder. Returns 0, -EBUSY, or -errno. */
int claim_monitor_folder(int dirfd, const struct journal *mine);

/* Removes the record if it is of that journal's process. */
void leave_monitor_folder(int dirfd, const struct journal *j);

#endif
