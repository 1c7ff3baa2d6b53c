/* SPDX-License-Identifier: Apache-2.0 */
/* A journal's file starts small and grows by need: what was mapped is the file's, and what is not the file's is never used. */
#include "core_helper.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "journal/store/pending_store.h"

#define MIB (1u << 20)

static void attach_threads(struct rank *r, int n)
{
	static struct chain c;

	for (int i = 0; i < n; i++) {
		assert_int_equal(chain_open(&c, &r->j, i), 0);
		journal_grow_for_threads(&r->j);
	}
}

static uint64_t file_bytes(const struct rank *r)
{
	struct stat st;

	assert_int_equal(fstatat(r->dirfd, "journal.bin", &st, 0), 0);
	assert_true((uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size); /* no holes */
	return (uint64_t)st.st_size;
}

/* Every byte of a part that may be used belongs to the file: a new mapping of the file has what was written. */
static void a_journal_starts_with_a_mebibyte_and_grows_to_its_size(void **state)
{
	struct journal again;
	struct rank r;

	(void)state;
	for (uint32_t mib = 1; mib <= 64; mib *= 4) {
		rank_make(&r, mib * MIB);

		struct journal_head *h = r.j.head;
		const uint64_t offset[] = {
			h->thread_off, h->dict_off, h->pending_off, h->chunk_off};

		assert_int_equal(file_bytes(&r), MIB);
		assert_int_equal(journal_get_size(&r.j), MIB);
		for (unsigned turn = 0, more = 1; more; turn++) {
			more = 0;
			for (unsigned part = 0; part < JP_COUNT; part++) {
				uint64_t before = journal_get_space(&r.j, part);

				if (journal_grow(&r.j, part) < 0)
					continue;
				more = 1;
				assert_true(journal_get_space(&r.j, part) > before);
				memset((char *)h + offset[part] + before,
					(int)(1 + part + turn % 50),
					journal_get_space(&r.j, part) - before);
				assert_true(file_bytes(&r) >= journal_get_size(&r.j));
			}
		}
		assert_true(file_bytes(&r) <= h->bytes && file_bytes(&r) + 65536 > h->bytes);
		assert_int_equal(journal_grow(&r.j, JP_CHUNKS), -ENOSPC);
		assert_int_equal(journal_open(&again, r.dirfd, "journal.bin", true), 0);
		for (unsigned part = 0; part < JP_COUNT; part++) {
			assert_int_equal(
				journal_get_space(&again, part), journal_get_space(&r.j, part));
			assert_memory_equal((char *)again.head + offset[part],
				(char *)h + offset[part], journal_get_space(&r.j, part));
		}
		journal_close(&again);
		rank_drop(&r);
	}
}

/* The process goes on when a reader has mapped its journal, which then has what was there. */
static void a_reader_sees_what_was_there_when_it_came(void **state)
{
	struct journal reader;
	struct rank r;
	char name[32];
	uint32_t slots;
	int n = 0;

	(void)state;
	rank_make(&r, 16 * MIB);
	dict_api(&r.j, 1, "early");
	assert_int_equal(journal_open(&reader, r.dirfd, "journal.bin", true), 0);
	slots = journal_get_nslot(&reader);
	for (; journal_dict_add(&r.j, DICT_MODULE, 0, name,
		       (size_t)snprintf(name, sizeof(name), "module %d", n) + 1) == 0;
		n++)
		;
	/* A quarter of 1/16 is for names of functions. */
	assert_true(n > (int)(16 * MIB / 16 * 3 / 4 / 32));
	assert_int_equal(journal_dict_add(&r.j, DICT_API, 2, "mpi\0late\0late", 14), 0);
	attach_threads(&r, 1500);
	assert_string_equal(journal_dict_get(&reader, DICT_API, 1), "mpi");
	assert_null(journal_dict_get(&reader, DICT_API, 2));
	assert_int_equal(journal_get_nslot(&reader), slots);
	assert_true(journal_get_nthread(&reader) <= slots);
	journal_close(&reader);
	assert_int_equal(journal_open(&reader, r.dirfd, "journal.bin", true), 0);
	assert_string_equal(journal_dict_get(&reader, DICT_API, 2), "mpi");
	assert_int_equal(journal_get_nthread(&reader), 1500);
	journal_close(&reader);
	rank_drop(&r);
}

/* If growth is refused, the size stays; the writer tries again after a second, the program's threads do not. */
static void a_journal_that_may_not_grow_keeps_its_size(void **state)
{
	struct rlimit was, now;
	struct rank r;
	struct chain c;
	uint32_t before;
	bool wake;

	(void)state;
	rank_make(&r, 16 * MIB);
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	before = journal_get_nchunk(&r.j);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	now = (struct rlimit){MIB, was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	for (int part = 0; part < JP_COUNT; part++) {
		r.j.refused_ns = 0;
		assert_int_equal(journal_grow(&r.j, part), -EFBIG);
	}
	while (chain_reserve_end(&c, 64, &wake))
		c.used = c.cap;
	journal_grow_ahead(&r.j);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(journal_grow(&r.j, JP_CHUNKS), -EAGAIN);
	journal_grow_ahead(&r.j);
	assert_int_equal(journal_get_nchunk(&r.j), before);
	assert_int_equal(file_bytes(&r), MIB);
	r.j.refused_ns -= 1000000000;
	journal_grow_ahead(&r.j);
	assert_int_equal(journal_get_nchunk(&r.j), 2 * before);
	assert_non_null(chain_reserve(&c, 64, &wake));
	/* A thread that began to grow it long ago and never came back: no other thread waits, and none is refused later. */
	atomic_store(&r.j.growing_ns, 1);
	assert_int_equal(journal_grow(&r.j, JP_CHUNKS), -EAGAIN);
	assert_int_equal(journal_grow_if_free(&r.j, JP_CHUNKS), -EAGAIN);
	assert_int_equal(journal_get_nchunk(&r.j), 2 * before);
	atomic_store(&r.j.growing_ns, 0);
	assert_int_equal(journal_grow(&r.j, JP_CHUNKS), 0);
	assert_int_equal(journal_get_nchunk(&r.j), 4 * before);
	rank_drop(&r);
}

/* ---- several threads ---- */

static void *end_growth_later(void *arg)
{
	struct journal *j = arg;

	usleep(20000);
	atomic_store(&j->growing_ns, 0);
	return NULL;
}

/* A thread that needs space waits for the one that lets the journal grow: that is no refusal, and no record is lost. */
static void a_thread_waits_for_the_one_that_grows_the_journal(void **state)
{
	struct rank r;
	pthread_t t;

	(void)state;
	rank_make(&r, 16 * MIB);
	atomic_store(&r.j.growing_ns, clock_ns(CLOCK_MONOTONIC));
	assert_int_equal(journal_grow_if_free(&r.j, JP_CHUNKS), -EAGAIN);
	assert_int_equal(pthread_create(&t, NULL, end_growth_later, &r.j), 0);
	assert_int_equal(journal_grow(&r.j, JP_CHUNKS), 0);
	assert_true(atomic_load(&r.j.growing_ns) == 0);
	pthread_join(t, NULL);
	assert_true(atomic_load(&r.j.refused_ns) == 0);
	rank_drop(&r);
}

/* Each thread keeps its chunk, so a journal of its full size still grows for threads that have none. */
static void a_full_journal_has_a_chunk_for_each_thread(void **state)
{
	struct chain *c;
	struct rank r;
	uint32_t own, n;
	bool wake;

	(void)state;
	rank_make(&r, 4 * MIB);
	while (journal_grow(&r.j, JP_CHUNKS) == 0 || journal_grow(&r.j, JP_THREADS) == 0)
		;
	own = journal_get_nchunk(&r.j);
	n = own + own / 2;
	assert_true(n <= journal_get_nslot(&r.j));
	c = calloc(n, sizeof(*c));
	for (uint32_t i = 0; i < n; i++) {
		void *p;

		assert_int_equal(chain_open(&c[i], &r.j, i + 1), 0);
		p = chain_reserve(&c[i], 64, &wake);
		if (!p && journal_grow(&r.j, JP_CHUNKS) == 0)
			p = chain_reserve(&c[i], 64, &wake);
		assert_non_null(p);
	}
	free(c);
	rank_drop(&r);
}

/* Asynchronous calls under way are parked by the writer, and by recovery, which needs room as well. */
static void recovery_adds_room_for_calls_under_way(void **state)
{
	struct pending_store store;
	struct journal again;
	struct rank r;
	uint64_t n = 0, used;
	union {
		struct journal_call call;
		char bytes[112];
	} u = {.call = {.e = {.bytes = 112, .type = JE_CALL, .state = JCS_ASYNC}}};

	(void)state;
	rank_make(&r, 4 * MIB);
	used = journal_get_space(&r.j, JP_PENDING);
	atomic_store(&r.j.head->commit_seq, 2);
	journal_close(&r.j);
	assert_int_equal(journal_open(&r.j, r.dirfd, "journal.bin", false), 0);
	assert_int_equal(pending_store_open(&store, &r.j), 0);
	while (r.j.head->spilled == 0) {
		u.call.seq = ++n;
		assert_int_equal(pending_store_add(&store, 2, &u.call), 0);
	}
	pending_store_close(&store);
	assert_true(journal_get_space(&r.j, JP_PENDING) == 4 * MIB / 8 && used < 4 * MIB / 8);
	assert_int_equal(journal_open(&again, r.dirfd, "journal.bin", false), 0);
	assert_int_equal(pending_store_open(&store, &again), 0);
	for (uint64_t seq = 1; seq < n; seq++)
		assert_non_null(pending_store_find(&store, seq));
	assert_null(pending_store_find(&store, n)); /* this one was not in the file */
	pending_store_close(&store);
	journal_close(&again);
	rank_drop(&r);
}

/* A table of pieces that is damaged is found: no part is mapped to a wrong place. */
static void a_damaged_table_of_pieces_is_refused(void **state)
{
	struct journal j;
	struct rank r;

	(void)state;
	rank_make(&r, 16 * MIB);
	assert_int_equal(journal_grow(&r.j, JP_DICT), 0);
	assert_int_equal(journal_grow(&r.j, JP_CHUNKS), 0);

	struct journal_head *h = r.j.head;

	for (uint32_t i = 0; i < h->npiece; i++)
		for (int which = 0; which < 2; which++) {
			uint64_t *v = which ? &h->piece[i].bytes : &h->piece[i].offset, was = *v;
			const uint64_t bad[] = {was - 4096, was + 1, was + (UINT64_C(1) << 40),
				UINT64_MAX, UINT64_MAX - 4095, UINT64_C(1) << 63};

			for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++) {
				*v = bad[k];
				assert_int_equal(
					journal_open(&j, r.dirfd, "journal.bin", true), -EINVAL);
			}
			*v = was;
		}
	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t bad[] = {0, 1, JOURNAL_PIECES + 1, UINT32_MAX};
		uint32_t was = h->npiece;

		h->npiece = bad[i];
		assert_int_equal(journal_open(&j, r.dirfd, "journal.bin", true), -EINVAL);
		h->npiece = was;
	}
	for (int part = 0; part < JP_COUNT; part++) {
		h->space[part] += 4096;
		assert_int_equal(journal_open(&j, r.dirfd, "journal.bin", true), -EINVAL);
		h->space[part] -= 4096;
	}
	assert_int_equal(journal_open(&j, r.dirfd, "journal.bin", true), 0);
	journal_close(&j);
	rank_drop(&r);
}

/* ---- threads that record, and let it grow, while another one drains ---- */

#define PRODUCERS 4
#define CALLS 8000u

struct producer {
	struct journal *j;
	uint64_t base, made;
	_Atomic bool done;
};

static void *record_and_grow(void *arg)
{
	struct producer *p = arg;
	struct journal_call *e;
	struct chain c;

	if (chain_open(&c, p->j, (int64_t)p->base) < 0)
		return NULL;
	journal_grow_for_threads(p->j);
	for (uint64_t i = 1; i <= CALLS; i++) {
		while (!(e = enter_call(&c, p->base + i, 0, 1, 1)))
			if (journal_grow(p->j, JP_CHUNKS) < 0)
				sched_yield();
		leave_call(e, 1);
		p->made++;
		if (i % 100 == 0)
			journal_dict_add(p->j, DICT_MODULE, 0, "1000 2000 0 -\0/nonexistent", 27);
	}
	chain_close(&c);
	p->done = true;
	return NULL;
}

static void a_journal_grows_while_it_is_drained(void **state)
{
	struct producer p[PRODUCERS];
	pthread_t th[PRODUCERS];
	uint64_t made = 0;
	struct rank r;
	struct table t;
	bool more = true;

	(void)state;
	rank_make(&r, 32 * MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "f");
	for (unsigned i = 0; i < PRODUCERS; i++) {
		p[i] = (struct producer){.j = &r.j, .base = (i + 1) * UINT64_C(1000000)};
		assert_int_equal(pthread_create(&th[i], NULL, record_and_grow, &p[i]), 0);
	}
	while (more) {
		more = false;
		for (unsigned i = 0; i < PRODUCERS; i++)
			more |= !p[i].done;
		journal_grow_ahead(&r.j);
		assert_int_equal(drain_all(&r.drain, false), 0);
	}
	for (unsigned i = 0; i < PRODUCERS; i++) {
		pthread_join(th[i], NULL);
		made += p[i].made;
	}
	assert_int_equal(drain_all(&r.drain, false), 0);
	assert_true(journal_get_size(&r.j) > MIB);
	assert_int_equal(file_bytes(&r) >= journal_get_size(&r.j), true);
	assert_int_equal(r.j.head->free_chunks, r.j.head->nchunk);
	t = read_test_table(r.dir);
	assert_sound(&t);
	assert_int_equal(made, PRODUCERS * CALLS);
	assert_int_equal(t.n, 2 * made);
	free_test_table(&t);
	rank_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_journal_starts_with_a_mebibyte_and_grows_to_its_size),
		cmocka_unit_test(a_reader_sees_what_was_there_when_it_came),
		cmocka_unit_test(a_thread_waits_for_the_one_that_grows_the_journal),
		cmocka_unit_test(a_full_journal_has_a_chunk_for_each_thread),
		cmocka_unit_test(a_journal_that_may_not_grow_keeps_its_size),
		cmocka_unit_test(recovery_adds_room_for_calls_under_way),
		cmocka_unit_test(a_damaged_table_of_pieces_is_refused),
		cmocka_unit_test(a_journal_grows_while_it_is_drained),
	};

	return cmocka_run_group_tests_name("journal_growth", tests, NULL, NULL);
}
