/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `probe check`: in a process started with PROBE_CHECK=<folder> nothing is recorded; calls are
 * counted. When the process ends it writes <folder>/<pid>.check, which lists for every wrapped
 * function the object with the real function and the number of calls.
 */
#ifndef PROBE_ENTRY_CHECK_FILE_H
#define PROBE_ENTRY_CHECK_FILE_H

/* Writes the file, once per process. */
void check_write(void);

#endif
