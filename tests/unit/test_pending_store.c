/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parked calls: against a model that knows what each commit made final, through kills at any moment (the region is
 * mapped again as it lies there), a full region, and completions that find no call.
 */
/* long: 6000 rounds */
#include "core_helper.h"
#include "long_form.h"

#include <time.h>

#define MIB (1u << 20)
#define NSEQ 150u

static uint64_t seed = 12345;

static uint32_t dice(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % n;
}

static const struct journal_call *some_call(uint64_t seq, unsigned tensors)
{
	static union {
		struct journal_call c;
		char room[sizeof(struct journal_call) + 8 * sizeof(struct journal_tensor)];
	} u;

	memset(&u, (int)seq & 0xff,
		sizeof(u)); /* so that stale memory looks like heads of records */
	u.c.e.bytes = (uint32_t)(sizeof(u.c) + tensors * sizeof(struct journal_tensor));
	u.c.e.type = JE_CALL;
	u.c.seq = seq;
	u.c.start = seq * 3;
	return &u.c;
}

static void check_is(const struct pending_store *p, const bool *want)
{
	uint32_t at = 0, n = 0;

	for (uint64_t seq = 1; seq < NSEQ; seq++) {
		const struct journal_call *c = pending_store_find(p, seq);

		if ((c != NULL) != want[seq])
			fail_msg("call %llu is %sparked", (unsigned long long)seq, c ? "" : "not ");
		if (c)
			assert_true(c->seq == seq && c->start == seq * 3);
		n += want[seq];
	}
	while (pending_store_get_next(p, &at)) {
		at++;
		n--;
	}
	assert_int_equal(n, 0);
}

/*
 * Model: `now` with the pass that is going on, `final` by the last commit. A kill brings back `final`, a failed write
 * too. commit_seq advances by 1 to 3 as the drain's does, and may advance (an announcement) before a failure.
 */
static void test_model(void **state)
{
	struct journal j;
	struct pending_store p;
	bool now[NSEQ] = {0}, final[NSEQ] = {0};
	unsigned kills = 0;

	(void)state;
	assert_int_equal(journal_create(&j, -1, NULL, 4 * MIB), 0);
	assert_int_equal(pending_store_open(&p, &j), 0);
	long rounds = long_or_short(6000, 2000);

	for (long round = 0; round < rounds; round++) {
		uint64_t number = j.head->commit_seq + 2;
		unsigned ops = dice(12);
		bool touched[NSEQ] = {0};

		while (ops--) {
			uint64_t seq = 1 + dice(NSEQ - 1);

			if (touched[seq] && !now[seq])
				continue; /* a call has one end */
			touched[seq] = true;
			if (now[seq]) {
				assert_int_equal(pending_store_remove(&p, number, seq), 0);
				assert_int_equal(pending_store_remove(&p, number, seq), -ENOENT);
				now[seq] = false;
				if (dice(5) == 0) {
					pending_store_undo_remove(&p, seq);
					now[seq] = true;
				}
			} else {
				assert_int_equal(
					pending_store_add(&p, number, some_call(seq, dice(9))), 0);
				assert_int_equal(
					pending_store_add(&p, number, some_call(seq, 0)), -EINVAL);
				now[seq] = true;
			}
		}
		if (dice(3) == 0)
			j.head->commit_seq++; /* announced */
		switch (dice(8)) {
		case 0: /* the write failed */
			pending_store_rollback(&p);
			memcpy(now, final, sizeof(now));
			break;
		case 1: /* killed before the commit */
			pending_store_close(&p);
			assert_int_equal(pending_store_open(&p, &j), 0);
			memcpy(now, final, sizeof(now));
			kills++;
			break;
		case 2: /* killed right after it */
			j.head->commit_seq = number;
			pending_store_close(&p);
			assert_int_equal(pending_store_open(&p, &j), 0);
			memcpy(final, now, sizeof(now));
			kills++;
			break;
		default:
			j.head->commit_seq = number + (j.head->commit_seq != number - 1);
			pending_store_commit(&p);
			memcpy(final, now, sizeof(now));
		}
		assert_int_equal(p.nheap, 0);
		if (round % 16 == 0)
			check_is(&p, now);
	}
	assert_true(kills > rounds / 8);
	check_is(&p, now);
	pending_store_close(&p);
	journal_close(&j);
}

static void test_full_region_goes_on_the_heap(void **state)
{
	struct journal j;
	struct pending_store p;
	uint64_t seq = 1, in_region;

	(void)state;
	assert_int_equal(journal_create(&j, -1, NULL, MIB), 0);
	assert_int_equal(pending_store_open(&p, &j), 0);
	while (!p.nheap)
		assert_int_equal(pending_store_add(&p, 2, some_call(seq++, 2)), 0);
	in_region = seq - 2;
	assert_true(in_region > 200);
	assert_int_equal(j.head->spilled, 1);
	for (; seq <= in_region + 1000; seq++)
		assert_int_equal(pending_store_add(&p, 2, some_call(seq, 2)), 0);
	j.head->commit_seq = 2;
	pending_store_commit(&p);
	assert_int_equal(j.head->spilled, 1000);
	for (seq = 1; seq <= in_region + 1000; seq++)
		assert_non_null(pending_store_find(&p, seq));
	/* Room in the region again, and then used again. */
	for (seq = 1; seq <= in_region + 500; seq++)
		assert_int_equal(pending_store_remove(&p, 4, seq), 0);
	j.head->commit_seq = 4;
	pending_store_commit(&p);
	assert_int_equal(j.head->spilled, 500);
	assert_int_equal(pending_store_add(&p, 6, some_call(100000, 8)), 0);
	assert_int_equal(j.head->spilled, 500);
	/* Killed: what lay on the heap is gone, the rest is not. */
	j.head->commit_seq = 6;
	j.head->commit_seq = 100000;
	pending_store_close(&p);
	assert_int_equal(pending_store_open(&p, &j), 0);
	assert_non_null(pending_store_find(&p, 100000));
	assert_int_equal(p.live, 1);
	pending_store_close(&p);
	journal_close(&j);
}

/*
 * A program with more requests under way than can be parked at all, then all of them completed: the chain must not
 * come to a stand, and every call has rows.
 */
static void test_more_than_can_be_parked(void **state)
{
	enum { CALLS = 80000 };
	struct rank r;
	struct chain c;
	struct timespec t0, t1;
	uint64_t open = 0, ends = 0;

	(void)state;
	rank_make(&r, MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "MPI_Irecv");
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	for (uint64_t seq = 1; seq <= CALLS; seq++) {
		struct journal_call *e = enter_call(&c, seq, 0, 0, 0);

		assert_non_null(e);
		leave_async(e);
		if (seq % 500 == 0)
			assert_int_equal(drain_all(&r.drain, false), 0);
	}
	assert_true(r.j.head->count[JC_DROP_PENDING] > 0);
	for (uint64_t seq = 1; seq <= CALLS / 2; seq++) {
		assert_true(end_test_call(&c, seq, 1));
		if (seq % 500 == 0)
			assert_int_equal(drain_all(&r.drain, false), 0);
	}
	for (uint64_t seq = CALLS; seq > CALLS - 100; seq--)
		assert_true(end_test_call(&c, seq, 1)); /* of calls that were not parked */
	leave_call(enter_call(&c, CALLS + 1, 0, 0, 0), 0);
	assert_int_equal(drain_all(&r.drain, false), 0);
	clock_gettime(CLOCK_MONOTONIC, &t0);
	assert_int_equal(drain_all(&r.drain, true), 0);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	assert_true(t1.tv_sec - t0.tv_sec < 10);

	struct table t = read_test_table(r.dir);
	unsigned char *seen = calloc(1, CALLS + 2);

	assert_sound(&t);
	for (size_t i = 0; i < t.n; i++) {
		uint64_t seq = strtoull(t.row[i].field[COL_seq], NULL, 10);

		assert_int_equal(seen[seq]++, 0);
		open += strstr(t.row[i].field[COL_flags], "open") != NULL;
		ends += strcmp(t.row[i].field[COL_io], "out") == 0;
	}
	assert_int_equal(t.n, CALLS + 1);
	assert_int_equal(ends, CALLS / 2);
	assert_int_equal(open, CALLS / 2);
	assert_int_equal(r.j.head->damaged, 0);
	free(seen);
	free_test_table(&t);
	rank_drop(&r);
}

/*
 * An end may be seen before its call: the call stands after an open one, on another thread. It is no orphan. And one
 * whose call is nowhere must not hold up its thread.
 */
static void test_orphans(void **state)
{
	struct rank r;
	struct chain a, b;
	struct journal_call *outer, *inner;

	(void)state;
	rank_make(&r, MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "f");
	assert_int_equal(chain_open(&a, &r.j, 1), 0);
	assert_int_equal(chain_open(&b, &r.j, 2), 0);
	outer = enter_call(&b, 1, 0, 0, 0);
	inner = enter_call(&b, 2, 0, 0, 1);
	leave_async(inner);
	assert_true(end_test_call(&a, 999, 0));
	assert_true(end_test_call(&a, 2, 1));
	leave_call(enter_call(&a, 3, 0, 0, 0), 0);
	assert_int_equal(drain_all(&r.drain, false), 0);

	struct table t = read_test_table(r.dir);

	assert_int_equal(t.n, 0);
	free_test_table(&t);
	leave_call(outer, 0);
	assert_int_equal(drain_all(&r.drain, false), 0);
	t = read_test_table(r.dir);
	assert_sound(&t);
	assert_int_equal(t.n, 3);
	assert_int_equal(rows_of_file(&t, 2, "out"), 1);
	free_test_table(&t);
	/* Seen while its call is only just open: the thread that started it has not left yet. */
	inner = enter_call(&b, 4, 0, 0, 1);
	assert_true(end_test_call(&a, 4, 1));
	assert_int_equal(drain_all(&r.drain, false), 0);
	leave_async(inner);
	assert_int_equal(drain_all(&r.drain, false), 0);
	t = read_test_table(r.dir);
	assert_int_equal(rows_of_file(&t, 4, "out"), 1);
	free_test_table(&t);
	rank_drop(&r);
}

/* Resident size of the mapping that begins at p, in KiB. */
static long resident(const void *p)
{
	char line[256], begin[32];
	FILE *f = fopen("/proc/self/smaps", "r");
	long kib = -1;
	bool here = false;

	assert_non_null(f);
	snprintf(begin, sizeof(begin), "%lx-", (unsigned long)p);
	while (kib < 0 && fgets(line, sizeof(line), f)) {
		here = here || strncmp(line, begin, strlen(begin)) == 0;
		if (here && sscanf(line, "Rss: %ld", &kib) == 1)
			break;
	}
	fclose(f);
	assert_true(kib >= 0);
	return kib;
}

/* An eighth of a large journal is reserved for records in flight, but only the part that they need is touched. */
static void records_in_flight_keep_no_more_memory_than_they_need(void **state)
{
	char dir[] = "/tmp/park.XXXXXX", path[64];
	struct pending_store p;
	struct journal j;
	long before;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/journal.bin", dir);
	assert_int_equal(journal_create(&j, AT_FDCWD, path, 64 * MIB), 0);
	before = resident(j.head);
	assert_int_equal(pending_store_open(&p, &j), 0);
	assert_true(resident(j.head) < before + 256);
	/* Up to 8 at once, and none from time to time. */
	for (uint64_t seq = 1; seq < 50000; seq++) {
		assert_int_equal(pending_store_add(&p, 2 * seq, some_call(seq, 2)), 0);
		for (uint64_t k = seq - 7; seq % 8 == 0 && k <= seq; k++)
			assert_int_equal(pending_store_remove(&p, 2 * seq, k), 0);
		pending_store_commit(&p);
	}
	assert_true(resident(j.head) < before + 512);
	j.head->commit_seq = 100000;
	pending_store_close(&p);
	assert_int_equal(pending_store_open(&p, &j), 0);
	assert_non_null(pending_store_find(&p, 49999));
	pending_store_close(&p);
	journal_close(&j);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_full_region_goes_on_the_heap),
		cmocka_unit_test(test_more_than_can_be_parked),
		cmocka_unit_test(test_orphans),
		cmocka_unit_test(records_in_flight_keep_no_more_memory_than_they_need),
	};

	return cmocka_run_group_tests_name("park", tests, NULL, NULL);
}
