/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sinks process finished records, on the writer thread, or in a tool that reads a rank's files.
 * The CSV files are the first sink. sink_formats[] is the table of all.
 *
 * Order. The calls of a thread come in the order in which they were entered, except that an
 * asynchronous one comes when it is complete. A stack or a communicator comes before the first
 * call that refers to it, if the same thread made both. step(next) means that every step below
 * `next` has ended. Its completed calls have been given, except those that their thread entered
 * after a call that is still open. These, and open and asynchronous calls, come later, with the
 * number of their step. Several steps may end in one step(). The last step of a program does not
 * end, so step() is not called for it.
 *
 * Passes. All records between two commit() form one pass. Text that sinks write through struct
 * files becomes durable together with the journal's positions: after a crash the files contain
 * the text of each entry, and of each step(), exactly once. commit(false): the files are as they
 * were at the last commit(true), and everything since then will be given again. If a sink has no
 * space (-ENOBUFS), the pass ends before that entry: no sink keeps the entry, and it will be the
 * first one of the next pass.
 */
#ifndef PROBE_SINK_FORMAT_H
#define PROBE_SINK_FORMAT_H

#include "config/output_format.h"
#include "sink/files.h"
#include "sink/record.h"

#define SINKS_MAX 20

/*
 * Flag of sink_open(), next to FORMAT_BIT(): the records are read from the rank's CSV files,
 * which are not written again.
 */
#define SINK_FROM_FILES (UINT32_C(1) << 31)

/* Type of a file: whether its uncommitted tail is cut at the end of a line, or at any byte. */
enum sink_file { SINK_FILE_OTHER, SINK_FILE_LINES, SINK_FILE_BYTES };

/*
 * A function pointer may be NULL if the sink does not need it. `state` has state_bytes bytes,
 * zero at first.
 */
struct sink_format {
	uint32_t formats; /* FORMAT_BIT(): any of these formats selects the sink; 0: always used */
	size_t state_bytes;
	/*
	 * Returns 0 or -errno. files: holds the sink's files and the configuration, valid until
	 * close().
	 */
	int (*open)(void *state, struct files *files);
	/*
	 * Each returns 0, or -ENOBUFS (another error has the same effect): nothing has changed
	 * except text in files, which the caller undoes.
	 */
	int (*record)(void *state, const struct record *r);
	int (*stack)(void *state, const struct record_stack *e);
	int (*comm)(void *state, const struct record_comm *e);
	int (*kind)(void *state, const struct record_kind *e);
	int (*name)(void *state, const struct record_name *e);
	int (*scalar)(void *state, const struct record_scalar *e);
	int (*step)(void *state, uint32_t next);
	void (*retract)(void *state); /* another sink returned -ENOBUFS: undo the last entry */
	/*
	 * Called before a pass is written: adds text that the sink still holds to the buffers of
	 * its files. Returns 0 or -ENOMEM.
	 */
	int (*pack)(void *state);
	void (*commit)(void *state, bool written);
	void (*finish)(void *state); /* everything is committed, and there are no more records */
	void (*close)(void *state);
	/*
	 * Called after open(). True: the sink has nothing to do in this run, and gets no records.
	 */
	bool (*idle)(const void *state);
	/*
	 * Returns the type of the file if it belongs to this sink. Files of no sink are never
	 * cut.
	 */
	enum sink_file (*owns)(const char *path);
};

/* NULL-terminated; a test may define another table. */
extern const struct sink_format *const sink_formats[];

extern const struct sink_format csv_format, calls_format, compact_format, kinds_format,
	names_format, scalars_format, parallel_format, dump_format, alerts_format,
	tensorboard_format, monitor_format, api_format, monitor_log_format, health_format,
	summary_format, abnormal_norm_format, grad_probe_format;

#endif
