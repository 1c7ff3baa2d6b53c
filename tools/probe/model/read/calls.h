/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one rank's folder, in the order of its files: calls_<a>-<b>[.<k>].csv[.gz] or .compact. The rows of a call (one per
 * tensor) become one struct.
 */
#ifndef PROBE_TOOLS_CALLS_H
#define PROBE_TOOLS_CALLS_H

#include "tools/lib/files/csv.h"
#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/read/overlay.h"
#include "tools/probe/model/read/side.h"

#define NO_NUMBER INT64_MIN /* an integer column that is empty */

enum call_bits {
	CALL_OPEN = 1,
	CALL_ASYNC = 2,
	CALL_ERROR = 4,
	CALL_LOCAL = 8, /* its communicator's id has no meaning for other ranks */
	CALL_NESTED = 16, /* its communicator's id is meaningless for other ranks */
	CALL_P2P = 32, /* has a peer: its comm_seq does not join ranks */
	CALL_WAITED = 64, /* `wait` is known */
	CALL_WAIT_SHARED =
		128, /* ... and is shared with the previous call, because the same Wait completed both */
	CALL_MORE = 256, /* it has tensors without a row */
	CALL_LATE = 512, /* its rows came after those of later calls: `nth` is not reliable */
	CALL_UNWOUND = 1024, /* left by an exception */
	CALL_PERMUTED =
		2048, /* a tensor's elements are stored in another order than that of their indices */
	CALL_GAPS = 4096, /* a tensor's elements have other elements between them */
	CALL_PEERS_STEP =
		8192, /* its rank marks no steps: `step` is that of the rank that shares the call */
	CALL_IN_PLACE = 16384, /* the result takes the place of the input */
};

struct call {
	uint32_t rank; /* index into the run's folders */
	uint32_t lib, api, op, redop, dtype; /* interned */
	uint32_t bits, rows;
	uint32_t stack; /* 0: none */
	uint32_t thread;
	uint32_t phase; /* interned: forward, backward, optimizer ... */
	uint32_t pass; /* backward pass of the step, from 1; 0: not known */
	uint64_t step, seq, comm; /* comm 0: none */
	int64_t comm_seq, comm_rank, size, root, peer, tag; /* NO_NUMBER: empty */
	/*
	 * For a send_recv, whose peer is the destination: source and tag from its output's row. Not known while the call is
	 * open.
	 */
	int64_t source, source_seq, source_tag;
	int64_t error;
	uint64_t start, dur, wait; /* ns; dur of an open call: 0 */
	uint64_t device; /* ns of work on a device; 0: not known */
	uint64_t count; /* elements of its first tensor */
	uint64_t in_bytes, out_bytes;
	uint32_t blind; /* inputs whose values were not measured */
	uint32_t nth; /* its number at its site in the step, from 0; filled in by find_site() */
	uint64_t
		site; /* where the program made the call, the same on all ranks; 0: not known; filled in by find_site() */
	struct side in, out;
};

/* True for bytes of unknown type (`other`), which have no values. dtype: interned. Any thread may ask. */
bool is_dtype_other(uint32_t dtype);

/* The largest absolute value. */
static inline double side_reach(const struct side *s)
{
	return -s->least > s->most ? -s->least : s->most;
}

/* Bytes that the call moved: the larger side, which is the usual definition for the bandwidth of a collective. */
static inline uint64_t call_bytes(const struct call *c)
{
	return c->in_bytes > c->out_bytes ? c->in_bytes : c->out_bytes;
}

struct calls_file {
	char *path;
	uint64_t first, last, part; /* first, last: steps */
	uint64_t bytes, limit;
	bool overlay, compact;
};

struct calls;
struct compact_reader;

/* Called for a row with a NaN or an Inf; its columns: calls_column(). c holds the part of the call read so far. */
typedef void calls_bad_fn(
	void *arg, struct calls *s, const struct call *c, uint64_t nans, uint64_t infs);

/* Called for each row of a call, for data that struct call does not keep; c->rows is 1 at the first. */
typedef void calls_row_fn(void *arg, struct calls *s, const struct call *c);

#define CALL_COLUMNS_MAX 64 /* of calls_*.csv; calls.c compares it with the table */

/* A column's last text and its parsed value; n is SIZE_MAX for text that does not fit. */
struct calls_repeat {
	size_t n;
	uint64_t value;
	char text[48];
};

struct calls {
	const struct rank_dir *dir;
	uint32_t rank;
	struct calls_file *file;
	unsigned nfile, cap_file, at;
	uint64_t step_lo, step_hi; /* only these */
	uint64_t tail; /* only the last `tail` bytes of a plain file; 0: all */
	bool cut; /* therefore its first call may lack rows */
	bool keep_open;
	bool times_only; /* statistics are not read: in, out and bad() stay empty */
	size_t buffer;
	calls_bad_fn *bad;
	void *bad_arg;
	calls_row_fn *row;
	void *row_arg;
	struct csv csv;
	struct compact_reader *
		compact; /* reads the current file, whose rows are given to csv as text on demand; NULL: a CSV file */
	struct compact_reader *compact_kept; /* for the next such file; NULL: none yet */
	unsigned shown; /* rows of its call that csv has received */
	bool reading; /* csv is open */
	bool ahead; /* csv.field, by enum column, already has the first row of the next call */
	int column[CALL_COLUMNS_MAX]; /* columns of the file by enum column; found by their names */
	bool in_order; /* every column is at its index of enum column */
	struct {
		struct calls_repeat lib, api, op, redop, dtype, await_dtype, comm, phase;
	} repeat;
	const char *lacking; /* a needed column that a file does not have; NULL: none */
	uint64_t rows, damaged, truncated, unreadable, bytes_done;
	char *wrong; /* why a file was not read, for the first such file */
};

/* limits: NULL or the journal's part of the folder. */
void calls_open(
	struct calls *s, const struct rank_dir *dir, uint32_t rank, const struct overlay *o);
void calls_close(struct calls *s);

/* Opens one of its files as CSV: the file itself, or the text made from a compact file. Returns the same as csv_open(). */
int calls_open_file(struct csv *csv, const struct calls_file *f, bool keep_open, size_t buffer);

/* Reads only the end of the files, about that many bytes: sets `cut`. */
void calls_open_tail(struct calls *s, const struct rank_dir *dir, uint32_t rank, uint64_t bytes);

/* Returns the next call. false: no more. */
bool calls_next(struct calls *s, struct call *out);

/* Bytes of all its files, and those read so far. */
uint64_t calls_bytes(const struct calls *s);
uint64_t calls_done(const struct calls *s);

/*
 * A column of the current row; empty if the file has no such column. column: enum column (journal/columns.h), which only those
 * include that name one.
 */
static inline const struct csv_text *calls_column(const struct calls *s, unsigned column)
{
	return &s->csv.field[column];
}

#endif
