/* SPDX-License-Identifier: Apache-2.0 */
#include "call/pending.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/log.h"
#include "call/comm.h"
#include "call/keep.h"
#include "journal/layout.h"

#define SHARDS 64u
#define SLAB 32u /* number of entries by which a shard grows */
#define SLABS_MAX 64u /* per shard; 131072 entries in all, at most about 80 MiB */
#define BUCKETS 64u
#define LIST_MAX (UINT64_C(64) << 16) /* maximum requests of one call; their claims take 64 MiB */

/* mark of an entry that some thread is claiming, under the lock */
#define TAKING (CLAIM_HELD | CLAIM_PLACE)

_Static_assert(JOURNAL_THREADS < CLAIM_PLACE, "");

struct shard {
	pthread_mutex_t lock;
	struct pending_entry *bucket[BUCKETS], **tail[BUCKETS];
	struct pending_entry *unused;
	uint32_t slabs;
} __attribute__((aligned(64)));

static struct shard shards[SHARDS] = {
	[0 ... SHARDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER},
};
_Atomic uint64_t pending_entries;

/* ---- claims ---- */

static inline bool set_claim_if_equal(struct pending_entry *e, uint64_t was, uint64_t claim)
{
	return atomic_compare_exchange_strong_explicit(
		&e->claim, &was, claim, memory_order_acq_rel, memory_order_relaxed);
}

static bool is_claimed(const struct pending_entry *e, uint64_t claim)
{
	const struct claims *by;

	if (!claim || claim & CLAIM_HELD)
		return claim != 0;
	by = &all_claims[(claim & CLAIM_PLACE) - 1];
	for (unsigned i = 0; i < CLAIM_LEVELS; i++) {
		uint64_t is = atomic_load_explicit(&by->in_call[i], memory_order_acquire);

		if (is == (uintptr_t)e || is == claim)
			return true;
	}
	return false;
}

/*
 * True if the entry may be claimed: a call may claim what an outer call has claimed, but nothing
 * twice. mark: the mark that the caller will put on entries.
 */
static bool is_free_for(const struct pending_entry *e, uint64_t claim, uint64_t mark)
{
	return (claim & (CLAIM_PLACE | CLAIM_HELD)) == (mark & CLAIM_PLACE)
		       ? claim != mark || !(mark & CLAIM_LISTED)
		       : !is_claimed(e, claim);
}

/* Cuts the list at its i-th element: later entries are no longer claimed by it. */
static void remove_claims_from(struct claims *claims, unsigned level, bool idle, uint64_t i)
{
	struct claim_list *list = &claims->list[level][idle];

	for (uint64_t k = i; k < list->n; k++) {
		struct pending_entry *e = list->claim[k].entry;

		if (e && pending_has_key(e, list->claim[k].key))
			set_claim_if_equal(e, get_list_claim(claims, level, idle), claims->place);
	}
	if (i < list->n)
		list->n = i;
}

/* ---- the lists ---- */

static struct shard *get_shard(uint64_t key, uint32_t *bucket)
{
	uint64_t h = hash_mix(key);

	*bucket = (uint32_t)(h >> 6) % BUCKETS;
	return &shards[h % SHARDS];
}

static struct pending_entry *add_pending_entry(struct shard *s)
{
	if (!s->unused && s->slabs < SLABS_MAX) {
		struct pending_entry *e = mmap(NULL, SLAB * sizeof(*e), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (e == MAP_FAILED)
			return NULL;
		s->slabs++;
		for (uint32_t i = 0; i < SLAB; i++) {
			e[i].next = s->unused;
			s->unused = &e[i];
		}
	}

	struct pending_entry *e = s->unused;

	if (e)
		s->unused = e->next;
	return e;
}

static void add_to_bucket(struct shard *s, uint32_t b, struct pending_entry *e)
{
	e->next = NULL;
	if (!s->bucket[b])
		s->tail[b] = &s->bucket[b];
	*s->tail[b] = e;
	s->tail[b] = &e->next;
	atomic_fetch_add_explicit(&pending_entries, 1, memory_order_relaxed);
}

/* Unlinks *at, which must be claimed. */
static void remove_from_bucket(struct shard *s, uint32_t b, struct pending_entry **at)
{
	struct pending_entry *e = *at;

	*at = e->next;
	if (s->tail[b] == &e->next)
		s->tail[b] = at;
	e->next = s->unused;
	s->unused = e;
	atomic_store_explicit(&e->claim, 0, memory_order_release);
	atomic_fetch_sub_explicit(&pending_entries, 1, memory_order_relaxed);
}

/* Marks a new entry for its own thread, which is most likely to claim it: it can then do so without the lock. */
static uint64_t set_owner_mark(struct claims *claims, uint64_t key, struct pending_entry *e)
{
	*pending_get_recent_slot(claims, key) = e;
	return claims->place;
}

bool pending_add(struct claims *claims, uint64_t key, const struct pending *p)
{
	uint32_t b;
	struct shard *s = get_shard(key, &b);
	struct comm *comm = p->op.comm;
	struct kept_arrays *kept = kept_copy_arrays(&p->op);
	struct pending_entry *e;

	/*
	 * Everything is prepared before other threads can find the entry: of several calls with
	 * the same handle, any thread may complete any.
	 */
	if (comm)
		comm_add_user(comm);
	pthread_mutex_lock(&s->lock);
	e = add_pending_entry(s);
	if (e) {
		e->p = *p;
		kept_set_arrays(&e->p.op, kept);
		atomic_store_explicit(&e->key, key, memory_order_relaxed);
		atomic_store_explicit(&e->claim, claims ? set_owner_mark(claims, key, e) : 0,
			memory_order_release);
		add_to_bucket(s, b, e);
	}
	pthread_mutex_unlock(&s->lock);
	if (!e) {
		log_loss(LOSS_PENDING,
			"too many pending requests: completions of further ones are not recorded");
		if (comm)
			comm_remove_user(comm);
		kept_free(kept);
	}
	return e != NULL;
}

/* ---- claiming ---- */

/* Order in which the entries of one handle are chosen: the first entry with the lowest number. */
static unsigned get_state_order(const struct pending_entry *e)
{
	return e->p.state == PENDING_STARTED ? 0 : e->p.state == PENDING_SEEN ? 1 : 2;
}

/*
 * Claims the entry of handle `key` that is to be chosen, with this mark. Returns NULL if there is
 * none.
 */
static struct pending_entry *lock_entry_in_bucket(uint64_t key, bool idle, uint64_t mark)
{
	uint32_t b;
	struct shard *s = get_shard(key, &b);
	struct pending_entry *best = NULL;
	uint64_t best_claim = 0;

	pthread_mutex_lock(&s->lock);
	for (struct pending_entry *e = s->bucket[b]; e; e = e->next) {
		uint64_t claim;

		if (!pending_has_key(e, key))
			continue;
		claim = pending_get_claim(e);
		if (!is_free_for(e, claim, mark) || (idle && e->p.state != PENDING_IDLE) ||
			(!idle && best && get_state_order(e) >= get_state_order(best)))
			continue;
		best = e;
		best_claim = claim;
		if (!idle && e->p.state == PENDING_STARTED)
			break;
	}
	/*
	 * Fails if the entry's own thread is claiming it again: two threads of the program
	 * complete one request.
	 */
	if (best && !set_claim_if_equal(best, best_claim, mark))
		best = NULL;
	pthread_mutex_unlock(&s->lock);
	return best;
}

struct pending_entry *pending_claim_slow(struct claims *claims, uint64_t key)
{
	struct pending_entry *e = lock_entry_in_bucket(key, false, claims->place);

	if (e)
		*pending_get_recent_slot(claims, key) = e;
	return e;
}

static struct pending_entry *lock_entry_for_list(
	struct claims *claims, uint64_t key, bool idle, uint64_t mark)
{
	struct pending_entry *e = pending_find_recent_own(claims, key, idle);

	return e && set_claim_if_equal(e, claims->place, mark)
		       ? e
		       : lock_entry_in_bucket(key, idle, mark);
}

static bool reserve_claims(struct claim_list *list, uint64_t n)
{
	uint64_t space = list->space ? list->space : 256;
	void *p;

	if (n <= list->space)
		return true;
	if (n > LIST_MAX)
		return false;
	while (space < n)
		space *= 2;
	p = mmap(NULL, space * sizeof(*list->claim), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	if (list->claim) {
		memcpy(p, list->claim, list->n * sizeof(*list->claim));
		munmap(list->claim, list->space * sizeof(*list->claim));
	}
	list->claim = p;
	list->space = space;
	return true;
}

struct claim_list *pending_open_claims(struct claims *claims, unsigned level, uint64_t n, bool idle)
{
	struct claim_list *list;

	if (level >= CLAIM_LEVELS)
		return NULL;
	list = &claims->list[level][idle];
	/* The list of a call that was left by longjmp() may still contain entries. */
	remove_claims_from(claims, level, true, 0);
	if (!idle)
		remove_claims_from(claims, level, false, level ? 0 : n);
	if (!reserve_claims(list, n))
		return NULL;
	claims_set(claims, level, get_list_claim(claims, level, idle));
	return list;
}

void pending_claim_again(struct claims *claims, unsigned level, uint64_t i, uint64_t key, bool idle)
{
	struct claim_list *list = &claims->list[level][idle];
	struct pending_claim *c = &list->claim[i];

	if (i < list->n && !key && !c->entry) {
		c->key = 0;
		return;
	}
	/* A later entry of the list may be the one that is to be claimed now. */
	if (i < list->n && (c->entry || (key && c->key != key)))
		remove_claims_from(claims, level, idle, i);
	c->key = key;
	c->entry = key ? lock_entry_for_list(claims, key, idle, get_list_claim(claims, level, idle))
		       : NULL;
	if (i >= list->n)
		list->n = i + 1;
}

struct pending *pending_open(struct claims *claims, const struct pending_claim *c)
{
	uint64_t claim = pending_get_claim(c->entry);

	return (claim & (CLAIM_PLACE | CLAIM_HELD)) == claims->place &&
			       pending_has_key(c->entry, c->key) &&
			       set_claim_if_equal(c->entry, claim, claim | CLAIM_HELD)
		       ? &c->entry->p
		       : NULL;
}

void pending_close(struct pending_entry *e)
{
	atomic_store_explicit(&e->claim, pending_get_claim(e) & ~CLAIM_HELD, memory_order_release);
}

void pending_free_claim(struct pending_entry *e)
{
	atomic_store_explicit(&e->claim, pending_get_claim(e) & CLAIM_PLACE, memory_order_release);
}

void pending_remove(struct pending_entry *e)
{
	uint32_t b;
	struct shard *s = get_shard(atomic_load_explicit(&e->key, memory_order_relaxed), &b);
	struct pending_entry **at;

	pthread_mutex_lock(&s->lock);
	for (at = &s->bucket[b]; *at && *at != e; at = &(*at)->next)
		;
	if (*at)
		remove_from_bucket(s, b, at);
	pthread_mutex_unlock(&s->lock);
}

/* ---- entries without a claim ---- */

/* Unlinks *at if it is not claimed. Ownership of what it keeps passes to the caller. */
static bool remove_unclaimed(
	struct shard *s, uint32_t b, struct pending_entry **at, struct pending *out)
{
	uint64_t claim = pending_get_claim(*at);

	if (is_claimed(*at, claim) || !set_claim_if_equal(*at, claim, TAKING))
		return false;
	*out = (*at)->p;
	remove_from_bucket(s, b, at);
	return true;
}

bool pending_has_unclaimed(uint64_t key)
{
	uint32_t b;
	struct shard *s = get_shard(key, &b);
	const struct pending_entry *e;

	pthread_mutex_lock(&s->lock);
	for (e = s->bucket[b];
		e && (!pending_has_key(e, key) || is_claimed(e, pending_get_claim(e))); e = e->next)
		;
	pthread_mutex_unlock(&s->lock);
	return e != NULL;
}

bool pending_find_idle(uint64_t key, struct pending *out)
{
	uint32_t b;
	struct shard *s = get_shard(key, &b);
	bool found = false;

	pthread_mutex_lock(&s->lock);
	for (const struct pending_entry *e = s->bucket[b]; e; e = e->next)
		if (pending_has_key(e, key) && !is_claimed(e, pending_get_claim(e)) &&
			e->p.state == PENDING_IDLE) {
			*out = e->p;
			found = true;
		}
	pthread_mutex_unlock(&s->lock);
	return found;
}

bool pending_remove_any(uint64_t key, const struct adapter *lib, struct pending *out)
{
	uint32_t b;
	struct shard *s = get_shard(key, &b);
	bool found = false;

	pthread_mutex_lock(&s->lock);
	for (struct pending_entry **at = &s->bucket[b]; *at; at = &(*at)->next) {
		found = pending_has_key(*at, key) && (*at)->p.api->spec->lib == lib &&
			remove_unclaimed(s, b, at, out);
		if (found)
			break;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

bool pending_remove_oldest(uint64_t key, uint64_t before, struct pending *out)
{
	uint32_t b;
	struct shard *s = get_shard(key, &b);
	bool found = false;

	pthread_mutex_lock(&s->lock);
	for (struct pending_entry **at = &s->bucket[b]; *at; at = &(*at)->next) {
		found = pending_has_key(*at, key) && !is_claimed(*at, pending_get_claim(*at)) &&
			(*at)->p.state == PENDING_STARTED &&
			(!before || (*at)->p.added <= before) && remove_unclaimed(s, b, at, out);
		if (found)
			break;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

void pending_set_cancel(uint64_t key, bool cancel)
{
	uint32_t b;
	struct shard *s = get_shard(key, &b);
	struct pending_entry *best = NULL;
	bool is_free = false;

	pthread_mutex_lock(&s->lock);
	for (struct pending_entry *e = s->bucket[b]; e; e = e->next) {
		bool claimed = is_claimed(e, pending_get_claim(e));

		if (!pending_has_key(e, key) || (is_free && claimed) ||
			__atomic_load_n(&e->p.state, __ATOMIC_RELAXED) != PENDING_STARTED)
			continue;
		best = e;
		is_free = !claimed;
	}
	if (best)
		__atomic_store_n(&best->p.cancel, cancel, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&s->lock);
}

void pending_reset(void)
{
	/* At the moment of the fork the parent's threads may have held any lock and any claim. */
	for (uint32_t i = 0; i < SHARDS; i++) {
		memset(&shards[i], 0, sizeof(shards[i]));
		pthread_mutex_init(&shards[i].lock, NULL);
	}
	for (uint32_t i = 0; i < JOURNAL_THREADS; i++)
		if (all_claims[i].place)
			memset(&all_claims[i], 0, sizeof(all_claims[i]));
	atomic_store(&pending_entries, 0);
	kept_reset();
}
