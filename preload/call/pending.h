/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that were started and will be completed by a later call, found by the handle that the library gave back
 * (an MPI request). One handle may stand for several calls: MPI implementations give one and the same handle for all
 * small sends that completed at once. Persistent requests stay in the table and are started again and again.
 *
 * This is the one table that threads share: 64 shards by handle, a mutex each, held for a few instructions and never
 * across a call into a library. Nothing else is locked inside.
 */
#ifndef PROBE_CALL_PENDING_H
#define PROBE_CALL_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "call/call.h"

struct thread;

enum pending_state {
	PENDING_IDLE, /* a persistent request that is not started */
	PENDING_STARTED,
	PENDING_SEEN, /* its end has been recorded, the handle is still valid */
};

struct pending {
	struct pending *next; /* of the same shard's list, oldest first */
	uint64_t key;
	uint64_t seq; /* of its open record; 0: none (dropped, or filtered out) */
	uint64_t start; /* ticks */
	uint64_t added; /* ticks when the library had given the handle back */
	uint64_t wait; /* ticks spent in waits that did complete it */
	uint64_t device_ns; /* that its work took on a device; 0: not known */
	void *newcomm; /* a communicator is being made: where the program wants its handle; NULL: a data call */
	struct api *api;
	struct operation op;
	uint8_t state;
	bool persistent;
	bool receive; /* point-to-point: the status says what arrived */
	bool cancel; /* cancelling was requested */
};

/* Calls under way (started, not yet seen to be complete) and idle persistent requests. 0: nothing to look for. */
uint64_t pending_count(void);

/*
 * Remembers that call under that handle. Returns a copy in the table (valid until taken), NULL when the table is full
 * (reported): its completion cannot be followed then.
 */
struct pending *pending_add(uint64_t key, const struct pending *p);

/* Is there an entry of that handle, in whatever state? */
bool pending_stands(uint64_t key);

/* Takes the oldest entry of that handle and library out of the table, whatever its state. False: there is none. */
bool pending_evict(uint64_t key, const struct adapter *lib, struct pending *out);

/* The library has given the idle persistent request another handle. */
void pending_rename(uint64_t from, uint64_t to);

/*
 * Finds the entry of that handle that is in `state` and hands a copy of it out; take: removes it (a persistent one
 * becomes idle). False: there is none. Of calls without output that share a handle it is the oldest. With output a
 * handle is one call's at a time; there may be an older entry of another thread whose completing call has come back
 * from the library, which then used the handle anew, but not come here yet: it is the newest, then.
 */
bool pending_get(uint64_t key, enum pending_state state, bool take, struct pending *out);

/*
 * The same for a completing call that was entered at tick `before` (0: not known): what was added later has got the
 * handle only since the library took it from this call.
 */
bool pending_get_before(
	uint64_t key, enum pending_state state, bool take, uint64_t before, struct pending *out);

/* Changes the entry of that handle in state `from` that pending_get() would find; fn runs under the shard's lock. False: there is none. */
bool pending_change(
	uint64_t key, enum pending_state from, void (*fn)(struct pending *, void *), void *arg);

/* Forgets the idle persistent request of that handle, if there is one; before: see pending_get_before(). */
void pending_forget(uint64_t key, uint64_t before);

/*
 * Which request the thread of that slot of the journal is about to complete or free, 0: none, PENDING_MANY: several.
 * From before the real function until its entry has been taken: the library may give the handle out again meanwhile.
 */
#define PENDING_MANY UINT64_MAX
void pending_coming(unsigned slot, uint64_t key);
/* Is a thread other than that one, of the first n, about to take an entry of that handle? */
bool pending_awaited(uint64_t key, unsigned slot, unsigned n);

/* In a forked child that records anew. */
void pending_reset(void);

#endif
