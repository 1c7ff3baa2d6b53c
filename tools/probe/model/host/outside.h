/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals outside the ranks' folders: shared memory segments, and files libprobe-*.journal in /dev/shm or in the folder of the key
 * journal_dir. Only journals of the caller's own processes are examined; root sees all users'.
 */
#ifndef PROBE_TOOLS_OUTSIDE_H
#define PROBE_TOOLS_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "folder/owner.h"

struct outside {
	char *path; /* "shm:..." or a file's */
	char *folder; /* its rank's folder, as its process last knew it; "": unknown */
	struct journal_owner owner;
	uint64_t bytes;
	bool blank; /* its process ended before it was ready: it never held a record */
};

struct outside_list {
	struct outside *at;
	unsigned n, cap;
};

/* dirs: folders to search in addition to /dev/shm and $PROBE_JOURNAL_DIR. */
void outside_find(struct outside_list *l, char *const *dirs, unsigned ndirs);
void outside_free(struct outside_list *l);

/* Bytes that a journal takes up on its disk, or in memory; 0: it is gone. */
uint64_t outside_bytes(const char *path);

/* The path of the journal of that owner, malloc'd, or NULL. */
char *outside_of(const struct journal_owner *o);

/* The user that owns it. Returns -errno if there is none, or if it is no regular file. */
int outside_user(const char *path, uid_t *uid);

/*
 * Determines from the journal itself whether its process runs: by a file's lock, or by the number of processes that have mapped
 * the segment, `mine` of them the caller. OWNER_UNKNOWN: no answer. A pid is meaningless in another pid namespace; this works
 * everywhere on the same kernel.
 */
enum owner_life outside_sign(const char *path, const struct journal_owner *o, uint32_t mine);

/* Removes the journal of a dead process. -EBUSY: its lock is held. */
int outside_remove(const char *path);

#endif
