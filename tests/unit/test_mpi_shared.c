/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that several calls have at once: complete when they are made, in a library whose encoding is known and in one
 * where it is not; and entries of calls that ended without our seeing it. Memory that the program has back is unmapped.
 */
#include "session_helper.h"

#include <sys/mman.h>

#include "call/record.h"

#define role(c, r) role_of_data(c, r)
#include "wrappers/mpi/data.c"
#undef role
#include "wrappers/mpi/request.c"

struct mpi mpi;

/* ---- the rest of the adapter, and a library ---- */

static bool complete_now; /* what the library says of any request */
static int asked;
static unsigned ask_us; /* so long the library works before it answers */

static int get_status(mpi_handle h, int *flag, void *status)
{
	(void)h;
	(void)status;
	asked++;
	usleep(ask_us);
	*flag = complete_now;
	return 0;
}

bool mpi_is_ready(void)
{
	return true;
}

uint64_t mpi_handle_at(const void *p, uint64_t i)
{
	return ((const uint64_t *)p)[i];
}

struct comm *mpi_find_comm(uint64_t handle)
{
	(void)handle;
	return NULL;
}

int32_t mpi_get_status_int(const void *status, int which)
{
	(void)status;
	(void)which;
	return 0;
}

void mpi_received(struct operation *w, const void *status)
{
	(void)w;
	(void)status;
}

void mpi_set_received_count(struct buffer *v, const void *status)
{
	(void)v;
	(void)status;
}

void mpi_window_handle_data(struct call *c)
{
	(void)c;
}

/* No files here. */
struct comm *mpi_find_window(uint64_t handle)
{
	(void)handle;
	return NULL;
}

bool mpi_is_file(const struct api_spec *s)
{
	(void)s;
	return false;
}

uint64_t mpi_get_split_key(const struct comm *file)
{
	(void)file;
	return 0;
}

void mpi_comm_arrived(const struct comm *parent, const void *at, const char *how)
{
	(void)parent;
	(void)at;
	(void)how;
}

/* ---- calls ---- */

static const struct adapter lib = {.name = "mpi"};
static const struct kind kind_coll = {.name = "bcast", .op = "broadcast", .collective = true},
			 kind_send = {.name = "send", .op = "send"};
static const struct api_spec ibcast = {.symbol = "MPI_Ibcast",
				     .lib = &lib,
				     .kind = &kind_coll,
				     .completion = DONE_REQUEST,
				     .at = {[ROLE_REQUEST] = 1}},
			     isend = {.symbol = "MPI_Isend",
				     .lib = &lib,
				     .kind = &kind_send,
				     .completion = DONE_REQUEST,
				     .at = {[ROLE_REQUEST] = 1}},
			     bcast_init = {.symbol = "MPI_Bcast_init",
				     .lib = &lib,
				     .kind = &kind_coll,
				     .completion = DONE_START,
				     .at = {[ROLE_REQUEST] = 1}},
			     wait_one = {.symbol = "MPI_Wait",
				     .lib = &lib,
				     .task = TASK_WAIT,
				     .sub = SUB_ONE,
				     .at = {[ROLE_REQUEST] = 1}},
			     start_one = {.symbol = "MPI_Start",
				     .lib = &lib,
				     .task = TASK_START,
				     .sub = SUB_ONE,
				     .at = {[ROLE_REQUEST] = 1}},
			     request_free = {.symbol = "MPI_Request_free",
				     .lib = &lib,
				     .task = TASK_REQUEST,
				     .sub = SUB_FREE,
				     .at = {[ROLE_REQUEST] = 1}};
static struct api f_ibcast = {.spec = &ibcast, .word = API_LISTED | API_NUMBERED},
		  f_isend = {.spec = &isend, .word = API_LISTED | API_NUMBERED},
		  f_bcast_init = {.spec = &bcast_init, .word = API_LISTED | API_NUMBERED},
		  f_wait = {.spec = &wait_one}, f_start = {.spec = &start_one},
		  f_free = {.spec = &request_free};

static float *page(float value)
{
	float *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	for (int i = 0; i < 1024; i++)
		p[i] = value;
	return p;
}

/* A call that gives back that request; out NULL: it has an input only. Its seq; 0: it is not recorded. */
static uint64_t make(struct api *f, uint64_t key, const float *out, bool recorded)
{
	static const float input[1024];
	union arg v[1] = {{.p = &key}};
	struct call c = {.api = f,
		.word = f->word,
		.t = thread_get(),
		.v = v,
		.ok = true,
		.op = {.root = JOURNAL_NONE,
			.peer = JOURNAL_NONE,
			.tag = JOURNAL_NONE,
			.nin = !out,
			.nout = out != NULL}};
	struct buffer view = {.base = (void *)(out ? out : input),
		.count = 1024,
		.bytes = 4096,
		.dtype = DT_FLOAT32,
		.io = out ? IO_OUT : IO_IN,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64,
		.ndim = JOURNAL_NDIM_NONE};
	uint64_t seq = 0;

	c.op.in[0] = c.op.out[0] = view;
	if (recorded && f->spec->completion == DONE_REQUEST) {
		c.rec = record_open(c.t, f, &c.op, JOURNAL_NONE64, 0, 0);
		assert_non_null(c.rec);
		seq = c.rec->seq;
		c.start = c.rec->start;
	} else {
		c.start = clock_ticks();
	}
	c.end = clock_ticks();
	mpi_data_handle_leave(&c);
	if (c.rec && c.async)
		record_async(c.rec, &c.op, c.end);
	else if (c.rec)
		record_close(c.rec, &c.op, c.end, false, 0);
	return seq;
}

/* A call about that request, which is `now` when it comes back. */
static void enter_about(struct call *c, struct api *f, uint64_t *handle)
{
	static union arg v[8][1];
	static unsigned n;

	*c = (struct call){.api = f, .word = f->word, .v = v[n++ % 8], .ok = true};
	c->v[0].p = handle;
	mpi_request_handle_enter(c);
	c->start = clock_ticks();
}

static void leave_about(struct call *c, uint64_t now)
{
	*(uint64_t *)c->v[0].p = now;
	c->end = clock_ticks();
	mpi_request_handle_leave(c, 0);
}

static void about(struct api *f, uint64_t key, uint64_t now)
{
	struct call c;

	enter_about(&c, f, &key);
	leave_about(&c, now);
}

static const char *column(const struct table *t, uint64_t seq, const char *io, int col)
{
	for (size_t i = 0; i < t->n; i++)
		if (strtoull(t->row[i].field[COL_seq], NULL, 10) == seq &&
			(!io || strcmp(t->row[i].field[COL_io], io) == 0))
			return t->row[i].field[col];
	return "no row";
}

static int on(void **state)
{
	(void)state;
	session_on(1 << 20);
	mpi = (struct mpi){.handle_size = 8, .f.request_get_status = get_status};
	complete_now = false;
	asked = 0;
	ask_us = 0;
	return 0;
}

static int off(void **state)
{
	(void)state;
	session_over();
	f_ibcast.dict = f_isend.dict = f_bcast_init.dict = 0;
	assert_int_equal(pending_get_count(), 0);
	return 0;
}

/* Waited for in the order in which they were made; each buffer goes when its call is over. */
static void test_known_encoding(void **state)
{
	float *a = page(1), *b = page(2);
	uint64_t seq[3];
	struct table t;

	(void)state;
	mpi.done_mask = 0xfc000000;
	mpi.done = 0x6c000000;
	/* The library is asked once whether the encoding holds (wrappers/layout_facts.h). */
	complete_now = true;
	seq[0] = make(&f_ibcast, 0x6c00000a, a, true);
	seq[1] = make(&f_ibcast, 0x6c00000a, b, true);
	assert_int_equal(pending_get_count(), 0);
	about(&f_wait, 0x6c00000a, 0);
	munmap(a, 4096);
	about(&f_wait, 0x6c00000a, 0);
	munmap(b, 4096);
	a = page(3);
	seq[2] = make(&f_ibcast, 0x8c00000a, a, true); /* one like any other */
	assert_int_equal(pending_get_count(), 1);
	about(&f_wait, 0x8c00000a, 0);
	assert_int_equal(asked, 1);
	t = session_rows(false);
	assert_sound(&t);
	assert_string_equal(column(&t, seq[0], "out", COL_flags), "async");
	assert_string_equal(column(&t, seq[0], "out", COL_max), "1");
	assert_string_equal(column(&t, seq[1], "out", COL_max), "2");
	assert_string_equal(column(&t, seq[2], "out", COL_max), "3");
	assert_string_equal(column(&t, seq[1], "out", COL_wait_ns), "0");
	free_test_table(&t);
	munmap(a, 4096);
}

/* Older MPICHs have one ordinary handle for all sends that are done at once. */
static void test_unknown_sends(void **state)
{
	uint64_t seq[4];
	struct table t;

	(void)state;
	complete_now = true;
	for (int i = 0; i < 4; i++)
		seq[i] = make(&f_isend, 77, NULL, true);
	assert_int_equal(asked, 2); /* of a first one nothing is known */
	assert_int_equal(pending_get_count(), 0);
	for (int i = 0; i < 4; i++)
		about(&f_wait, 77, 0);
	t = session_rows(false);
	assert_sound(&t);
	for (int i = 0; i < 4; i++)
		assert_string_equal(column(&t, seq[i], "in", COL_flags), "async");
	free_test_table(&t);
}

static void test_unknown_collectives(void **state)
{
	float *a = page(1), *b = page(2);
	uint64_t seq[2];
	struct table t;

	(void)state;
	complete_now = true;
	seq[0] = make(&f_ibcast, 77, a, true);
	seq[1] = make(&f_ibcast, 77, b, true);
	assert_int_equal(asked, 2);
	assert_int_equal(pending_get_count(), 0);
	munmap(b, 4096);
	munmap(a, 4096);
	t = session_rows(false);
	assert_string_equal(column(&t, seq[0], "out", COL_max), "1");
	assert_string_equal(column(&t, seq[1], "out", COL_max), "2");
	free_test_table(&t);
}

/*
 * To ask lets the library work, and the collective may end in that: after the call that started it returned, and
 * after other ranks have entered it. What is complete by its handle has ended with the call.
 */
static void test_ended_while_asked(void **state)
{
	float *a = page(1);
	uint64_t seq[2];
	struct table t;

	(void)state;
	complete_now = true;
	ask_us = 3000;
	seq[0] = make(&f_ibcast, 77, a, true);
	mpi.done_mask = 0xfc000000;
	mpi.done = 0x6c000000;
	session_record_layout_fact(LAYOUT_MPI_REQUESTS, true);
	seq[1] = make(&f_ibcast, 0x6c00000a, a, true);
	assert_int_equal(asked, 1);
	munmap(a, 4096);
	t = session_rows(false);
	assert_in_range(
		strtoull(column(&t, seq[0], "out", COL_dur_ns), NULL, 10), 3000000, INT64_MAX);
	assert_string_equal(column(&t, seq[0], "out", COL_wait_ns), "0");
	assert_string_equal(column(&t, seq[1], "out", COL_wait_ns), "0");
	free_test_table(&t);
}

/* The handle comes back while an older call stands under it: its end was not seen, and its memory is not read. */
static void test_unseen(void **state)
{
	uint64_t seq[5];
	struct table t;

	(void)state;
	for (int i = 0; i < 3; i++) {
		float *a = page((float)i);

		complete_now = false;
		seq[i] = make(&f_ibcast, 77, a, true);
		munmap(a, 4096);
		/* Another one that is under way, one that is over already, one that is not recorded. */
		complete_now = i == 1;
		a = page(10);
		seq[3] = make(&f_ibcast, 77, a, i < 2);
		assert_int_equal(pending_get_count(), i == 0);
		about(&f_wait, 77, 0);
		assert_int_equal(pending_get_count(), 0);
		munmap(a, 4096);
	}
	complete_now = false;
	seq[3] = make(&f_isend, 77, NULL, true);
	seq[4] = make(&f_isend, 77, NULL, true);
	about(&f_wait, 77, 0);
	t = session_rows(false);
	assert_sound(&t);
	for (int i = 0; i < 3; i++) {
		assert_string_equal(column(&t, seq[i], "", COL_flags), "async;unseen");
		assert_int_equal(rows_of_file(&t, seq[i], "out"), 0);
	}
	assert_string_equal(column(&t, seq[3], "in", COL_flags), "async;unseen");
	assert_string_equal(column(&t, seq[4], "in", COL_flags), "async");
	free_test_table(&t);
}

static _Atomic int stage;

static void *completer(void *arg)
{
	uint64_t key = 77;
	struct call c;

	(void)arg;
	enter_about(&c, &f_wait, &key);
	stage = 1;
	while (stage < 2)
		usleep(100);
	leave_about(&c, 0);
	return NULL;
}

/* The older call's Wait has come back from the library, and the thread not to us yet: it is not unseen. */
static void test_on_the_way(void **state)
{
	float *a = page(5), *b = page(6);
	uint64_t seq[2];
	struct table t;
	pthread_t th;

	(void)state;
	seq[0] = make(&f_ibcast, 77, a, true);
	assert_int_equal(pthread_create(&th, NULL, completer, NULL), 0);
	while (stage < 1)
		usleep(100);
	seq[1] = make(&f_ibcast, 77, b, true);
	assert_int_equal(pending_get_count(), 2);
	stage = 2;
	pthread_join(th, NULL);
	munmap(a, 4096);
	about(&f_wait, 77, 0);
	munmap(b, 4096);
	t = session_rows(false);
	assert_string_equal(column(&t, seq[0], "out", COL_max), "5");
	assert_string_equal(column(&t, seq[1], "out", COL_max), "6");
	free_test_table(&t);
}

static void test_persistent(void **state)
{
	float *a = page(5), *b = page(6);
	struct table t;
	uint64_t key = 77, at_once = 0x6c00000a;

	(void)state;
	make(&f_bcast_init, key, a, true);
	/* Its start takes another handle, the old one is another request's. */
	about(&f_start, key, 78);
	make(&f_bcast_init, key, b, true);
	assert_int_equal(pending_get_count(), 2);
	about(&f_wait, 78, 78);
	about(&f_free, 78, 0);
	munmap(a, 4096);
	about(&f_start, key, key);
	about(&f_wait, key, key);
	about(&f_free, key, 0);
	munmap(b, 4096);
	assert_int_equal(pending_get_count(), 0);
	/* Freed while we were not looking; the handle is another persistent request's. */
	a = page(7);
	make(&f_bcast_init, key, a, true);
	munmap(a, 4096);
	a = page(8);
	make(&f_bcast_init, key, a, true);
	about(&f_start, key, key);
	about(&f_wait, key, key);
	about(&f_free, key, 0);
	assert_int_equal(pending_get_count(), 0);
	/* One that is complete whenever it is started. */
	mpi.done_mask = 0xfc000000;
	mpi.done = 0x6c000000;
	make(&f_bcast_init, at_once, a, true);
	about(&f_start, at_once, at_once);
	about(&f_wait, at_once, at_once);
	about(&f_start, at_once, at_once);
	about(&f_free, at_once, 0);
	munmap(a, 4096);
	t = session_rows(false);
	assert_sound(&t);
	assert_int_equal(t.n, 5);
	for (size_t i = 0; i < t.n; i++) {
		assert_string_equal(t.row[i].field[COL_flags], "async");
		assert_string_equal(t.row[i].field[COL_max], i == 0 ? "5" : i == 1 ? "6" : "8");
	}
	free_test_table(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_known_encoding, on, off),
		cmocka_unit_test_setup_teardown(test_unknown_sends, on, off),
		cmocka_unit_test_setup_teardown(test_unknown_collectives, on, off),
		cmocka_unit_test_setup_teardown(test_ended_while_asked, on, off),
		cmocka_unit_test_setup_teardown(test_unseen, on, off),
		cmocka_unit_test_setup_teardown(test_on_the_way, on, off),
		cmocka_unit_test_setup_teardown(test_persistent, on, off),
	};

	return cmocka_run_group_tests_name("mpi_shared", tests, NULL, NULL);
}
