/* SPDX-License-Identifier: Apache-2.0 */
/* Where a journal may be located, and how much memory it may use there. */
#ifndef PROBE_JOURNAL_PLACE_H
#define PROBE_JOURNAL_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if a mapped, fully allocated file in this folder can be written as long as the kernel
 * runs: a local file system that writes in place. False for network and FUSE file systems (an
 * unavailable page raises SIGBUS), copy-on-write file systems (a full disk raises SIGBUS even
 * though the file was allocated), and unknown ones.
 */
bool place_is_local(int dirfd);
bool place_type_is_local(uint32_t type);

/*
 * Returns the free memory for this process in bytes: the minimum of what its control groups (v2,
 * v1, and all above them) and the machine have left. Returns UINT64_MAX if no source is
 * available. root: "", or a folder with a copy of /proc and /sys. Only one thread at a time may
 * call it.
 */
uint64_t place_free_memory(const char *root);

#endif
