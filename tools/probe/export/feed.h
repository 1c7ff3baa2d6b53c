/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files of rank folders and passes their data to sinks (sink/format.h), as the writer thread
 * does while a job runs. Names, stacks and communicators come first. Calls, parameter statistics and
 * scalars follow in the order of their steps. Data that CSV files do not contain is missing: tensors,
 * digits beyond those printed.
 */
#ifndef PROBE_TOOLS_PROBE_EXPORT_FEED_H
#define PROBE_TOOLS_PROBE_EXPORT_FEED_H

#include "terms/train_kind.h"
#include "sink/sink.h"
#include "tools/lib/files/csv.h"
#include "tools/lib/table.h"
#include "tools/probe/model/read/calls.h"

struct feed_options {
	const char *dir; /* output folder, or the folder of one rank */
	const char *output; /* NULL: in `dir`, where the job would have written it */
	uint64_t step_lo, step_hi; /* first and last step */
	struct ranges ranks; /* empty: all */
	enum output_format format;
	/* Names of the files to feed, separated by commas; `scalars` is one of them. NULL: all. */
	const char *kinds;
	bool quiet; /* print no final line on stdout */
};

/* Returns 0 or STATUS_USAGE (reported). Stops at the first rank that cannot be written. */
int feed_folders(const struct feed_options *o);

/* ---- shared by its source files only ---- */

/* A source of rows: a parameter statistic, or the scalars. */
struct feed_source {
	bool have; /* a row is ready */
	uint64_t step;
	struct csv csv; /* the current file */
	char **file; /* files that follow, in order */
	uint64_t *limit;
	unsigned nfile, cap_file, at;
	bool reading;
	char word[24]; /* first word of the file names of a parameter statistic */
	int column[CSV_COLUMNS_MAX];
	int op[TRAIN_OPS_END]; /* columns of its statistics; -1: no such column */
	uint32_t ops;
};

struct feed_tensor {
	struct journal_tensor t;
	uint64_t dim[64];
	char name[512];
};

/* A call and its rows, before they are converted to a record. */
struct feed_call {
	struct call call;
	struct journal_call entry;
	struct row_api api;
	struct feed_tensor *row;
	unsigned n, cap;
	uint64_t order; /* position in the files */
};

/*
 * The calls of a rank in the order of their steps. The files have them in the order of their ends:
 * an asynchronous call often comes after calls of the next step. So some calls are read ahead.
 */
struct feed_calls {
	struct calls reader;
	struct feed_call *now; /* the current call; NULL: none */
	struct feed_call *reading; /* the call whose rows are being read */
	struct feed_call **ahead; /* a heap, the lowest step first */
	unsigned n;
	uint64_t read;
	const struct journal_tensor **tensor; /* tensors of the current record */
	const char **name;
	struct table numbers; /* numbers of functions */
};

struct feed {
	const struct feed_options *options;
	const struct rank_dir *dir;
	const struct overlay *overlay;
	struct journal journal;
	struct sink sink;
	struct clock_base clock;
	struct feed_calls calls;
	struct feed_source *kind; /* in the order of their words */
	unsigned nkind, cap_kind;
	struct feed_source scalars;
	uint64_t given, damaged;
	int err;
};

void feed_calls_open(struct feed *f);
void feed_calls_close(struct feed *f);
/* Reads the next call; f->calls.now is NULL after the last one. */
void feed_calls_next(struct feed *f);
/* Returns the record of the current call, valid until the next call of this function. */
struct record feed_call_record(struct feed *f);

/* Like feed_calls_open(), _close() and _next(), for files of parameter statistics and scalars. */
void feed_rows_open(struct feed *f);
void feed_rows_close(struct feed *f);
void feed_source_next(struct feed *f, struct feed_source *s);
/* Pass the current row to the sinks. Return 0 or -ENOBUFS. */
int feed_give_kind(struct feed *f, struct feed_source *s);
int feed_give_scalar(struct feed *f, struct feed_source *s);

/*
 * Passes all names, communicators and stacks of the folder to the sinks. If a sink is full, ends
 * the pass with end_pass(f) and continues. Returns 0 or -errno.
 */
int feed_tables(struct feed *f, int (*end_pass)(struct feed *f));

#endif
