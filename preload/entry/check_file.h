/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `probe check`: in a process started with PROBE_CHECK=<folder> nothing is recorded; calls are counted, and at its end
 * the process writes <folder>/<pid>.check, which says of every wrapped function where its real one is and how often it
 * was called.
 */
#ifndef PROBE_ENTRY_CHECK_FILE_H
#define PROBE_ENTRY_CHECK_FILE_H

/* Writes the file, once per process. */
void check_write(void);

#endif
