/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub objects for libraries that a program loads at start: chosen by libprobe.so itself, in a short process of ours, and
 * put behind it in LD_PRELOAD.
 */
#ifndef PROBE_TOOLS_STUBS_H
#define PROBE_TOOLS_STUBS_H

/* Base names of such files begin so. */
#define STUBS_PREFIX "libprobe-stubs-"

/*
 * Writes the stub object for the program that a command name stands for (of a script: its interpreter) into
 * $TMPDIR/libprobe-<uid>/, under a name made from its contents, so that runs share it. config: as PROBE_CONFIG, or NULL.
 * Returns its path (malloc'd), or NULL: no function of its libraries needs one, or it could not be made (reported).
 */
char *stubs_for(const char *library, const char *command, const char *config);

#endif
