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
	uint64_t step_lo, step_hi; /* 0, UINT64_MAX: all */
	struct ranges ranks; /* empty: all */
	bool progress; /* a progress bar on stderr, if it takes long */
	struct division division;
};

/* A rank as it was read. */
struct rank_info {
	uint64_t
		error_end; /* latest end of the calls that returned an error, or completed with one; 0: none */
	struct overlay overlay;
	char *journal_wrong, *files_wrong;
	uint64_t calls, rows, damaged, truncated, unreadable;
	uint64_t bytes; /* of tensors that its calls moved */
	uint64_t with_values,
		unmeasured; /* calls with tensors that have values; calls of which no tensor was measured */
	struct call last; /* the call that was entered last; rows 0: none */
	uint64_t first_ns, last_ns; /* first start, last end */
	uint64_t first_step, last_step;
	uint64_t longest_ns; /* longest time that a thread spent in a completed call */
	uint64_t longest_pause; /* longest time, in ns, in which the rank was in no call at all */
	struct shared_waits waits;
	bool waits_seen; /* its recorded calls include Wait calls */
	uint64_t
		inside_ns; /* end of the time that it spent inside a call that never returned; 0: none */
	struct table latest; /* struct latest_collective */
	struct table site_waits; /* struct site_wait; only for a running rank */
	struct cycle *cycle; /* NULL: steps are marked, or there are too many ranks */
};

/* The first operation in which the ranks did different things. */
struct unlike {
	bool any;
	uint64_t comm, step;
	int64_t seq;
	enum meet_unlike what;
	struct terms a, b;
	uint64_t event; /* when the first rank entered it */
};

struct gather {
	struct folders folders;
	unsigned nasked; /* number of folders of the run, of which folders.n were selected */
	int *all_ranks; /* all ranks of the run, ascending: nasked of them */
	struct rank_info *rank;
	struct comms comms;
	struct ops ops;
	struct late late;
	struct meet meet;
	struct slow slow;
	struct bad bad;
	struct diagnose diagnose;
	struct opens opens;
	struct unlike unlike;
	struct clock_fix *skew; /* of each folder's clock */
	struct skew_result hosts;
	uint64_t calls, rows, bytes, bytes_read, errors;
	uint64_t first_ns, last_ns, last_step, first_step;
	uint64_t longest_ns; /* longest time that a thread spent in a completed call */
	uint64_t until_ns; /* last sign of life of any rank */
	bool any;
	bool thinned; /* a rank skipped calls to keep max_overhead: a missing call proves nothing */
	bool by_rounds; /* no steps are marked: the steps are the rounds in which the calls repeat */
	struct call first_error;
	double life_ns; /* sum over all ranks */
	double seconds; /* duration of the reading */
};

/* Returns 0, STATUS_USAGE (reported), or GATHER_LEFT: this process was one of several, and another one reports. */
#define GATHER_LEFT 100
int gather_calls(struct gather *g, const struct gather_options *o);
void gather_free(struct gather *g);

/*
 * The signal that asked this process to end after gather_calls() began, or 0. A caller that reads more data ends because of it.
 */
int gather_stop_signal(void);
/* Ends this process by that signal, after everything was freed and temporary files were removed. */
void gather_end_by_signal(void);

/*
 * True if the rank's process has ended without finishing: it is gone, or it is on another host and has been silent for minutes.
 */
bool gather_gone(const struct gather *g, const struct rank_dir *d);

/* True if the rank has entered MPI_Finalize, according to its records: no more calls will follow. */
bool has_finalized(const struct rank_dir *d);

/* The folder of that world rank, or -1. */
int gather_index(const struct gather *g, int rank);

/* Members of a communicator whose rows were not read, or not all of them; none if comms.csv does not list the members. */
struct unread {
	int *rank; /* world ranks, ascending */
	unsigned n, cap;
};
/* Free u->rank. */
void gather_unread(const struct gather *g, uint64_t comm, struct unread *u);
/* The highest number of a collective of that communicator which that rank (an index) has entered; NO_NUMBER: none. */
int64_t gather_latest_collective(const struct gather *g, unsigned rank, uint64_t comm);
/* True if the run has a folder of that rank, read or not. */
bool gather_has_folder(const struct gather *g, int rank);

#endif
