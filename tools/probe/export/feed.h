/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds sinks (sink/format.h) from the files of rank folders: they get the data that the writer thread gives them while the job
 * runs. Rows of calls, parameter statistics and scalars come in the order of their steps; names, stacks and communicators come
 * first. Data that CSV files do not have (tensors, digits beyond those printed) is missing.
 */
#ifndef PROBE_TOOLS_PROBE_EXPORT_FEED_H
#define PROBE_TOOLS_PROBE_EXPORT_FEED_H

#include "terms/train_kind.h"
#include "sink/sink.h"
#include "tools/lib/files/csv.h"
#include "tools/lib/table.h"
#include "tools/probe/model/read/calls.h"

struct feed_options {
	const char *dir; /* output folder, or a rank's */
	const char *output; /* NULL: in DIR, where the job would have written it */
	uint64_t step_lo, step_hi; /* inclusive */
	struct ranges ranks; /* empty: all */
	enum output_format format;
	const char *
		kinds; /* only these files, separated by commas, `scalars` is one of them; NULL: all */
	bool quiet; /* no closing line on stdout */
};

/* Returns 0 or STATUS_USAGE (reported). Stops at a rank that cannot be written. */
int feed_folders(const struct feed_options *o);

/* ---- shared by its source files only ---- */

/* A source of rows: the step of its next row, and the function that passes it on. */
struct feed_source {
	bool have; /* a row is ready */
	uint64_t step;
	struct csv csv; /* of sources of plain rows */
	char **file; /* further files, in order */
	uint64_t *limit;
	unsigned nfile, cap_file, at;
	bool reading;
	char word[24]; /* of the files of a parameter statistic */
	int column[CSV_COLUMNS_MAX];
	int op[TRAIN_OPS_END]; /* columns of its statistics, -1: none */
	uint32_t ops;
};

struct feed_tensor {
	struct journal_tensor t;
	uint64_t dim[64];
	char name[512];
};

/* A call and its rows, before they become a record. */
struct feed_call {
	struct call call;
	struct journal_call entry;
	struct row_api api;
	struct feed_tensor *row;
	unsigned n, cap;
	uint64_t order; /* position in the files */
};

/*
 * Calls in the order of their steps. In the files a call is stored where it ended: an asynchronous one is often stored after
 * calls of the next step, so some calls are read ahead.
 */
struct feed_calls {
	struct calls reader;
	struct feed_call *now; /* NULL: there is none */
	struct feed_call *reading; /* its rows are being read */
	struct feed_call **ahead; /* a heap, the lowest step first */
	unsigned n;
	uint64_t read;
	const struct journal_tensor **tensor; /* of the record */
	const char **name;
	struct table numbers; /* of functions */
};

struct feed {
	const struct feed_options *options;
	const struct rank_dir *dir;
	const struct overlay *overlay;
	struct journal journal;
	struct sink sink;
	struct clock_base clock;
	struct feed_calls calls;
	struct feed_source *kind; /* by word */
	unsigned nkind, cap_kind;
	struct feed_source scalars;
	uint64_t given, damaged;
	int err;
};

void feed_calls_open(struct feed *f);
void feed_calls_close(struct feed *f);
/* Moves to the next call: f->calls.now. */
void feed_calls_next(struct feed *f);
/* The record of the current call, valid until the next call of this function. */
struct record feed_call_record(struct feed *f);

/* Files of parameter statistics and scalars. */
void feed_rows_open(struct feed *f);
void feed_rows_close(struct feed *f);
void feed_source_next(struct feed *f, struct feed_source *s);
/* Each passes the current row to the sinks: 0 or -ENOBUFS. */
int feed_give_kind(struct feed *f, struct feed_source *s);
int feed_give_scalar(struct feed *f, struct feed_source *s);

/*
 * Passes on all names, communicators and stacks of the folder. end_pass(f) ends the pass if the sinks had no room. Returns 0 or
 * -errno.
 */
int feed_tables(struct feed *f, int (*end_pass)(struct feed *f));

#endif
