/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of live communicators: open addressing, read without a lock, changed under `change`.
 * A removed entry is marked so that probing continues. Marks at the end of a probe sequence
 * become empty entries again, so the table does not fill up in a program that makes and frees
 * communicators all the time.
 *
 * Lock: `change` is a leaf, held for a few instructions; initialised again in a forked child.
 */
#include "call/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/hash.h"
#include "base/log.h"
#include "config/rooms/files.h"
#include "config/rooms/steps.h"
#include "text/text.h"
#include "call/recorder.h"
#include "device/device.h"
#include "session/generation.h"

#define TABLE_BITS 13
#define TABLE (1u << TABLE_BITS) /* at most 3/4 of it are live communicators */
#define KNOWN 4096u /* number of different (parent, how, members ...) that are counted */

/*
 * An entry is found by its key alone: a reader must not look into other communicators, which
 * another thread may be freeing. The key is a 64-bit hash of (library, handle).
 */
enum { EMPTY = 0, REMOVED = 1 };

static struct {
	_Atomic uint64_t key;
	_Atomic(struct comm *) comm;
} table[TABLE];
static uint32_t live;
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t serial;

/*
 * A multiplication by an odd number keeps different handles of a library different. The upper bits
 * depend on all bits of a handle.
 */
static inline uint64_t compute_comm_key(const struct adapter *lib, uint64_t handle)
{
	uint64_t h = (uintptr_t)lib * UINT64_C(0xbf58476d1ce4e5b9) + handle;

	return h * UINT64_C(0x9e3779b97f4a7c15) | 2;
}

static inline uint32_t get_home_slot(uint64_t key)
{
	return (uint32_t)(key >> (64 - TABLE_BITS));
}

struct comm *comm_find(const struct adapter *lib, uint64_t handle)
{
	uint64_t key = compute_comm_key(lib, handle);

	for (uint32_t i = get_home_slot(key), n = 0; n < TABLE; i = (i + 1) % TABLE, n++) {
		uint64_t k = atomic_load_explicit(&table[i].key, memory_order_acquire);

		if (k == EMPTY)
			return NULL;
		if (k == key)
			return atomic_load_explicit(&table[i].comm, memory_order_acquire);
	}
	return NULL;
}

struct comm *comm_alloc(uint32_t nworld)
{
	struct comm *c = calloc(1, sizeof(*c) + nworld * sizeof(c->world[0]));

	if (!c) {
		log_loss(LOSS_COMMS,
			"no memory for a communicator: its records have no communicator");
		return NULL;
	}
	c->nworld = nworld;
	c->indegree = c->outdegree = -1;
	c->first = true;
	atomic_init(&c->users, 1);
	return c;
}

uint64_t comm_get_serial(void)
{
	return atomic_load_explicit(&serial, memory_order_relaxed);
}

static void set_key(uint32_t i, uint64_t key)
{
	atomic_store_explicit(&table[i].key, key, memory_order_release);
}

static uint64_t get_key(uint32_t i)
{
	return atomic_load_explicit(&table[i].key, memory_order_relaxed);
}

/*
 * Removes a communicator from the table; the table's reference passes to the caller. Returns NULL
 * if the handle is not in the table.
 */
static struct comm *remove_locked(const struct adapter *lib, uint64_t handle)
{
	uint64_t key = compute_comm_key(lib, handle);
	uint32_t i = get_home_slot(key);

	for (uint32_t n = 0; get_key(i) != key; i = (i + 1) % TABLE)
		if (get_key(i) == EMPTY || ++n == TABLE)
			return NULL;

	struct comm *c = atomic_load_explicit(&table[i].comm, memory_order_relaxed);

	set_key(i, REMOVED);
	atomic_store_explicit(&table[i].comm, NULL, memory_order_relaxed);
	if (get_key((i + 1) % TABLE) == EMPTY)
		for (; get_key(i) == REMOVED; i = (i + TABLE - 1) % TABLE)
			set_key(i, EMPTY);
	live--;
	return c;
}

static void free_locked(const struct adapter *lib, uint64_t handle)
{
	struct comm *c = remove_locked(lib, handle);

	if (c)
		comm_remove_user(c);
}

/* Returns false if the table is full. */
static bool add_locked(struct comm *c)
{
	uint64_t key = compute_comm_key(c->lib, c->handle);
	uint32_t i = get_home_slot(key);

	if (live >= TABLE / 4 * 3)
		return false;
	while (get_key(i) > REMOVED)
		i = (i + 1) % TABLE;
	atomic_store_explicit(&table[i].comm, c, memory_order_release);
	set_key(i, key);
	live++;
	return true;
}

void comm_register(struct comm *c)
{
	bool added;

	pthread_mutex_lock(&change);
	free_locked(c->lib, c->handle);
	c->serial = atomic_fetch_add(&serial, 1) + 1;
	added = add_locked(c);
	pthread_mutex_unlock(&change);
	if (!added) {
		log_loss(LOSS_COMMS,
			"more than %u live communicators: records on further ones have no "
			"communicator",
			TABLE / 4 * 3);
		comm_remove_user(c);
	}
}

void comm_remove(const struct adapter *lib, uint64_t handle)
{
	pthread_mutex_lock(&change);
	free_locked(lib, handle);
	pthread_mutex_unlock(&change);
}

struct comm *comm_claim(const struct adapter *lib, uint64_t handle)
{
	struct comm *c;

	pthread_mutex_lock(&change);
	c = remove_locked(lib, handle);
	pthread_mutex_unlock(&change);
	return c;
}

void comm_close_claim(struct comm *c, bool ended)
{
	bool stays = false;

	if (!ended) {
		pthread_mutex_lock(&change);
		stays = !comm_find(c->lib, c->handle) && add_locked(c);
		pthread_mutex_unlock(&change);
	}
	if (!stays)
		comm_remove_user(c);
}

/* ---- communicators whose handle is not known yet ---- */

#define EXPECTED 64u

/* Guarded by `change`. */
static struct {
	struct comm *comm;
	const void *address;
} expected[EXPECTED];
static uint32_t next_expected;
static _Atomic uint32_t nexpected;

void comm_register_expected(struct comm *c, const void *address)
{
	struct comm *forgotten;

	pthread_mutex_lock(&change);
	forgotten = expected[next_expected].comm;
	expected[next_expected].comm = c;
	expected[next_expected].address = address;
	next_expected = (next_expected + 1) % EXPECTED;
	atomic_fetch_add(&nexpected, forgotten ? 0 : 1);
	pthread_mutex_unlock(&change);
	if (forgotten)
		comm_remove_user(forgotten);
}

/*
 * Removes and returns an expected communicator whose handle has been stored. Returns NULL if
 * there is none.
 */
static struct comm *remove_arrived(const struct adapter *lib, uint64_t want)
{
	struct comm *c = NULL;
	uint64_t handle;

	pthread_mutex_lock(&change);
	for (uint32_t i = 0; i < EXPECTED && !c; i++) {
		/*
		 * The program's variable for the handle may be out of scope, and its thread's
		 * stack unmapped.
		 */
		if (!expected[i].comm || expected[i].comm->lib != lib ||
			!device_probe(expected[i].address, sizeof(handle)))
			continue;
		memcpy(&handle, expected[i].address, sizeof(handle));
		if (!handle || (want && handle != want))
			continue;
		/*
		 * The library never stored this handle: the program has stored another
		 * communicator's in the variable.
		 */
		if (expected[i].comm->perhaps && comm_find(lib, handle)) {
			comm_remove_user(expected[i].comm);
			expected[i].comm = NULL;
			atomic_fetch_sub(&nexpected, 1);
			continue;
		}
		c = expected[i].comm;
		c->handle = handle;
		expected[i].comm = NULL;
		atomic_fetch_sub(&nexpected, 1);
	}
	pthread_mutex_unlock(&change);
	return c;
}

struct comm *comm_arrived(const struct adapter *lib, uint64_t handle)
{
	struct comm *c;

	while (atomic_load_explicit(&nexpected, memory_order_relaxed) &&
		(c = remove_arrived(lib, handle))) {
		comm_register(c);
		if (handle)
			return comm_find(lib, handle);
	}
	return NULL;
}

void comm_forked(void)
{
	pthread_mutex_init(&change, NULL);
	/* The communicators' rows are in the parent's comms.csv, not in the child's. */
	for (uint32_t i = 0; i < TABLE; i++) {
		struct comm *c = atomic_load(&table[i].comm);

		if (c)
			atomic_store(&c->announced, 0);
	}
}

/* ---- counting messages: levels of growing tables, so that a counter never moves and no lock is needed ---- */

#define LEVEL_FIRST 32u
#define LEVEL_GROW 8u
#define LEVEL_MAX 5 /* 32, 256, 2048, 16384, 131072 counters */
#define LEVEL_PROBE 8u

struct p2p_level {
	_Atomic(struct p2p_level *) next;
	uint32_t size;
	struct p2p_count {
		_Atomic uint64_t key; /* 0: free */
		_Atomic uint64_t n;
	} count[];
};

static struct p2p_level *add_p2p_level(_Atomic(struct p2p_level *) *address, uint32_t size)
{
	struct p2p_level *l = calloc(1, sizeof(*l) + size * sizeof(l->count[0])), *none = NULL;

	if (!l)
		return NULL;
	l->size = size;
	if (!atomic_compare_exchange_strong(address, &none, l)) {
		free(l);
		return none;
	}
	return l;
}

int64_t comm_get_next_p2p(struct comm *c, bool send, int32_t peer, int32_t tag)
{
	/*
	 * A 64-bit hash represents (direction, peer, tag): among 10^5 of them, two are equal with a probability of
	 * 10^-9.
	 */
	uint64_t k = hash_u64(hash_u64(send ? 1 : 2, (uint32_t)peer), (uint32_t)tag) | 1;
	_Atomic(struct p2p_level *) *address = &c->p2p;
	uint32_t size = LEVEL_FIRST;

	for (int depth = 0; depth < LEVEL_MAX; depth++, size *= LEVEL_GROW) {
		struct p2p_level *l = atomic_load_explicit(address, memory_order_acquire);

		if (!l)
			l = add_p2p_level(address, size);
		if (!l)
			break;
		for (uint32_t i = 0; i < LEVEL_PROBE; i++) {
			struct p2p_count *p = &l->count[(k + i) % l->size];
			uint64_t have = atomic_load_explicit(&p->key, memory_order_relaxed);

			if (have == 0 && atomic_compare_exchange_strong(&p->key, &have, k))
				have = k;
			if (have == k)
				return (int64_t)atomic_fetch_add_explicit(
					&p->n, 1, memory_order_relaxed);
		}
		address = &l->next;
	}
	return JOURNAL_NONE64;
}

int64_t comm_get_next_partitioned(struct comm *c, bool send, int32_t peer, int32_t tag)
{
	int64_t n = comm_get_next_p2p(c, send, peer, ~tag); /* no message has such a tag */

	return n == JOURNAL_NONE64 ? n : COMM_PARTED_FIRST + n;
}

void comm_add_user(struct comm *c)
{
	atomic_fetch_add_explicit(&c->users, 1, memory_order_relaxed);
}

void comm_remove_user(struct comm *c)
{
	if (atomic_fetch_sub_explicit(&c->users, 1, memory_order_acq_rel) != 1)
		return;
	for (struct p2p_level *l = c->p2p, *next; l; l = next) {
		next = l->next;
		free(l);
	}
	free(c);
}

/* ---- ids ---- */

static uint64_t compute_group_hash(uint64_t h, const int32_t *m, uint32_t n)
{
	h = hash_u64(h, n);
	for (uint32_t i = 0; i < n; i++)
		h = hash_u64(h, (uint32_t)m[i]);
	return h;
}

static int32_t find_lowest_member(const int32_t *m, uint32_t n)
{
	int32_t low = INT32_MAX;

	for (uint32_t i = 0; i < n; i++)
		low = m[i] < low ? m[i] : low;
	return low;
}

/*
 * Counts the earlier communicators made in the same way. All members take part in making a communicator, so all count
 * the same, whatever else each of them makes. A counter per parent would not work: with create_group on overlapping
 * groups, not all members of the parent take part. Bounded: beyond KNOWN recipes, counting starts at 0 again.
 */
static uint64_t get_next_recipe_number(uint64_t recipe)
{
	static struct {
		uint64_t recipe, n;
	} known[KNOWN];
	uint64_t n = 0;

	pthread_mutex_lock(&change);
	for (uint32_t i = (uint32_t)recipe % KNOWN, k = 0; k < 64; i = (i + 1) % KNOWN, k++) {
		if (known[i].n && known[i].recipe != recipe)
			continue;
		known[i].recipe = recipe;
		n = known[i].n++;
		break;
	}
	pthread_mutex_unlock(&change);
	return n;
}

uint64_t comm_compute_id(uint64_t parent, const char *how, int64_t tag, const int32_t *a,
	uint32_t na, const int32_t *b, uint32_t nb)
{
	const struct config *cfg = get_config();
	const struct steps_keys *keys = get_steps_keys(cfg);
	uint64_t h = hash_str(parent, how);

	/*
	 * In a resumed run collectives are counted from 0 again, so communicators get other ids
	 * than in the earlier run. The step is the same on all ranks.
	 */
	if (get_files_keys(cfg)->append_output && keys->start_iteration)
		h = hash_u64(h, (uint64_t)keys->start_iteration);
	if (nb && find_lowest_member(b, nb) < find_lowest_member(a, na)) {
		const int32_t *x = a;
		uint32_t nx = na;

		a = b;
		na = nb;
		b = x;
		nb = nx;
	}
	h = hash_u64(h, (uint64_t)tag);
	h = compute_group_hash(h, a, na);
	if (nb)
		h = compute_group_hash(h, b, nb);
	/* A communicator without known members is identified by its tag, and must not fill the table. */
	if (na)
		h = hash_u64(h, get_next_recipe_number(h));
	return hash_to_id(h);
}

/* ---- comms.csv ---- */

static void write_world_ranks(struct text *t, const int32_t *m, uint32_t n)
{
	for (uint32_t i = 0; i < n;) {
		uint32_t k = i;

		while (k + 1 < n && m[k + 1] == m[k] + 1)
			k++;
		if (i)
			text_add_char(t, ';');
		text_add_i64(t, m[i]);
		if (k > i) {
			text_add_char(t, '-');
			text_add_i64(t, m[k]);
		}
		i = k + 1;
	}
}

struct announcement {
	struct comm *c;
	struct thread *t;
};

static void write_comm_record(void *arg)
{
	const struct announcement *new = arg;
	struct comm *c = new->c;
	struct thread *t = new->t;
	char buf[4096]; /* longer lists of ranks are cut */
	struct text s = text_init(buf, sizeof(buf));
	uint32_t own = c->nworld < (uint32_t)c->size ? c->nworld : (uint32_t)c->size;
	const int32_t *a = c->world, *b = c->world + own;
	uint32_t na = own, nb = c->nworld - own;

	text_add_string(&s, c->label ? c->label : c->lib->name);
	text_add_bytes(&s, "", 1);
	text_add_string(&s, c->kind);
	text_add_bytes(&s, "", 1);
	text_add_string(&s, c->name);
	text_add_bytes(&s, "", 1);
	write_world_ranks(&s, c->first || !nb ? a : b, c->first || !nb ? na : nb);
	if (nb) {
		text_add_char(&s, '|');
		write_world_ranks(&s, c->first ? b : a, c->first ? nb : na);
	}
	if (s.cut && s.len > 3)
		memcpy(s.buf + s.len - 3, "...", 3);

	uint32_t bytes = (uint32_t)(sizeof(struct journal_comm) + s.len + 1 + 7) & ~7u;
	struct journal_comm *e = thread_reserve(t, bytes);

	if (!e) {
		/* The row is written at the communicator's next call. */
		atomic_store_explicit(&c->announced, 0, memory_order_relaxed);
		return;
	}
	memset(e, 0, bytes);
	e->e.type = JE_COMM;
	e->e.bytes = bytes;
	e->id = c->id;
	e->parent = c->parent;
	e->size = c->size;
	e->rank = c->rank;
	e->flags = c->flags;
	memcpy(e + 1, s.buf, s.len);
	chain_publish(&t->chain, bytes);
}

void comm_write_row(struct comm *c, struct thread *t)
{
	struct announcement a = {c, t};
	uint32_t no = 0;

	if (!atomic_load_explicit(&c->announced, memory_order_relaxed) &&
		atomic_compare_exchange_strong(&c->announced, &no, 1))
		private_stack_call(write_comm_record, &a);
}
