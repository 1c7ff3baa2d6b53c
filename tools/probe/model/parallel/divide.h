/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report of many ranks by several processors, with the same output as by one.
 *
 *	-j N        on this host: N threads read the files (ahead.h). One of them joins the ranks
 *	            and runs the rules. With many threads, it only joins (relay.h).
 *	--part k/N  on any hosts that can reach the folder: each process reads its share of the
 *	            ranks and writes their calls as a stream (call_stream.h) into a temporary
 *	            folder. Part 0 reads the streams while they are written, joins the ranks,
 *	            runs the rules and prints. If srun or mpirun started it, k and N are the
 *	            launcher's variables.
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
#define JOBS_OF_JOIN 4u /* with this number of threads or more, one thread only joins the ranks */

struct division {
	unsigned jobs; /* threads on this host; 0, 1: one */
	/* This process is part number `part` of `parts`; parts 0: not divided. */
	unsigned part, parts;
	const char *folder; /* folder for partial results; NULL: the output folder */
	uint64_t options; /* a hash of the options: all parts must have the same */
};

/*
 * Fills in part and parts from the variables that srun or mpirun (Open MPI, MPICH) set for this
 * process. Returns false if there are none, or only one process.
 */
bool division_by_launcher(struct division *d);

/* Parses "2/8". Returns false if text has another form. */
bool division_parse(struct division *d, const char *text);

/*
 * Returns true if this part reads the files of rank i. The streams of the other parts contain
 * everything that their files have. twice: the files are read twice, because the rounds of a run
 * without steps must be found first.
 */
bool division_reads(const struct division *d, unsigned i, bool twice);

struct shares;

/*
 * Gets the next call of rank `rank` with shares_read(), and handles the data that concerns this
 * rank alone. Called by one thread at a time for each rank. Returns false after the last call.
 */
typedef bool rank_call_fn(void *arg, struct shares *s, uint32_t rank, struct call *out);

/* The ranks whose calls are read. It must not change until shares_free(). */
struct run_readers {
	struct calls **reader; /* one per rank, opened */
	unsigned n;
	bool twice; /* as for division_reads() */
	rank_call_fn *next;
	void *arg;
};

enum share_result {
	SHARE_READ, /* shares_get_next() returns the calls */
	SHARE_LEFT, /* this process has finished its part, another process reports */
	SHARE_FAILED /* reported */
};

/*
 * Makes the parts of a report wait for each other before the long work begins. f: the folders; all
 * parts must have read the same ones. Returns NULL if the parts did not find each other (reported),
 * or if *stop is not 0.
 */
struct shares *shares_open(
	const struct division *d, const struct folders *f, const volatile sig_atomic_t *stop);
/*
 * Starts reading, in this process, in others, and in threads. The caller must call shares_free()
 * whatever the result.
 */
enum share_result shares_start(
	struct shares *s, const struct run_readers *run, const volatile sig_atomic_t *stop);
/*
 * Stores the next call of rank `rank` in *out, as run->next returned it in this thread or another.
 * Returns false after the last call.
 */
bool shares_get_next(struct shares *s, uint32_t rank, struct call *out);
/*
 * Stores the next call of the reader's files in *out, unchanged. Returns false after the last call.
 */
bool shares_read(struct shares *s, struct calls *reader, struct call *out);
/* Returns the position in the reader's files, in bytes, after the calls returned so far. */
uint64_t shares_get_position(const struct shares *s, const struct calls *reader);
void shares_free(struct shares *s);

#endif
