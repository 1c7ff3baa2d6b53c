/* SPDX-License-Identifier: Apache-2.0 */
/* The table of calls under way: many under one handle, persistent ones, a full table, and threads that race for entries. */
#include "session_helper.h"

#include "call/pending.h"

static const struct adapter lib = {.name = "mpi"};

static struct pending entry(uint64_t seq, bool persistent)
{
	return (struct pending){.seq = seq,
		.state = persistent ? PENDING_IDLE : PENDING_STARTED,
		.persistent = persistent};
}

static void test_first_in_first_out(void **state)
{
	struct pending p, out;

	(void)state;
	for (uint64_t i = 1; i <= 100; i++) {
		p = entry(i, false);
		assert_non_null(pending_add(7, &p));
		p = entry(1000 + i, false);
		assert_non_null(pending_add(8, &p));
	}
	assert_int_equal(pending_count(), 200);
	for (uint64_t i = 1; i <= 100; i++) {
		assert_true(pending_get(7, PENDING_STARTED, false, &out) && out.seq == i);
		assert_true(pending_get(7, PENDING_STARTED, true, &out) && out.seq == i);
		assert_true(pending_get(8, PENDING_STARTED, true, &out) && out.seq == 1000 + i);
	}
	assert_false(pending_get(7, PENDING_STARTED, true, &out));
	assert_false(pending_get(99, PENDING_STARTED, false, &out));
	assert_int_equal(pending_count(), 0);
	/* And again, for places are used anew. */
	p = entry(5, false);
	assert_non_null(pending_add(7, &p));
	assert_true(pending_get(7, PENDING_STARTED, true, &out) && out.seq == 5);
}

static void start(struct pending *p, void *arg)
{
	p->state = PENDING_STARTED;
	p->seq = *(uint64_t *)arg;
}

static void test_persistent(void **state)
{
	struct comm *c = make_test_comm(&lib, 3, 0, 2);
	struct pending p = entry(0, true), out;
	uint64_t seq = 41;

	(void)state;
	p.op.comm = c;
	assert_non_null(pending_add(9, &p));
	assert_int_equal(c->users, 2);
	for (int round = 0; round < 3; round++, seq++) {
		assert_false(pending_get(9, PENDING_STARTED, true, &out));
		assert_true(pending_get(9, PENDING_IDLE, false, &out));
		assert_true(pending_change(9, PENDING_IDLE, start, &seq));
		assert_false(pending_change(9, PENDING_IDLE, start, &seq));
		assert_true(pending_get(9, PENDING_STARTED, true, &out) && out.seq == seq);
	}
	assert_int_equal(pending_count(), 1);
	pending_forget(9, 0);
	assert_int_equal(pending_count(), 0);
	assert_int_equal(c->users, 1);
	assert_false(pending_get(9, PENDING_IDLE, false, &out));
	pending_forget(9, 0);
	/* Under a handle that others have too, only the idle persistent one goes. */
	p = entry(1, false);
	assert_non_null(pending_add(9, &p));
	pending_forget(9, 0);
	assert_true(pending_get(9, PENDING_STARTED, true, &out));
	comm_release(c);
}

static void test_full(void **state)
{
	struct comm *c = make_test_comm(&lib, 4, 0, 2);
	struct pending p = entry(1, false), out;
	uint64_t n = 0, per_key = 0;

	(void)state;
	p.op.comm = c;
	/* One handle for all: what MPI gives for small sends that completed at once. */
	while (pending_add(1, &p))
		per_key++;
	assert_true(per_key >= 2048);
	assert_int_equal(c->users, 1 + per_key);
	for (uint64_t key = 2; key < 400000; key++)
		n += pending_add(key, &p) != NULL;
	assert_true(n + per_key <= 131072 && n + per_key > 120000);
	assert_int_equal(pending_count(), n + per_key);
	assert_int_equal(c->users, 1 + n + per_key);
	for (uint64_t key = 1; key < 400000; key++)
		while (pending_get(key, PENDING_STARTED, true, &out))
			comm_release(out.op.comm);
	assert_int_equal(pending_count(), 0);
	assert_int_equal(c->users, 1);
	comm_release(c);
}

/* In a forked child: the locks may have been held by threads that do not exist there. */
static void test_reset(void **state)
{
	struct pending p = entry(1, false), out;

	(void)state;
	assert_non_null(pending_add(1, &p));
	pending_reset();
	assert_int_equal(pending_count(), 0);
	assert_false(pending_get(1, PENDING_STARTED, true, &out));
	assert_non_null(pending_add(1, &p));
	assert_true(pending_get(1, PENDING_STARTED, true, &out));
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
		assert_non_null(pending_add(i % 3, &p));
		/* Perhaps another thread's: its hold on the communicator comes along. */
		if (pending_get(i % 3, PENDING_STARTED, true, &out)) {
			assert_int_equal(got[out.seq]++, 0);
			assert_true(out.op.comm->users >= 2);
			comm_release(out.op.comm);
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
		while (pending_get(key, PENDING_STARTED, true, &out)) {
			assert_int_equal(got[out.seq]++, 0);
			comm_release(out.op.comm);
		}
	for (uint64_t i = 1; i <= THREADS * EACH; i++)
		assert_int_equal(got[i], 1);
	assert_int_equal(shared_comm->users, 1);
	assert_int_equal(pending_count(), 0);
	comm_release(shared_comm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_in_first_out),
		cmocka_unit_test(test_persistent),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("pending", tests, NULL, NULL);
}
