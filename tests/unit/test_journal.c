/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of chunks and their draining: every record that went in comes out once, in whatever order threads come, go
 * and overlap. The threaded tests are meant for -fsanitize=thread too.
 */
#include "core_helper.h"

#include <pthread.h>
#include <sys/resource.h>

#define MIB (1u << 20)

static void test_geometry(void **state)
{
	struct journal j;

	(void)state;
	for (size_t bytes = 0; bytes < (size_t)300 << 20; bytes = bytes * 3 + 1) {
		assert_int_equal(journal_create(&j, -1, NULL, bytes), 0);

		const struct journal_head *h = j.head;

		assert_true(j.bytes >= JOURNAL_BYTES_MIN && j.bytes >= bytes && !j.safe);
		assert_true(h->thread_off >= sizeof(*h));
		assert_true(h->nslot >= JOURNAL_THREADS_MIN && h->nslot <= JOURNAL_THREADS);
		assert_true(bytes < (size_t)16 << 20 || h->nslot == JOURNAL_THREADS);
		assert_true(journal_get_size(&j) >= bytes && journal_get_size(&j) <= j.bytes);
		assert_true(
			h->commit_off >= h->thread_off + h->nslot * sizeof(struct journal_thread));
		assert_true(h->dict_off >= h->commit_off + 2 * journal_get_commit_bytes(h->nslot));
		assert_true(h->pending_off >= h->dict_off + h->dict_bytes);
		assert_true(h->chunk_off >= h->pending_off + h->pending_bytes);
		assert_true(h->nchunk >= 4 && h->nchunk <= JOURNAL_CHUNKS_MAX);
		assert_true(h->chunk_off + (uint64_t)h->nchunk * h->chunk_bytes <= j.bytes);
		assert_true(journal_get_chunk_cap(&j) >= JOURNAL_ENTRY_MAX);
		journal_close(&j);
	}
}

/*
 * Threads look for chunks from places of their own on, get the lowest free one from there, and all there are between
 * them, none twice.
 */
static void test_places(void **state)
{
	struct journal j;
	struct chain c[3];
	bool wake, given[JOURNAL_CHUNKS_MAX] = {false};
	uint32_t n = 0;

	(void)state;
	assert_int_equal(journal_create(&j, -1, NULL, 4 * MIB), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(chain_open(&c[i], &j, i), 0);
	for (int i = 0; n < j.head->nchunk; i++) {
		struct chain *k = &c[i % 2];

		k->chunk = NULL; /* full */
		assert_non_null(chain_reserve_end(k, 64, &wake));

		uint32_t at = (uint32_t)((const char *)k->chunk -
					 (const char *)journal_get_chunk(&j, 0)) /
			      j.head->chunk_bytes;

		assert_true(at < j.head->nchunk && !given[at]);
		given[at] = true;
		n++;
		if (i < 60)
			assert_int_equal(at, i / 2 + (i % 2) * 32);
	}
	assert_null(chain_reserve_end(&c[2], 64, &wake));
	/* One that has been written is found again, from anywhere. */
	for (int i = 0; i < 3; i++) {
		atomic_fetch_and(&j.head->bitmap[0], ~UINT64_C(8));
		c[i].chunk = NULL;
		assert_non_null(chain_reserve_end(&c[i], 64, &wake));
		assert_ptr_equal(c[i].chunk, journal_get_chunk(&j, 3));
	}
	journal_close(&j);
}

static void test_each_call_once(void **state)
{
	struct rank r;
	struct chain c;

	(void)state;
	rank_make(&r, MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "MPI_Allreduce");
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	for (uint64_t seq = 1; seq <= 5000; seq++) {
		struct journal_call *e = enter_call(&c, seq, (uint32_t)(seq / 10), seq % 3, 2);

		assert_non_null(e);
		leave_call(e, seq % 2);
		if (seq % 100 == 0)
			assert_int_equal(drain_all(&r.drain, false), 0);
	}

	struct table t = read_test_table(r.dir);

	assert_sound(&t);
	for (uint64_t seq = 1; seq <= 5000; seq++) {
		assert_int_equal(rows_of_file(&t, seq, "in"), seq % 3);
		assert_int_equal(rows_of_file(&t, seq, "out"), seq % 2);
		assert_int_equal(rows_of_file(&t, seq, ""), seq % 3 + seq % 2 == 0);
	}
	assert_int_equal(journal_get_commit(&r.j, r.j.head->commit_seq)->rows, t.n);
	assert_int_equal(r.j.head->free_chunks, r.j.head->nchunk - 1);
	assert_string_equal(t.row[0].field[COL_api], "MPI_Allreduce");
	free_test_table(&t);
	rank_drop(&r);
}

/*
 * More text in one pass than the buffer of a file holds: the pass is ended in between and goes on. A call of several
 * rows must not be begun before the end and begun again after it.
 */
static void test_more_than_a_buffer(void **state)
{
	struct rank r;
	struct chain c;
	uint64_t seq = 1;

	(void)state;
	rank_make(&r, 32 * MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "MPI_Allreduce");
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	for (struct journal_call *e; seq <= 40000; seq++) {
		while (!(e = enter_call(&c, seq, 0, 2, 2)) && journal_grow(&r.j, JP_CHUNKS) == 0)
			;
		if (!e)
			break;
		leave_call(e, 2);
	}
	assert_int_equal(drain_all(&r.drain, false), 0);

	struct table t = read_test_table(r.dir);

	assert_sound(&t);
	assert_true(seq > 20000);
	assert_int_equal(t.n, 4 * (seq - 1));
	for (size_t i = 0; i < t.n; i++) {
		assert_int_equal(strtoull(t.row[i].field[COL_seq], NULL, 10), 1 + i / 4);
		assert_string_equal(t.row[i].field[COL_io], i % 4 < 2 ? "in" : "out");
		assert_int_equal(atoi(t.row[i].field[COL_index]), i % 2);
	}
	free_test_table(&t);
	rank_drop(&r);
}

static void test_full_and_free_again(void **state)
{
	struct rank r;
	struct chain c;
	bool wake = false;
	uint64_t before = 0, after = 0;

	(void)state;
	rank_make(&r, MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "f");
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	for (struct journal_call *e; (e = enter_call(&c, before + 1, 0, 1, 0)); before++)
		leave_call(e, 0);
	assert_null(chain_reserve(&c, JOURNAL_ENTRY_MAX, &wake));
	assert_true(wake);
	/* Some are kept for the ends of asynchronous calls. */
	assert_int_equal(r.j.head->free_chunks, r.j.head->nchunk / JOURNAL_ENDS);
	assert_true(r.j.head->free_chunks > 0);
	while (end_test_call(&c, 999999, 0))
		;
	assert_int_equal(r.j.head->free_chunks, 0);
	assert_int_equal(drain_all(&r.drain, false), 0);
	for (struct journal_call *e; (e = enter_call(&c, before + after + 1, 0, 1, 0)); after++)
		leave_call(e, 0);
	/* All but the thread's current one were freed. */
	assert_true(after >= before - 2 * before / r.j.head->nchunk - 1);
	assert_int_equal(drain_all(&r.drain, false), 0);

	struct table t = read_test_table(r.dir);

	assert_sound(&t);
	assert_int_equal(t.n, before + after);
	free_test_table(&t);
	rank_drop(&r);
}

/* The writer gets the request for more pages before those that it has touched run out. */
static void test_wake_for_pages(void **state)
{
	struct rank r;
	struct chain c;
	unsigned first = 0;

	(void)state;
	rank_make(&r, 16u << 20);
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	r.j.touched = 8;
	for (unsigned chunk = 0; chunk < 8; chunk++) {
		bool wake = false;
		uint32_t bytes = (journal_get_chunk_cap(&r.j) / 2 + 8) & ~7u;

		assert_non_null(chain_reserve(&c, bytes, &wake));
		chain_publish(&c, bytes);
		if (wake && !first)
			first = chunk;
	}
	assert_int_equal(first, 6);
	chain_close(&c);
	rank_drop(&r);
}

static void test_open_call_holds_its_chain(void **state)
{
	struct rank r;
	struct chain c, other;
	struct journal_call *outer;

	(void)state;
	rank_make(&r, MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "f");
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	assert_int_equal(chain_open(&other, &r.j, 2), 0);
	leave_call(enter_call(&c, 1, 0, 1, 0), 0);
	outer = enter_call(&c, 2, 0, 1, 1);
	leave_call(enter_call(&c, 3, 0, 1, 0), 0);
	leave_call(enter_call(&other, 4, 0, 1, 0), 0);
	assert_int_equal(drain_all(&r.drain, false), 0);

	struct table t = read_test_table(r.dir);

	assert_int_equal(t.n, 2);
	free_test_table(&t);
	leave_call(outer, 1);
	assert_int_equal(drain_all(&r.drain, false), 0);
	t = read_test_table(r.dir);
	assert_sound(&t);
	assert_int_equal(t.n, 5);
	assert_int_equal(rows_of_file(&t, 2, "out"), 1);
	free_test_table(&t);
	rank_drop(&r);
}

/* A thread that has ended cannot leave its call any more: its slot must not be held for ever. */
static void test_open_call_of_a_dead_thread(void **state)
{
	struct rank r;
	struct chain c;

	(void)state;
	rank_make(&r, MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "f");
	assert_int_equal(chain_open(&c, &r.j, 1), 0);

	struct journal_thread *slot = c.slot;

	enter_call(&c, 1, 0, 1, 1);
	leave_call(enter_call(&c, 2, 0, 1, 0), 0);
	chain_close(&c);
	assert_int_equal(drain_all(&r.drain, false), 0);
	assert_int_equal(slot->state, JT_FREE);

	struct table t = read_test_table(r.dir);

	assert_sound(&t);
	assert_int_equal(t.n, 2);
	assert_string_equal(t.row[0].field[COL_flags], "nostats;open");
	assert_string_equal(t.row[0].field[COL_dur_ns], "");
	free_test_table(&t);
	assert_int_equal(r.j.head->free_chunks, r.j.head->nchunk);
	rank_drop(&r);
}

/* A chain that points nowhere: it is counted once, the others are read, and its thread is recorded again in a new one. */
static void test_lost_chain(void **state)
{
	struct rank r;
	struct chain c, other;
	uint64_t seq = 0, broken, after;

	(void)state;
	rank_make(&r, MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "f");
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	assert_int_equal(chain_open(&other, &r.j, 2), 0);
	leave_call(enter_call(&c, ++seq, 0, 1, 0), 0);

	struct journal_chunk *first = c.chunk;

	while (c.chunk == first)
		leave_call(enter_call(&c, ++seq, 0, 1, 0), 0);
	broken = seq;
	first->next = r.j.head->nchunk + 7;
	for (int i = 0; i < 4; i++) {
		leave_call(enter_call(&other, ++seq, 0, 1, 0), 0);
		assert_int_equal(drain_all(&r.drain, false), 0);
	}
	assert_int_equal(r.j.head->damaged, 1);
	first = c.chunk;
	while (c.chunk == first)
		leave_call(enter_call(&c, ++seq, 0, 1, 0), 0);
	after = seq;
	assert_int_equal(drain_all(&r.drain, false), 0);
	chain_close(&c);
	chain_close(&other);
	assert_int_equal(drain_all(&r.drain, true), 0);
	assert_int_equal(r.j.head->damaged, 1);

	struct table t = read_test_table(r.dir);

	assert_sound(&t);
	assert_int_equal(rows_of_file(&t, broken - 1, "in"), 1);
	assert_int_equal(rows_of_file(&t, broken, "in"), 0);
	for (uint64_t i = broken + 1; i <= broken + 4; i++)
		assert_int_equal(rows_of_file(&t, i, "in"), 1);
	assert_int_equal(rows_of_file(&t, after, "in"), 1);
	free_test_table(&t);
	rank_drop(&r);
}

static void test_slots(void **state)
{
	static struct chain c[JOURNAL_THREADS + 1];
	struct rank r;

	(void)state;
	rank_make(&r, 16 * MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "f");
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < JOURNAL_THREADS; i++) {
			assert_int_equal(chain_open(&c[i], &r.j, i), 0);
			assert_int_equal(c[i].index, i);
			journal_grow_for_threads(&r.j);
		}
		assert_int_equal(chain_open(&c[JOURNAL_THREADS], &r.j, 9), -EAGAIN);
		for (int i = 0; i < JOURNAL_THREADS; i++) {
			assert_int_equal(c[i].slot->generation, round + 1);
			if (i % 2)
				leave_call(enter_call(&c[i], (uint64_t)(round * 1000 + i), 0, 1, 0),
					0);
			chain_close(&c[i]);
			chain_close(&c[i]);
		}
		assert_int_equal(chain_open(&c[0], &r.j, 9), -EAGAIN);
		assert_int_equal(drain_all(&r.drain, false), 0);
		assert_int_equal(r.j.head->free_chunks, r.j.head->nchunk);
	}

	struct table t = read_test_table(r.dir);

	assert_sound(&t);
	assert_int_equal(t.n, 3 * JOURNAL_THREADS / 2);
	free_test_table(&t);
	rank_drop(&r);
}

/*
 * Each thread has a chunk that no other thread can use: the journal grows with them, and what is in it is all found, by the process and
 * from outside, when the writer does nothing.
 */
static void grow_with_threads(bool in_file)
{
	enum { THREADS = 2000 };
	static struct chain c[THREADS];
	struct rank r;
	struct journal j = {0};
	uint64_t own;
	struct table t;

	if (in_file) {
		rank_make(&r, 16 * MIB);
	} else {
		rank_make(&r, 16 * MIB);
		journal_close(&r.j);
		assert_int_equal(journal_create(&r.j, -1, NULL, 16 * MIB), 0);
	}
	dict_api(&r.j, 1, "f");
	own = (r.j.head->bytes - r.j.head->chunk_off) / r.j.head->chunk_bytes;
	assert_true(own < THREADS);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(chain_open(&c[i], &r.j, i), 0);
		journal_grow_for_threads(&r.j);
		for (int k = 0; k < 10; k++)
			leave_call(enter_call(&c[i], (uint64_t)(i * 10 + k + 1), 0, 1, 0), 0);
	}
	assert_true(journal_get_nchunk(&r.j) > THREADS && journal_get_nchunk(&r.j) < THREADS + own);
	if (in_file) {
		/* As recovery finds it. */
		assert_int_equal(journal_open(&j, r.dirfd, "journal.bin", true), 0);
		assert_int_equal(journal_get_nchunk(&j), journal_get_nchunk(&r.j));
		assert_int_equal(journal_get_size(&j), journal_get_size(&r.j));
		journal_close(&j);
	}
	rank_sink(&r);
	assert_int_equal(drain_all(&r.drain, false), 0);
	t = read_test_table(r.dir);
	assert_sound(&t);
	assert_int_equal(t.n, THREADS * 10);
	free_test_table(&t);
	rank_drop(&r);
}

static void test_grows_with_threads(void **state)
{
	(void)state;
	grow_with_threads(true);
	grow_with_threads(false);
}

static int count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void attach_threads(struct rank *r, int n)
{
	static struct chain c;

	for (int i = 0; i < n; i++) {
		assert_int_equal(chain_open(&c, &r->j, i), 0);
		journal_grow_for_threads(&r->j);
	}
}

/* A file that may not grow keeps its size, and no message is printed: records are dropped when it is full. */
static void journal_keeps_its_size_under_a_file_size_limit(void **state)
{
	struct rlimit was, now;

	(void)state;
	for (int closed = 0; closed < 2; closed++) {
		struct rank r;
		uint32_t before;
		int open;

		rank_make(&r, 16 * MIB);
		snprintf(r.j.head->journal_path, JOURNAL_PATH_MAX, "%s/journal.bin", r.dir);
		if (closed)
			close(r.j.lock.fd);
		before = journal_get_nchunk(&r.j);
		open = count_descriptors();
		assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
		now = (struct rlimit){journal_get_size(&r.j), was.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
		attach_threads(&r, 500);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
		assert_int_equal(journal_get_nchunk(&r.j), before);
		assert_int_equal(count_descriptors(), open);
		rank_drop(&r);
	}
}

/* The program closes all descriptors, as daemons do. */
static void journal_grows_after_its_descriptor_was_closed(void **state)
{
	struct rank r;
	struct stat st;
	int open;

	(void)state;
	rank_make(&r, 16 * MIB);
	snprintf(r.j.head->journal_path, JOURNAL_PATH_MAX, "%s/journal.bin", r.dir);
	close(r.j.lock.fd);
	open = count_descriptors();
	attach_threads(&r, 2000);
	assert_true(journal_get_nchunk(&r.j) > 2000);
	assert_int_equal(fstatat(r.dirfd, "journal.bin", &st, 0), 0);
	assert_true((uint64_t)st.st_size >= journal_get_size(&r.j));
	assert_true((uint64_t)st.st_blocks * 512 >= journal_get_size(&r.j));
	assert_int_equal(count_descriptors(), open);
	rank_drop(&r);
}

/* With the descriptor closed, its path and its number may be another file's: that one keeps its size. */
static void another_file_in_the_journals_place_keeps_its_size(void **state)
{
	struct rank r;
	struct stat st;
	uint32_t before;
	int number, fd;

	(void)state;
	rank_make(&r, 16 * MIB);
	snprintf(r.j.head->journal_path, JOURNAL_PATH_MAX, "%s/journal.bin", r.dir);
	before = journal_get_nchunk(&r.j);
	number = r.j.lock.fd;
	assert_int_equal(unlinkat(r.dirfd, "journal.bin", 0), 0);
	fd = openat(r.dirfd, "journal.bin", O_RDWR | O_CREAT | O_EXCL, 0666);
	assert_true(fd >= 0);
	assert_int_equal(dup2(fd, number), number);
	attach_threads(&r, 500);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(journal_get_nchunk(&r.j), before);
	close(fd);
	close(number);
	rank_drop(&r);
}

/* The address space that a limit leaves is the program's. */
static void limited_address_space_is_not_reserved_for_growth(void **state)
{
	struct rlimit was, now;
	struct journal j;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
	now = (struct rlimit){UINT64_C(1) << 62, was.rlim_max}; /* sanitizers take many TiB */
	assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
	assert_int_equal(journal_create(&j, -1, NULL, 16 * MIB), 0);
	assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
	assert_int_equal(j.bytes, 16 * MIB);
	journal_close(&j);
}

/* A forked child has zeros where its parent's journal lay, until it makes its own. */
static void journal_of_zeros_gives_no_chunk(void **state)
{
	struct rank r;
	struct chain c;
	bool wake;

	(void)state;
	rank_make(&r, 16 * MIB);
	dict_api(&r.j, 1, "f");
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	assert_non_null(chain_reserve(&c, 64, &wake));
	memset(r.j.head, 0, journal_get_size(&r.j));
	c.used = c.cap;
	assert_null(chain_reserve(&c, 64, &wake));
	assert_int_equal(journal_get_nchunk(&r.j), 0);
	journal_grow_for_threads(&r.j);
	journal_grow_ahead(&r.j);
	for (int part = 0; part < JP_COUNT; part++)
		assert_int_equal(journal_grow(&r.j, part), -ENOSPC);
	assert_int_equal(journal_get_size(&r.j), 0);
	assert_int_equal(journal_dict_add(&r.j, DICT_API, 2, "text", 5), -ENOSPC);
	assert_int_equal(chain_open(&c, &r.j, 2), -EAGAIN);
	rank_drop(&r);
}

/* ---- threads that record while another one drains ---- */

#define PRODUCERS 6
#define CALLS 20000u

struct producer {
	struct journal *j;
	struct producer *peer; /* completes this one's asynchronous calls */
	_Atomic uint64_t started[64]; /* seq of a call to be completed, 0: none */
	uint64_t base, dropped_calls, dropped_ends, made;
	_Atomic bool done;
};

/* Every call is entered and left; each fourth is asynchronous and completed by another thread. */
static void *produce(void *arg)
{
	struct producer *p = arg;
	struct chain c = {0};

	for (uint64_t i = 1; i <= CALLS; i++) {
		/* Threads come and go. */
		if (!c.slot && chain_open(&c, p->j, (int64_t)p->base) < 0)
			continue;

		struct journal_call *r = enter_call(&c, p->base + i, (uint32_t)(i / 500), 1, 1);

		if (!r) {
			p->dropped_calls++;
		} else if (i % 4 == 0) {
			leave_async(r);

			uint64_t none = 0;

			if (!atomic_compare_exchange_strong(
				    &p->started[i / 4 % 64], &none, p->base + i))
				p->dropped_ends += !end_test_call(&c, p->base + i, 1);
		} else {
			leave_call(r, 1);
		}
		for (int k = 0; k < 4; k++) {
			uint64_t seq =
				atomic_exchange(&p->peer->started[(i + (uint64_t)k) % 64], 0);

			if (seq)
				p->dropped_ends += !end_test_call(&c, seq, 1);
		}
		p->made += r != NULL;
		if (i % 700 == 0)
			chain_close(&c);
	}
	chain_close(&c);
	atomic_store(&p->done, true);
	return NULL;
}

static void test_threads(void **state)
{
	static struct producer p[PRODUCERS];
	pthread_t th[PRODUCERS];
	struct rank r;
	bool busy = true;
	uint64_t dropped = 0, open = 0, made = 0;

	(void)state;
	rank_make(&r, 2 * MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "f");
	for (int i = 0; i < PRODUCERS; i++)
		p[i] = (struct producer){
			.j = &r.j, .peer = &p[(i + 1) % PRODUCERS], .base = (uint64_t)i * 1000000};
	for (int i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_create(&th[i], NULL, produce, &p[i]), 0);
	while (busy) {
		busy = false;
		for (int i = 0; i < PRODUCERS; i++)
			busy |= !atomic_load(&p[i].done);
		assert_int_equal(drain_all(&r.drain, false), 0);
	}
	for (int i = 0; i < PRODUCERS; i++) {
		pthread_join(th[i], NULL);
		dropped += p[i].dropped_ends;
		made += p[i].made;
		for (int k = 0; k < 64; k++)
			open += p[i].started[k] != 0;
	}
	assert_int_equal(drain_all(&r.drain, true), 0);
	assert_int_equal(r.j.head->damaged, 0);
	assert_int_equal(r.j.head->free_chunks, r.j.head->nchunk);

	struct table t = read_test_table(r.dir);
	unsigned char *seen = calloc(PRODUCERS, (CALLS + 1) * 2);
	uint64_t ins = 0, outs = 0, opens = 0;

	assert_sound(&t);
	for (size_t i = 0; i < t.n; i++) {
		uint64_t seq = strtoull(t.row[i].field[COL_seq], NULL, 10);
		bool out = strcmp(t.row[i].field[COL_io], "out") == 0;

		assert_true(seq % 1000000 <= CALLS && seq / 1000000 < PRODUCERS);
		/* No row twice. */
		assert_int_equal(
			seen[(seq / 1000000 * (CALLS + 1) + seq % 1000000) * 2 + out]++, 0);
		ins += !out;
		outs += out;
		opens += strstr(t.row[i].field[COL_flags], "open") != NULL;
	}
	assert_int_equal(ins, made);
	assert_int_equal(opens, open + dropped);
	assert_int_equal(outs, made - open - dropped);
	free(seen);
	free_test_table(&t);
	rank_drop(&r);
}

/* `recover` writes into a dead process' journal, of which any byte may be damaged. */
static void a_damaged_end_of_the_dictionary_takes_no_entry(void **state)
{
	struct rank r;
	size_t n;
	unsigned char *before;

	(void)state;
	rank_make(&r, 2 * MIB);
	dict_api(&r.j, 1, "f");
	n = journal_get_size(&r.j); /* the mapping is longer */
	before = malloc(n);

	struct journal_head *h = r.j.head;
	const uint64_t used[] = {UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 15, 1, 4, h->dict_bytes,
		h->dict_bytes + 8, h->bytes};

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++) {
		atomic_store(&h->dict_used, used[i]);
		memcpy(before, h, n);
		assert_int_equal(journal_dict_add(&r.j, DICT_API, 2, "text", 5), -ENOSPC);
		assert_memory_equal(before, h, n);
	}
	free(before);
	rank_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_geometry),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_each_call_once),
		cmocka_unit_test(test_more_than_a_buffer),
		cmocka_unit_test(test_full_and_free_again),
		cmocka_unit_test(test_wake_for_pages),
		cmocka_unit_test(test_open_call_holds_its_chain),
		cmocka_unit_test(test_open_call_of_a_dead_thread),
		cmocka_unit_test(test_lost_chain),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_grows_with_threads),
		cmocka_unit_test(journal_keeps_its_size_under_a_file_size_limit),
		cmocka_unit_test(journal_grows_after_its_descriptor_was_closed),
		cmocka_unit_test(another_file_in_the_journals_place_keeps_its_size),
		cmocka_unit_test(journal_of_zeros_gives_no_chunk),
		cmocka_unit_test(limited_address_space_is_not_reserved_for_growth),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(a_damaged_end_of_the_dictionary_takes_no_entry),
	};

	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
