/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where drained entries go: as records to every sink (format.h), which write into a rank's folder; and meta.json. One user
 * at a time (the writer thread, whoever ends the process, or `probe recover`).
 */
#ifndef PROBE_SINK_SINK_H
#define PROBE_SINK_SINK_H

#include "journal/journal.h"
#include "sink/files.h"
#include "sink/format.h"
#include "elf/symbols.h"

/* A call's entry and its end's. */
#define RECORD_TENSORS_MAX (2 * JOURNAL_ENTRY_MAX / sizeof(struct journal_tensor))

struct sink {
	struct journal *j;
	struct files files;
	uint32_t open; /* bit i: sink_formats[i] is */
	uint32_t on_record; /* bit i: sink_formats[i] wants records, by far the most frequent */
	void *state[SINKS_MAX];
	const struct journal_tensor *tensor[RECORD_TENSORS_MAX]; /* of the record that is given */
	const char *name[RECORD_TENSORS_MAX]; /* ... and the names of these */
	struct name_book *names; /* NULL until there is a name */
	uint32_t steps; /* step() was given this number */
	struct symbols *symbols; /* NULL until the first stack */
	uint64_t modules_at; /* how far the dictionary has been looked through for modules */
	uint64_t modules_written; /* the same, for modules.csv */
	uint64_t opened; /* what open.jsonl holds, see opened_write() */
	struct row_api *api; /* by dictionary id; lib NULL: not looked for yet */
	uint32_t napi;
	/* Of the pass: */
	uint64_t rows;
	uint32_t last_step;
	bool have_rows;
	uint64_t first_tick, last_tick;
};

/*
 * formats: FORMAT_BIT() of what is to be written. cfg: of the recording, good until sink_close(); NULL: as by default.
 */
int sink_open(
	struct sink *s, struct journal *j, int dirfd, const struct config *cfg, uint32_t formats);
void sink_close(struct sink *s);

/*
 * Each takes one entry into the buffers: 0, or -ENOBUFS when the pass has to be ended first. end: completion of an
 * asynchronous call or NULL; open: entered and not left (or started and not completed).
 */
int sink_call(
	struct sink *s, const struct journal_call *c, const struct journal_end *end, bool open);
int sink_stack(struct sink *s, const struct journal_stack *e);
int sink_comm(struct sink *s, const struct journal_comm *e);
int sink_kind(struct sink *s, const struct journal_kind_row *e);
int sink_name(struct sink *s, const struct journal_name *e);
int sink_scalar(struct sink *s, const struct journal_scalar *e);

/* The same of what is no entry of a journal: for who reads a rank's files. */
int sink_give_record(struct sink *s, const struct record *r);
int sink_give_stack(struct sink *s, const struct record_stack *e);
int sink_give_comm(struct sink *s, const struct record_comm *e);
int sink_give_kind(struct sink *s, const struct record_kind *e);
int sink_give_name(struct sink *s, const struct record_name *e);
int sink_give_scalar(struct sink *s, const struct record_scalar *e);

/*
 * All chains have been looked through since `next` was the current step: says that those below it have ended, if that
 * is news. As those above.
 */
int sink_step(struct sink *s, uint32_t next);

/* Writes all buffers; *next gets file lengths and counts. On an error nothing has changed. */
int sink_write(struct sink *s, struct journal_commit *next);
void sink_drop(struct sink *s);

/* The last pass has been committed and no further one will come: for what sinks make of all that they were given. */
void sink_finish(struct sink *s);

/* Rewrites meta.json, and modules.csv if there is something new, atomically. */
int sink_meta(struct sink *s);

#endif
