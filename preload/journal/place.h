/* SPDX-License-Identifier: Apache-2.0 */
/* Where a journal may lie, and how much memory it may take there. */
#ifndef PROBE_JOURNAL_PLACE_H
#define PROBE_JOURNAL_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if a mapped file, allocated in full, can be written there for as long as the kernel runs: a local file system
 * that writes in place. Not those behind a server or a process (a page that cannot be had is SIGBUS), not those that
 * write each change to a new place (a full disk is SIGBUS, although the file was allocated), not unknown ones.
 */
bool place_is_local(int dirfd);
bool place_type_is_local(uint32_t type);

/*
 * The memory that is free for this process, in bytes: what its control groups (v2, v1, and all above them) and the
 * machine leave, the least of them; UINT64_MAX if nothing says. root: "", or a folder with a copy of /proc and /sys. Only one
 * thread at a time may ask.
 */
uint64_t place_free_memory(const char *root);

#endif
