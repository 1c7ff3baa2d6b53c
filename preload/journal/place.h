/* SPDX-License-Identifier: Apache-2.0 */
/* Where a journal may be placed, and how much memory it may take there. */
#ifndef PROBE_JOURNAL_PLACE_H
#define PROBE_JOURNAL_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if a mapped, fully allocated file can be written there as long as the kernel runs: a local file system that
 * writes in place. Not network or FUSE file systems: if a page is unavailable, that is SIGBUS. Not copy-on-write file
 * systems: a full disk is SIGBUS, although the file was allocated. Not unknown ones.
 */
bool place_is_local(int dirfd);
bool place_type_is_local(uint32_t type);

/*
 * The memory that is free for this process, in bytes: the minimum of what its control groups (v2, v1, and all above them) and
 * the machine have left. UINT64_MAX if no source is available. root: "", or a folder with a copy of /proc and /sys. Only one
 * thread at a time may call it.
 */
uint64_t place_free_memory(const char *root);

#endif
