/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes drained entries as records to every sink (format.h); sinks write into a rank's folder. Also writes meta.json.
 * One user at a time: the writer thread, the thread that ends the process, or `probe recover`.
 */
#ifndef PROBE_SINK_SINK_H
#define PROBE_SINK_SINK_H

#include "journal/journal.h"
#include "sink/files.h"
#include "sink/format.h"
#include "elf/symbols.h"

/* For the entry of a call and the entry of its completion. */
#define RECORD_TENSORS_MAX (2 * JOURNAL_ENTRY_MAX / sizeof(struct journal_tensor))

struct sink_taker {
	int (*record)(void *state, const struct record *r);
	void *state;
	unsigned number; /* index in sink_formats[] */
};

struct sink {
	struct journal *j;
	struct files files;
	uint32_t open; /* bit i: sink_formats[i] is open */
	void *state[SINKS_MAX];
	/* the sinks that take records of calls, by far the most frequent records */
	struct sink_taker on_record[SINKS_MAX];
	unsigned non_record;
	const struct journal_tensor *tensor[RECORD_TENSORS_MAX]; /* tensors of the current record */
	const char *name[RECORD_TENSORS_MAX]; /* names of these tensors */
	struct name_book *names; /* NULL until there is a name */
	struct call_sites *sites;
	uint32_t steps; /* the last `next` passed to step() */
	struct symbols *symbols; /* NULL until the first stack */
	uint64_t modules_at; /* bytes of the dictionary searched for modules to symbolise */
	uint64_t modules_written; /* bytes of the dictionary searched for modules.csv */
	uint64_t opened; /* state of open.jsonl, see opened_write() */
	struct row_api *api; /* by dictionary id; lib NULL: not looked up yet */
	uint32_t napi;
	/* Counts of the current pass: */
	uint64_t rows;
	uint32_t last_step;
	bool have_rows;
	uint64_t first_tick, last_tick;
};

/*
 * formats: FORMAT_BIT() of the formats to write. cfg: the recording's, valid until sink_close();
 * NULL: defaults.
 */
int sink_open(
	struct sink *s, struct journal *j, int dirfd, const struct config *cfg, uint32_t formats);
void sink_close(struct sink *s);

/*
 * Each function adds one entry to the buffers. Returns 0, or -ENOBUFS if the pass must be ended
 * first. end: completion of an asynchronous call, or NULL. open: entered and not returned (or
 * started and not completed).
 */
int sink_add_call(
	struct sink *s, const struct journal_call *c, const struct journal_end *end, bool open);
int sink_add_stack(struct sink *s, const struct journal_stack *e);
int sink_add_comm(struct sink *s, const struct journal_comm *e);
int sink_add_kind(struct sink *s, const struct journal_kind_row *e);
int sink_add_name(struct sink *s, const struct journal_name *e);
int sink_add_scalar(struct sink *s, const struct journal_scalar *e);

/*
 * Adds a record that does not come from a journal, for readers of a rank's files. Returns 0 or
 * -ENOBUFS.
 */
int sink_give_record(struct sink *s, const struct record *r);
int sink_give_stack(struct sink *s, const struct record_stack *e);
int sink_give_comm(struct sink *s, const struct record_comm *e);
int sink_give_kind(struct sink *s, const struct record_kind *e);
int sink_give_name(struct sink *s, const struct record_name *e);
int sink_give_scalar(struct sink *s, const struct record_scalar *e);

/*
 * All chains have been read since step `next` became the current one. Tells the sinks once that
 * all steps below it have ended. Returns 0 or -ENOBUFS.
 */
int sink_add_step(struct sink *s, uint32_t next);

/* Writes all buffers; *next gets file lengths and counts. On an error nothing has changed. */
int sink_write(struct sink *s, struct journal_commit *next);
void sink_reset_pass(struct sink *s);

/* To be called when the last pass has been committed: lets sinks write their final results. */
void sink_write_results(struct sink *s);

/* Rewrites meta.json, and modules.csv if there are new modules, atomically. */
int sink_write_meta(struct sink *s);

#endif
