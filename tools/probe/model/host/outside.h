/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals outside the ranks' folders: shared memory segments, and files libprobe-*.journal in /dev/shm or where the
 * key journal_dir said. Only those of the caller's own processes are looked at; root sees everybody's.
 */
#ifndef PROBE_TOOLS_OUTSIDE_H
#define PROBE_TOOLS_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "folder/owner.h"

struct outside {
	char *path; /* "shm:..." or a file's */
	char *folder; /* of its rank, as its process last knew it; "" unknown */
	struct journal_owner owner;
	uint64_t bytes;
	bool blank; /* its process ended before it was ready: nothing was ever in it */
};

struct outside_list {
	struct outside *at;
	unsigned n, cap;
};

/* dirs: folders to look into besides /dev/shm and $PROBE_JOURNAL_DIR. */
void outside_find(struct outside_list *l, char *const *dirs, unsigned ndirs);
void outside_free(struct outside_list *l);

/* Bytes that a journal takes up on its disk, or in memory; 0: it is gone. */
uint64_t outside_bytes(const char *path);

/* The path of the one of that owner, malloc'd, or NULL. */
char *outside_of(const struct journal_owner *o);

/* The user it belongs to. -errno if there is none, or it is no regular file. */
int outside_user(const char *path, uid_t *uid);

/*
 * What the journal itself says of its process: a file's lock, or how many processes have mapped the segment, of them
 * `mine` the caller. OWNER_UNKNOWN: nothing. A pid says nothing in another pid namespace; this does on the same kernel.
 */
enum owner_life outside_sign(const char *path, const struct journal_owner *o, uint32_t mine);

/* Removes the journal of a dead process. -EBUSY: its lock is held. */
int outside_remove(const char *path);

#endif
