/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_LIB_SIGNAL_NAME_H
#define PROBE_TOOLS_LIB_SIGNAL_NAME_H

/* "KILL" for SIGKILL; NULL: it has no name. As sigabbrev_np(), which glibc has since 2.32. */
const char *get_signal_name(int signal);

#endif
