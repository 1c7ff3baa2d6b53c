/* SPDX-License-Identifier: Apache-2.0 */
/* How a process ended, as a part of meta.json: written by the process itself, or by who finds that it is gone. */
#ifndef PROBE_JOURNAL_ENDING_H
#define PROBE_JOURNAL_ENDING_H

#include <stddef.h>
#include <stdint.h>

#include "journal/journal.h"

#define ENDING_NONE INT32_MIN /* no code, no signal, or not known */

struct ending {
	const char *how; /* finalized, exit, signal, abort, exception, unknown */
	int code, signal;
	const char *
		inside; /* the function that the thread which ended the process was in; NULL: none */
	const char *text; /* NULL: nothing more is to be said */
	const char *shown; /* of an abort: the exception that was shown before; NULL: none */
	uint64_t at_ns; /* Unix epoch; 0: not known */
};

/* Adds it to the dictionary, in place of an earlier one; buf: room for its text, a longer one is cut. Returns -errno. */
int journal_keep_ending(struct journal *j, const struct ending *e, char *buf, size_t cap);

/* Is there one? */
bool journal_has_ending(const struct journal *j);

#endif
