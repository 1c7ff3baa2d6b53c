/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mark of the process that handles an abandoned folder: one process at a time moves it away, or continues in it. It is a
 * file with a lock, which the kernel releases whenever its process ends; the file's age is irrelevant.
 */
#ifndef PROBE_SINK_FOLDER_MARK_H
#define PROBE_SINK_FOLDER_MARK_H

/*
 * Sets the mark in the folder of that descriptor. Returns the mark's own descriptor, for unmark_folder(); -EBUSY:
 * another process has it; -errno: it cannot be made here.
 */
int mark_folder(int dirfd);

/* Removes it, wherever the folder is by now. */
void unmark_folder(int dirfd, int mark);

#endif
