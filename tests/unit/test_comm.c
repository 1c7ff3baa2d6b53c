/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators: ids that all members agree on without communicating, the table that is read without a lock, and
 * the numbers of messages.
 */
#include "session_helper.h"

#include "base/hash.h"

#include <sys/mman.h>
#include <sys/wait.h>

static const struct adapter lib = {.name = "mpi"}, other_lib = {.name = "nccl"};

/* ---- ids, by processes that are one rank each ---- */

#define RANKS 8
#define MADE 64

struct world {
	uint64_t id[RANKS][MADE]; /* 0: this rank is no member */
};

static bool member(int32_t r, const int32_t *m, uint32_t n)
{
	while (n--)
		if (m[n] == r)
			return true;
	return false;
}

static void new_test_comm(uint64_t *id, int32_t me, uint64_t parent, const char *how, int64_t tag,
	const int32_t *m, uint32_t n)
{
	*id = member(me, m, n) ? comm_compute_id(parent, how, tag, m, n, NULL, 0) : 0;
}

/* The program of rank `me`: the same on all of them, each taking part in the communicators that it is a member of. */
static void one_rank(uint64_t *id, int32_t me)
{
	static const int32_t all[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7}, even[] = {0, 2, 4, 6},
			     low[] = {0, 1, 2, 3}, mixed[] = {3, 2, 5}, odd[] = {1, 3, 5, 7};
	uint64_t world = 77, *at = id;

	new_test_comm(at++, me, world, "dup", 0, all, RANKS);
	new_test_comm(at++, me, world, "dup", 0, all, RANKS);
	/* Groups that overlap, made by different ranks in between: create_group is called by its members only. */
	for (int i = 0; i < 6; i++) {
		new_test_comm(at++, me, world, "create_group", 7, even, 4);
		new_test_comm(at++, me, world, "create_group", 7, low, 4);
		if (i % 2)
			new_test_comm(at, me, world, "create_group", 8, mixed, 3);
		at++;
	}
	/* A split: each rank gets the one of its colour. */
	new_test_comm(at, me, world, "split", 0, even, 4);
	if (!*at)
		new_test_comm(at, me, world, "split", 1, odd, 4);
	at++;
	/* Of a communicator that only some have. */
	new_test_comm(at++, me, id[2], "dup", 0, even, 4);
	/* Both sides of an intercommunicator name the same two groups, each its own first. */
	if (member(me, even, 4))
		*at = comm_compute_id(world, "intercomm_create", 3, even, 4, odd, 4);
	else
		*at = comm_compute_id(world, "intercomm_create", 3, odd, 4, even, 4);
	assert_true(at < id + MADE);
}

/* The members of the n-th communicator, by who has an id. */
static void test_ids_agree(void **state)
{
	struct world *w =
		mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t seen[MADE * 2];
	unsigned n = 0;

	(void)state;
	assert_true(w != MAP_FAILED);
	for (int32_t r = 0; r < RANKS; r++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			one_rank(w->id[r], r);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		assert_int_equal(status, 0);
	}
	for (int k = 0; k < MADE; k++) {
		uint64_t here[RANKS] = {0}, want;
		unsigned nhere = 0;

		for (int r = 0; r < RANKS; r++) {
			bool old = false;

			for (unsigned i = 0; i < nhere; i++)
				old |= here[i] == w->id[r][k];
			if (w->id[r][k] && !old)
				here[nhere++] = w->id[r][k];
		}
		/* One id, or two where the ranks split: none of them used before. */
		want = k == 20 ? 2 : 1;
		if (nhere)
			assert_int_equal(nhere, want);
		while (nhere) {
			for (unsigned i = 0; i < n; i++)
				assert_int_not_equal(seen[i], here[nhere - 1]);
			seen[n++] = here[--nhere];
		}
	}
	assert_true(n > 20);
	munmap(w, sizeof(*w));
}

static void test_ids_are_told_apart(void **state)
{
	static const int32_t a[] = {0, 1, 2}, b[] = {0, 2, 1}, c[] = {3, 4};
	uint64_t base = comm_compute_id(5, "x", 1, a, 3, NULL, 0);

	(void)state;
	assert_int_not_equal(base, comm_compute_id(6, "x", 1, a, 3, NULL, 0));
	assert_int_not_equal(base, comm_compute_id(5, "y", 1, a, 3, NULL, 0));
	assert_int_not_equal(base, comm_compute_id(5, "x", 2, a, 3, NULL, 0));
	assert_int_not_equal(base, comm_compute_id(5, "x", 1, b, 3, NULL, 0)); /* order counts */
	assert_int_not_equal(base, comm_compute_id(5, "x", 1, a, 2, NULL, 0));
	assert_int_not_equal(base, comm_compute_id(5, "x", 1, a, 3, c, 2));
	assert_int_not_equal(
		base, comm_compute_id(5, "x", 1, a, 3, NULL, 0)); /* the second of its kind */
	assert_int_not_equal(
		comm_compute_id(5, "i", 1, a, 3, c, 2), comm_compute_id(5, "i", 1, a, 2, c, 2));
	/* Not known members: as many as one likes, without an effect on the others. */
	for (int64_t i = 0; i < 10000; i++)
		comm_compute_id(1, "spawn", i, NULL, 0, NULL, 0);
	assert_int_not_equal(comm_compute_id(9, "x", 1, a, 3, NULL, 0),
		comm_compute_id(9, "x", 1, a, 3, NULL, 0));
}

/* ---- the table ---- */

static void test_make_and_free(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		/* Handles as libraries give them: the same one again, or always another one. */
		uint64_t handle = 0x1000 + (i % 3 ? i * 64 : 0);
		struct comm *c = make_test_comm(&lib, handle, 0, 2);

		comm_register(c);
		assert_ptr_equal(comm_find(&lib, handle), c);
		assert_null(comm_find(&other_lib, handle));
		comm_remove(&lib, handle);
		assert_null(comm_find(&lib, handle));
		comm_remove(&lib, handle);
	}
	/* A handle stands for the last one made. */
	struct comm *a = make_test_comm(&lib, 5, 0, 1), *b = make_test_comm(&lib, 5, 0, 1);

	comm_register(a);
	assert_int_equal(comm_get_serial(), a->serial);
	comm_register(b);
	assert_ptr_equal(comm_find(&lib, 5), b);
	assert_true(b->serial > 20000);
	comm_remove(&lib, 5);
}

static void test_many_live(void **state)
{
	enum { LIVE = 6000, MORE = 8192 };

	(void)state;
	for (uint64_t i = 1; i <= MORE; i++)
		comm_register(make_test_comm(&lib, i, 0, 1));
	for (uint64_t i = 1; i <= LIVE; i++)
		assert_true(comm_find(&lib, i)->handle == i);
	assert_null(comm_find(&lib, MORE)); /* too many: reported */
	for (uint64_t i = 1; i <= MORE; i += 2)
		comm_remove(&lib, i);
	for (uint64_t i = 2; i <= LIVE; i += 2)
		assert_true(comm_find(&lib, i)->handle == i);
	for (uint64_t i = 2; i <= MORE; i += 2)
		comm_remove(&lib, i);
	for (uint64_t i = 1; i <= MORE; i++)
		assert_null(comm_find(&lib, i));
}

static void test_held_by_requests(void **state)
{
	struct comm *c = make_test_comm(&lib, 9, 0, 2);

	(void)state;
	comm_register(c);
	comm_add_user(c);
	comm_add_user(c);
	comm_remove(&lib, 9);
	assert_null(comm_find(&lib, 9));
	comm_remove_user(c);
	assert_int_equal(c->id, 9000); /* still there; the address sanitizer would tell */
	comm_remove_user(c);
}

#define THREADS 6

/* Handles that the library fills in later, and variables that are gone by then. */
static void test_handle_later(void **state)
{
	uint64_t handle[70] = {0}, *gone;
	struct comm *c, *held = NULL;

	(void)state;
	gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(gone != MAP_FAILED);
	assert_null(comm_arrived(&other_lib, 0x77000));
	comm_register_expected(make_test_comm(&other_lib, 0, 1, 2), gone);
	assert_int_equal(munmap(gone, 4096), 0);
	for (uint64_t i = 0; i < 3; i++)
		comm_register_expected(make_test_comm(&other_lib, 0, (int32_t)i, 4), &handle[i]);
	assert_null(comm_arrived(&other_lib, 0x77001));
	handle[1] = 0x77001;
	assert_null(comm_arrived(&lib, 0x77001)); /* of another library */
	c = comm_arrived(&other_lib, 0x77001);
	assert_non_null(c);
	assert_int_equal(c->rank, 1);
	assert_int_equal(c->handle, 0x77001);
	assert_ptr_equal(comm_find(&other_lib, 0x77001), c);
	assert_null(comm_arrived(&other_lib, 0x77001)); /* once */
	handle[0] = 0x77000;
	handle[2] = 0x77002;
	comm_arrived(&other_lib, 0);
	assert_non_null(comm_find(&other_lib, 0x77000));
	assert_non_null(comm_find(&other_lib, 0x77002));
	for (uint64_t i = 0; i < 3; i++)
		comm_remove(&other_lib, 0x77000 + i);
	/* More than there is room for: the oldest are forgotten, and given back. */
	for (uint64_t i = 0; i < 70; i++) {
		handle[i] = 0;
		c = make_test_comm(&other_lib, 0, 0, 2);
		if (i == 0) {
			comm_add_user(c);
			held = c;
		}
		comm_register_expected(c, &handle[i]);
	}
	assert_int_equal(held->users, 1);
	comm_remove_user(held);
	for (uint64_t i = 0; i < 70; i++)
		handle[i] = 0x78000 + i;
	comm_arrived(&other_lib, 0);
	assert_null(comm_find(&other_lib, 0x78000));
	assert_non_null(comm_find(&other_lib, 0x78000 + 69));
	for (uint64_t i = 0; i < 70; i++)
		comm_remove(&other_lib, 0x78000 + i);
}

static void *make_use_free(void *arg)
{
	uint64_t no = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < 3000; i++) {
		uint64_t handle = no << 32 | (i % 7 + 1) << 12;
		struct comm *c = make_test_comm(&lib, handle, 0, 2);

		comm_register(c);
		for (int k = 0; k < 3; k++) {
			assert_ptr_equal(comm_find(&lib, handle), c);
			assert_int_equal(comm_get_next_p2p(c, true, k, 1), 0);
			assert_int_equal(comm_get_next_seq(c), k);
		}
		assert_null(comm_find(&lib, handle + 1));
		comm_remove(&lib, handle);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t th[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&th[i], NULL, make_use_free, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
}

/* ---- message numbers ---- */

static void test_message_numbers(void **state)
{
	struct comm *c = make_test_comm(&lib, 3, 0, 2);
	static uint64_t count[2][100][20];
	uint64_t seed = 3;
	unsigned lost = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		unsigned send = seed >> 33 & 1, peer = (unsigned)(seed >> 34) % 100,
			 tag = (unsigned)(seed >> 44) % 20;
		int64_t n = comm_get_next_p2p(c, send, (int32_t)peer, (int32_t)tag);

		if (n == JOURNAL_NONE64)
			lost++;
		else
			assert_int_equal(n, count[send][peer][tag]++);
	}
	assert_int_equal(lost, 0);
	comm_remove_user(c);
}

static struct comm *shared_comm;
static _Atomic unsigned char taken[THREADS * 5000];

static void *count_messages(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5000; i++) {
		int64_t n = comm_get_next_p2p(shared_comm, false, 1, 2),
			m = comm_get_next_p2p(shared_comm, true, i % 50, 3);

		assert_true(n >= 0 && n < THREADS * 5000 && m >= 0);
		assert_int_equal(taken[n]++, 0);
	}
	return NULL;
}

static void test_message_numbers_of_threads(void **state)
{
	pthread_t th[THREADS];

	(void)state;
	shared_comm = make_test_comm(&lib, 4, 0, 2);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&th[i], NULL, count_messages, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	assert_int_equal(comm_get_next_p2p(shared_comm, false, 1, 2), THREADS * 5000);
	comm_remove_user(shared_comm);
}

/* ---- comms.csv ---- */

static void test_announced_once(void **state)
{
	static const int32_t odd[] = {0, 1, 2, 3, 8, 10, 11};
	struct comm *c, *big;
	char path[128];
	size_t n;

	(void)state;
	session_on(1 << 20);

	struct thread *t = thread_get();

	c = make_test_comm(&lib, 1, 2, 7);
	memcpy(c->world, odd, sizeof(odd));
	strcpy(c->name, "a, \"b\"");
	c->parent = 0xab;
	big = make_test_comm(&lib, 2, 0, 5000);
	for (int32_t i = 0; i < 5000; i++)
		big->world[i] = 2 * i;
	for (int i = 0; i < 3; i++) {
		comm_write_row(c, t);
		comm_write_row(big, t);
	}
	assert_int_equal(drain_all(&rank_of_test.drain, false), 0);
	snprintf(path, sizeof(path), "%s/comms.csv", rank_of_test.dir);

	char *text = read_test_file(path, &n), *second;

	assert_memory_equal(text, COMM_HEADER, strlen(COMM_HEADER));
	assert_memory_equal(text + strlen(COMM_HEADER),
		"00000000000003e8,mpi,7,2,world,00000000000000ab,\"a, \"\"b\"\"\",0-3;8;10-11\n",
		70);
	second = strstr(text, "00000000000007d0,mpi,5000,0,world,,,0;2;4;");
	assert_non_null(second);
	assert_string_equal(text + n - 4, "...\n");
	assert_ptr_equal(strchr(second, '\n'), text + n - 1);
	free(text);
	comm_remove_user(c);
	comm_remove_user(big);
	session_over();
}

/* Readers that guess types take digits around one e for a number, and inf.. or nan.. for one too: DuckDB, pandas, Polars, PyArrow. */
static void ids_begin_with_a_letter_that_no_number_has(void **state)
{
	static const uint64_t cases[] = {0, 1, UINT64_C(0x1234567890123456),
		UINT64_C(0x12e4567890123456), UINT64_C(0xe234567890123456), UINT64_MAX};
	unsigned seen[16] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t id = hash_to_id(cases[i]);

		assert_non_null(memchr("\x0a\x0b\x0c\x0d\x0f", (int)(id >> 60), 5));
		assert_int_equal(hash_to_id(id), id); /* what is an id stays it */
		/* All but the first digit are the hash's own. */
		assert_int_equal(id << 4 >> 4, cases[i] << 4 >> 4);
	}
	for (int i = 0; i < 100000; i++)
		seen[comm_compute_id(0, "x", i, NULL, 0, NULL, 0) >> 60]++;
	for (unsigned digit = 0; digit < 16; digit++) {
		bool allowed = digit >= 10 && digit != 14;

		/* 20,000 each, but for the remainder of 16 by 5. */
		assert_true(allowed ? seen[digit] > 15000 : seen[digit] == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_agree),
		cmocka_unit_test(test_ids_are_told_apart),
		cmocka_unit_test(test_make_and_free),
		cmocka_unit_test(test_many_live),
		cmocka_unit_test(test_held_by_requests),
		cmocka_unit_test(test_handle_later),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_message_numbers),
		cmocka_unit_test(test_message_numbers_of_threads),
		cmocka_unit_test(test_announced_once),
		cmocka_unit_test(ids_begin_with_a_letter_that_no_number_has),
	};

	return cmocka_run_group_tests_name("comm", tests, NULL, NULL);
}
