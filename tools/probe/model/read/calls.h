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
#include "tools/probe/model/read/row_form.h"
#include "tools/probe/model/read/side.h"

#define NO_NUMBER INT64_MIN /* value of an empty integer column */

enum call_bits {
	CALL_OPEN = 1,
	CALL_ASYNC = 2,
	CALL_ERROR = 4,
	CALL_LOCAL = 8, /* the id of its communicator has no meaning for other ranks */
	CALL_NESTED = 16, /* made inside another recorded call */
	CALL_P2P = 32, /* has a peer, so comm_seq does not join ranks */
	CALL_WAITED = 64, /* `wait` is known */
	/* `wait` is shared with the previous call, because one Wait completed both. */
	CALL_WAIT_SHARED = 128,
	CALL_MORE = 256, /* it has tensors without a row */
	CALL_LATE = 512, /* its rows came after those of later calls, so `nth` is not reliable */
	CALL_UNWOUND = 1024, /* was ended by an exception */
	/* The elements of a tensor are stored in another order than that of their indices. */
	CALL_PERMUTED = 2048,
	CALL_GAPS = 4096, /* between the elements of a tensor there are other elements */
	/* The rank marks no steps: `step` is that of the rank that shares the call. */
	CALL_PEERS_STEP = 8192,
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
	uint64_t step, seq, comm; /* 0: no communicator */
	int64_t comm_seq, comm_rank, size, root, peer, tag; /* NO_NUMBER: empty */
	/*
	 * For a send_recv, whose peer is the destination: source and tag of its `out` row.
	 * NO_NUMBER while the call is open.
	 */
	int64_t source, source_seq, source_tag;
	int64_t error;
	uint64_t start, dur, wait; /* ns; dur of an open call: 0 */
	uint64_t device; /* ns of work on a device; 0: not known */
	uint64_t count; /* elements of its first tensor */
	uint32_t out_dtype; /* interned; of its first output; 0: none, or not known */
	uint64_t in_bytes, out_bytes;
	uint32_t blind; /* inputs whose values were not measured */
	/*
	 * Number of the call at its site in the step, from 0: on its communicator, and on all
	 * communicators. Set by find_site().
	 */
	uint32_t nth, turn;
	/*
	 * Call site in the program, the same number on all ranks; 0: not known. Set by find_site().
	 */
	uint64_t site;
	struct side in, out;
};

/*
 * Returns true for the interned dtype `other`: bytes of unknown type, which have no values. Any
 * thread may call this.
 */
bool is_dtype_other(uint32_t dtype);

/* Returns the largest absolute value of a side's elements. */
static inline double side_get_largest_absolute(const struct side *s)
{
	return -s->least > s->most ? -s->least : s->most;
}

/* Returns the bytes of the call's larger side, the usual size in the bandwidth of a collective. */
static inline uint64_t call_get_bytes(const struct call *c)
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

/*
 * Called for a row with a NaN or an Inf. calls_get_column() gives access to the row. c: the call, as
 * far as it has been read.
 */
typedef void calls_bad_fn(
	void *arg, struct calls *s, const struct call *c, uint64_t nans, uint64_t infs);

/*
 * Called for each row of a call, for data that struct call does not keep. At the first row c->rows
 * is 1.
 */
typedef void calls_row_fn(void *arg, struct calls *s, const struct call *c);

#define CALL_COLUMNS_MAX 64 /* columns of calls_*.csv; calls.c checks this against the table */

/*
 * The last text of a column and its parsed value. n: SIZE_MAX if the text is too long for `text`.
 */
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
	uint64_t step_lo, step_hi; /* first and last step to read */
	uint64_t tail; /* only the last `tail` bytes of a plain file; 0: all */
	bool cut; /* the file was not read from its beginning, so the first call may lack rows */
	bool keep_open;
	bool times_only; /* skip the statistics: in, out and bad() are not used */
	size_t buffer;
	calls_bad_fn *bad;
	void *bad_arg;
	calls_row_fn *row;
	void *row_arg;
	struct csv csv;
	/*
	 * Reads the current file and gives its rows to csv as text when needed; NULL: a CSV file.
	 */
	struct compact_reader *compact;
	struct compact_reader *compact_kept; /* reader for the next compact file; NULL: none yet */
	unsigned shown; /* rows of its call that csv has received */
	bool reading; /* csv is open */
	bool ahead; /* csv.field, by enum column, holds the first row of the next call */
	int column[CALL_COLUMNS_MAX]; /* columns of the file by enum column; found by their names */
	bool in_order; /* every column is at its index of enum column */
	struct {
		struct calls_repeat lib, api, op, redop, dtype, await_dtype, comm, phase;
	} repeat;
	struct row_form form[ROW_FORMS];
	const char *lacking; /* a needed column that is missing in a file; NULL if none is */
	uint64_t rows, damaged, truncated, unreadable, bytes_done;
	char *wrong; /* why a file was not read, for the first such file; NULL if all were read */
};

/* Opens the files of folder dir. o: the additional rows of the journal, or NULL. */
void calls_open(
	struct calls *s, const struct rank_dir *dir, uint32_t rank, const struct overlay *o);
void calls_close(struct calls *s);

/* Opens file f as CSV; a compact file is converted to text. Returns the same as csv_open(). */
int calls_open_file(struct csv *csv, const struct calls_file *f, bool keep_open, size_t buffer);

/*
 * Opens the files of folder dir so that only about the last `bytes` bytes of all of them are read.
 * Sets s->cut if earlier ones are not.
 */
void calls_open_tail(struct calls *s, const struct rank_dir *dir, uint32_t rank, uint64_t bytes);

/* Stores the next call in *out. Returns false after the last call. */
bool calls_read_next(struct calls *s, struct call *out);

/* Bytes of all files of the reader, and bytes read so far. */
uint64_t calls_get_bytes(const struct calls *s);
uint64_t calls_get_bytes_read(const struct calls *s);

/*
 * Returns a column of the current row, empty if the file has no such column. column: a value of
 * enum column (journal/columns.h).
 */
static inline const struct csv_text *calls_get_column(const struct calls *s, unsigned column)
{
	return &s->csv.field[column];
}

#endif
