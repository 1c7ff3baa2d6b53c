/* SPDX-License-Identifier: Apache-2.0 */
/* Recording threads: their slots, how they end, in forked children too, and the numbers of their stacks. */
#include "session_helper.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "call/record.h"
#include "call/stackid.h"
#include "session/generation_pair.h"

static const struct adapter lib = {.name = "mpi"};
static const struct kind kind_send = {.name = "send", .op = "send"};
static const struct api_spec spec = {.symbol = "MPI_Send", .lib = &lib, .kind = &kind_send};
static struct api f_send = {.spec = &spec, .word = API_LISTED};

static int on(void **state)
{
	(void)state;
	session_on(1 << 20);
	return 0;
}

static int off(void **state)
{
	(void)state;
	session_over();
	f_send.dict = 0;
	stack_id_reset();
	return 0;
}

static bool call(void)
{
	struct operation w = {.root = JOURNAL_NONE, .peer = 1, .tag = 2};
	struct thread *t = thread_get();
	struct journal_call *r = t ? record_open(t, &f_send, &w, 0, 0, 0) : NULL;

	if (r)
		record_close(r, &w, clock_ticks(), false, 0);
	return r != NULL;
}

static void *call_in_thread(void *arg)
{
	*(bool *)arg = call();
	return NULL;
}

static void test_threads_come_and_go(void **state)
{
	struct table t;
	unsigned n = 0;

	(void)state;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 100; i++) {
			pthread_t th;
			bool ok;

			assert_int_equal(pthread_create(&th, NULL, call_in_thread, &ok), 0);
			pthread_join(th, NULL);
			n += ok;
		}
		t = session_rows(false);
		free_test_table(&t);
	}
	/* One chunk a thread until it is drained. */
	assert_true(n > 20 * 30);
	t = session_rows(false);
	assert_sound(&t);
	assert_int_equal(t.n, n);
	assert_int_equal(rank_of_test.j.head->free_chunks, rank_of_test.j.head->nchunk);
	free_test_table(&t);
}

/* Calls from destructors that run before and after ours. */
static pthread_key_t late_key;
static _Atomic unsigned late_calls;

static void call_late(void *arg)
{
	uintptr_t round = (uintptr_t)arg;

	late_calls += call();
	if (round < 10)
		pthread_setspecific(late_key, (void *)(round + 1));
}

static void *with_destructor(void *arg)
{
	(void)arg;
	pthread_setspecific(late_key, (void *)1);
	call();
	return NULL;
}

static void test_calls_in_destructors(void **state)
{
	pthread_t th;
	struct table t;

	(void)state;
	assert_int_equal(pthread_key_create(&late_key, call_late), 0);
	assert_int_equal(pthread_create(&th, NULL, with_destructor, NULL), 0);
	pthread_join(th, NULL);
	assert_true(late_calls >= PTHREAD_DESTRUCTOR_ITERATIONS - 2);
	t = session_rows(false);
	assert_int_equal(t.n, 1 + late_calls);
	free_test_table(&t);
	/* The slot is free again, and what came too late is counted. */
	assert_int_equal(journal_get_thread(&rank_of_test.j, 0)->state, JT_FREE);
	assert_int_equal(rank_of_test.j.head->count[JC_DROP_THREADS],
		PTHREAD_DESTRUCTOR_ITERATIONS - late_calls);
	pthread_key_delete(late_key);
}

/* In a forked child the end of the thread must not give the parent's slot away. */
static void *fork_and_end(void *arg)
{
	pid_t pid;
	int status;

	assert_true(call());

	struct journal_thread *slot = thread_state.recorder->chain.slot;

	pid = fork();
	if (pid == 0) {
		/* Done by the fork handler, and a session of its own; or clone(), and no handler ran. */
		if (*(bool *)arg) {
			thread_reset();
			session.pid = getpid();
		}
		pthread_exit(NULL);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(slot->state, JT_LIVE);
	assert_true(call());
	return NULL;
}

#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static void test_fork(void **state)
{
	if (SANITIZED)
		skip(); /* they look at the child when it ends, and do not like what they see */
	for (int handler = 0; handler < 2; handler++) {
		pthread_t th;
		bool arg = handler;

		(void)state;
		assert_int_equal(pthread_create(&th, NULL, fork_and_end, &arg), 0);
		pthread_join(th, NULL);
	}

	struct table t = session_rows(false);

	assert_int_equal(t.n, 4);
	free_test_table(&t);
}

/* A child of fork() returns from a wrapper that the parent entered: the record is the parent's to close. */
static void test_record_of_the_parent(void **state)
{
	struct operation w = {.root = JOURNAL_NONE, .peer = 1, .tag = 2};
	struct journal_call *r = record_open(thread_get(), &f_send, &w, 0, 0, 0);
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		thread_reset();
		record_close(r, &w, clock_ticks(), false, 0);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(r->e.state, JCS_OPEN);
	record_close(r, &w, clock_ticks(), false, 0);
	assert_int_equal(r->e.state, JCS_CLOSED);
}

/* ---- stacks ---- */

__attribute__((noinline)) static uint32_t here(void)
{
	return stack_id(thread_get(), &f_send, (uintptr_t)__builtin_return_address(0),
		(uintptr_t)__builtin_frame_address(0));
}

__attribute__((noinline)) static uint32_t deeper(unsigned n)
{
	uint32_t id = n ? deeper(n - 1) : here();

	__asm__ volatile("" : "+r"(id)); /* no tail call */
	return id;
}

static unsigned lines_of(const char *name)
{
	char path[128];
	size_t n;
	unsigned lines = 0;

	snprintf(path, sizeof(path), "%s/%s", rank_of_test.dir, name);

	char *text = read_test_file(path, &n);

	for (char *p = text; p && (p = strchr(p, '\n')); p++)
		lines++;
	free(text);
	return lines;
}

static void test_stack_numbers(void **state)
{
	uint32_t id[10];

	(void)state;
	generation_first.cfg.stack = true;
	generation_first.cfg.stack_depth = 64;
	for (unsigned i = 0; i < 30; i++) {
		uint32_t got = deeper(i % 10);

		if (i < 10)
			id[i] = got;
		assert_int_equal(got, i % 10 + 1);
		assert_int_equal(got, id[i % 10]);
	}
	assert_int_equal(drain_all(&rank_of_test.drain, false), 0);
	assert_int_equal(lines_of("stack_info.csv"), 11);
}

/* A stack that is seen for the first time while the journal is full must not be lost for good. */
static void test_stack_while_full(void **state)
{
	struct thread *t = thread_get();
	uint32_t id;
	int fillers = 0;

	(void)state;
	generation_first.cfg.stack = true;
	while (call())
		;
	/* The rest of the chunk, too. */
	for (uint32_t bytes = 512; bytes >= sizeof(struct journal_stack); bytes -= 8)
		for (struct journal_stack *e; (e = chain_reserve(&t->chain, bytes, NO_WAKE));
			fillers++) {
			*e = (struct journal_stack){.e = {.bytes = bytes, .type = JE_STACK}};
			chain_publish(&t->chain, bytes);
		}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(deeper(3), 0);
	assert_int_equal(t->chain.slot->count[JC_DROP_STACKS], 1000);
	assert_int_equal(drain_all(&rank_of_test.drain, false), 0);
	id = deeper(3);
	assert_int_equal(id, 1); /* no number was used up either */
	assert_int_equal(drain_all(&rank_of_test.drain, false), 0);
	assert_int_equal(lines_of("stack_info.csv"), 2 + fillers);
}

static void *walk(void *arg)
{
	uint32_t *ids = arg;

	for (int round = 0; round < 200; round++)
		for (unsigned i = 0; i < 20; i++) {
			uint32_t id = deeper(i);

			assert_true(id && (!ids[i] || ids[i] == id));
			ids[i] = id;
		}
	return NULL;
}

static void test_stacks_of_threads(void **state)
{
	static uint32_t ids[4][20];
	pthread_t th[4];

	(void)state;
	generation_first.cfg.stack = true;
	generation_first.cfg.stack_depth = 64;
	memset(ids, 0, sizeof(ids));
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&th[i], NULL, walk, ids[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(th[i], NULL);
	for (int i = 1; i < 4; i++)
		assert_memory_equal(ids[i], ids[0], sizeof(ids[0]));
	assert_int_equal(drain_all(&rank_of_test.drain, true), 0);
	/* Each id that was given out has its line; a lost race may have left some more. */
	assert_in_range(lines_of("stack_info.csv"), 21, 81);
}

static void test_scratch(void **state)
{
	struct thread *t = thread_get();
	unsigned char *p = thread_get_scratch(t, 10);

	(void)state;
	assert_non_null(p);
	memset(p, 1, 10);
	assert_ptr_equal(thread_get_scratch(t, 16384), p);
	p = thread_get_scratch(t, 5 << 20);
	assert_non_null(p);
	memset(p, 2, 5 << 20);
	assert_null(thread_get_scratch(t, (64u << 20) + 1));
	assert_ptr_equal(thread_get_scratch(t, 1), p);
}

/* A call that lost its processor while it was measured is no sample of those that did not. */
static void test_weight_of_a_sample(void **state)
{
	(void)state;
	assert_int_equal(compute_sample_ticks(300, 16), 4800);
	assert_int_equal(compute_sample_ticks(SAMPLE_TICKS_MAX, 32), 32 * SAMPLE_TICKS_MAX);
	assert_int_equal(compute_sample_ticks(10000000, 32), 10000000);
}

/* Flags of the row of an input that is not to be read. */
static uint32_t record_unread_input(uint64_t count)
{
	struct operation w = {
		.root = JOURNAL_NONE, .peer = JOURNAL_NONE, .tag = JOURNAL_NONE, .nin = 1};
	struct journal_call *r;

	w.in[0] = (struct buffer){.count = count,
		.bytes = 4 * count,
		.dtype = DT_FLOAT32,
		.io = IO_IN,
		.nostats = 1,
		.host = 1,
		.ndim = JOURNAL_NDIM_NONE,
		.comm_seq = JOURNAL_NONE64,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE};
	r = record_open(thread_get(), &f_send, &w, JOURNAL_NONE64, 0, 0);
	assert_non_null(r);
	record_close(r, &w, clock_ticks(), false, 0);
	return journal_get_first_tensor(&r->e)->flags;
}

/* An empty tensor has no values that could be missing. */
static void an_empty_tensor_does_not_lack_statistics(void **state)
{
	(void)state;
	assert_int_equal(record_unread_input(3), TF_NOSTATS);
	assert_int_equal(record_unread_input(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threads_come_and_go, on, off),
		cmocka_unit_test_setup_teardown(test_calls_in_destructors, on, off),
		cmocka_unit_test_setup_teardown(test_fork, on, off),
		cmocka_unit_test_setup_teardown(test_record_of_the_parent, on, off),
		cmocka_unit_test_setup_teardown(test_stack_numbers, on, off),
		cmocka_unit_test_setup_teardown(test_stack_while_full, on, off),
		cmocka_unit_test_setup_teardown(test_stacks_of_threads, on, off),
		cmocka_unit_test_setup_teardown(test_scratch, on, off),
		cmocka_unit_test_setup_teardown(an_empty_tensor_does_not_lack_statistics, on, off),
		cmocka_unit_test(test_weight_of_a_sample),
	};

	return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
