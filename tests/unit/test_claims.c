/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims on calls under way. A library gives a handle to the next thread before the call that freed it has come back: the thread that
 * claimed the entry takes it, and no other thread. The stress has such a library, a pool of few handles that several threads share;
 * what each finds must be its own.
 */
#include "session_helper.h"

#include <sched.h>

#include "call/keep.h"
#include "call/pending.h"

enum { A, B, PLACES }; /* two threads, as far as the table sees */

static void add(int by, uint64_t key, uint64_t seq, bool persistent)
{
	struct pending p = {.seq = seq,
		.state = persistent ? PENDING_IDLE : PENDING_STARTED,
		.persistent = persistent};

	assert_true(pending_add(claims_get((unsigned)by), key, &p));
}

static struct pending_claim claim(int by, uint64_t key)
{
	struct pending_claim c;

	pending_claim_one(
		claims_get((unsigned)by), claims_enter(claims_get((unsigned)by), true), key, &c);
	return c;
}

static void leave(int by)
{
	claims_leave(claims_get((unsigned)by), 0);
}

/* The number of what was claimed, which is over. 0: it is not the thread's. */
static uint64_t take(int by, const struct pending_claim *c)
{
	struct pending *p = c->entry ? pending_open(claims_get((unsigned)by), c) : NULL;
	uint64_t seq = p ? p->seq : 0;

	if (p)
		pending_remove(c->entry);
	return seq;
}

static int empty(void **state)
{
	(void)state;
	assert_int_equal(pending_get_count(), 0);
	pending_reset();
	return 0;
}

static void test_claimed_entry_is_no_other_threads(void **state)
{
	struct pending_claim a, b;
	struct pending out;

	(void)state;
	add(A, 7, 1, false);
	a = claim(A, 7);
	assert_non_null(a.entry);
	b = claim(B, 7);
	assert_null(b.entry);
	assert_false(pending_has_unclaimed(7));
	assert_false(pending_remove_oldest(7, 0, &out));
	leave(B);
	assert_int_equal(take(A, &a), 1);
	leave(A);
}

/* A Test returns false, a Free fails: the call has ended, and another thread may complete the request. */
static void test_claim_ends_with_its_call(void **state)
{
	struct pending_claim a, b;

	(void)state;
	add(A, 7, 1, false);
	a = claim(A, 7);
	leave(A);
	assert_true(pending_has_unclaimed(7));
	b = claim(B, 7);
	assert_non_null(b.entry);
	/* And the first one again: it is the other's now. */
	a = claim(A, 7);
	assert_null(a.entry);
	leave(A);
	assert_int_equal(take(B, &b), 1);
	leave(B);
}

static void test_handle_given_again_makes_a_new_entry(void **state)
{
	struct pending_claim a, b;

	(void)state;
	add(A, 7, 1, true);
	a = claim(A, 7);
	/* Here the library has freed it, and given it to the other thread. */
	add(B, 7, 2, true);
	b = claim(B, 7);
	assert_int_equal(take(B, &b), 2);
	leave(B);
	add(B, 7, 3, true);
	assert_int_equal(take(A, &a), 1);
	leave(A);
	b = claim(B, 7);
	assert_int_equal(take(B, &b), 3);
	leave(B);
}

static struct pending_claim *claim_list(int by, unsigned level, const uint64_t *key, uint64_t n)
{
	struct claims *claims = claims_get((unsigned)by);
	struct claim_list *list = pending_open_claims(claims, level, n, false);

	assert_non_null(list);
	for (uint64_t i = 0; i < n; i++)
		pending_claim_next(claims, level, i, key[i], false);
	return list->claim;
}

/* An array of requests that is asked about again and again, loses some, is packed, and gets others. */
static void test_list_follows_its_array(void **state)
{
	uint64_t key[6] = {11, 12, 13, 14, 15, 16};
	struct pending_claim *c, b;

	(void)state;
	for (uint64_t i = 0; i < 6; i++)
		add(i % 2 ? A : B, key[i], 100 + key[i], false);
	for (int round = 0; round < 3; round++) {
		c = claim_list(A, claims_enter(claims_get(A), true), key, 6);
		for (int i = 0; i < 6; i++)
			assert_non_null(c[i].entry);
		b = claim(B, 13);
		assert_null(b.entry);
		leave(B);
		leave(A);
	}
	/* Between two calls anybody may complete one of them. */
	b = claim(B, 13);
	assert_int_equal(take(B, &b), 113);
	leave(B);
	key[2] = 0;
	c = claim_list(A, 0, key, 6);
	assert_null(c[2].entry);
	assert_int_equal(take(A, &c[4]), 115);
	c[4].entry = NULL;
	leave(A);
	/* Packed: 11 12 14 16, and a new request under a handle that was there before. */
	add(B, 15, 215, false);
	memcpy(key, (uint64_t[]){11, 12, 14, 16, 15}, 5 * sizeof(*key));
	c = claim_list(A, 0, key, 5);
	assert_int_equal(take(A, &c[0]), 111);
	assert_int_equal(take(A, &c[2]), 114);
	assert_int_equal(take(A, &c[3]), 116);
	assert_int_equal(take(A, &c[4]), 215);
	leave(A);
	/* Not in the array any more: the other thread's. */
	c = claim_list(A, 0, (uint64_t[]){99}, 1);
	b = claim(B, 12);
	assert_int_equal(take(B, &b), 112);
	leave(B);
	leave(A);
}

/* One handle for several sends: a call about all of them claims each once. */
static void test_shared_handle_is_claimed_entry_by_entry(void **state)
{
	uint64_t key[4] = {7, 7, 7, 7}, sum = 0;
	struct pending_claim *c, b;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		add(A, 7, i, false);
	c = claim_list(A, 0, key, 4);
	assert_null(c[3].entry);
	b = claim(B, 7);
	assert_null(b.entry);
	leave(B);
	for (int i = 0; i < 3; i++)
		sum += take(A, &c[i]);
	assert_int_equal(sum, 6);
	leave(A);
	/* Both threads wait for one of two. */
	add(A, 7, 4, false);
	add(A, 7, 5, false);
	*c = claim(A, 7);
	b = claim(B, 7);
	assert_int_equal(take(A, c) + take(B, &b), 9);
	leave(A);
	leave(B);
}

/* A claim completed by an inner call is not completed again by the outer one, nor the reverse; claims that it leaves remain. */
static void test_calls_inside_of_each_other(void **state)
{
	uint64_t key[2] = {7, 8};
	struct pending_claim *outer, *inner, b, one;
	unsigned level;

	(void)state;
	add(A, 7, 1, false);
	add(A, 8, 2, false);
	outer = claim_list(A, claims_enter(claims_get(A), true), key, 2);
	level = claims_enter(claims_get(A), false);
	assert_int_equal(level, 1);
	inner = claim_list(A, level, key, 1);
	assert_int_equal(claims_enter(claims_get(A), false), 2);
	assert_null(pending_open_claims(claims_get(A), 2, 1, false));
	pending_claim_one(claims_get(A), 2, 8, &one); /* deeper: it may, and says nothing */
	claims_leave(claims_get(A), 2);
	assert_int_equal(take(A, &inner[0]), 1);
	claims_leave(claims_get(A), level);
	assert_int_equal(take(A, &outer[0]), 0);
	assert_int_equal(take(A, &outer[1]), 2);
	leave(A);
	/* The inner one was left by a jump. */
	add(A, 7, 3, false);
	outer = claim_list(A, claims_enter(claims_get(A), true), key, 1);
	claim_list(A, claims_enter(claims_get(A), false), key, 1);
	assert_int_equal(claims_enter(claims_get(A), true), 0);
	leave(A);
	b = claim(B, 7);
	assert_int_equal(take(B, &b), 3);
	leave(B);
}

static void test_cancel_reaches_who_waits(void **state)
{
	struct pending_claim a, b;
	struct pending *p;

	(void)state;
	add(A, 7, 1, false);
	a = claim(A, 7);
	pending_set_cancel(7, true);
	p = pending_open(claims_get(A), &a);
	assert_true(p && pending_is_cancelled(p));
	pending_close(a.entry);
	/* Not of the call that is over, where there is one that is not. */
	add(B, 7, 2, false);
	pending_set_cancel(7, false);
	pending_set_cancel(7, true);
	b = claim(B, 7);
	p = pending_open(claims_get(B), &b);
	assert_true(p && pending_is_cancelled(p) && p->seq == 2);
	pending_remove(b.entry);
	leave(B);
	p = pending_open(claims_get(A), &a);
	assert_true(p && p->seq == 1);
	pending_remove(a.entry);
	leave(A);
}

/* ---- a library ---- */

#define THREADS 6
#define HANDLES 5 /* fewer than the threads would like: each is given out as soon as it is free */
#define EACH 4000u

static _Atomic int handle_owner[HANDLES]; /* 0: free */

static int library_make(int me)
{
	for (unsigned i = (unsigned)me;; i++) {
		int is_free = 0;

		if (atomic_compare_exchange_strong(&handle_owner[i % HANDLES], &is_free, me))
			return (int)(i % HANDLES);
		if (i % HANDLES == 0)
			sched_yield();
	}
}

static void library_free(int handle)
{
	atomic_store(&handle_owner[handle], 0);
	sched_yield(); /* the call has not come back yet */
}

static uint64_t key_of(int handle)
{
	return 0x8c000000 + (uint64_t)handle;
}

/* MPI_Test that returns false, and then a Wait; or a Wait that fails first. */
static void complete_one(struct claims *claims, int handle, uint64_t seq, unsigned turn)
{
	struct pending_claim c;
	struct pending *p;

	for (unsigned i = turn % 3; i; i--) {
		pending_claim_one(claims, claims_enter(claims, true), key_of(handle), &c);
		assert_non_null(c.entry);
		claims_leave(claims, 0);
	}
	pending_claim_one(claims, claims_enter(claims, true), key_of(handle), &c);
	assert_non_null(c.entry);
	library_free(handle);
	p = pending_open(claims, &c);
	assert_non_null(p);
	assert_int_equal(p->seq, seq);
	pending_remove(c.entry);
	claims_leave(claims, 0);
}

/* Several at once; the first time none is complete, then one after the other. */
static void complete_several(struct claims *claims, int *handle, const uint64_t *seq, unsigned n)
{
	unsigned left = n;

	for (unsigned round = 0; left; round++) {
		struct claim_list *list =
			pending_open_claims(claims, claims_enter(claims, true), n, false);
		struct pending *p;

		for (unsigned i = 0; i < n; i++)
			pending_claim_next(
				claims, 0, i, handle[i] < 0 ? 0 : key_of(handle[i]), false);
		for (unsigned i = 0; i < n && round; i++) {
			if (handle[i] < 0)
				continue;
			library_free(handle[i]);
			p = pending_open(claims, &list->claim[i]);
			assert_non_null(p);
			assert_int_equal(p->seq, seq[i]);
			pending_remove(list->claim[i].entry);
			list->claim[i].entry = NULL;
			handle[i] = -1;
			left--;
			break;
		}
		claims_leave(claims, 0);
	}
}

/* A persistent request: started and completed twice, freed while it is idle. */
static void use_persistent(struct claims *claims, int handle, uint64_t seq)
{
	for (int i = 0; i < 4; i++) {
		struct claim_list *list =
			pending_open_claims(claims, claims_enter(claims, true), 1, i % 2 == 0);
		struct pending *p;

		pending_claim_next(claims, 0, 0, key_of(handle), i % 2 == 0);
		assert_non_null(list->claim[0].entry);
		p = pending_open(claims, &list->claim[0]);
		assert_non_null(p);
		assert_int_equal(p->seq, seq);
		pending_set_state(p, i % 2 ? PENDING_IDLE : PENDING_STARTED);
		pending_free_claim(list->claim[0].entry);
		list->claim[0].entry = NULL;
		claims_leave(claims, 0);
	}
	complete_one(claims, handle, seq, 0);
}

static void *use_library(void *arg)
{
	int me = (int)(intptr_t)arg, handle[2];
	struct claims *claims = claims_get((unsigned)me);
	uint64_t seq[2], next = (uint64_t)me << 32;

	for (unsigned turn = 0; turn < EACH; turn++) {
		unsigned n = turn % 4 == 1 ? 2 : 1;
		bool persistent = turn % 4 == 2;

		for (unsigned i = 0; i < n; i++) {
			struct pending p = {.seq = seq[i] = ++next,
				.state = persistent ? PENDING_IDLE : PENDING_STARTED,
				.persistent = persistent};

			handle[i] = library_make(me);
			/* Some are not recorded. */
			if (turn % 7 == 3 && n == 1) {
				library_free(handle[i]);
				n = 0;
				break;
			}
			assert_true(pending_add(claims, key_of(handle[i]), &p));
			/* Two threads that hold one handle each and want another would wait for each other. */
			if (i == 0 && n == 2 && me > HANDLES / 2)
				n = 1;
		}
		if (n == 2)
			complete_several(claims, handle, seq, n);
		else if (n && persistent)
			use_persistent(claims, handle[0], seq[0]);
		else if (n)
			complete_one(claims, handle[0], seq[0], turn);
	}
	return NULL;
}

static void test_handles_of_several_threads(void **state)
{
	pthread_t th[THREADS];

	(void)state;
	for (intptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&th[i], NULL, use_library, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	assert_int_equal(pending_get_count(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_claimed_entry_is_no_other_threads, empty),
		cmocka_unit_test_teardown(test_claim_ends_with_its_call, empty),
		cmocka_unit_test_teardown(test_handle_given_again_makes_a_new_entry, empty),
		cmocka_unit_test_teardown(test_list_follows_its_array, empty),
		cmocka_unit_test_teardown(test_shared_handle_is_claimed_entry_by_entry, empty),
		cmocka_unit_test_teardown(test_calls_inside_of_each_other, empty),
		cmocka_unit_test_teardown(test_cancel_reaches_who_waits, empty),
		cmocka_unit_test_teardown(test_handles_of_several_threads, empty),
	};

	return cmocka_run_group_tests_name("claims", tests, NULL, NULL);
}
