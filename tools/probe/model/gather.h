/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that `probe report` shows, gathered in one pass over the rows of all ranks. Memory depends on the number of ranks,
 * communicators and functions, not on the number of rows.
 */
#ifndef PROBE_TOOLS_GATHER_H
#define PROBE_TOOLS_GATHER_H

#include "config/rooms/room.h"
#include "tools/probe/model/join/shared_wait.h"
#include "tools/probe/model/values/bad.h"
#include "tools/probe/model/times/cycle.h"
#include "tools/probe/model/diagnose.h"
#include "tools/probe/model/parallel/divide.h"
#include "tools/probe/model/times/late.h"
#include "tools/probe/model/read/opens.h"
#include "tools/probe/model/times/ops.h"
#include "tools/probe/model/skew.h"
#include "tools/probe/model/times/site_waits.h"
#include "tools/probe/model/times/slow.h"

struct gather_options {
	const char *path;
	unsigned top;
	uint64_t step_lo, step_hi; /* first and last step to read; 0 and UINT64_MAX: all steps */
	struct ranges ranks; /* ranks to read; empty: all ranks */
	bool progress; /* show a progress bar on stderr if reading takes long */
	struct division division;
};

/* Data that was read from the folder of one rank. */
struct rank_info {
	/*
	 * Latest end of the calls that returned an error or completed with one; 0 if there are
	 * none.
	 */
	uint64_t error_end;
	struct overlay overlay;
	char *journal_wrong, *files_wrong;
	uint64_t calls, rows, damaged, truncated, unreadable;
	uint64_t bytes; /* bytes of the tensors of its calls */
	/*
	 * with_values: calls with tensors that have values. unmeasured: calls none of whose tensors
	 * was measured.
	 */
	uint64_t with_values, unmeasured;
	struct call last; /* the call that was entered last; its rows are 0 if there is none */
	uint64_t first_ns, last_ns; /* start of the first call, end of the last one */
	uint64_t first_step, last_step;
	uint64_t longest_ns; /* longest time that a thread spent in a completed call */
	uint64_t longest_pause; /* longest time, in ns, in which the rank was in no call at all */
	struct shared_waits waits;
	bool waits_seen; /* its rows include Wait calls */
	/*
	 * End of the time that the rank spent inside a call that never returned; 0 if there is no
	 * such call.
	 */
	uint64_t inside_ns;
	struct table latest; /* struct latest_collective */
	struct table site_waits; /* struct site_wait; filled in only for a running rank */
	struct cycle *cycle; /* NULL if steps are marked or the run has too many ranks */
};

/* The first operation in which the ranks did different things. */
struct mismatch {
	bool any;
	uint64_t comm, step;
	int64_t seq;
	enum meet_mismatch what;
	struct terms a, b;
	uint64_t event; /* time at which the first rank entered this operation */
};

struct gather {
	struct folders folders;
	unsigned nasked; /* number of folders of the run; folders.n of them were selected */
	int *all_ranks; /* all `nasked` ranks of the run, ascending */
	struct rank_info *rank;
	struct comms comms;
	struct ops ops;
	struct late late;
	struct meet meet;
	struct slow slow;
	struct bad bad;
	struct diagnose diagnose;
	struct opens opens;
	struct mismatch mismatch;
	struct clock_fix *skew; /* by folder: the correction of its clock */
	struct skew_result hosts;
	uint64_t calls, rows, bytes, bytes_read, errors;
	uint64_t first_ns, last_ns, last_step, first_step;
	uint64_t longest_ns; /* longest time that a thread spent in a completed call */
	uint64_t until_ns; /* latest record or sign of life of any rank */
	bool any;
	/*
	 * A rank skipped calls to keep max_overhead, so a call without a record may have been made.
	 */
	bool thinned;
	/* The program marks no steps, so each round of repeating calls counts as a step. */
	bool by_rounds;
	struct call first_error;
	double life_ns; /* sum of the ranks' durations, ns */
	double seconds; /* duration of the reading */
};

/*
 * Returns 0, STATUS_USAGE (reported), or GATHER_LEFT. GATHER_LEFT: this process has finished its
 * part of a divided report, and another process prints it.
 */
#define GATHER_LEFT 100
int gather_calls(struct gather *g, const struct gather_options *o);
void gather_free(struct gather *g);

/*
 * Returns the signal that asked this process to end after gather_calls() began, or 0. After a
 * signal the caller must stop and call gather_end_by_signal().
 */
int gather_stop_signal(void);
/*
 * Ends this process by the signal of gather_stop_signal(). Call this after memory was freed and
 * temporary files were removed.
 */
void gather_end_by_signal(void);

/*
 * Returns true if the rank's process has ended without finishing. A process on another host counts
 * as ended after two minutes without a sign of life.
 */
bool gather_gone(const struct gather *g, const struct rank_dir *d);

/*
 * Returns true if the rank's records show that it has entered MPI_Finalize: no more calls will
 * follow.
 */
bool has_finalized(const struct rank_dir *d);

/* Returns the index of the folder of world rank `rank`, or -1. */
int gather_index(const struct gather *g, int rank);

/*
 * Members of a communicator whose rows were not read, or only in part. Empty if comms.csv does not
 * list the members.
 */
struct unread {
	int *rank; /* world ranks, ascending */
	unsigned n, cap;
};
/* The caller frees u->rank. */
void gather_unread(const struct gather *g, uint64_t comm, struct unread *u);
/*
 * Returns the highest number of a collective on communicator `comm` that the rank has entered, or
 * NO_NUMBER. rank: index of its folder.
 */
int64_t gather_latest_collective(const struct gather *g, unsigned rank, uint64_t comm);
/* Returns true if the run has a folder of world rank `rank`, even if that folder was not read. */
bool gather_has_folder(const struct gather *g, int rank);

#endif
