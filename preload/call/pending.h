/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that were started and will be completed by a later call, found by the handle that the library gave back
 * (an MPI request). One handle may stand for several calls: MPI implementations give one and the same handle for all
 * small sends that completed at once. Persistent requests stay in the table and are started again and again.
 *
 * A library gives a handle out again as soon as it is free, to any thread: before the call that freed it has come back to us. So
 * a call that may complete, free or replace what a handle stands for *claims* the entry before the real function is called. A
 * claimed entry is that thread's alone: no other call finds it, and a handle that is given out again makes an entry of its own.
 * What the call then takes are the entries that it has claimed. All other claims end with it.
 *
 * This is the one table that threads share: 64 shards by handle, a mutex each, held for a few instructions and never
 * across a call into a library. Nothing else is locked inside. Claims are made and given up without the lock.
 */
#ifndef PROBE_CALL_PENDING_H
#define PROBE_CALL_PENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "call/call.h"
#include "call/claims.h"

enum pending_state {
	PENDING_IDLE, /* a persistent request that is not started */
	PENDING_STARTED,
	PENDING_SEEN, /* its end has been recorded, the handle is still valid */
};

struct pending {
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

/*
 * claim: 0, or the place of a thread, from 1: the thread that made the entry or has claimed it, and in which of its lists it is.
 * Whether that holds stands with the thread, in what it says of the call that it is in: so all claims of a call end by one store, and
 * a thread that tests the same requests again and again writes to none of them. CLAIM_HELD: it is being worked on.
 *
 * A claim is changed by compare and exchange: with the lock, or without by the thread whose it is.
 */
#define CLAIM_PLACE UINT64_C(0xffff)
#define CLAIM_LIST_SHIFT 48
#define CLAIM_LISTED (UINT64_C(1) << 62)
#define CLAIM_HELD (UINT64_C(1) << 63)

/* A place in the table. Its memory is never given back. */
struct pending_entry {
	struct pending_entry *next; /* of the same list, oldest first */
	_Atomic uint64_t key; /* stays while it is claimed */
	_Atomic uint64_t claim;
	struct pending
		p; /* read and written by its claimer, or under the lock while it is not claimed */
};

static inline bool pending_has_key(const struct pending_entry *e, uint64_t key)
{
	return atomic_load_explicit(&e->key, memory_order_relaxed) == key;
}

static inline uint64_t pending_claim_on(const struct pending_entry *e)
{
	return atomic_load_explicit(&e->claim, memory_order_acquire);
}

static inline unsigned pending_state_of(const struct pending_entry *e)
{
	return __atomic_load_n(&e->p.state, __ATOMIC_RELAXED);
}

/* The entry that the thread made or claimed last under that handle, if it is still marked as its own. */
static inline struct pending_entry **pending_recent(struct claims *claims, uint64_t key)
{
	return &claims->recent[(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % CLAIM_RECENT];
}

static inline struct pending_entry *pending_recent_own(
	struct claims *claims, uint64_t key, bool idle)
{
	struct pending_entry *e = *pending_recent(claims, key);

	return e && pending_has_key(e, key) && pending_claim_on(e) == claims->place &&
			       (pending_state_of(e) == PENDING_IDLE) == idle
		       ? e
		       : NULL;
}

struct pending_entry *pending_claim_slow(struct claims *claims, uint64_t key);

/*
 * For a call about one request: the entry of that handle. The oldest that is under way, or one whose end was seen, or an idle one.
 */
static inline void pending_claim_one(
	struct claims *claims, unsigned level, uint64_t key, struct pending_claim *claim)
{
	struct pending_entry *e = pending_recent_own(claims, key, false);

	if (__builtin_expect(!e, 0))
		e = pending_claim_slow(claims, key);
	claim->key = key;
	claim->entry = e;
	claims_say(claims, level, (uintptr_t)e);
}

/*
 * For a call about n of them: room for the claims, until claims_leave(); NULL: there is none, or it is inside of too many such
 * calls, which see what becomes of the requests. Each is then claimed in turn, from 0 on; key 0: no request. idle: persistent
 * requests that are not started; else as pending_claim_one(). What the thread's last such call has claimed and this one claims again
 * costs little.
 */
struct claim_list *pending_claims_begin(
	struct claims *claims, unsigned level, uint64_t n, bool idle);
void pending_claim_anew(struct claims *claims, unsigned level, uint64_t i, uint64_t key, bool idle);

static inline uint64_t claim_of_list(const struct claims *claims, unsigned level, bool idle)
{
	return CLAIM_LISTED | (uint64_t)(2 * level + idle) << CLAIM_LIST_SHIFT | claims->place;
}

/* mark: claim_of_list(). Has the last such call claimed an entry of that handle, and nothing become of it? */
static inline bool pending_still_claimed(const struct pending_claim *c, uint64_t key, uint64_t mark)
{
	const struct pending_entry *e = c->entry;

	return e && pending_has_key(e, key) &&
	       atomic_load_explicit(&e->claim, memory_order_relaxed) == mark;
}

static inline void pending_claim_next(
	struct claims *claims, unsigned level, uint64_t i, uint64_t key, bool idle)
{
	const struct claim_list *list = &claims->list[level][idle];

	if (i >= list->n ||
		!pending_still_claimed(&list->claim[i], key, claim_of_list(claims, level, idle)))
		pending_claim_anew(claims, level, i, key, idle);
}

/*
 * The claimed entry, to be read and changed in place until one of the functions below; no lock is held meanwhile. NULL: the claim
 * is lost, for another call of this thread has taken it, or the program has two threads complete one request.
 */
struct pending *pending_hold(struct claims *claims, const struct pending_claim *claim);

/* It stays claimed by the call. */
void pending_keep_claim(struct pending_entry *entry);

/* The call is done with it. */
void pending_let_go(struct pending_entry *entry);

/* The same, and takes it out of the table; what its operation keeps has been released. */
void pending_remove(struct pending_entry *entry);

/* Of a held entry: others read it meanwhile. */
static inline void pending_set_state(struct pending *p, enum pending_state state)
{
	__atomic_store_n(&p->state, (uint8_t)state, __ATOMIC_RELAXED);
}

static inline bool pending_is_cancelled(const struct pending *p)
{
	return __atomic_load_n(&p->cancel, __ATOMIC_RELAXED);
}

/* ---- entries ---- */

/* Calls under way (started, not yet seen to be complete) and idle persistent requests. 0: nothing to look for. */
extern _Atomic uint64_t pending_entries __attribute__((visibility("hidden")));

static inline uint64_t pending_count(void)
{
	return atomic_load_explicit(&pending_entries, memory_order_relaxed);
}

/* Remembers a copy of that call under that handle. claims: of the thread, or NULL. False: the table is full (reported). */
bool pending_add(struct claims *claims, uint64_t key, const struct pending *p);

/* Is there an entry of that handle, in whatever state, that is not claimed? */
bool pending_stands(uint64_t key);

/* Copies the newest idle persistent request of that handle that is not claimed. False: there is none. */
bool pending_find_idle(uint64_t key, struct pending *out);

/* Takes the oldest entry of that handle and library that is not claimed, whatever its state. False: there is none. */
bool pending_evict(uint64_t key, const struct adapter *lib, struct pending *out);

/*
 * Takes the oldest entry of that handle that is under way, was added at tick `before` or earlier (0: whenever), and is not
 * claimed: for keys that no library gives out again.
 */
bool pending_take(uint64_t key, uint64_t before, struct pending *out);

/* Cancelling the request of that handle is asked for, or not after all. Another thread may be waiting for it, and have it claimed. */
void pending_mark_cancel(uint64_t key, bool cancel);

/* In a forked child that records again. */
void pending_reset(void);

#endif
