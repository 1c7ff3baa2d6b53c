/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of many ranks as one stream of bytes, from a process that reads the CSV files to the one that joins the ranks: a
 * file on a disk that both see, read while it is being written. The writer sorts by time, so the reader need not look far
 * ahead.
 *
 *	head, then blocks: a rank's calls, each as its difference from the rank's last one, preceded by the ends of its rounds
 * (dir->round),
 *	if it has some; the texts of interned numbers; a rank's end
 *
 * Writer and reader are the same program on the same kind of machine: numbers are in native byte order, and the head refuses
 * others.
 */
#ifndef PROBE_TOOLS_CALL_STREAM_H
#define PROBE_TOOLS_CALL_STREAM_H

#include <signal.h>

#include "tools/probe/model/read/calls.h"

/*
 * Writes all calls of those readers (opened, with their `rank`) until there are no more or *stop is not 0. Does not call their `bad`.
 * Returns 0 or -errno.
 */
int stream_write_calls(int fd, uint64_t key, struct calls *const *reader, unsigned n,
	const volatile sig_atomic_t *stop);

struct call_source;

#define SOURCE_MISSING_S 60 /* a stream that has not grown for this long counts as dead */

/*
 * Reads the stream at path, and frees path in the end. ranks: number of folders of the run. key: must equal the head's key.
 * Waits for data that is not written yet, until *stop is not 0.
 */
struct call_source *call_source_open(
	char *path, uint64_t key, unsigned ranks, const volatile sig_atomic_t *stop);
void call_source_close(struct call_source *s);

/*
 * Returns the next call of that rank. s: its reader, never opened. Calls its `bad` for rows with bad values, fills in its
 * folder's rounds before the first call, and its counts at the end. False: no more; s->wrong tells if the stream ended too
 * early.
 */
bool call_source_next(struct call_source *from, struct calls *s, struct call *out);

#endif
