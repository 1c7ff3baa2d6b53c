/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub objects for libraries that a program loads when it starts. libprobe.so itself selects the
 * functions, in a short-lived process of this command. The stub object must follow libprobe.so in
 * LD_PRELOAD.
 */
#ifndef PROBE_TOOLS_STUBS_H
#define PROBE_TOOLS_STUBS_H

/* prefix of the file names of stub objects */
#define STUBS_PREFIX "libprobe-stubs-"

/*
 * Writes the stub object for the program of a command name (for a script: its interpreter) to
 * $TMPDIR/libprobe-<uid>/. The file name depends on the contents, so that several runs can share
 * the file. config: the value for PROBE_CONFIG, or NULL. Returns the path (malloc'd), or NULL if no
 * function of the program's libraries needs a stub, or if writing failed (reported).
 */
char *stubs_get_object(const char *library, const char *command, const char *config);

#endif
