/* SPDX-License-Identifier: Apache-2.0 */
/* How a process ended, as a part of meta.json: written by the process itself, or by the process that finds it dead. */
#ifndef PROBE_JOURNAL_ENDING_H
#define PROBE_JOURNAL_ENDING_H

#include <stddef.h>
#include <stdint.h>

#include "journal/journal.h"

#define ENDING_NONE INT32_MIN /* no exit code or signal, or not known */

struct ending {
	const char *how; /* finalized, exit, signal, abort, exception, unknown */
	int code, signal;
	/* the function in which the thread was that ended the process; NULL: none */
	const char *inside;
	const char *text; /* NULL: no further text */
	const char *shown; /* for an abort: the exception that was printed before it; NULL: none */
	uint64_t at_ns; /* Unix epoch; 0: not known */
};

/*
 * Adds *e to the dictionary; it replaces an earlier one. buf: space for its JSON text, which is
 * cut if longer. Returns 0 or -errno.
 */
int journal_record_ending(struct journal *j, const struct ending *e, char *buf, size_t cap);

/* True if the journal's dictionary has an ending. */
bool journal_has_ending(const struct journal *j);

#endif
