/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_LIB_SIGNAL_NAME_H
#define PROBE_TOOLS_LIB_SIGNAL_NAME_H

/*
 * Returns "KILL" for SIGKILL, or NULL if the signal has no name. Like sigabbrev_np(), which only
 * exists in glibc 2.32 and later.
 */
const char *get_signal_name(int signal);

#endif
