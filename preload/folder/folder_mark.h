/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mark of the process that handles an abandoned folder, so that only one process at a time
 * moves it away or continues in it. The mark is a file with a lock, which the kernel releases
 * when the process ends; the file's age is irrelevant.
 */
#ifndef PROBE_SINK_FOLDER_MARK_H
#define PROBE_SINK_FOLDER_MARK_H

/*
 * Sets the mark in folder dirfd. Returns the mark's own descriptor, for unmark_folder(). Returns
 * -EBUSY if another process has set it, or -errno if it cannot be made.
 */
int mark_folder(int dirfd);

/* Removes the mark, even if the folder was renamed meanwhile. */
void unmark_folder(int dirfd, int mark);

#endif
