/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "stack/cache.h"

#define CACHE_BYTES ((size_t)256 * 1024)
#define RULE_BITS 10
#define RULES (1 << RULE_BITS)
#define SET_BITS 7
#define SETS (1 << SET_BITS)
#define WAYS 4

/*
 * A cached stack in the ring. pc_raw[n - 1], extra_raw[extra], pc_at[n - 1], extra_at[extra]
 * follow it.
 */
struct kept {
	struct cache_key key;
	int32_t lowest, highest; /* of all its words, in words relative to fp */
	uint16_t n, extra;
	uint16_t depth; /* walks of at most this depth have this result */
	uint16_t reserved;
	uint64_t check, value; /* struct stack_note; 0: no note */
};

struct rule_slot {
	uint64_t key; /* 0: the entry is free */
	struct cfi_rule rule;
};

/*
 * All zero means empty. The ring is written in order, and head counts all words ever written. A
 * stack at position p is complete as long as head - p is at most the ring's size.
 */
struct stack_cache {
	uintptr_t inside; /* frame address of the walk that is using the cache, 0: none */
	uint64_t generation; /* 1 + generation of the modules; 0: new cache */
	uint64_t head;
	struct rule_slot rules[RULES];
	uint64_t index[SETS][WAYS]; /* make_index() */
	uint64_t ring[];
};

#define RING_WORDS ((CACHE_BYTES - sizeof(struct stack_cache)) / sizeof(uint64_t))

/* An index has the position and its remainder by RING_WORDS, because a division takes as long as comparing two words. */
#define INDEX_BITS 15

_Static_assert(CACHE_BYTES / sizeof(uint64_t) <= 1u << INDEX_BITS, "an index has too few bits");

/* Never 0. */
static inline uint64_t make_index(uint64_t position)
{
	return (position + 1) << INDEX_BITS | position % RING_WORDS;
}

static inline uint64_t get_position(uint64_t index)
{
	return (index >> INDEX_BITS) - 1;
}

_Static_assert(sizeof(uintptr_t) == sizeof(uint64_t), "words of the stack are kept as uint64_t");

struct stack_cache *stack_cache_new(void)
{
	int saved = errno;
	void *p =
		mmap(NULL, CACHE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

void stack_cache_free(struct stack_cache *c)
{
	int saved = errno;

	if (c)
		munmap(c, CACHE_BYTES);
	errno = saved;
}

static bool is_on_stack(const struct stack_bounds *b, uintptr_t a)
{
	return a >= b->floor && a < b->hi;
}

bool cache_open(struct stack_cache *c, const struct stack_bounds *b, uintptr_t fp)
{
	/*
	 * A signal handler on the same stack has a lower frame than the code that it interrupted.
	 */
	if (c->inside && !(is_on_stack(b, fp) && is_on_stack(b, c->inside) && fp > c->inside))
		return false;
	c->inside = fp;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

void cache_close(struct stack_cache *c)
{
	atomic_signal_fence(memory_order_seq_cst);
	c->inside = 0;
}

void cache_check_modules(struct stack_cache *c, uint64_t generation)
{
	if (c->generation == generation + 1)
		return;
	/* If the cache is new, it is empty already; most of its pages are never touched. */
	if (c->generation) {
		memset(c->index, 0, sizeof(c->index));
		memset(c->rules, 0, sizeof(c->rules));
	}
	c->generation = generation + 1;
}

/* ---- rules ---- */

/* Returns a hash of `bits` bits: the upper ones of the product depend on all bits of a and b. */
static inline uint64_t merge_cache_key(uint64_t a, uint64_t b, unsigned int bits)
{
	return (a ^ (b << 32 | b >> 32)) * 0x9e3779b97f4a7c15u >> (64 - bits);
}

static uint64_t compute_rule_key(uintptr_t pc, bool exact)
{
	return (uint64_t)pc << 1 | exact;
}

bool cache_get_rule(struct stack_cache *c, uintptr_t pc, bool exact, struct cfi_rule *r)
{
	uint64_t key = compute_rule_key(pc, exact);
	const struct rule_slot *s = &c->rules[merge_cache_key(key, 0, RULE_BITS)];

	if (s->key != key)
		return false;
	*r = s->rule;
	return true;
}

void cache_add_rule(struct stack_cache *c, uintptr_t pc, bool exact, const struct cfi_rule *r)
{
	uint64_t key = compute_rule_key(pc, exact);
	struct rule_slot *s = &c->rules[merge_cache_key(key, 0, RULE_BITS)];

	s->key = key;
	s->rule = *r;
}

/* ---- stacks ---- */

static inline uint64_t *get_index_set(struct stack_cache *c, uintptr_t pc, uintptr_t fp)
{
	return c->index[merge_cache_key(pc, fp, SET_BITS)];
}

static inline const struct kept *get_kept_stack(const struct stack_cache *c, uint64_t index)
{
	if (!index || c->head - get_position(index) > RING_WORDS)
		return NULL;
	return (const struct kept *)&c->ring[index & ((1u << INDEX_BITS) - 1)];
}

/*
 * The words' offsets follow the n values. Differences are collected without branches: they are
 * rare, and the loads then overlap.
 */
MEMORY_RAW static inline bool has_same_words(uintptr_t base, const uint64_t *raw, size_t n)
{
	const uint64_t *stack = (const uint64_t *)base, *end = raw + n;
	const int32_t *at = (const int32_t *)end;
	uint64_t different = 0;

	/* The compiler must not assume the content of the stack. */
	__asm__ volatile("" : "+r"(stack) : : "memory");
	if (n & 1)
		different = stack[*at++] ^ *raw++;
	if (n & 2) {
		different |= stack[at[0]] ^ raw[0];
		different |= stack[at[1]] ^ raw[1];
		at += 2;
		raw += 2;
	}
	for (; raw != end; at += 4, raw += 4) {
		different |= stack[at[0]] ^ raw[0];
		different |= stack[at[1]] ^ raw[1];
		different |= stack[at[2]] ^ raw[2];
		different |= stack[at[3]] ^ raw[3];
	}
	return !different;
}

static bool same_words_asked(
	struct memory *m, uintptr_t base, const int32_t *at, const uint64_t *raw, unsigned int n)
{
	uintptr_t v;

	for (unsigned int i = 0; i < n; i++)
		if (!memory_read(m, base + (uintptr_t)(intptr_t)at[i] * sizeof(v), &v) ||
			v != raw[i])
			return false;
	return true;
}

static bool check_kept_stack(const struct kept *s, struct memory *m, const uint64_t *raw)
{
	unsigned int words = s->n - 1u + s->extra;
	const int32_t *at = (const int32_t *)(raw + words);
	uintptr_t base = s->key.fp;
	uintptr_t lowest = base + (uintptr_t)(intptr_t)s->lowest * sizeof(base);
	uintptr_t highest = base + (uintptr_t)(intptr_t)s->highest * sizeof(base);

	if (lowest >= m->lo && lowest <= highest && highest < m->hi)
		return has_same_words(base, raw, words);
	return same_words_asked(m, base, at, raw, words);
}

static int copy_kept_stack(const struct kept *s, const struct cache_key *k, struct memory *m,
	uintptr_t *pcs, int max, struct stack_note *note)
{
	const uint64_t *raw = (const uint64_t *)(s + 1);
	int n = s->n < max ? s->n : max;

	if (s->key.pc != k->pc || s->key.fp != k->fp || s->key.wrapper_pc != k->wrapper_pc)
		return 0;
	if (s->depth < max || !check_kept_stack(s, m, raw))
		return 0;
	if (s->check && s->check == note->check) {
		note->value = s->value;
		return -1;
	}
	pcs[0] = k->pc;
	for (int i = 1; i < n; i++)
		pcs[i] = unwind_strip(raw[i - 1]);
	return n;
}

/*
 * Where nearly all stacks are: the newest of their set, all of their words in the thread's own
 * stack, and with a value that is still valid.
 */
bool stack_find_note(struct stack_cache *c, const struct stack_bounds *b, uintptr_t pc,
	uintptr_t fp, struct stack_note *note)
{
	const struct kept *s;
	bool same = false;

	if (__builtin_expect(c->inside != 0, 0))
		return false;
	/* From here on a signal handler does not overwrite the entry. */
	c->inside = fp;
	atomic_signal_fence(memory_order_seq_cst);
	s = get_kept_stack(c, *get_index_set(c, pc, fp));
	if (__builtin_expect(s && s->key.pc == pc && s->key.fp == fp && s->check == note->check &&
				     s->key.wrapper_pc == find_wrapper_pc(fp),
		    1)) {
		uintptr_t lowest = fp + (uintptr_t)(intptr_t)s->lowest * sizeof(lowest);
		uintptr_t highest = fp + (uintptr_t)(intptr_t)s->highest * sizeof(highest);
		const uint64_t *raw = (const uint64_t *)(s + 1);

		same = lowest >= b->lo && lowest <= highest && highest < b->hi &&
		       has_same_words(fp, raw, s->n - 1u + s->extra);
		note->value = s->value;
	}
	cache_close(c);
	return same;
}

int cache_find(struct stack_cache *c, const struct cache_key *k, struct memory *m, uintptr_t *pcs,
	int max, struct stack_note *note)
{
	const uint64_t *set = get_index_set(c, k->pc, k->fp);

	for (int i = 0; i < WAYS; i++) {
		const struct kept *s = get_kept_stack(c, set[i]);
		int n = s ? copy_kept_stack(s, k, m, pcs, max, note) : 0;

		if (n) {
			note->at = set[i];
			return n;
		}
	}
	return 0;
}

void stack_note_copy(
	const struct stack_bounds *b, struct stack_cache *c, const struct stack_note *note)
{
	struct kept *s;

	if (!c || !note->at || !cache_open(c, b, note->fp))
		return;
	s = (struct kept *)get_kept_stack(c, note->at);
	/* A signal handler may have changed the ring meanwhile. */
	if (s && s->key.pc == note->pc && s->key.fp == note->fp) {
		s->value = note->value;
		s->check = note->check;
	}
	cache_close(c);
}

static void update_slot_range(const int32_t *at, int n, int32_t *lowest, int32_t *highest)
{
	for (int i = 0; i < n; i++) {
		if (at[i] < *lowest)
			*lowest = at[i];
		if (at[i] > *highest)
			*highest = at[i];
	}
}

static void set_kept_stack(
	struct kept *s, const struct cache_key *k, const struct trail *t, bool ended)
{
	unsigned int frames = (unsigned int)t->n - 1, extra = (unsigned int)t->extra;
	uint64_t *raw = (uint64_t *)(s + 1);
	int32_t *at = (int32_t *)(raw + frames + extra);

	memset(s, 0, sizeof(*s));
	s->key = *k;
	s->n = (uint16_t)t->n;
	s->extra = (uint16_t)extra;
	s->depth = ended ? STACK_DEPTH_MAX : (uint16_t)t->n;
	update_slot_range(t->pc_at + 1, (int)frames, &s->lowest, &s->highest);
	update_slot_range(t->extra_at, (int)extra, &s->lowest, &s->highest);
	memcpy(raw, t->pc_raw + 1, frames * sizeof(*raw));
	memcpy(raw + frames, t->extra_raw, extra * sizeof(*raw));
	memcpy(at, t->pc_at + 1, frames * sizeof(*at));
	memcpy(at + frames, t->extra_at, extra * sizeof(*at));
}

void cache_add(struct stack_cache *c, const struct cache_key *k, const struct trail *t, bool ended)
{
	size_t words = (size_t)t->n - 1 + (size_t)t->extra;
	size_t need = sizeof(struct kept) / sizeof(uint64_t) + words + (words + 1) / 2;
	uint64_t *set = get_index_set(c, k->pc, k->fp), at = c->head;

	if (t->lossy)
		return;
	if (at % RING_WORDS + need > RING_WORDS)
		at += RING_WORDS - at % RING_WORDS;
	set_kept_stack((struct kept *)&c->ring[at % RING_WORDS], k, t, ended);
	c->head = at + need;
	memmove(set + 1, set, (WAYS - 1) * sizeof(*set));
	set[0] = make_index(at);
}
