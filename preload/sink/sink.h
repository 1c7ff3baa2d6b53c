/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where drained records go: rows, tables and meta.json in a rank's folder. One user at a time (the writer thread,
 * whoever ends the process, or `probe recover`).
 */
#ifndef PROBE_SINK_SINK_H
#define PROBE_SINK_SINK_H

#include "journal/journal.h"
#include "sink/files.h"
#include "stack/stack.h"

struct sink {
	struct journal *j;
	struct files files;
	struct symbols *symbols; /* NULL until the first stack */
	uint64_t modules_at; /* how far the dictionary has been looked through for modules */
	uint64_t modules_written; /* the same, for modules.csv */
	const char **api; /* by dictionary id: lib, NUL, symbol, NUL, op */
	const char **name;
	uint32_t napi, nname;
	/* Of the pass: */
	uint64_t rows;
	uint32_t last_step;
	bool have_rows;
	uint64_t first_tick, last_tick;
};

int sink_open(struct sink *s, struct journal *j, int dirfd);
void sink_close(struct sink *s);

/*
 * Each takes one entry into the buffers: 0, or -ENOBUFS when the pass has to be ended first. end: completion of an
 * asynchronous call or NULL; open: entered and not left (or started and not completed).
 */
int sink_call(
	struct sink *s, const struct journal_call *c, const struct journal_end *end, bool open);
int sink_stack(struct sink *s, const struct journal_stack *e);
int sink_comm(struct sink *s, const struct journal_comm *e);

/* Writes all buffers; *next gets file lengths and counts. On an error nothing has changed. */
int sink_write(struct sink *s, struct journal_commit *next);
void sink_drop(struct sink *s);

/* Rewrites meta.json, and modules.csv if there is something new, atomically. */
int sink_meta(struct sink *s);

#endif
