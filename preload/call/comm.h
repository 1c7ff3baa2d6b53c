/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators: lookup by handle without a lock, and the numbers that match records of different ranks. */
#ifndef PROBE_CALL_COMM_H
#define PROBE_CALL_COMM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"

struct thread;
struct p2p_level;

#define COMM_NAME_MAX 64

struct comm {
	const struct adapter *lib;
	const char *label; /* lib column of comms.csv; NULL: lib->name */
	const void *from; /* for the adapter: the library's function that made it */
	uint64_t handle;
	uint64_t id, parent; /* parent 0: none, or not known */
	const char *kind; /* "world", "split" ...: constant strings */
	char name[COMM_NAME_MAX];
	int32_t rank, size; /* in its own group */
	int32_t remote; /* size of the remote group; 0: an intracommunicator */
	/* an intercommunicator's lowest world rank is in the local group; always true for others */
	bool first;
	bool perhaps; /* expected, but may never be made: the library may leave the handle 0 */
	/* made by another recorded library for itself: its traffic is part of that library's calls */
	bool inner;
	int32_t indegree, outdegree; /* -1: no neighbours known */
	uint32_t flags; /* CF_LOCALCOMM, CF_GUESSED */
	uint64_t serial; /* order of creation in this process */
	_Atomic uint64_t seq; /* collectives so far */
	_Atomic uint64_t splits,
		/*
		 * for adapters: number of communicators made from this one: by all its ranks, and by some of them
		 */
		others;
	_Atomic uint32_t reading; /* for a window: pending calls that read from it */
	_Atomic uint32_t announced; /* its row of comms.csv has been written to the journal */
	_Atomic uint32_t users; /* pending requests, + 1 while the handle is valid */
	uint32_t nworld; /* members: own group, then the remote one; 0: not known */
	_Atomic(struct p2p_level *) p2p;
	int32_t world[]; /* world ranks of the members */
};

/* Number of ranks for which buffers are counted: those of the other group in an intercommunicator. */
static inline int32_t comm_get_peer_count(const struct comm *c)
{
	return c->remote ? c->remote : c->size;
}

/* Returns the live communicator with that handle of library `lib`, or NULL. */
struct comm *comm_find(const struct adapter *lib, uint64_t handle);

/*
 * Makes a communicator with space for nworld members, to be filled in and passed to
 * comm_register(). Returns NULL if memory is exhausted or too many communicators are live (both
 * are reported).
 */
struct comm *comm_alloc(uint32_t nworld);

/*
 * Enters c into the table that comm_find() searches, in place of an older communicator with the
 * same handle.
 */
void comm_register(struct comm *c);

/*
 * For libraries that return the handle later (in a group, or without blocking): takes over c,
 * whose handle the library will store at `at`. If too many communicators are expected, the oldest
 * are dropped.
 */
void comm_register_expected(struct comm *c, const void *at);

/*
 * Publishes expected communicators of `lib` whose handle has been stored by now: the one with
 * `handle`, which is returned, or all if handle is 0.
 */
struct comm *comm_arrived(const struct adapter *lib, uint64_t handle);

/* Call when `handle` is no longer valid. Pending requests keep the communicator's memory. */
void comm_remove(const struct adapter *lib, uint64_t handle);

/*
 * Call before a call that ends a communicator: from now on no thread finds it, because the
 * library may reuse the handle before the call has returned. Returns NULL if there is no such
 * communicator. Must be followed by comm_close_claim(), which ends the communicator, or restores it if
 * the call failed and its handle does not belong to another communicator by now.
 */
struct comm *comm_claim(const struct adapter *lib, uint64_t handle);
void comm_close_claim(struct comm *c, bool ended);

void comm_add_user(struct comm *c);
void comm_remove_user(struct comm *c);

/*
 * Number of communicators made in this process so far; a larger value means that a communicator
 * was made in between.
 */
uint64_t comm_get_serial(void);

/*
 * The id of a communicator whose members are known: equal on all of them. parent: id, 0 for none. how: the way it was
 * made. tag: tag, colour or 0. members: in order, own group first, then the remote one. In an intercommunicator the
 * group with the lowest world rank comes first on both sides. na 0: not known; then the tag must make it unique.
 */
uint64_t comm_compute_id(uint64_t parent, const char *how, int64_t tag, const int32_t *a,
	uint32_t na, const int32_t *b, uint32_t nb);

/* Number of the next collective on the communicator, from 0. */
static inline int64_t comm_get_next_seq(struct comm *c)
{
	return (int64_t)atomic_fetch_add_explicit(&c->seq, 1, memory_order_relaxed);
}

/*
 * Number of the next message from or to `peer` with `tag`; JOURNAL_NONE64 if the table of counts
 * is full.
 */
int64_t comm_get_next_p2p(struct comm *c, bool send, int32_t peer, int32_t tag);

/*
 * Like comm_get_next_p2p(), for a partitioned message (MPI_Psend_init). Partitioned messages match
 * only each other, so they have their own count, which starts at a number that no other message
 * of a run reaches.
 */
#define COMM_PARTED_FIRST (INT64_C(1) << 32)
int64_t comm_get_next_partitioned(struct comm *c, bool send, int32_t peer, int32_t tag);

/* Call in a forked child: the thread that held the table's lock may not exist there. */
void comm_forked(void);

/* Writes the row of c for comms.csv into the journal, unless it has been written. */
void comm_write_row(struct comm *c, struct thread *t);

#endif
