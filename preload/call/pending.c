/* SPDX-License-Identifier: Apache-2.0 */
#include "call/pending.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "call/comm.h"
#include "call/keep.h"
#include "journal/layout.h"

#define SHARDS 64u
#define SLAB 32u /* entries that a shard adds at once */
#define SLABS_MAX 64u /* per shard: 131072 entries in all, about 80 MiB at the very most */
#define BUCKETS 64u

struct shard {
	pthread_mutex_t lock;
	struct pending *bucket[BUCKETS], **tail[BUCKETS];
	struct pending *unused;
	uint32_t slabs;
} __attribute__((aligned(64)));

static struct shard shards[SHARDS] = {
	[0 ... SHARDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER},
};
static _Atomic uint64_t count;

uint64_t pending_count(void)
{
	return atomic_load_explicit(&count, memory_order_relaxed);
}

static struct shard *shard_of(uint64_t key, uint32_t *bucket)
{
	uint64_t h = hash_mix(key);

	*bucket = (uint32_t)(h >> 6) % BUCKETS;
	return &shards[h % SHARDS];
}

static struct pending *entry_new(struct shard *s)
{
	if (!s->unused && s->slabs < SLABS_MAX) {
		struct pending *p = mmap(NULL, SLAB * sizeof(*p), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return NULL;
		s->slabs++;
		for (uint32_t i = 0; i < SLAB; i++) {
			p[i].next = s->unused;
			s->unused = &p[i];
		}
	}

	struct pending *p = s->unused;

	if (p)
		s->unused = p->next;
	return p;
}

struct pending *pending_add(uint64_t key, const struct pending *src)
{
	uint32_t b;
	struct shard *s = shard_of(key, &b);
	struct comm *comm = src->op.comm;
	struct kept_arrays *kept = kept_make(&src->op);

	/* Before others can find it: of several calls under one handle any thread may take any. */
	if (comm)
		comm_hold(comm);
	pthread_mutex_lock(&s->lock);

	struct pending *p = entry_new(s);

	if (p) {
		*p = *src;
		kept_use(&p->op, kept);
		p->key = key;
		p->added = clock_ticks();
		p->next = NULL;
		if (!s->bucket[b])
			s->tail[b] = &s->bucket[b];
		*s->tail[b] = p;
		s->tail[b] = &p->next;
		atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&s->lock);
	if (!p) {
		log_loss(LOSS_PENDING, "too many requests under way: completions of further ones "
				       "are not recorded");
		if (comm)
			comm_release(comm);
		kept_free(kept);
	}
	return p;
}

/* Takes *at out of its list. */
static void unlink_entry(struct shard *s, uint32_t b, struct pending **at)
{
	struct pending *p = *at;

	*at = p->next;
	if (s->tail[b] == &p->next)
		s->tail[b] = at;
	p->next = s->unused;
	s->unused = p;
	atomic_fetch_sub_explicit(&count, 1, memory_order_relaxed);
}

#define STALE_MAX 64 /* more entries than threads are likely to have left behind */

/*
 * See pending_get(). NULL: there is none. Thousands of sends may share a handle: behind the oldest of them only a few
 * entries are looked at.
 */
static struct pending **choose_pending(
	struct pending **at, uint64_t key, enum pending_state state, uint64_t before)
{
	struct pending **oldest = NULL, **newest = NULL;

	for (int left = STALE_MAX; *at && left; at = &(*at)->next) {
		const struct pending *p = *at;

		left -= oldest != NULL;
		if (p->key != key || p->state != state || (before && p->added > before))
			continue;
		if (p->op.nout || p->newcomm)
			newest = at;
		else if (!oldest)
			oldest = at;
	}
	/* An older one without output is stale, or the newer one is: one handle has but one owner. */
	return newest && (!oldest || (*newest)->added > (*oldest)->added) ? newest : oldest;
}

bool pending_get_before(
	uint64_t key, enum pending_state state, bool take, uint64_t before, struct pending *out)
{
	uint32_t b;
	struct shard *s = shard_of(key, &b);
	struct pending **at;

	pthread_mutex_lock(&s->lock);
	at = choose_pending(&s->bucket[b], key, state, before);
	if (at) {
		*out = **at;
		if (take && out->persistent)
			(*at)->state = PENDING_IDLE;
		else if (take)
			unlink_entry(s, b, at);
	}
	pthread_mutex_unlock(&s->lock);
	/* What is taken out of the table still has what operation_keep() is for; the taker lets go (call/async.c). */
	return at != NULL;
}

bool pending_get(uint64_t key, enum pending_state state, bool take, struct pending *out)
{
	return pending_get_before(key, state, take, 0, out);
}

bool pending_change(
	uint64_t key, enum pending_state from, void (*fn)(struct pending *, void *), void *arg)
{
	uint32_t b;
	struct shard *s = shard_of(key, &b);
	struct pending **at;

	pthread_mutex_lock(&s->lock);
	at = choose_pending(&s->bucket[b], key, from, 0);
	if (at)
		fn(*at, arg);
	pthread_mutex_unlock(&s->lock);
	return at != NULL;
}

void pending_forget(uint64_t key, uint64_t before)
{
	uint32_t b;
	struct shard *s = shard_of(key, &b);
	struct operation held = {0};
	bool found = false;

	pthread_mutex_lock(&s->lock);
	for (struct pending **at = &s->bucket[b]; *at; at = &(*at)->next) {
		struct pending *p = *at;

		if (p->key != key || p->state != PENDING_IDLE || !p->persistent ||
			(before && p->added > before))
			continue;
		held = p->op;
		found = true;
		unlink_entry(s, b, at);
		break;
	}
	pthread_mutex_unlock(&s->lock);
	if (found)
		operation_release(&held);
}

bool pending_stands(uint64_t key)
{
	uint32_t b;
	struct shard *s = shard_of(key, &b);
	const struct pending *p;

	pthread_mutex_lock(&s->lock);
	for (p = s->bucket[b]; p && p->key != key; p = p->next)
		;
	pthread_mutex_unlock(&s->lock);
	return p != NULL;
}

bool pending_evict(uint64_t key, const struct adapter *lib, struct pending *out)
{
	uint32_t b;
	struct shard *s = shard_of(key, &b);
	bool found = false;

	pthread_mutex_lock(&s->lock);
	for (struct pending **at = &s->bucket[b]; *at; at = &(*at)->next) {
		if ((*at)->key != key || (*at)->api->spec->lib != lib)
			continue;
		*out = **at;
		unlink_entry(s, b, at);
		found = true;
		break;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

void pending_rename(uint64_t from, uint64_t to)
{
	uint32_t b;
	struct shard *s = shard_of(from, &b);
	struct pending **at, p;

	pthread_mutex_lock(&s->lock);
	at = choose_pending(&s->bucket[b], from, PENDING_IDLE, 0);
	if (at) {
		p = **at;
		unlink_entry(s, b, at);
	}
	pthread_mutex_unlock(&s->lock);
	if (!at)
		return;
	/* What is added keeps by itself what it needs. */
	pending_add(to, &p);
	operation_release(&p.op);
}

static _Atomic uint64_t coming[JOURNAL_THREADS];

void pending_coming(unsigned slot, uint64_t key)
{
	atomic_store_explicit(&coming[slot], key, memory_order_release);
}

bool pending_awaited(uint64_t key, unsigned slot, unsigned n)
{
	for (unsigned i = 0; i < n && i < JOURNAL_THREADS; i++) {
		uint64_t k = atomic_load_explicit(&coming[i], memory_order_acquire);

		if (i != slot && (k == key || k == PENDING_MANY))
			return true;
	}
	return false;
}

void pending_reset(void)
{
	memset(coming, 0, sizeof(coming));

	/* The parent's threads may have held any of the locks at the moment of the fork. */
	for (uint32_t i = 0; i < SHARDS; i++) {
		memset(&shards[i], 0, sizeof(shards[i]));
		pthread_mutex_init(&shards[i].lock, NULL);
	}
	atomic_store(&count, 0);
	kept_reset();
}
