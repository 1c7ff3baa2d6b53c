/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The current state of a job for `probe top` and `probe serve`, read from its files. Of large files
 * only the end is read.
 */
#ifndef PROBE_TOOLS_LIVE_H
#define PROBE_TOOLS_LIVE_H

#include <stdio.h>

#include "terms/scalar.h"
#include "tools/probe/model/read/comms.h"
#include "tools/probe/model/read/folders.h"

struct live_verdict;

#define LIVE_TIMES 64 /* number of steps whose times are kept */

/* A scalar of a rank, from its last step that has it. */
struct live_number {
	char *name; /* as in scalars_<a>-<b>.csv: learning-rate/group1 */
	enum scalar which;
	uint64_t step;
	double value;
};

/* The latest calls of one operation on one communicator, of similar size. */
struct live_op {
	uint32_t lib, op; /* interned */
	uint64_t comm;
	int64_t size; /* number of ranks; NO_NUMBER: not known */
	uint64_t bucket; /* lower bound of the size in bytes, a whole number of some unit */
	bool p2p, sends;
	uint64_t n, timed;
	/* us: sum of times; the other two: sums of logarithms of bandwidths in GB/s. */
	double us, log_bus, log_algorithm;
};

struct live_rank {
	const struct rank_dir *dir;
	int rank;
	uint64_t step; /* current step */
	struct live_number *number;
	unsigned nnumber, cap_number;
	double ms[LIVE_TIMES]; /* times of the latest steps in ms, oldest first */
	unsigned nms;
	double mean_ms; /* mean of ms[]; NAN: not known */
	/*
	 * Share of the time in which a thread was blocked in communication, 0 to 1; NAN: not known.
	 */
	double exposed;
	/*
	 * Mean delay in ms between the first rank's entry into a collective and its own; NAN: no other
	 * rank's times are known.
	 */
	double late_ms;
	/*
	 * met: number of its collectives that other ranks recorded too. last: number of these in which
	 * it arrived last.
	 */
	uint64_t met, last;
	bool straggler;
	uint64_t alerts;
	uint64_t open_ns; /* age of the oldest call in which it is blocked; 0: none */
	char *open; /* name and communicator of that call */
	/* Name, communicator and number of the last completed call in the files; NULL: none. */
	char *last_call;
	uint64_t last_end_ns; /* end of that call, Unix epoch */
	uint64_t last_step;
	/* Stack ids of the last call and of the open call; 0: not recorded. */
	uint32_t stack, open_stack;
	struct live_op *op;
	unsigned nop, cap_op;
};

struct live_alert {
	int rank;
	uint64_t first_step, last_step, count;
	char *rule, *text;
};

struct live {
	struct folders folders;
	struct comms comms;
	struct live_rank *rank; /* one per folder */
	struct live_alert *alert; /* newest first */
	unsigned nalert, cap_alert;
	uint64_t now; /* Unix epoch, ns */
	uint64_t step; /* step of the rank that is farthest */
	bool runs; /* at least one rank runs, as far as is known */
	/* Owned by the caller (live_verdict.h); NULL: not shown. */
	const struct live_verdict *verdict;
};

/*
 * Reads the state of the job in `path`. Returns an exit status (errors are reported). Call
 * live_free() in any case.
 */
int live_read(struct live *l, const char *path);
void live_free(struct live *l);

/*
 * Returns a rank's scalar, or NULL if the rank has none. Scalars of several parameter groups: returns
 * that of the first group.
 */
const struct live_number *live_get_number(const struct live_rank *r, enum scalar which);

/*
 * Returns the scalar of the first rank that has it, or NULL. For scalars that are equal on all
 * ranks, or that are shown once.
 */
const struct live_number *live_get_job_number(const struct live *l, enum scalar which);

/* Formats the label of a size bucket as NCCL Inspector does: 4-5GB, 512-513MB. */
#define LIVE_BUCKET_MAX 64
const char *live_format_bucket(uint64_t bucket, char buf[LIVE_BUCKET_MAX]);

/* ---- live_stack.c ---- */

/*
 * Returns the frames of the open call of the rank, else of its last call, one per line, innermost
 * first; "" if not recorded. malloc'd.
 */
char *read_live_stack(const struct live_rank *r);

/* ---- live_calls.c ---- */

/* Adds the data of the latest calls to each rank, and compares the ranks. */
void live_read_calls(struct live *l);

/* ---- live_json.c ---- */

/* Writes the whole state as a JSON document. */
void live_print_json(const struct live *l, FILE *f);

#endif
