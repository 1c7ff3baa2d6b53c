/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's folder, kept by descriptor: taking it, moving an older one out of the way, renaming it when the rank becomes known.
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
 * Key append_output: what makes ready a folder that was left, so that this process goes on in it. Called while no other
 * may move the folder. name: in `out`. 0: meta.json is replaced, and the folder is taken; else it moves away.
 */
struct folder_resume {
	int (*prepare)(void *arg, int out, int dirfd, const char *name);
	void *arg;
};

/*
 * Takes <out>/rank<R> (rank -1: <out>/host-<name>-pid<pid>) for `me` by putting meta.json with the given text there.
 * A folder whose owner has finished or is provably dead moves to rank<R>.<n>. Left alone is one whose owner lives or
 * cannot be judged, and whatever is not this user's folder, which no other can write, or holds things under our names
 * that are not our files: <out>/rank<R>-pid<pid> is taken then, and *why says what the other "is", else it is NULL.
 * resume: NULL, or what is done with rank<R> instead of moving it away.
 * <out> itself may be reached by links and be written by others. -errno if there is no folder to be had.
 */
int folder_take(struct folder *f, const char *out, int rank, const struct journal_owner *me,
	const char *meta, size_t meta_bytes, const struct folder_resume *resume, const char **why);

/* The rank of a host-... folder became known: renames it as folder_take would have named it. */
int folder_rename(struct folder *f, const char *out, int rank, const struct journal_owner *me);

/* Opens the folder again where the program has closed our descriptor of it. -ENOENT: it is not at its place any more. */
int folder_reopen(struct folder *f);

void folder_close(struct folder *f);

#endif
