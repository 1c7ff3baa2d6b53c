/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mark of who is at a folder that was left: it is moved away, or gone on in, by one process at a time. It is a file
 * with a lock, and the kernel frees that when its process ends, however it does: how long it is there says nothing.
 */
#ifndef PROBE_SINK_FOLDER_MARK_H
#define PROBE_SINK_FOLDER_MARK_H

/*
 * Sets the mark in the folder of that descriptor. Returns the mark's own descriptor, for unmark_folder(); -EBUSY: another
 * process has it; -errno: it cannot be made here.
 */
int mark_folder(int dirfd);

/* Takes it away, wherever the folder is by now. */
void unmark_folder(int dirfd, int mark);

#endif
