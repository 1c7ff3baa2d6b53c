/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that were started and will be completed by a later call, found by the handle that the library returned (an MPI
 * request). A handle may belong to several calls: MPI implementations return the same handle for all small sends that
 * completed at once. Persistent requests stay in the table and are started again and again.
 *
 * A library reuses a handle as soon as it is free, in any thread, even before the call that freed it has returned to
 * us. So a call that may complete, free or replace requests *claims* their entries before the real function is called.
 * A claimed entry belongs to that thread: no other call finds it, and a reused handle gets an entry of its own. After
 * the call, its thread removes entries only among those that it has claimed. All other claims end with the call.
 *
 * This is the only table that threads share: 64 shards by handle, each with a mutex that is held for a few instructions
 * and never across a call into a library. No other lock is taken inside. Claims are made and released without the lock.
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
	PENDING_SEEN, /* its completion has been recorded, but the handle is still valid */
};

struct pending {
	uint64_t seq; /* number of the open record; 0: none (dropped, or filtered) */
	uint64_t start; /* tick of the start */
	uint64_t added; /* tick at which the library had returned the handle */
	uint64_t wait; /* ticks that the completing call took */
	uint64_t device_ns; /* duration on a device; 0: not known */
	/* where the program will store the handle of the communicator being made; NULL: a data call */
	void *newcomm;
	struct api *api;
	struct operation op;
	uint8_t state;
	bool persistent;
	bool receive; /* point-to-point: the status describes what arrived */
	bool cancel; /* cancelling was requested */
};

/*
 * claim: the thread that made the entry or claimed it, as the number of its slot in the journal
 * (from 1), and which of the thread's lists; 0: none. Whether the claim is still valid is stored
 * with the thread, in its state for the current call. So one store ends all claims of a call, and
 * a thread that tests the same requests repeatedly writes to none of them. CLAIM_HELD: the entry
 * is being changed.
 *
 * A claim is changed by compare and exchange: under the lock, or without it by its own thread.
 */
#define CLAIM_PLACE UINT64_C(0xffff)
#define CLAIM_LIST_SHIFT 48
#define CLAIM_LISTED (UINT64_C(1) << 62)
#define CLAIM_HELD (UINT64_C(1) << 63)

/* An entry of the table. Its memory is never freed. */
struct pending_entry {
	struct pending_entry *next; /* next in the same list, oldest first */
	_Atomic uint64_t key; /* constant while it is claimed */
	_Atomic uint64_t claim;
	struct pending p; /* accessed by its claimer, or under the lock while it is not claimed */
};

static inline bool pending_has_key(const struct pending_entry *e, uint64_t key)
{
	return atomic_load_explicit(&e->key, memory_order_relaxed) == key;
}

static inline uint64_t pending_get_claim(const struct pending_entry *e)
{
	return atomic_load_explicit(&e->claim, memory_order_acquire);
}

static inline unsigned pending_get_state(const struct pending_entry *e)
{
	return __atomic_load_n(&e->p.state, __ATOMIC_RELAXED);
}

/*
 * pending_find_recent_own(): the entry that this thread made or claimed last for handle `key`, if the
 * entry still has the mark of this thread; else NULL.
 */
static inline struct pending_entry **pending_get_recent_slot(struct claims *claims, uint64_t key)
{
	return &claims->recent[(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % CLAIM_RECENT];
}

static inline struct pending_entry *pending_find_recent_own(
	struct claims *claims, uint64_t key, bool idle)
{
	struct pending_entry *e = *pending_get_recent_slot(claims, key);

	return e && pending_has_key(e, key) && pending_get_claim(e) == claims->place &&
			       (pending_get_state(e) == PENDING_IDLE) == idle
		       ? e
		       : NULL;
}

struct pending_entry *pending_claim_slow(struct claims *claims, uint64_t key);

/*
 * For a call with one request: claims an entry of handle `key`. Prefers the oldest pending entry,
 * then one whose completion was already recorded, then an idle one.
 */
static inline void pending_claim_one(
	struct claims *claims, unsigned level, uint64_t key, struct pending_claim *claim)
{
	struct pending_entry *e = pending_find_recent_own(claims, key, false);

	if (__builtin_expect(!e, 0))
		e = pending_claim_slow(claims, key);
	claim->key = key;
	claim->entry = e;
	claims_set(claims, level, (uintptr_t)e);
}

/*
 * For a call with n requests: returns the list for their claims, valid until claims_leave().
 * Returns NULL if there is no memory, or if the call is nested too deeply; then the outer call
 * sees what became of the requests. pending_claim_next() claims one after the other, from i = 0
 * on; key 0: not a request. idle: persistent requests that are not started; else as in
 * pending_claim_one(). Claiming what the thread's previous such call claimed is cheap.
 */
struct claim_list *pending_open_claims(
	struct claims *claims, unsigned level, uint64_t n, bool idle);
void pending_claim_again(
	struct claims *claims, unsigned level, uint64_t i, uint64_t key, bool idle);

static inline uint64_t get_list_claim(const struct claims *claims, unsigned level, bool idle)
{
	return CLAIM_LISTED | (uint64_t)(2 * level + idle) << CLAIM_LIST_SHIFT | claims->place;
}

/*
 * True if the thread's previous such call claimed an entry of handle `key`, and the entry is
 * unchanged. mark: get_list_claim().
 */
static inline bool pending_is_still_claimed(
	const struct pending_claim *c, uint64_t key, uint64_t mark)
{
	const struct pending_entry *e = c->entry;

	return e && pending_has_key(e, key) &&
	       atomic_load_explicit(&e->claim, memory_order_relaxed) == mark;
}

static inline void pending_claim_next(
	struct claims *claims, unsigned level, uint64_t i, uint64_t key, bool idle)
{
	const struct claim_list *list = &claims->list[level][idle];

	if (i >= list->n || !pending_is_still_claimed(
				    &list->claim[i], key, get_list_claim(claims, level, idle)))
		pending_claim_again(claims, level, i, key, idle);
}

/*
 * Returns the claimed entry, which may be read and changed in place until it is passed to one of
 * the functions below; no lock is held meanwhile. Returns NULL if the claim is lost: another call
 * of this thread has taken the entry, or two threads of the program complete one request.
 */
struct pending *pending_open(struct claims *claims, const struct pending_claim *claim);

/* Ends the access by pending_open(); the call keeps its claim. */
void pending_close(struct pending_entry *entry);

/* Ends the access by pending_open(), and the claim. */
void pending_free_claim(struct pending_entry *entry);

/*
 * Ends the access and the claim, and removes the entry from the table. operation_free_copy() must
 * have been called for it.
 */
void pending_remove(struct pending_entry *entry);

/* For an entry in access by pending_open(); other threads may read the state meanwhile. */
static inline void pending_set_state(struct pending *p, enum pending_state state)
{
	__atomic_store_n(&p->state, (uint8_t)state, __ATOMIC_RELAXED);
}

static inline bool pending_is_cancelled(const struct pending *p)
{
	return __atomic_load_n(&p->cancel, __ATOMIC_RELAXED);
}

/* ---- entries ---- */

/*
 * Number of pending calls (started, not seen to be complete) and idle persistent requests. 0: there is nothing to
 * search for.
 */
extern _Atomic uint64_t pending_entries __attribute__((visibility("hidden")));

static inline uint64_t pending_get_count(void)
{
	return atomic_load_explicit(&pending_entries, memory_order_relaxed);
}

/*
 * Adds a copy of *p under handle `key`. claims: those of the calling thread, or NULL. Returns
 * false if the table is full (reported).
 */
bool pending_add(struct claims *claims, uint64_t key, const struct pending *p);

/* True if an entry of handle `key`, in any state, is not claimed. */
bool pending_has_unclaimed(uint64_t key);

/*
 * Copies the newest idle persistent request of handle `key` that is not claimed to *out. Returns
 * false if there is none.
 */
bool pending_find_idle(uint64_t key, struct pending *out);

/*
 * Moves the oldest entry of handle `key` and library lib, in any state, that is not claimed, to
 * *out. Returns false if there is none.
 */
bool pending_remove_any(uint64_t key, const struct adapter *lib, struct pending *out);

/*
 * Moves the oldest pending entry of handle `key` that was added at tick `before` or earlier (0:
 * at any time), and is not claimed, to *out. Only for keys that no library reuses.
 */
bool pending_remove_oldest(uint64_t key, uint64_t before, struct pending *out);

/*
 * Marks request `key` as being cancelled, or removes the mark, even while another thread waits
 * for it and has claimed it.
 */
void pending_set_cancel(uint64_t key, bool cancel);

/* For a forked child that records: empties the table. */
void pending_reset(void);

#endif
