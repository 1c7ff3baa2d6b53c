/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators: what a handle stands for, found without a lock, and the numbers that join the ranks' records.
 */
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
	const void *from; /* for the adapter: the function of the library that made it */
	uint64_t handle;
	uint64_t id, parent; /* parent 0: none, or not known */
	const char *kind; /* "world", "split" ...: constant strings */
	char name[COMM_NAME_MAX];
	int32_t rank, size; /* in the own group */
	int32_t remote; /* size of the remote group; 0: an intracommunicator */
	bool first; /* the own group is the one that holds the lowest world rank */
	bool perhaps; /* an expected one that may never come: the library may leave the handle 0 */
	bool inner; /* another library that is recorded made it for itself: what goes over it is a part of that one's calls */
	int32_t indegree, outdegree; /* -1: no neighbours known */
	uint32_t flags; /* CF_LOCALCOMM, CF_GUESSED */
	uint64_t serial; /* order of making in this process */
	_Atomic uint64_t seq; /* collectives so far */
	_Atomic uint64_t splits,
		others; /* for adapters: communicators made of it, by all its ranks or by some */
	_Atomic uint32_t reading; /* of a window: calls that read from it and are not complete */
	_Atomic uint32_t announced; /* its row of comms.csv is in the journal */
	_Atomic uint32_t users; /* requests under way, + 1 while the handle lives */
	uint32_t nworld; /* members: own group, then the remote one; 0: not known */
	_Atomic(struct p2p_level *) p2p;
	int32_t world[]; /* world ranks of the members */
};

/* Number of ranks that buffers are counted by: the other group's in an intercommunicator. */
static inline int32_t comm_peers(const struct comm *c)
{
	return c->remote ? c->remote : c->size;
}

/* The live communicator of that handle, or NULL. */
struct comm *comm_find(const struct adapter *lib, uint64_t handle);

/*
 * A new communicator with room for n members, to be filled in and handed to comm_publish(). NULL: out of memory or too
 * many live ones (reported).
 */
struct comm *comm_alloc(uint32_t nworld);

/* Makes it findable; an older one of the same handle is gone. */
void comm_publish(struct comm *c);

/*
 * For libraries that hand out the handle later (in a group, without blocking): takes c over, whose handle will stand at
 * `at`. Of too many the oldest are forgotten.
 */
void comm_expect(struct comm *c, const void *at);

/* Publishes what has come of the expected ones of that library: the one of that handle (returned), or all (handle 0). */
struct comm *comm_arrived(const struct adapter *lib, uint64_t handle);

/* The handle is no longer valid. Requests under way keep the communicator. */
void comm_drop(const struct adapter *lib, uint64_t handle);

/*
 * A call begins that ends it: from here on no thread finds it, for the library may give the handle to another one before the call
 * has come back. NULL: there is none. comm_settle() goes with it: it has ended, or it is what it was, unless the handle stands for
 * another one by now.
 */
struct comm *comm_claim(const struct adapter *lib, uint64_t handle);
void comm_settle(struct comm *c, bool ended);

void comm_hold(struct comm *c);
void comm_release(struct comm *c);

/* How many communicators have been made in this process: to know whether one is newer than a moment. */
uint64_t comm_serial(void);

/*
 * The id of a communicator whose members are known: the same on all of them. parent: id, 0 for none; how: the way it
 * was made; tag: tag, colour or 0; members in order (own group first, then the remote one for an intercommunicator, the
 * group with the lowest world rank first whatever the own one is). na 0: not known; the tag must make it unique then.
 */
uint64_t comm_make_id(uint64_t parent, const char *how, int64_t tag, const int32_t *a, uint32_t na,
	const int32_t *b, uint32_t nb);

/* The number of this collective on the communicator, from 0. */
static inline int64_t comm_next(struct comm *c)
{
	return (int64_t)atomic_fetch_add_explicit(&c->seq, 1, memory_order_relaxed);
}

/* The number of this message from or to that peer with that tag; JOURNAL_NONE64 when there is no room to count. */
int64_t comm_next_p2p(struct comm *c, bool send, int32_t peer, int32_t tag);

/*
 * The same of a message in parts (MPI_Psend_init): those match none but each other, so they count by themselves, from this
 * number, which no other message of a run reaches.
 */
#define COMM_PARTED_FIRST (INT64_C(1) << 32)
int64_t comm_next_parted(struct comm *c, bool send, int32_t peer, int32_t tag);

/* In a forked child: the thread that held the table's lock may not exist there. */
void comm_forked(void);

/* Enters its row of comms.csv into the journal if that has not been done. */
void comm_announce(struct comm *c, struct thread *t);

#endif
