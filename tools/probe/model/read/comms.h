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
	/*
	 * Interned role of the group in a training, from parallel.json: data, tensor, pipeline,
	 * expert, exchange; 0: not known.
	 */
	uint32_t role;
	int64_t size; /* -1: not known */
	uint64_t parent; /* id of the parent; 0: none */
	int *member; /* world ranks, ascending; NULL: not known */
	unsigned nmember;
	bool in_order; /* member[n] is rank n of the communicator */
	/*
	 * Members of the group that comms.csv lists first; 0: not an intercommunicator, or not
	 * known.
	 */
	unsigned nfirst;
	char *ranks; /* column world_ranks of comms.csv */
	int *seen; /* ranks whose folders list the communicator, if world_ranks is empty */
	unsigned nseen, cap_seen;
	/* Members whose folders are read. If the members are not known: at most `size`. */
	unsigned present;
};

struct comms {
	struct table table;
	unsigned inter; /* number of intercommunicators */
	uint64_t damaged;
};

void comms_init(struct comms *c);
void comms_free(struct comms *c);

/* Adds the communicators of one rank. o: the additional rows of its journal, or NULL. */
void comms_read(struct comms *c, const struct rank_dir *dir, const struct overlay *o);

/*
 * Counts the members that have a folder, after the folders of all ranks were read. dir: the n
 * folders of the run.
 */
void comms_set_present_members(struct comms *c, const struct rank_dir *dir, unsigned n);

/* Returns the communicator, or NULL if no comms.csv lists it. */
struct comm_info *comms_find(const struct comms *c, uint64_t id);

/*
 * True if the ranges of a column world_ranks ("0-3;8", "0-3|4-7", with "..." where it was cut) have at most 2^20 ranks together,
 * none above INT32_MAX. If not, the file is damaged: a loop over such ranks has no end.
 */
bool is_plausible_rank_list(const char *text);

/*
 * Returns the world rank of rank n of communicator c, or -1 if not known. In an intercommunicator,
 * the ranks of the second group follow those of the first, see comms_set_call_numbers().
 */
int comm_get_member(const struct comm_info *c, int64_t n);

/*
 * Renumbers the ranks in a call on an intercommunicator so that both groups have one numbering. The
 * library counts comm_rank in the caller's group and the peer in the other group (MPI 4.1, 6.6).
 * call->size becomes the size of both groups. rank: world rank of the caller.
 */
void comms_set_call_numbers(const struct comms *c, struct call *call, int rank);

/*
 * Returns the library's number for rank n of communicator c. In an intercommunicator the library
 * counts each group from 0.
 */
int64_t comm_get_number_in_group(const struct comm_info *c, int64_t n);
bool comm_has(const struct comm_info *c, int rank);

/*
 * Returns a label for people in buf: "MPI_COMM_WORLD", "tensor-parallel group of ranks 0-3", "split
 * of 8 ranks 4f32...", "-" for id 0.
 */
#define COMM_LABEL_MAX 160
const char *comm_format_label(const struct comms *c, uint64_t id, char buf[COMM_LABEL_MAX]);

#endif
