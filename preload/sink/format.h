/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sinks: what makes something of finished records, on the writer thread, or in a tool that reads a rank's files. The CSV
 * files are the first. sink_formats[] is the table of all.
 *
 * Order. The calls of a thread come in the order in which they were entered; an asynchronous one when it is complete. A stack or a
 * communicator comes before the first call that has it, where the same thread made both. step(next) says that every step
 * below `next` has ended: each call of these that had been left when the step ended was given before, but those that lie
 * behind a call which their thread has still open; these, open and asynchronous ones come later, with their step's number.
 * Several steps may end in one step(); the last step of a program, which nothing ends, has none.
 *
 * Passes. What is given between two commit() is one pass, and what sinks write through struct files becomes durable with
 * it, together with the journal's positions: after a crash each entry, and each step(), has left its text in the files once.
 * commit(false): the files are as they were at the last commit(true), and everything since then is given again. Where a sink has no
 * room (-ENOBUFS) the pass ends before that entry: none of the sinks keeps it, and it is the first of the next pass.
 */
#ifndef PROBE_SINK_FORMAT_H
#define PROBE_SINK_FORMAT_H

#include "config/output_format.h"
#include "sink/files.h"
#include "sink/record.h"

#define SINKS_MAX 20

/* Beside FORMAT_BIT() of sink_open(): the record is read from the CSV files: nothing that stands with these is written again. */
#define SINK_FROM_FILES (UINT32_C(1) << 31)

/* What a file is, as its name says: its tail is cut off at the end of a line, or at any byte. */
enum sink_file { SINK_FILE_OTHER, SINK_FILE_LINES, SINK_FILE_BYTES };

/* What is NULL is not wanted. `state` are state_bytes, zero at first. */
struct sink_format {
	uint32_t formats; /* FORMAT_BIT(): any of them chooses it; 0: always */
	size_t state_bytes;
	/* -errno. files: where all its files are, with the configuration, good until close(). */
	int (*open)(void *state, struct files *files);
	/* Each 0, or -ENOBUFS with nothing changed but text in files, which is taken back. */
	int (*record)(void *state, const struct record *r);
	int (*stack)(void *state, const struct record_stack *e);
	int (*comm)(void *state, const struct record_comm *e);
	int (*kind)(void *state, const struct record_kind *e);
	int (*name)(void *state, const struct record_name *e);
	int (*scalar)(void *state, const struct record_scalar *e);
	int (*step)(void *state, uint32_t next);
	void (*retract)(void *state); /* another sink had no room: the last entry was not given */
	int (*pack)(
		void *state); /* before the pass is written: what is not in files yet goes into their buffers; -ENOMEM */
	void (*commit)(void *state, bool written);
	void (*finish)(void *state); /* all is committed, and nothing more will come */
	void (*close)(void *state);
	/* Behind open(): nothing is to be done in this run, and it is given nothing. */
	bool (*idle)(const void *state);
	/* Is a file of that name one of its own? No other is ever cut. */
	enum sink_file (*owns)(const char *path);
};

/* NULL-terminated; a test may have another table. */
extern const struct sink_format *const sink_formats[];

extern const struct sink_format csv_format, calls_format, compact_format, kinds_format,
	names_format, scalars_format, parallel_format, dump_format, alerts_format,
	tensorboard_format, monitor_format, api_format, monitor_log_format, health_format,
	summary_format, abnormal_norm_format, grad_probe_format;

#endif
