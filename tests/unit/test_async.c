/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous calls from start to end as adapters drive them, and records whose calls end in another way:
 * freed, cancelled, looked at first, left by longjmp, dropped.
 */
#include "session_helper.h"

#include "call/async.h"
#include "call/record.h"

static const struct adapter lib = {.name = "mpi"};
static const struct kind kind_recv = {.name = "recv", .op = "recv"},
			 kind_coll = {.name = "bcast", .op = "broadcast", .collective = true};
static const struct api_spec irecv = {
	.symbol = "MPI_Irecv", .lib = &lib, .kind = &kind_recv, .completion = DONE_REQUEST};
static const struct api_spec recv_init = {
	.symbol = "MPI_Recv_init", .lib = &lib, .kind = &kind_recv, .completion = DONE_START};
static const struct api_spec bcast_init = {
	.symbol = "MPI_Bcast_init", .lib = &lib, .kind = &kind_coll, .completion = DONE_START};
static struct api f_irecv = {.spec = &irecv, .word = API_LISTED | API_NUMBERED},
		  f_recv_init = {.spec = &recv_init, .word = API_LISTED | API_NUMBERED},
		  f_bcast_init = {.spec = &bcast_init, .word = API_LISTED | API_NUMBERED};

static float buffer[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static struct call begin(struct api *f, struct comm *m)
{
	struct call c = {.api = f,
		.word = f->word,
		.t = thread_get(),
		.op = {.comm = m, .root = JOURNAL_NONE, .peer = 1, .tag = 5, .nout = 1}};

	c.op.out[0] = (struct buffer){.base = buffer,
		.count = 8,
		.bytes = 32,
		.dtype = DT_FLOAT32,
		.io = IO_OUT,
		.peer = 1,
		.tag = 5,
		.comm_seq = 0,
		.ndim = JOURNAL_NDIM_NONE};
	return c;
}

/* A call that returns handle `key`. Returns its seq. */
static uint64_t started(struct api *f, struct comm *m, uint64_t key)
{
	struct call c = begin(f, m);
	uint64_t seq;

	c.rec = record_open(c.t, f, &c.op, JOURNAL_NONE64, 0, 0);
	assert_non_null(c.rec);
	seq = c.rec->seq;
	c.start = c.rec->start;
	async_started(&c, key, true);
	if (c.async)
		record_async(c.rec, &c.op, c.end);
	else
		record_close(c.rec, &c.op, clock_ticks(), false, 0);
	return seq;
}

/* A completing call about that request: what claims it, and what comes after the real function. */
static void done(uint64_t key, uint32_t flags, bool keep, bool want)
{
	struct call c = {.t = thread_get()};
	struct async_claims a;

	async_claim_one(&a, c.t, key);
	assert_int_equal(async_record_done(&c, a.claim, clock_ticks(), 10, flags,
				 flags & CF_ERROR ? 7 : 0, NULL, NULL, keep),
		want);
	async_close_claims(&a);
}

static void freed(uint64_t key)
{
	struct async_claims a;

	async_claim_one(&a, thread_get(), key);
	async_freed(&(struct call){0}, a.claim, clock_ticks(), CF_FREED, 0);
	async_close_claims(&a);
}

static const char *flags_of(const struct table *t, uint64_t seq)
{
	for (size_t i = 0; i < t->n; i++)
		if (strtoull(t->row[i].field[COL_seq], NULL, 10) == seq)
			return t->row[i].field[COL_flags];
	return "no row";
}

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
	/* The next journal has a dictionary of its own. */
	f_irecv.dict = f_recv_init.dict = f_bcast_init.dict = 0;
	assert_int_equal(pending_get_count(), 0);
	return 0;
}

static void test_ends(void **state)
{
	struct comm *m = make_test_comm(&lib, 1, 0, 2);
	uint64_t seq[6];
	struct table t;

	(void)state;
	comm_register(m);
	for (int i = 0; i < 6; i++)
		seq[i] = started(&f_irecv, m, 100 + (uint64_t)i);
	assert_int_equal(m->users, 7);
	done(100, 0, false, true);
	done(101, CF_ERROR, false, true);
	pending_set_cancel(102, true);
	done(102, CF_CANCELLED, false, true);
	freed(103);
	done(104, 0, true, true); /* looked at ... */
	done(104, 0, true, false); /* ... which says nothing new ... */
	done(104, 0, false, true); /* ... and then waited for */
	done(999, 0, false, false);
	assert_int_equal(m->users, 2);
	t = session_rows(false);
	assert_sound(&t);
	assert_int_equal(rows_of_file(&t, seq[0], "out"), 1);
	assert_string_equal(flags_of(&t, seq[0]), "async");
	assert_int_equal(rows_of_file(&t, seq[1], ""), 1);
	assert_string_equal(flags_of(&t, seq[1]), "async;error:7");
	assert_string_equal(flags_of(&t, seq[2]), "async;cancelled");
	assert_string_equal(flags_of(&t, seq[3]), "async;freed");
	assert_int_equal(rows_of_file(&t, seq[4], NULL), 1);
	assert_int_equal(rows_of_file(&t, seq[5], NULL), 0);
	free_test_table(&t);
	t = session_rows(true);
	assert_string_equal(flags_of(&t, seq[5]), "async;open");
	free_test_table(&t);
	done(105, 0, false, true);
	assert_int_equal(m->users, 1);
	comm_remove(&lib, 1);
}

static void start_all(uint64_t key, bool ok, struct async_start *s, bool want)
{
	struct call c = {.api = &f_recv_init, .t = thread_get()};
	struct async_claims a;

	assert_true(async_open_starts(&a, c.t, 1));
	async_open_start(&c, &a, 0, key, s);
	assert_int_equal(a.claim[0].entry != NULL, want);
	async_close_start(&a, 0, s, key, ok, 3, false);
	async_close_claims(&a);
}

static void test_persistent(void **state)
{
	struct comm *m = make_test_comm(&lib, 1, 0, 2);
	struct call c = begin(&f_recv_init, m);
	struct async_start s;
	uint64_t seq[4];
	struct table t;

	(void)state;
	comm_register(m);
	async_started(&c, 7, true);
	assert_int_equal(pending_get_count(), 1);
	for (int i = 0; i < 3; i++) {
		start_all(7, true, &s, true);
		seq[i] = s.rec->seq;
		start_all(7, true, &(struct async_start){0}, false); /* it is active */
		done(7, 0, false, true);
	}
	start_all(7, false, &s, true); /* the library refused */
	seq[3] = s.rec->seq;
	t = session_rows(false);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rows_of_file(&t, seq[i], "out"), 1);
		assert_int_equal(atoi(t.row[i].field[7]), i); /* each a message of its own */
	}
	assert_string_equal(flags_of(&t, seq[3]), "error:3");
	free_test_table(&t);
	/* Freed while it is idle: the handle is another request's then, of other data. */
	freed(7);
	assert_int_equal(pending_get_count(), 0);
	assert_int_equal(m->users, 1);
	c = begin(&f_bcast_init, m);
	c.op.peer = c.op.tag = JOURNAL_NONE;
	async_started(&c, 7, false);
	start_all(7, true, &s, true);
	seq[0] = s.rec->seq;
	done(7, 0, false, true);
	t = session_rows(false);
	assert_string_equal(t.row[t.n - 1].field[COL_api], "MPI_Bcast_init");
	free_test_table(&t);
	/* Freed while it is under way. */
	start_all(7, true, &s, true);
	freed(7);
	t = session_rows(false);
	assert_string_equal(t.row[t.n - 1].field[COL_flags], "async;freed");
	free_test_table(&t);
	assert_int_equal(m->users, 1);
	comm_remove(&lib, 1);
}

/* Several at once (MPI_Startall): none of them is taken for a call that was left. */
static void test_many_started_at_once(void **state)
{
	struct async_start s[40];
	struct async_claims a;
	struct call c = begin(&f_recv_init, NULL);
	struct table t;

	(void)state;
	for (uint64_t i = 0; i < 40; i++)
		async_started(&c, 200 + i, true);
	assert_true(async_open_starts(&a, c.t, 40));
	for (uint64_t i = 0; i < 40; i++)
		async_open_start(&c, &a, i, 200 + i, &s[i]);
	for (uint64_t i = 0; i < 40; i++)
		async_close_start(&a, i, &s[i], 200 + i, true, 0, false);
	async_close_claims(&a);
	for (uint64_t i = 0; i < 40; i++) {
		done(200 + i, 0, false, true);
		freed(200 + i);
	}
	t = session_rows(false);
	assert_sound(&t);
	assert_int_equal(t.n, 40);
	for (size_t i = 0; i < t.n; i++)
		assert_string_equal(t.row[i].field[COL_flags], "async");
	free_test_table(&t);
}

/*
 * A call that was left by longjmp, as R, Lua and error handlers do: its record is not closed. The next call that the
 * thread makes must not wait after it for ever, and a late close must not touch what lies there then.
 */
static void test_left_by_longjmp(void **state)
{
	struct call a = begin(&f_irecv, NULL), b, outer;
	struct table t;
	uint64_t lost, inner;

	(void)state;
	a.rec = record_open(a.t, a.api, &a.op, 0, 0, 0);
	lost = a.rec->seq;
	/* (here a longjmp) */
	b = begin(&f_irecv, NULL);
	b.rec = record_open(b.t, b.api, &b.op, 0, 0, 0);
	record_close(b.rec, &b.op, clock_ticks(), false, 0);
	t = session_rows(false);
	assert_string_equal(flags_of(&t, lost), "unwound");
	assert_int_equal(t.n, 2);
	free_test_table(&t);
	/* Its memory is another record's by now; closing it does nothing. */
	memset(a.rec, 0x5a, sizeof(*a.rec));
	record_close(a.rec, &a.op, 1, true, 1);
	record_async(a.rec, &a.op, a.end);
	for (size_t i = 0; i < sizeof(*a.rec); i++)
		assert_int_equal(((unsigned char *)a.rec)[i], 0x5a);
	/* From an inner wrapper to the outer one's caller: the outer one is closed, and the inner one with it. */
	outer = begin(&f_irecv, NULL);
	outer.rec = record_open(outer.t, outer.api, &outer.op, 0, 0, 0);
	thread_state.depth = 1;
	a = begin(&f_irecv, NULL);
	a.rec = record_open(a.t, a.api, &a.op, 0, 0, outer.rec->seq);
	inner = a.rec->seq;
	thread_state.depth = 0;
	record_close(outer.rec, &outer.op, clock_ticks(), false, 0);
	t = session_rows(false);
	assert_int_equal(t.n, 4);
	assert_string_equal(flags_of(&t, inner), "unwound");
	free_test_table(&t);
	/* Deeper than the thread keeps in mind. */
	for (int i = 0; i < THREAD_OPEN_MAX + 5; i++) {
		b = begin(&f_irecv, NULL);
		b.rec = record_open(b.t, b.api, &b.op, 0, 0, 0);
		thread_state.depth++;
	}
	assert_int_equal(thread_state.recorder->nmore, 5);
	thread_state.depth = 0;
}

/* The journal is full: calls are dropped and counted, but the ends of those that were recorded find room. */
static void test_full_journal(void **state)
{
	uint64_t first = 0, last, n = 0;
	struct table t;

	(void)state;
	for (; n < 20000; n++) {
		struct call c = begin(&f_irecv, NULL);

		c.rec = record_open(c.t, c.api, &c.op, JOURNAL_NONE64, 0, 0);
		if (!c.rec)
			break;
		last = c.rec->seq;
		first = first ? first : last;
		if (n >= 100) {
			record_close(c.rec, &c.op, clock_ticks(), false, 0);
		} else {
			async_started(&c, 1000 + n, true);
			record_async(c.rec, &c.op, c.end);
		}
	}
	assert_in_range(n, 200, 19999);
	assert_int_equal(thread_state.recorder->chain.slot->count[JC_DROP_FULL], 1);
	for (uint64_t i = 0; i < 100; i++)
		done(1000 + i, 0, false, true);
	assert_int_equal(thread_state.recorder->chain.slot->count[JC_DROP_PENDING], 0);
	assert_true(wakes > 0);
	t = session_rows(false);
	assert_sound(&t);
	assert_int_equal(t.n, n);
	assert_int_equal(rows_of_file(&t, first, "out"), 1);
	free_test_table(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ends, on, off),
		cmocka_unit_test_setup_teardown(test_persistent, on, off),
		cmocka_unit_test_setup_teardown(test_many_started_at_once, on, off),
		cmocka_unit_test_setup_teardown(test_left_by_longjmp, on, off),
		cmocka_unit_test_setup_teardown(test_full_journal, on, off),
	};

	return cmocka_run_group_tests_name("async", tests, NULL, NULL);
}
