/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sinks process finished records, on the writer thread, or in a tool that reads a rank's files. The CSV files are the
 * first sink. sink_formats[] is the table of all.
 *
 * Order. The calls of a thread come in the order in which they were entered; an asynchronous one when it is complete. A
 * stack or a communicator comes before the first call that refers to it, if the same thread made both. step(next) means
 * that every step below `next` has ended: its completed calls have been given, except those after a call that their
 * thread has still open. Those, and open and asynchronous calls, come later with their step's number. Several steps may
 * end in one step(). The last step of a program does not end, so it has none.
 *
 * Passes. All records between two commit() form one pass. Text that sinks write through struct files becomes durable
 * with it, together with the journal's positions: after a crash each entry, and each step(), has left its text in the
 * files once. commit(false): the files are as they were at the last commit(true), and everything since then is given
 * again. If a sink has no room (-ENOBUFS), the pass ends before that entry: no sink keeps it, and it is the first entry
 * of the next pass.
 */
#ifndef PROBE_SINK_FORMAT_H
#define PROBE_SINK_FORMAT_H

#include "config/output_format.h"
#include "sink/files.h"
#include "sink/record.h"

#define SINKS_MAX 20

/*
 * Flag next to FORMAT_BIT() of sink_open(): the record is read from the CSV files, and their content is not written
 * again.
 */
#define SINK_FROM_FILES (UINT32_C(1) << 31)

/* Type of a file by its name: its tail is cut at the end of a line, or at any byte. */
enum sink_file { SINK_FILE_OTHER, SINK_FILE_LINES, SINK_FILE_BYTES };

/* A member may be NULL if it is not needed. `state` has state_bytes bytes, zero at first. */
struct sink_format {
	uint32_t formats; /* FORMAT_BIT(): any of them selects it; 0: always */
	size_t state_bytes;
	/* Returns 0 or -errno. files: holds all its files and the configuration, valid until close(). */
	int (*open)(void *state, struct files *files);
	/* Each returns 0, or -ENOBUFS with nothing changed except text in files, which is undone. */
	int (*record)(void *state, const struct record *r);
	int (*stack)(void *state, const struct record_stack *e);
	int (*comm)(void *state, const struct record_comm *e);
	int (*kind)(void *state, const struct record_kind *e);
	int (*name)(void *state, const struct record_name *e);
	int (*scalar)(void *state, const struct record_scalar *e);
	int (*step)(void *state, uint32_t next);
	void (*retract)(void *state); /* another sink had no room: forget the last entry */
	/* Before the pass is written: moves what is not in files yet into their buffers. Returns 0 or -ENOMEM. */
	int (*pack)(void *state);
	void (*commit)(void *state, bool written);
	void (*finish)(void *state); /* everything is committed, and no more records will come */
	void (*close)(void *state);
	/* Called after open(). True: it has nothing to do in this run, and gets no records. */
	bool (*idle)(const void *state);
	/* Tells whether a file of that name is its own. No other file is ever cut. */
	enum sink_file (*owns)(const char *path);
};

/* NULL-terminated; a test may have another table. */
extern const struct sink_format *const sink_formats[];

extern const struct sink_format csv_format, calls_format, compact_format, kinds_format,
	names_format, scalars_format, parallel_format, dump_format, alerts_format,
	tensorboard_format, monitor_format, api_format, monitor_log_format, health_format,
	summary_format, abnormal_norm_format, grad_probe_format;

#endif
