/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the folders of an output folder that belong to the newest run (docs/reference/output-format.md): named rank<R> without
 * a suffix, the same run attempt and world_size, overlapping lifetimes of the processes. Every other folder is listed with the
 * reason why it is not used.
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

const char *rank_state_name(enum rank_state s);
const char *rank_state_key(enum rank_state s); /* one word, for JSON */

struct rank_dir {
	char *path, *name; /* name: last part of the path */
	char *label; /* "rank 3", or "host vm pid 12" */
	int rank; /* -1: not known */
	struct meta meta;
	char *meta_wrong; /* NULL: meta.json was read */
	enum rank_state state;
	bool ended; /* from the journal */
	bool lives; /* RANK_UNWRITTEN: its process still exists, and may be writing */
	uint64_t start_ns,
		end_ns; /* lifetime of its process, Unix epoch; 0: unknown. The end of a running process is now */
	uint64_t
		last_ns; /* its last record, or its last sign of life if that is later; 0: unknown */
	uint64_t alive_ns; /* latest sign of life; 0: unknown */
	struct rank_progress progress;
	uint64_t died_ns; /* when a signal ended it; 0: unknown */
	char *journal; /* path; NULL: there is none */
	struct round_end
		*round; /* steps of a run that marks none: its calls are numbered by these */
	unsigned nround;
	bool peers_steps; /* ... while other ranks do mark steps: these are taken from them (model/join/peer_steps.h) */
	struct round_end
		*longer; /* longer rounds, each made of many rounds; NULL: there are none */
	unsigned nlonger;
};

struct unused_folder {
	char *name, *why;
	int rank; /* the rank in its name; -1: not a rank's folder, or of another run */
};

struct folders {
	char *path;
	bool single; /* the path is one rank's folder */
	struct rank_dir *dir; /* the run's folders, by rank */
	unsigned n, cap;
	struct unused_folder *out;
	unsigned nout, cap_out;
	char *run; /* "": none */
	int world_size; /* -1: not known */
};

/* Returns 0, or STATUS_USAGE (reported): the path cannot be read or has no folder of a rank. */
int folders_open(struct folders *f, const char *path);
/* Opens each rank's folder that is not used, at most `most`, calls fn and closes it: those of earlier attempts and of other runs. */
void folders_each_unused(const struct folders *f, unsigned most,
	void (*take)(void *arg, const struct rank_dir *d), void *arg);
/* Keeps only the first n of dir[]. */
void folders_keep(struct folders *f, unsigned n);
void folders_close(struct folders *f);
/* Bytes that journals of ended processes occupy, in these folders and in those of earlier runs (rank0.1): `recover` frees them. */
uint64_t folders_journal_bytes(const struct folders *f);

/* True if the path is a rank's folder, or contains one. */
bool folders_have_rank(const char *path);

/* True if the path is itself a rank's folder. */
bool folders_is_rank(const char *path);

/* The output folder if none is named: $PROBE_OUTPUT_DIR or ./probe_output. */
const char *folders_default(void);

#endif
