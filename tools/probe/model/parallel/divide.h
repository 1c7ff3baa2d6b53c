/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report of many ranks by several processors, with the same output as by one.
 *
 *	-j N        on this host: N threads read the files (ahead.h), one of them joins the ranks and runs the rules; if there are
 * many,
 *	            one only joins (relay.h)
 *	--part k/N  on any hosts that see the folder: each process reads its share of the ranks and writes their calls as a stream
 *	            (call_stream.h) into a temporary folder; part 0 reads the streams while they are written, joins, runs the rules
 * and
 *	            prints. Started by srun or mpirun, k and N are the launcher's variables.
 */
#ifndef PROBE_TOOLS_DIVIDE_H
#define PROBE_TOOLS_DIVIDE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/parallel/call_stream.h"

#define PARTS_MAX 4096u
#define JOBS_OF_JOIN \
	4u /* from this number of threads on, one only joins: half of the work that cannot be divided */

struct division {
	unsigned jobs; /* threads on this host; 0, 1: one */
	unsigned part, parts; /* this is part number `part` of `parts`; parts 0: not divided */
	const char *folder; /* for partial results; NULL: in the output folder */
	uint64_t options; /* a hash of the options: all parts must have the same */
};

/* Reads the variables that srun and mpirun (Open MPI, MPICH) set for this process; false: there are none, or it is alone. */
bool division_by_launcher(struct division *d);

/* Parses "2/8". false: it has another form. */
bool division_parse(struct division *d, const char *text);

/*
 * Whether this part reads the files of rank i. The streams of other parts contain everything that their files have. twice:
 * files are read twice, for the rounds of a run that marks no steps.
 */
bool division_reads(const struct division *d, unsigned i, bool twice);

struct shares;

/*
 * Takes the next call of a rank from its files or its stream with shares_read(), and processes the data of that rank alone. Called by one
 * thread at a time for each rank. false: no more.
 */
typedef bool rank_call_fn(void *arg, struct shares *s, uint32_t rank, struct call *out);

/* The ranks whose calls are read. Must not change until shares_end(). */
struct run_readers {
	struct calls **reader; /* one per rank, opened */
	unsigned n;
	bool twice; /* as for division_reads() */
	rank_call_fn *next;
	void *arg;
};

enum share_result {
	SHARE_READ, /* the calls are returned by shares_next() */
	SHARE_LEFT, /* this process has finished its part, another one reports */
	SHARE_FAILED /* reported */
};

/*
 * The parts of a report, if there are several, wait for each other here, before the long work. f: the folders, read in the same
 * way by all of them. NULL: they did not meet (reported), or *stop is not 0.
 */
struct shares *shares_meet(
	const struct division *d, const struct folders *f, const volatile sig_atomic_t *stop);
/* Starts reading, in this or other processes and threads. s must be ended with shares_end() in any case. */
enum share_result shares_begin(
	struct shares *s, const struct run_readers *run, const volatile sig_atomic_t *stop);
/* Returns the next call of that rank as r->next gave it, here or in another thread. */
bool shares_next(struct shares *s, uint32_t rank, struct call *out);
/* Returns the next call as stored in the rank's files. */
bool shares_read(struct shares *s, struct calls *reader, struct call *out);
/* Bytes of its files after the calls that were returned. */
uint64_t shares_done(const struct shares *s, const struct calls *reader);
void shares_end(struct shares *s);

#endif
