/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals outside the ranks' folders: shared memory segments, and files libprobe-*.journal in
 * /dev/shm or in the folder of the key journal_dir. Only journals of the caller's own user are
 * examined; root sees those of all users.
 */
#ifndef PROBE_TOOLS_OUTSIDE_H
#define PROBE_TOOLS_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "folder/owner.h"

struct outside {
	char *path; /* "shm:..." or a file path */
	char *folder; /* path of the rank's folder as its process recorded it last; "" if unknown */
	struct journal_owner owner;
	uint64_t bytes;
	/* The process ended before the journal was ready: the journal never held a record. */
	bool blank;
};

struct outside_list {
	struct outside *at;
	unsigned n, cap;
};

/*
 * Finds the journals. dirs: ndirs folders to search in addition to /dev/shm and $PROBE_JOURNAL_DIR.
 */
void outside_find(struct outside_list *l, char *const *dirs, unsigned ndirs);
void outside_free(struct outside_list *l);

/* Returns the bytes that the journal occupies on its disk or in memory; 0 if it does not exist. */
uint64_t outside_bytes(const char *path);

/* Returns the path of the journal of process o, malloc'd, or NULL if there is none. */
char *outside_of(const struct journal_owner *o);

/*
 * Sets *uid to the owner of the journal. Returns 0, or -errno if it does not exist or is not a
 * regular file.
 */
int outside_user(const char *path, uid_t *uid);

/*
 * Determines from the journal itself whether its process still runs, on any process of the same
 * kernel (a pid has no meaning in another pid namespace). A file shows it by its lock. A shared
 * memory segment shows it by the number of processes that have mapped it; `mine` of these mappings
 * belong to the caller. Returns OWNER_UNKNOWN if neither gives an answer.
 */
enum owner_life outside_sign(const char *path, const struct journal_owner *o, uint32_t mine);

/*
 * Removes the journal of a process that has ended. Returns 0, or -errno; -EBUSY if the journal's
 * lock is held.
 */
int outside_remove(const char *path);

#endif
