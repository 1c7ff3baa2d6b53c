/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of a monitor's folder. Unrelated jobs may share the parent folder. So each folder
 * contains a file .owner about the process that writes into it, made before the first other file
 * and removed when the process ends: the owner and the journal, as in meta.json.
 */
#ifndef PROBE_SINK_MONITOR_OWNER_H
#define PROBE_SINK_MONITOR_OWNER_H

#include "journal/journal.h"

#define MONITOR_OWNER_FILE ".owner"
#define MONITOR_OWNER_MAX (2 * JOURNAL_PATH_MAX + 512)

/*
 * Writes the content of .owner for the process of journal j. Returns its length, which is below
 * cap; cap must be at least MONITOR_OWNER_MAX.
 */
size_t format_monitor_owner(char *buf, size_t cap, const struct journal *j);

/* Use of a folder, as seen by the process of journal `mine`. */
enum monitor_use {
	MONITOR_LEFT, /* not used: a run can continue in the folder, or move it */
	MONITOR_USED, /* used by a process that lives */
	/* cannot be decided from this host, or its last rows are still in its journal */
	MONITOR_UNJUDGED,
};

enum monitor_use find_monitor_folder_use(int dirfd, const struct journal *mine);

/*
 * True if the folder was made by the process of journal `mine`, which ended right afterwards:
 * .owner names that process, or is missing and the folder has no rows.
 */
bool was_made_by(int dirfd, const struct journal *mine);

/*
 * Writes .owner for the process of `mine` if no other process uses the folder. Returns 0, -EBUSY,
 * or -errno.
 */
int write_monitor_owner(int dirfd, const struct journal *mine);

/* Removes .owner if it names the process of journal j. */
void remove_monitor_owner(int dirfd, const struct journal *j);

#endif
