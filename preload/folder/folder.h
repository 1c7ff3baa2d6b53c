/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's folder, kept by descriptor: takes the folder, moves an older one away, renames it when
 * the rank becomes known.
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
 * For key append_output: prepares an abandoned folder, so that this process continues in it.
 * Called while no other process may move the folder. name: the folder's name in `out`. Returns 0
 * if the folder can be taken (meta.json is then replaced); otherwise it is moved away.
 */
struct folder_resume {
	int (*prepare)(void *arg, int out, int dirfd, const char *name);
	void *arg;
};

/*
 * Takes folder <out>/rank<R> (rank -1: <out>/host-<name>-pid<pid>) for process `me`, by writing
 * meta.json with the given text into it. A folder whose owner has finished or is provably dead is
 * first moved to rank<R>.<n>. A folder is not touched if its owner runs or its state is unknown,
 * if it is not this user's or is writable by others, or if it has foreign files under libprobe's
 * names. In that case <out>/rank<R>-pid<pid> is taken, and *why says what is wrong with the other
 * folder; otherwise *why is NULL. resume: NULL, or what to do with rank<R> instead of moving it
 * away.
 *
 * <out> itself may be reached through links and be writable by others. Returns -errno if no
 * folder is available.
 */
int folder_take(struct folder *f, const char *out, int rank, const struct journal_owner *me,
	const char *meta, size_t meta_bytes, const struct folder_resume *resume, const char **why);

/*
 * For a host-... folder whose rank became known: renames it to the name that folder_take() would
 * have chosen.
 */
int folder_rename(struct folder *f, const char *out, int rank, const struct journal_owner *me);

/*
 * Opens the folder again if the program has closed its descriptor. Returns -ENOENT if its path is
 * no longer this folder.
 */
int folder_reopen(struct folder *f);

void folder_close(struct folder *f);

#endif
