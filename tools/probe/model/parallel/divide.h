/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report of many ranks by several processors, to the same words as by one.
 *
 *	-j N        on this host: N threads read the files (ahead.h), one of them joins the ranks and finds; of many one does
 *	            nothing but join (relay.h)
 *	--part k/N  on any hosts that see the folder: each process reads its share of the ranks and writes their calls as a stream
 *	            (call_stream.h) into a folder of their own; part 0 reads the streams while they are written, joins, finds and
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
	4u /* threads, from which on one of them does nothing but join: half of what cannot be divided */

struct division {
	unsigned jobs; /* threads on this host; 0, 1: one */
	unsigned part, parts; /* this is number `part` of so many; parts 0: not divided */
	const char *folder; /* for partial results; NULL: in the output folder */
	uint64_t options; /* a hash of what was asked for: all parts must be asked the same */
};

/* What srun, mpirun (Open MPI, MPICH) say of this process; false: it is alone, or nobody says. */
bool division_by_launcher(struct division *d);

/* "2/8". false: no such thing. */
bool division_parse(struct division *d, const char *text);

/*
 * Does this part read the files of rank i? Of those of the others the streams say all that the files say. twice: they are read twice, for
 * the rounds of a run that marks no steps.
 */
bool division_reads(const struct division *d, unsigned i, bool twice);

struct shares;

/*
 * Takes the next call of a rank from its files or its stream by shares_read(), and does with it what concerns that rank alone. Called by
 * one thread at a time for each rank. false: no more.
 */
typedef bool rank_call_fn(void *arg, struct shares *s, uint32_t rank, struct call *out);

/* Whose calls are read. All of it stays as it is until shares_end(). */
struct run_readers {
	struct calls **reader; /* one per rank, opened */
	unsigned n;
	bool twice; /* as for division_reads() */
	rank_call_fn *next;
	void *arg;
};

enum share_result {
	SHARE_READ, /* the calls come by shares_next() */
	SHARE_LEFT, /* this process has done its part, another one reports */
	SHARE_FAILED /* said */
};

/*
 * The parts of a report meet, where it has some: before each of them does what takes its time. f: what all of them have read of. NULL: they
 * did not meet, said, or *stop is not 0.
 */
struct shares *shares_meet(
	const struct division *d, const struct folders *f, const volatile sig_atomic_t *stop);
/* Reading begins, in whichever process or thread. s is ended by shares_end() in any case. */
enum share_result shares_begin(
	struct shares *s, const struct run_readers *run, const volatile sig_atomic_t *stop);
/* The next call of that rank as r->next gave it, here or in another thread. */
bool shares_next(struct shares *s, uint32_t rank, struct call *out);
/* The same as it stands in the rank's files. */
bool shares_read(struct shares *s, struct calls *reader, struct call *out);
/* Bytes of its files behind the calls that came. */
uint64_t shares_done(const struct shares *s, const struct calls *reader);
void shares_end(struct shares *s);

#endif
