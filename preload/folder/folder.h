/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's folder, kept by descriptor: takes it, moves an older one out of the way, renames it when the rank becomes
 * known.
 */
#ifndef PROBE_SINK_FOLDER_H
#define PROBE_SINK_FOLDER_H

#include "base/io.h"
#include "journal/layout.h"

struct folder {
	struct io_kept dir;
	char path[4096]; /* absolute */
};

/*
 * Key append_output: prepares an abandoned folder, so that this process continues in it. Called while no other process
 * may move the folder. name: in `out`. Returns 0: meta.json is replaced, and the folder is taken; else the folder is
 * moved away.
 */
struct folder_resume {
	int (*prepare)(void *arg, int out, int dirfd, const char *name);
	void *arg;
};

/*
 * Takes <out>/rank<R> (rank -1: <out>/host-<name>-pid<pid>) for `me` by putting meta.json with the given text there. A folder
 * whose owner has finished or is provably dead is moved to rank<R>.<n>. Not touched are folders whose owner runs or whose state
 * is unknown, folders that are not this user's or are writable by others, and folders with foreign files under libprobe's
 * names. In that case <out>/rank<R>-pid<pid> is taken, and *why tells what the other "is"; otherwise it is NULL. resume: NULL,
 * or what to do with rank<R> instead of moving it away.
 *
 * <out> itself may be reached through links and be writable by others. Returns -errno if no folder is available.
 */
int folder_take(struct folder *f, const char *out, int rank, const struct journal_owner *me,
	const char *meta, size_t meta_bytes, const struct folder_resume *resume, const char **why);

/* The rank of a host-... folder became known: renames it to the name that folder_take() would have chosen. */
int folder_rename(struct folder *f, const char *out, int rank, const struct journal_owner *me);

/* Opens the folder again if the program has closed its descriptor. -ENOENT: it is no longer at its place. */
int folder_reopen(struct folder *f);

void folder_close(struct folder *f);

#endif
