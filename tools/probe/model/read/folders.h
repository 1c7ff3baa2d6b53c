/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the folders of an output folder that belong to the newest run, or to an earlier one
 * (docs/reference/output-format.md): named rank<R> without a suffix, with the same run attempt and
 * world_size, and with overlapping lifetimes of their processes. All other folders are listed with
 * the reason why they are not used.
 */
#ifndef PROBE_TOOLS_FOLDERS_H
#define PROBE_TOOLS_FOLDERS_H

#include "tools/probe/model/read/read_meta.h"
#include "tools/probe/model/read/round_ends.h"

enum rank_state {
	RANK_FINISHED,
	RANK_RECOVERED,
	RANK_RUNNING, /* its process runs */
	RANK_KILLED, /* its process is gone, its folder is incomplete */
	RANK_UNSEEN, /* its process is on another host, or in another container */
	RANK_UNWRITTEN, /* its process ended normally, its folder is incomplete */
	RANK_STATES
};

const char *rank_state_get_name(enum rank_state s);
const char *rank_state_get_key(enum rank_state s); /* one word, for JSON */

struct rank_dir {
	char *path, *name; /* name: the last part of the path */
	char *label; /* "rank 3", or "host vm pid 12" */
	int rank; /* -1: not known */
	struct meta meta;
	char *meta_wrong; /* why meta.json was not read; NULL: it was read */
	enum rank_state state;
	bool ended; /* the process ended normally, according to its journal */
	bool lives; /* RANK_UNWRITTEN: the process still exists and may be writing */
	/*
	 * Lifetime of the process, Unix epoch; 0: not known. The end of a running process is the
	 * present time.
	 */
	uint64_t start_ns, end_ns;
	/* The last record, or the last sign of life if that is later; 0: not known. */
	uint64_t last_ns;
	uint64_t alive_ns; /* latest sign of life; 0: not known */
	struct rank_progress progress;
	uint64_t died_ns; /* time at which a signal ended the process; 0: not known */
	char *journal; /* path of the journal; NULL: there is none */
	/* If the run marks no steps: the rounds by which its calls are numbered. */
	struct round_end *round;
	unsigned nround;
	/*
	 * Other ranks of the run mark steps, and `round` is taken from them
	 * (model/join/peer_steps.h).
	 */
	bool peers_steps;
	/* Rounds that contain many of `round` each; NULL: there are none. */
	struct round_end *longer;
	unsigned nlonger;
};

struct unused_folder {
	char *name, *why;
	/* The rank in the folder's name; -1: not a rank's folder, or one of another run. */
	int rank;
	bool empty; /* it has no file: giving its path would show nothing */
};

struct folders {
	char *path; /* what was asked for, and what commands in messages name: FOLDER or FOLDER@N */
	char *folder;
	unsigned earlier; /* N of FOLDER@N: how many runs are newer; 0: the newest run */
	bool single; /* `folder` is that of one rank */
	struct rank_dir *dir; /* the folders of the run, by rank */
	unsigned n, cap;
	struct unused_folder *out;
	unsigned nout, cap_out;
	char *run; /* "": not known */
	int world_size; /* -1: not known */
};

/* Reports that an output folder cannot be opened, and when it is made. verb: "" or "compare: ". */
void folders_print_missing(const char *verb, const char *path, int err);

/*
 * Returns the folder of FOLDER@N and sets *earlier to N, or returns the whole path and sets it to 0
 * if it has no such end or a folder has that very name. The caller frees it.
 */
char *folders_find(const char *path, unsigned *earlier);

/*
 * Opens the folders of the newest run in `path`, or for FOLDER@N of the run that began N runs
 * before it. Returns 0, or STATUS_USAGE (reported) if the path cannot be read, has no folder of a
 * rank or fewer runs.
 */
int folders_open(struct folders *f, const char *path);
/*
 * Opens the unused rank folders (of earlier attempts and of other runs), at most `most` of them,
 * one at a time, and calls `take` for each.
 */
void folders_each_unused(const struct folders *f, unsigned most,
	void (*take)(void *arg, const struct rank_dir *d), void *arg);
/* Drops all but the first n of dir[]. */
void folders_remove_after(struct folders *f, unsigned n);
void folders_close(struct folders *f);
/*
 * Returns the bytes of the journals of ended processes, in these folders and in those of earlier
 * runs (rank0.1). `probe recover` frees them.
 */
uint64_t folders_get_journal_bytes(const struct folders *f);

/* Returns true if the path is a rank's folder or contains one. */
bool folders_has_rank(const char *path);

/* Returns true if the path is a rank's folder. */
bool folders_is_rank(const char *path);

/* Returns the output folder to use if the user names none: $PROBE_OUTPUT_DIR or ./probe_output. */
const char *folders_get_default(void);

#endif
