/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of many ranks as one stream of bytes, from a process that reads the CSV files to the
 * process that joins the ranks. The stream is a file on a disk that both can reach, and is read
 * while it is being written. The writer sorts the calls by time, so the reader need not look far
 * ahead.
 *
 * The stream begins with a head. Blocks follow: the calls of a rank, each as its difference from
 * the rank's previous call; the strings of interned numbers; the end of a rank. The ends of a
 * rank's rounds (dir->round), if it has any, come before its calls.
 *
 * Writer and reader are the same program on the same kind of machine. Numbers are in native byte
 * order, and the head makes the reader refuse others.
 */
#ifndef PROBE_TOOLS_CALL_STREAM_H
#define PROBE_TOOLS_CALL_STREAM_H

#include <signal.h>

#include "tools/probe/model/read/calls.h"

/*
 * Writes all calls of the n readers (opened, with their `rank`) to fd until there are no more or
 * *stop is not 0. key identifies the run and the options. Does not call the readers' `bad`. Returns
 * 0 or -errno.
 */
int stream_write_calls(int fd, uint64_t key, struct calls *const *reader, unsigned n,
	const volatile sig_atomic_t *stop);

struct call_source;

#define SOURCE_MISSING_S 60 /* seconds: a stream that has not grown for this long counts as dead */

/*
 * Opens the stream at `path`; call_source_close() frees path. key: must equal the key in the head.
 * ranks: number of folders of the run. Reading waits for data that is not written yet, until *stop
 * is not 0.
 */
struct call_source *call_source_open(
	char *path, uint64_t key, unsigned ranks, const volatile sig_atomic_t *stop);
void call_source_close(struct call_source *s);

/*
 * Stores the next call of the rank of s in *out. s is a reader that was never opened. Calls s->bad
 * for rows with bad values. Fills in the rounds of the rank's folder before the first call, and its
 * counts after the last one. Returns false after the last call. If the stream ended too early,
 * s->wrong contains the reason.
 */
bool call_source_next(struct call_source *from, struct calls *s, struct call *out);

#endif
