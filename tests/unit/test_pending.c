/* SPDX-License-Identifier: Apache-2.0 */
/* The table of calls under way: many under one handle, persistent ones, a full table, and threads that race for entries. */
#include "session_helper.h"

#include "call/keep.h"
#include "call/pending.h"

static const struct adapter lib = {.name = "mpi"};

static struct pending entry(uint64_t seq, bool persistent)
{
	return (struct pending){.seq = seq,
		.state = persistent ? PENDING_IDLE : PENDING_STARTED,
		.persistent = persistent};
}

static void add(uint64_t key, struct pending p)
{
	assert_true(pending_add(NULL, key, &p));
}

static void test_first_in_first_out(void **state)
{
	struct pending out;

	(void)state;
	for (uint64_t i = 1; i <= 100; i++) {
		add(7, entry(i, false));
		add(8, entry(1000 + i, false));
	}
	assert_int_equal(pending_get_count(), 200);
	for (uint64_t i = 1; i <= 100; i++) {
		assert_true(pending_remove_oldest(7, 0, &out) && out.seq == i);
		assert_true(pending_remove_oldest(8, 0, &out) && out.seq == 1000 + i);
	}
	assert_false(pending_remove_oldest(7, 0, &out));
	assert_false(pending_remove_oldest(99, 0, &out));
	assert_int_equal(pending_get_count(), 0);
	/* And again, for places are used again. */
	add(7, entry(5, false));
	assert_true(pending_remove_oldest(7, 0, &out) && out.seq == 5);
}

/* For a key that no library reuses: an entry that was added after the call began is not completed by it. */
static void test_added_later_stays(void **state)
{
	struct pending p = entry(1, false), out;

	(void)state;
	p.added = 10;
	add(7, p);
	assert_false(pending_remove_oldest(7, 9, &out));
	assert_true(pending_remove_oldest(7, 10, &out) && out.seq == 1);
}

static struct pending *hold_one(uint64_t key, bool idle, struct pending_claim *c)
{
	struct claims *claims = claims_get(0);

	if (idle) {
		assert_non_null(pending_open_claims(claims, claims_enter(claims, true), 1, true));
		pending_claim_next(claims, 0, 0, key, true);
		*c = claims->list[0][1].claim[0];
	} else {
		pending_claim_one(claims, claims_enter(claims, true), key, c);
	}
	return c->entry ? pending_open(claims, c) : NULL;
}

static void test_persistent(void **state)
{
	struct comm *c = make_test_comm(&lib, 3, 0, 2);
	struct pending p = entry(0, true), *held;
	struct pending_claim claim;
	uint64_t seq = 41;

	(void)state;
	p.op.comm = c;
	add(9, p);
	assert_int_equal(c->users, 2);
	for (int round = 0; round < 3; round++, seq++) {
		assert_non_null(held = hold_one(9, true, &claim));
		held->seq = seq;
		pending_set_state(held, PENDING_STARTED);
		pending_free_claim(claim.entry);
		assert_null(hold_one(9, true, &claim));
		assert_non_null(held = hold_one(9, false, &claim));
		assert_int_equal(held->seq, seq);
		pending_set_state(held, PENDING_IDLE);
		pending_free_claim(claim.entry);
	}
	assert_int_equal(pending_get_count(), 1);
	claims_leave(claims_get(0), 0);
	assert_true(pending_find_idle(9, &p));
	assert_int_equal(p.seq, seq - 1);
	/* Freed while it is idle; under the handle there may be others, which are under way. */
	assert_non_null(held = hold_one(9, false, &claim));
	operation_free_copy(&held->op);
	pending_remove(claim.entry);
	assert_int_equal(pending_get_count(), 0);
	assert_int_equal(c->users, 1);
	add(9, entry(1, true));
	add(9, entry(2, false));
	assert_non_null(held = hold_one(9, false, &claim));
	assert_int_equal(held->seq, 2);
	pending_remove(claim.entry);
	assert_non_null(held = hold_one(9, false, &claim));
	assert_int_equal(held->seq, 1);
	pending_remove(claim.entry);
	claims_leave(claims_get(0), 0);
	comm_remove_user(c);
}

static void test_full(void **state)
{
	struct comm *c = make_test_comm(&lib, 4, 0, 2);
	struct pending p = entry(1, false), out;
	uint64_t n = 0, per_key = 0;

	(void)state;
	p.op.comm = c;
	/* One handle for all: what MPI gives for small sends that completed at once. */
	while (pending_add(NULL, 1, &p))
		per_key++;
	assert_true(per_key >= 2048);
	assert_int_equal(c->users, 1 + per_key);
	for (uint64_t key = 2; key < 400000; key++)
		n += pending_add(NULL, key, &p);
	assert_true(n + per_key <= 131072 && n + per_key > 120000);
	assert_int_equal(pending_get_count(), n + per_key);
	assert_int_equal(c->users, 1 + n + per_key);
	for (uint64_t key = 1; key < 400000; key++)
		while (pending_remove_oldest(key, 0, &out))
			comm_remove_user(out.op.comm);
	assert_int_equal(pending_get_count(), 0);
	assert_int_equal(c->users, 1);
	comm_remove_user(c);
}

/* In a forked child: the locks may have been held by threads that do not exist there, and entries been claimed. */
static void test_reset(void **state)
{
	struct pending_claim claim;
	struct pending out;

	(void)state;
	add(1, entry(1, false));
	assert_non_null(hold_one(1, false, &claim));
	pending_reset();
	assert_int_equal(pending_get_count(), 0);
	assert_false(pending_remove_oldest(1, 0, &out));
	add(1, entry(1, false));
	assert_true(pending_remove_oldest(1, 0, &out));
}

#define THREADS 6
#define EACH 20000u

static _Atomic unsigned char got[THREADS * EACH + 1];
static struct comm *shared_comm;

/* Each adds under few handles and takes whatever it finds there; a communicator is held as long as an entry has it. */
static void *add_and_take(void *arg)
{
	uint64_t base = (uint64_t)(uintptr_t)arg * EACH;
	struct pending out;

	for (uint64_t i = 1; i <= EACH; i++) {
		struct pending p = entry(base + i, false);

		p.op.comm = shared_comm;
		assert_true(pending_add(NULL, i % 3, &p));
		/* Perhaps another thread's: its hold on the communicator comes along. */
		if (pending_remove_oldest(i % 3, 0, &out)) {
			assert_int_equal(got[out.seq]++, 0);
			assert_true(out.op.comm->users >= 2);
			comm_remove_user(out.op.comm);
		}
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t th[THREADS];
	struct pending out;

	(void)state;
	shared_comm = make_test_comm(&lib, 6, 0, 2);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&th[i], NULL, add_and_take, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	for (uint64_t key = 0; key < 3; key++)
		while (pending_remove_oldest(key, 0, &out)) {
			assert_int_equal(got[out.seq]++, 0);
			comm_remove_user(out.op.comm);
		}
	for (uint64_t i = 1; i <= THREADS * EACH; i++)
		assert_int_equal(got[i], 1);
	assert_int_equal(shared_comm->users, 1);
	assert_int_equal(pending_get_count(), 0);
	comm_remove_user(shared_comm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_in_first_out),
		cmocka_unit_test(test_added_later_stays),
		cmocka_unit_test(test_persistent),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("pending", tests, NULL, NULL);
}
