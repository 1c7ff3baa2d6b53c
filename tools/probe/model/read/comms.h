/* SPDX-License-Identifier: Apache-2.0 */
/* The communicators of a run, from the comms.csv of all its folders. */
#ifndef PROBE_TOOLS_COMMS_H
#define PROBE_TOOLS_COMMS_H

#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/read/overlay.h"
#include "tools/lib/table.h"

struct call;

struct comm_info {
	struct table_key key; /* a: id */
	uint32_t lib, kind, name; /* interned */
	uint32_t
		role; /* interned; in a training, from parallel.json: data, tensor, pipeline, expert, exchange; 0: not known */
	int64_t size; /* -1: not known */
	uint64_t parent; /* 0: none */
	int *member; /* world ranks, ascending; NULL: not known */
	unsigned nmember;
	bool in_order; /* member[n] is rank n of the communicator */
	unsigned
		nfirst; /* members of the group that is listed first; 0: no intercommunicator, or not known */
	char *ranks; /* as in comms.csv */
	int *seen; /* ranks whose folders list it, if world_ranks is empty */
	unsigned nseen, cap_seen;
	unsigned
		present; /* members whose folders are read; if members are not known: at most `size` */
};

struct comms {
	struct table table;
	unsigned inter; /* intercommunicators */
	uint64_t damaged;
};

void comms_init(struct comms *c);
void comms_free(struct comms *c);

/* Adds one rank's communicators. o: NULL, or the journal's part. */
void comms_read(struct comms *c, const struct rank_dir *dir, const struct overlay *o);

/* Counts the members that have a folder, after all folders have been read. dir: the run's folders. */
void comms_settle(struct comms *c, const struct rank_dir *dir, unsigned n);

/* NULL: comms.csv does not list it. */
struct comm_info *comms_find(const struct comms *c, uint64_t id);

/*
 * The world rank of the communicator's rank n; -1: not known. The ranks of an intercommunicator's second group are counted on from those of
 * its first, see comms_number_call().
 */
int comm_member_at(const struct comm_info *c, int64_t n);

/*
 * Gives the ranks of a call on an intercommunicator one numbering: its own (comm_rank), which the library counts in its own group, and the
 * peer, counted in the other group (MPI 4.1, 6.6). The size becomes that of both groups. rank: the caller in the world.
 */
void comms_number_call(const struct comms *c, struct call *call, int rank);

/* The number that the library has for the communicator's rank n: in an intercommunicator it counts each group from 0. */
int64_t comm_number_in_group(const struct comm_info *c, int64_t n);
bool comm_has(const struct comm_info *c, int rank);

/* For people: "MPI_COMM_WORLD", "tensor-parallel group of ranks 0-3", "split of 8 ranks 4f32...", "-" for id 0. Returns buf. */
#define COMM_LABEL_MAX 160
const char *comm_label(const struct comms *c, uint64_t id, char buf[COMM_LABEL_MAX]);

#endif
