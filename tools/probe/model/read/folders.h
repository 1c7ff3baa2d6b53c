/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which folders of an output folder belong to the newest run (docs/reference/output-format.md): plainly named rank<R>, the same run
 * attempt and world_size, overlapping lifetimes of the processes. Every other folder is named with the reason why it is left out.
 */
#ifndef PROBE_TOOLS_FOLDERS_H
#define PROBE_TOOLS_FOLDERS_H

#include "tools/probe/model/read/read_meta.h"
#include "tools/probe/model/read/round_ends.h"

enum rank_state {
	RANK_FINISHED,
	RANK_RECOVERED,
	RANK_RUNNING, /* its process lives */
	RANK_KILLED, /* its process is gone, its folder is not completed */
	RANK_UNSEEN, /* its process is on another host, or in another container */
	RANK_UNWRITTEN, /* its process ended properly, its folder is not completed */
	RANK_STATES
};

const char *rank_state_name(enum rank_state s);
const char *rank_state_key(enum rank_state s); /* one word, for JSON */

struct rank_dir {
	char *path, *name; /* name: last part of the path */
	char *label; /* "rank 3", or "host vm pid 12" */
	int rank; /* -1: not known */
	struct meta meta;
	char *meta_wrong; /* NULL: meta.json was read */
	enum rank_state state;
	bool ended; /* the journal says so */
	bool lives; /* RANK_UNWRITTEN: its process is there still, and may be writing */
	uint64_t start_ns,
		end_ns; /* of its process, Unix epoch; 0: unknown. While it lives the end is now */
	uint64_t
		last_ns; /* its last record, or sign of life where it has more than records; 0: unknown */
	uint64_t alive_ns; /* latest sign of life; 0: unknown */
	struct rank_progress progress;
	uint64_t died_ns; /* when a signal ended it; 0: unknown */
	char *journal; /* path; NULL: there is none */
	struct round_end
		*round; /* steps of a run that marks none: its calls are numbered by these */
	unsigned nround;
	bool peers_steps; /* ... while other ranks do mark steps: these are theirs (join/peer_steps.h) */
	struct round_end *longer; /* rounds of many of those; NULL: there are none */
	unsigned nlonger;
};

struct left_out {
	char *name, *why;
	int rank; /* whose folder it would be; -1: no rank's, or of another run */
};

struct folders {
	char *path;
	bool single; /* the path is one rank's folder */
	struct rank_dir *dir; /* of the run, by rank */
	unsigned n, cap;
	struct left_out *out;
	unsigned nout, cap_out;
	char *run; /* "": none */
	int world_size; /* -1: not known */
};

/* Returns 0, or STATUS_USAGE (reported): the path cannot be read or holds nothing of ours. */
int folders_open(struct folders *f, const char *path);
/* Opens each folder of a rank that was left out, at most `most`, and closes it again: those of earlier attempts, or of other runs. */
void folders_each_left_out(const struct folders *f, unsigned most,
	void (*take)(void *arg, const struct rank_dir *d), void *arg);
/* Only the first n of dir[] remain. */
void folders_keep(struct folders *f, unsigned n);
void folders_close(struct folders *f);
/* Bytes that journals of ended processes take up, of these folders and of earlier ones beside them (rank0.1): `recover` frees them. */
uint64_t folders_journal_bytes(const struct folders *f);

/* True if the path is a rank's folder, or has one. */
bool folders_have_rank(const char *path);

/* True if the path is itself a rank's folder. */
bool folders_is_rank(const char *path);

/* The output folder to look at when none is named: $PROBE_OUTPUT_DIR or ./probe_output. */
const char *folders_default(void);

#endif
