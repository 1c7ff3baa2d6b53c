/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The current state of a job, from its files alone: for each rank the last data written, reading only the ends of large files.
 * For `probe top` and `probe serve`.
 */
#ifndef PROBE_TOOLS_LIVE_H
#define PROBE_TOOLS_LIVE_H

#include <stdio.h>

#include "terms/scalar.h"
#include "tools/probe/model/read/comms.h"
#include "tools/probe/model/read/folders.h"

struct live_verdict;

#define LIVE_TIMES 64 /* steps whose times are kept */

/* A number, from the last step that has it. */
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
	int64_t size; /* ranks; NO_NUMBER: not known */
	uint64_t bucket; /* bytes, rounded down to a whole unit */
	bool p2p, sends;
	uint64_t n, timed;
	double us, log_bus, log_algorithm; /* sums; logs of GB/s */
};

struct live_rank {
	const struct rank_dir *dir;
	int rank;
	uint64_t step; /* its current step */
	struct live_number *number;
	unsigned nnumber, cap_number;
	double ms[LIVE_TIMES]; /* of the latest steps, oldest first */
	unsigned nms;
	double mean_ms; /* of these; NAN: not known */
	double exposed; /* share of the time in which a thread was blocked in communication, 0 to 1; NAN: not known */
	double late_ms; /* how much later than the first rank it entered collectives, on average; NAN: no other rank's times are known */
	uint64_t met,
		last; /* collectives with data of other ranks; those in which it arrived last */
	bool straggler;
	uint64_t alerts;
	uint64_t open_ns; /* age of the oldest call that it is blocked in; 0: none */
	char *open; /* its name and communicator */
	char *last_call; /* the latest completed call in the files: name, communicator, number; NULL: none */
	uint64_t last_end_ns; /* when it ended, Unix epoch */
	uint64_t last_step;
	uint32_t stack, open_stack; /* of the last call, of the open one; 0: not recorded */
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
	struct live_rank *rank; /* folders.n */
	struct live_alert *alert; /* newest first */
	unsigned nalert, cap_alert;
	uint64_t now; /* Unix epoch, ns */
	uint64_t step; /* of the farthest rank */
	bool runs; /* at least one rank runs, as far as can be seen */
	const struct live_verdict
		*verdict; /* owned by the caller (live_verdict.h); NULL: not shown */
};

/* Returns a status (reported). Free with live_free in any case. */
int live_read(struct live *l, const char *path);
void live_free(struct live *l);

/* The number of that name; NULL: the rank has none. If there are several groups, the first. */
const struct live_number *live_number_of(const struct live_rank *r, enum scalar which);

/* The number of the first rank that has it: for numbers that are equal on all ranks, or shown once. NULL: none has it. */
const struct live_number *live_number_of_job(const struct live *l, enum scalar which);

/* 4-5GB, 512-513MB: NCCL Inspector's names of size buckets. */
#define LIVE_BUCKET_MAX 64
const char *live_bucket_label(uint64_t bucket, char buf[LIVE_BUCKET_MAX]);

/* ---- live_stack.c ---- */

/* Frames of the call that the rank is in, or else of its last call, one a line, innermost first; "": not recorded. malloc'd. */
char *read_live_stack(const struct live_rank *r);

/* ---- live_calls.c ---- */

/* Adds the data of the latest calls to each rank, and compares the ranks. */
void live_read_calls(struct live *l);

/* ---- live_json.c ---- */

/* Writes everything as a JSON document. */
void live_print_json(const struct live *l, FILE *f);

#endif
