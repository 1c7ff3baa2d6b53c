/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on streams: without a device, in groups, and with a device that this test plays. Every thing that is asked of
 * the device is noted down in `events`, and the order is what counts.
 */
#include "session_helper.h"

#include <dlfcn.h>

#include "journal/columns.h"
#include "call/record.h"
#include "call/stream.h"
#include "device/device.h"
#include "session/generation_pair.h"
#include "stream_device.h"

static const struct adapter lib = {
	.name = "nccl", .in_progress = 7, .success = {0, 7}, .nsuccess = 2};
static const struct kind kind_all = {.name = "allreduce", .op = "all_reduce", .collective = true};
static const struct api_spec all_reduce = {.symbol = "ncclAllReduce",
	.lib = &lib,
	.kind = &kind_all,
	.completion = DONE_STREAM,
	.nargs = 1,
	.at = {[ROLE_STREAM] = 1}};
static const struct api_spec group_start = {.symbol = "ncclGroupStart",
				     .lib = &lib,
				     .task = TASK_GROUP_START},
			     group_end = {.symbol = "ncclGroupEnd",
				     .lib = &lib,
				     .task = TASK_GROUP_END},
			     group_cancel = {.symbol = "ncclGroupSimulateEnd",
				     .lib = &lib,
				     .task = TASK_GROUP_END,
				     .sub = SUB_CANCEL};
static struct api f_all = {.spec = &all_reduce, .word = API_LISTED},
		  f_start = {.spec = &group_start}, f_end = {.spec = &group_end},
		  f_cancel = {.spec = &group_cancel};

/* ---- calls ---- */

static struct test_buffer {
	char letter; /* where an address is given to the device, its first byte tells which */
	char pad[3];
	float rest[3];
} input = {.letter = 'i'}, output = {.letter = 'o'};

static __thread union arg stream_arg;

static struct buffer view_of(struct test_buffer *b, uint8_t io)
{
	return (struct buffer){.base = b,
		.count = 4,
		.bytes = 16,
		.dtype = DT_FLOAT32,
		.io = io,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64,
		.ndim = JOURNAL_NDIM_NONE};
}

static struct api *called = &f_all; /* which copy's */

/* One call that returns `ret`, on stream 5. Its seq. */
static uint64_t call(int64_t ret)
{
	struct call c = {.api = called,
		.v = &stream_arg,
		.t = thread_get(),
		.op = {.root = JOURNAL_NONE,
			.peer = JOURNAL_NONE,
			.tag = JOURNAL_NONE,
			.nin = 1,
			.nout = 1}};
	uint64_t seq;

	stream_arg.u = 5;
	c.op.in[0] = view_of(&input, IO_IN);
	c.op.out[0] = view_of(&output, IO_OUT);
	stream_enter(&c);
	c.rec = record_open(c.t, called, &c.op, JOURNAL_NONE64, 0, 0);
	assert_non_null(c.rec);
	seq = c.rec->seq;
	event("call; ");
	c.ok = ret == 0 || ret == 7;
	c.end = clock_ticks();
	stream_leave(&c, ret);
	return seq;
}

static void group(struct api *f, int64_t ret)
{
	struct call c = {.api = f, .t = NULL, .ok = ret == 0 || ret == 7, .end = clock_ticks()};

	event("%s; ", f->spec->symbol + 4);
	stream_group(&c, ret);
}

static int on(void **state)
{
	(void)state;
	session_on(4 << 20);
	events[0] = 0;
	input.rest[0] = 3;
	output.rest[0] = 4;
	capture = false;
	copy_gives = 0;
	poll_gives = 1;
	nsnapshots = 0;
	return 0;
}

static int off(void **state)
{
	(void)state;
	session_over();
	f_all.dict = 0;
	assert_int_equal(held, 0);
	return 0;
}

/* ---- without a device ---- */

static void test_at_return(void **state)
{
	uint64_t good = call(0), bad = call(3), later = call(7);

	(void)state;
	assert_rows(good, "in 3 ; out 4 ");
	assert_rows(bad, "in 3 error:3");
	assert_rows(later, "in 3 inprogress; out  nostats;inprogress");
}

static void test_groups(void **state)
{
	uint64_t a, b, c, d;

	(void)state;
	group(&f_start, 0);
	a = call(0);
	group(&f_start, 0);
	b = call(0);
	group(&f_end, 0);
	output.rest[0] = 9; /* it is only now that it is computed */
	assert_rows(a, "");
	group(&f_end, 0);
	assert_rows(a, "in 3 async; out 9 async");
	assert_rows(b, "in 3 async; out 9 async");
	group(&f_start, 0);
	a = call(0);
	b = call(4);
	group(&f_end, 4);
	assert_rows(a, "in 3 async;error:4");
	assert_rows(b, "in 3 error:4");
	group(&f_start, 0);
	c = call(0);
	group(&f_end, 7);
	assert_rows(c, "in 3 async;inprogress; out  async;nostats;inprogress");
	group(&f_start, 0);
	d = call(0);
	group(&f_cancel, 0);
	assert_rows(d, "in 3 async;cancelled");
	/* A start that fails opens nothing, an end too many ends nothing. */
	group(&f_start, 5);
	group(&f_end, 5);
	group(&f_end, 5);
	assert_rows(call(0), "in 3 ; out 9 ");
}

/* Another copy of the library knows nothing of this one's group. */
static void test_two_copies(void **state)
{
	struct api other_all = {.spec = &all_reduce, .word = API_LISTED, .copy = 2},
		   other_start = {.spec = &group_start, .copy = 2},
		   other_end = {.spec = &group_end, .copy = 2};
	uint64_t a, b;

	(void)state;
	group(&f_start, 0);
	a = call(0);
	called = &other_all;
	b = call(0);
	assert_rows(b, "in 3 ; out 4 ");
	group(&other_start, 0);
	b = call(0);
	called = &f_all;
	group(&f_end, 0);
	assert_rows(a, "in 3 async; out 4 async");
	assert_rows(b, "");
	group(&other_end, 0);
	assert_rows(b, "in 3 async; out 4 async");
}

static void test_large_group(void **state)
{
	uint64_t seq[1000];
	struct table t;

	(void)state;
	group(&f_start, 0);
	for (int i = 0; i < 1000; i++)
		seq[i] = call(0);
	group(&f_end, 0);
	t = session_rows(false);
	for (int i = 0; i < 1000; i += 111)
		assert_string_equal(rows(&t, seq[i]), "in 3 async; out 4 async");
	free_test_table(&t);
}

/* ---- with one; these come last, for a device stays ---- */

static void test_idle(void **state)
{
	(void)state;
	loaded = true;
	/* That something was loaded is what makes the core look again. */
	assert_null(device_present());
	assert_non_null(dlopen("libBrokenLocale.so.1", RTLD_NOW));
	assert_ptr_equal(device_present(), &fake);
	memory_is = DEVICE_IDLE;
	assert_rows(call(0), "in 3 ; out 4 ");
}

static void test_copy(void **state)
{
	uint64_t seq;

	(void)state;
	memory_is = DEVICE_MEMORY;
	generation_first.cfg.device = CONFIG_DEVICE_COPY;
	poll_gives = 0;
	seq = call(0);
	assert_string_equal(events, "capture? 5; copy i on 5; call; copy o on 5; ");
	stream_poll();
	assert_rows(seq, "");
	poll_gives = 1;
	stream_poll();
	assert_rows(seq, "in 103 async; out 203 async");
	assert_string_equal(events, "capture? 5; copy i on 5; call; copy o on 5; drop 1; drop 2; ");
}

static void test_copy_in_group(void **state)
{
	uint64_t a, b;

	(void)state;
	generation_first.cfg.device = CONFIG_DEVICE_COPY;
	group(&f_start, 0);
	a = call(0);
	b = call(0);
	assert_string_equal(events,
		"GroupStart; capture? 5; copy i on 5; call; capture? 5; copy i on 5; call; ");
	group(&f_end, 0);
	assert_string_equal(strstr(events, "GroupEnd"), "GroupEnd; copy o on 5; copy o on 5; ");
	stream_poll();
	assert_rows(a, "in 103 async; out 303 async");
	assert_rows(b, "in 203 async; out 403 async");
	events[0] = 0;
	group(&f_start, 0);
	a = call(0);
	group(&f_end, 2);
	assert_string_equal(
		events, "GroupStart; capture? 5; copy i on 5; call; GroupEnd; drop 5; ");
	assert_rows(a, "in  async;nostats;error:2");
}

static void test_capture(void **state)
{
	uint64_t seq;

	(void)state;
	generation_first.cfg.device = CONFIG_DEVICE_COPY;
	capture = true;
	seq = call(0);
	assert_string_equal(events, "capture? 5; call; ");
	assert_rows(seq, "in  captured;nostats; out  captured;nostats");
	group(&f_start, 0);
	seq = call(0);
	group(&f_end, 0);
	assert_null(strstr(events, "copy"));
	assert_rows(seq, "in  async;captured;nostats; out  async;captured;nostats");
}

static void test_off(void **state)
{
	(void)state;
	generation_first.cfg.device = CONFIG_DEVICE_OFF;
	memory_is = DEVICE_MEMORY;
	assert_rows(call(0), "in  nostats; out  nostats");
	/* Host memory: what goes in is there; when the output is, only the stream knows. */
	memory_is = DEVICE_PINNED;
	assert_rows(call(0), "in 3 ; out  nostats");
	memory_is = DEVICE_HOST;
	assert_rows(call(0), "in 3 ; out  nostats");
	generation_first.cfg.device = CONFIG_DEVICE_COPY;
	assert_rows(call(0), "in 3 ; out  nostats");
	assert_null(strstr(events, "copy"));
}

static void test_refused(void **state)
{
	uint64_t seq;

	(void)state;
	generation_first.cfg.device = CONFIG_DEVICE_COPY;
	memory_is = DEVICE_MEMORY;
	copy_gives = -ENOBUFS;
	assert_rows(call(0), "in  nostats; out  nostats");
	/* Both found no room, and are counted; what the runtime refuses is not. */
	assert_int_equal(thread_get()->chain.slot->count[JC_DROP_DEVICE], 2);
	copy_gives = -EIO;
	assert_rows(call(0), "in  nostats; out  nostats");
	assert_int_equal(thread_get()->chain.slot->count[JC_DROP_DEVICE], 2);
	copy_gives = 0;
	poll_gives = -EIO;
	seq = call(0);
	stream_poll();
	assert_rows(seq, "in  async;nostats; out  async;nostats");
	assert_rows(call(6), "in  nostats;error:6");
	/* More on their way than can be remembered. */
	poll_gives = 0;
	nsnapshots = 0;
	for (int i = 0; i < 1100; i++)
		call(0);
	poll_gives = 1;
	stream_poll();
	assert_int_equal(held, 0);
}

/* Other libraries may be given the device's memory as well (CUDA-aware MPI). */
static void test_not_on_a_stream(void **state)
{
	static const struct api_spec send = {
		.symbol = "MPI_Send", .lib = &lib, .kind = &kind_all, .completion = DONE_RETURN};
	static struct api f_send = {.spec = &send, .word = API_LISTED};
	uint64_t seq[3];

	(void)state;
	generation_first.cfg.device = CONFIG_DEVICE_COPY;
	for (int i = 0; i < 3; i++) {
		struct thread *t = thread_get();
		struct operation w = {.root = JOURNAL_NONE,
			.peer = JOURNAL_NONE,
			.tag = JOURNAL_NONE,
			.nin = 1,
			.in[0] = view_of(&input, IO_IN)};
		struct journal_call *r;

		memory_is = i == 0 ? DEVICE_MEMORY : i == 1 ? DEVICE_HOST : DEVICE_IDLE;
		r = record_open(t, &f_send, &w, JOURNAL_NONE64, 0, 0);
		seq[i] = r->seq;
		record_close(r, &w, clock_ticks(), false, 0);
	}
	assert_string_equal(events, "");
	assert_rows(seq[0], "in  nostats");
	assert_rows(seq[1], "in 3 ");
	assert_rows(seq[2], "in 3 ");
	f_send.dict = 0;
}

#define THREADS 4
#define CALLS 200

static void *many_calls(void *arg)
{
	for (int i = 0; i < CALLS / 2; i++) {
		call(0);
		group(&f_start, 0);
		call(0);
		group(&f_end, 0);
		stream_poll();
	}
	return arg;
}

static void test_threads(void **state)
{
	pthread_t thread[THREADS];
	struct table t;
	unsigned out = 0;

	(void)state;
	generation_first.cfg.device = CONFIG_DEVICE_COPY;
	memory_is = DEVICE_MEMORY;
	quiet = true;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, many_calls, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	stream_poll();
	quiet = false;
	assert_int_equal(held, 0);
	t = session_rows(false);
	assert_sound(&t);
	for (size_t i = 0; i < t.n; i++)
		out += strcmp(t.row[i].field[COL_io], "out") == 0 && *t.row[i].field[20];
	assert_int_equal(out, THREADS * CALLS);
	free_test_table(&t);
}

static void test_forked(void **state)
{
	(void)state;
	generation_first.cfg.device = CONFIG_DEVICE_COPY;
	poll_gives = 0;
	call(0);
	stream_reset();
	poll_gives = 1;
	events[0] = 0;
	stream_poll();
	assert_string_equal(events, "");
	held = 0; /* the parent's */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_at_return, on, off),
		cmocka_unit_test_setup_teardown(test_groups, on, off),
		cmocka_unit_test_setup_teardown(test_two_copies, on, off),
		cmocka_unit_test_setup_teardown(test_large_group, on, off),
		cmocka_unit_test_setup_teardown(test_idle, on, off),
		cmocka_unit_test_setup_teardown(test_copy, on, off),
		cmocka_unit_test_setup_teardown(test_copy_in_group, on, off),
		cmocka_unit_test_setup_teardown(test_capture, on, off),
		cmocka_unit_test_setup_teardown(test_off, on, off),
		cmocka_unit_test_setup_teardown(test_refused, on, off),
		cmocka_unit_test_setup_teardown(test_not_on_a_stream, on, off),
		cmocka_unit_test_setup_teardown(test_threads, on, off),
		cmocka_unit_test_setup_teardown(test_forked, on, off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
