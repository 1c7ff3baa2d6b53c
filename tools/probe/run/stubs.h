/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub objects for libraries that a program loads at start: libprobe.so itself chooses the functions, in a short-lived process
 * of the tool. The object must follow it in LD_PRELOAD.
 */
#ifndef PROBE_TOOLS_STUBS_H
#define PROBE_TOOLS_STUBS_H

/* Prefix of the base names of such files. */
#define STUBS_PREFIX "libprobe-stubs-"

/*
 * Writes the stub object for the program of a command name (for a script: its interpreter) into $TMPDIR/libprobe-<uid>/, under a name made
 * from its contents, so that runs share it. config: as PROBE_CONFIG, or NULL. Returns its path (malloc'd), or NULL: no function of its
 * libraries needs one, or it could not be written (reported).
 */
char *stubs_for(const char *library, const char *command, const char *config);

#endif
