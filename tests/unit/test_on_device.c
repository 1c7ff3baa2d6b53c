/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose buffers lie on a device though no stream completes them: operators, and calls that others inside of them carry. On a
 * device that this test plays; every thing that is asked of it is noted down in `events`, and the order is what counts.
 */
#include "session_helper.h"

#include <dlfcn.h>

#include "call/keep.h"
#include "call/record.h"
#include "call/stream.h"
#include "device/device.h"
#include "session/generation_pair.h"
#include "stream_device.h"

#define CURRENT 9 /* the stream that the thread computes on */

static uint64_t current_stream(const struct call *c)
{
	(void)c;
	return CURRENT;
}

static const struct adapter operators = {.name = "aten", .stream = current_stream},
			    groups = {.name = "c10d", .stream = current_stream, .carried = true},
			    below = {.name = "nccl"};
static const struct kind kind_any = {.name = "any", .op = "any"};
static const struct api_spec an_operator = {.symbol = "mm",
				     .lib = &operators,
				     .kind = &kind_any,
				     .completion = DONE_REQUEST},
			     group_call = {.symbol = "allreduce",
				     .lib = &groups,
				     .kind = &kind_any,
				     .completion = DONE_REQUEST},
			     nccl_call = {.symbol = "ncclAllReduce",
				     .lib = &below,
				     .kind = &kind_any,
				     .completion = DONE_STREAM,
				     .nargs = 2,
				     .at = {[ROLE_RECV] = 1, [ROLE_STREAM] = 2}},
			     nccl_start = {.symbol = "ncclGroupStart",
				     .lib = &below,
				     .task = TASK_GROUP_START},
			     nccl_end = {.symbol = "ncclGroupEnd",
				     .lib = &below,
				     .task = TASK_GROUP_END};
static struct api f_operator = {.spec = &an_operator, .word = API_LISTED},
		  f_group = {.spec = &group_call, .word = API_LISTED},
		  f_nccl = {.spec = &nccl_call, .copy = 1},
		  f_start = {.spec = &nccl_start, .copy = 1},
		  f_end = {.spec = &nccl_end, .copy = 1};

/* ---- tensors ---- */

/* The first byte at an address that is passed to the device identifies it. The rest are floats. */
static struct {
	union {
		char letter;
		float at[4];
	} a, b, host, out, out2;
} tensors;
static float large[KEPT_VALUES_MAX / sizeof(float) + 4];

static int64_t one[1], step[] = {1}, two[1], apart[] = {3}; /* sizes and strides */

static struct buffer tensor(void *base, uint8_t io, uint16_t index, bool device)
{
	one[0] = 4;
	two[0] = 2;
	return (struct buffer){.base = base,
		.count = 4,
		.bytes = 16,
		.dtype = DT_FLOAT32,
		.layout = BUFFER_STRIDED,
		.io = io,
		.index = index,
		.device = device,
		.n = 1,
		.ndim = 1,
		.counts = one,
		.displs = step,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64};
}

static struct buffer in[4], out[4];

static void begin(struct call *c, struct api *f, unsigned nin, unsigned nout)
{
	*c = (struct call){.api = f,
		.generation = &generation_first.running,
		.t = thread_get(),
		.frame = (uintptr_t)c,
		.ok = true,
		.op = {.root = JOURNAL_NONE,
			.peer = JOURNAL_NONE,
			.tag = JOURNAL_NONE,
			.nin = (uint16_t)nin,
			.nout = (uint16_t)nout,
			.all_in = in,
			.all_out = out,
			.output_limit = nout * (uint32_t)(sizeof(struct journal_tensor) + 8),
			.on_device = true}};
	stream_enter(c);
	c->rec = record_open(c->t, f, &c->op, JOURNAL_NONE64, 0, 0);
	assert_non_null(c->rec);
	event("call; ");
}

static uint64_t end(struct call *c)
{
	uint64_t seq = c->rec->seq;

	c->end = clock_ticks();
	stream_leave(c, 0);
	/* The caller that described the tensors may change its description. */
	memset(in, 0xee, sizeof(in));
	memset(out, 0xee, sizeof(out));
	one[0] = two[0] = 1;
	return seq;
}

static void fill(float *at, char letter, float largest)
{
	for (int i = 0; i < 4; i++)
		at[i] = 0;
	at[3] = largest;
	*(char *)at = letter;
}

static int on(void **state)
{
	(void)state;
	session_on(4 << 20);
	loaded = true;
	memory_is = DEVICE_MEMORY;
	host_is = DEVICE_HOST;
	assert_non_null(dlopen("libBrokenLocale.so.1", RTLD_NOW));
	assert_ptr_equal(device_present(), &fake);
	host_from = (const char *)&tensors.host;
	host_to = (const char *)(&tensors.host + 1);
	generation_first.cfg.device = CONFIG_DEVICE_COPY;
	generation_first.cfg.nested = false;
	fill(tensors.a.at, 'a', 1);
	fill(tensors.b.at, 'b', 2);
	fill(tensors.host.at, 'h', 3);
	fill(tensors.out.at, 'o', 4);
	fill(tensors.out2.at, 'p', 5);
	real = numbered = true;
	capture = false;
	copy_gives = 0;
	poll_gives = 0;
	nsnapshots = 0;
	events[0] = 0;
	return 0;
}

static int off(void **state)
{
	(void)state;
	poll_gives = 1;
	stream_poll();
	session_over();
	f_operator.dict = f_group.dict = 0;
	assert_int_equal(held, 0);
	return 0;
}

/* ---- operators ---- */

static void test_operator(void **state)
{
	struct call c;
	uint64_t seq;

	(void)state;
	in[0] = tensor(&tensors.a, IO_IN, 0, true);
	in[1] = tensor(&tensors.host, IO_IN, 1, false);
	in[2] = tensor(&tensors.b, IO_IN, 2, true);
	out[0] = tensor(&tensors.out, IO_OUT, 0, true);
	begin(&c, &f_operator, 3, 1);
	/* Its inputs and outputs change as soon as the stream continues. */
	fill(tensors.a.at, 'a', 99);
	seq = end(&c);
	fill(tensors.out.at, 'o', 99);
	fill(tensors.host.at, 'h', 99);
	assert_string_equal(
		events, "capture? 9; copy a on 9; copy b on 9; call; capture? 9; copy o on 9; ");
	assert_rows(seq, "");
	poll_gives = 1;
	stream_poll();
	assert_rows(seq, "in 0 1 async; in 1 3 async; in 2 2 async; out 0 4 async");
}

/* Elements that lie apart keep their distances; where most of what lies between is something else nothing is copied. */
static void test_strides(void **state)
{
	struct call c;
	uint64_t seq;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		in[i] = tensor(&tensors.a, IO_IN, (uint16_t)i, true);
		in[i].count = 2;
		in[i].bytes = 8;
		in[i].counts = two;
		in[i].displs = apart;
	}
	/* From the last element backwards. */
	in[1].base = &tensors.b.at[3];
	in[1].displs = (int64_t[]){-3};
	in[2] = tensor(&tensors.a, IO_IN, 2, true);
	in[2].count = 2;
	in[2].bytes = 8;
	in[2].counts = two;
	in[2].displs = (int64_t[]){9};
	tensors.a.at[1] = tensors.a.at[2] = tensors.b.at[1] = tensors.b.at[2] = 77;
	begin(&c, &f_operator, 3, 0);
	seq = end(&c);
	poll_gives = 1;
	stream_poll();
	assert_rows(seq, "in 0 1 async; in 1 2 async; in 2  async;nostats");
}

/* A v-form: what lies between its segments is copied, and not measured. */
static void test_segments(void **state)
{
	static int32_t counts[2] = {1, 1}, displs[2] = {0, 3};
	struct call c;
	uint64_t seq;

	(void)state;
	in[0] = tensor(&tensors.a, IO_IN, 0, true);
	in[0].layout = BUFFER_SEGMENTS;
	in[0].count = 2;
	in[0].bytes = 8;
	in[0].counts = counts;
	in[0].displs = displs;
	in[0].width = 4;
	in[0].n = 2;
	in[0].unit = 4;
	in[0].ndim = JOURNAL_NDIM_NONE;
	tensors.a.at[1] = tensors.a.at[2] = 77;
	begin(&c, &f_operator, 1, 0);
	tensors.a.at[3] = 99;
	seq = end(&c);
	poll_gives = 1;
	stream_poll();
	assert_rows(seq, "in 0 1 async");
}

/* Values that have arrived on the host are there at the return, and may be gone when the others arrive. */
static void test_host_result(void **state)
{
	struct call c;
	uint64_t seq;

	(void)state;
	in[0] = tensor(&tensors.a, IO_IN, 0, true);
	out[0] = tensor(&tensors.host, IO_OUT, 0, false);
	out[1] = tensor(large, IO_OUT, 1, false);
	out[1].count = sizeof(large) / sizeof(*large);
	out[1].bytes = sizeof(large);
	out[1].counts = (int64_t[]){sizeof(large) / sizeof(*large)};
	begin(&c, &f_operator, 1, 2);
	host_from = (const char *)large < host_from ? (const char *)large : host_from;
	host_to = (const char *)large > host_to ? (const char *)large + sizeof(large) : host_to;
	memory_is = DEVICE_HOST;
	seq = end(&c);
	fill(tensors.host.at, 'h', 99);
	poll_gives = 1;
	stream_poll();
	assert_rows(seq, "in 0 1 async; out 0 3 async; out 1  async;nostats");
	/* Memory that a stream can write is written by it. */
	memory_is = DEVICE_MEMORY;
	host_is = DEVICE_PINNED;
	events[0] = 0;
	in[0] = tensor(&tensors.a, IO_IN, 0, true);
	out[0] = tensor(&tensors.host, IO_OUT, 0, false);
	begin(&c, &f_operator, 1, 1);
	seq = end(&c);
	assert_non_null(strstr(events, "call; capture? 9; copy h on 9; "));
	stream_poll();
	assert_rows(seq, "in 0 1 async; out 0 99 async");
}

/* Like x.to("cuda"): until the function has returned the call has nothing on a device, so nothing marks its beginning there. */
static void test_only_the_result_is_on_a_device(void **state)
{
	struct call c = {.api = &f_operator,
		.generation = &generation_first.running,
		.t = thread_get(),
		.ok = true,
		.op = {.root = JOURNAL_NONE,
			.peer = JOURNAL_NONE,
			.tag = JOURNAL_NONE,
			.nout = 1,
			.all_in = in,
			.all_out = out,
			.output_limit = sizeof(struct journal_tensor) + 8,
			/* What lay there: a call that is on no stream does not set them. */
			.before = 0x2345678,
			.after = 0x2345679}};
	uint64_t seq;

	(void)state;
	c.frame = (uintptr_t)&c;
	c.rec = record_open(c.t, &f_operator, &c.op, JOURNAL_NONE64, 0, 0);
	assert_non_null(c.rec);
	out[0] = tensor(&tensors.out, IO_OUT, 0, true);
	stream_set_on_device(&c.op);
	assert_true(c.op.on_device);
	seq = end(&c);
	poll_gives = 1;
	stream_poll();
	assert_string_equal(events, "capture? 9; copy o on 9; drop 1; ");
	assert_rows(seq, "out 0 4 async");
}

static void test_capture(void **state)
{
	struct call c;
	uint64_t seq;

	(void)state;
	/* A result may be the first that lies on the device. */
	capture = true;
	out[0] = tensor(&tensors.out, IO_OUT, 0, true);
	begin(&c, &f_operator, 0, 1);
	seq = end(&c);
	assert_null(strstr(events, "copy"));
	assert_rows(seq, "out 0  captured;nostats");
}

static void test_no_room(void **state)
{
	struct call c;
	uint64_t seq;

	(void)state;
	copy_gives = -ENOBUFS;
	in[0] = tensor(&tensors.a, IO_IN, 0, true);
	out[0] = tensor(&tensors.out, IO_OUT, 0, true);
	begin(&c, &f_operator, 1, 1);
	seq = end(&c);
	assert_rows(seq, "in 0  nostats; out 0  nostats");
}

/* ---- calls that others carry ---- */

/* A call of the library below, from inside: on stream 7, to that address. */
__attribute__((noinline)) static void call_below(struct api *f, void *to, bool ok)
{
	union arg v[2] = {{.p = to}, {.u = 7}};
	struct call c = {.api = f, .v = v, .ok = ok, .frame = (uintptr_t)&c};

	if (f == &f_nccl)
		event("nccl; ");
	stream_carried(&c);
}

static void begin_carried(struct call *c)
{
	in[0] = tensor(&tensors.a, IO_IN, 0, true);
	out[0] = tensor(&tensors.out, IO_OUT, 0, true);
	out[1] = tensor(&tensors.out2, IO_OUT, 1, true);
	begin(c, &f_group, 1, 2);
	events[0] = 0;
}

static void test_carried(void **state)
{
	struct call c;
	uint64_t seq;

	(void)state;
	begin_carried(&c);
	assert_true(thread_state.carrying);
	call_below(&f_nccl, &tensors.out, true);
	/* Another buffer, the middle of one, a call that failed: not yet, or not at all. */
	call_below(&f_nccl, &tensors.b, true);
	call_below(&f_nccl, &tensors.out2.at[2], true);
	call_below(&f_nccl, &tensors.out2, false);
	seq = end(&c);
	assert_false(thread_state.carrying);
	call_below(&f_nccl, &tensors.out2, true);
	assert_string_equal(events,
		"nccl; capture? 7; copy o on 7; nccl; capture? 7; nccl; capture? 7; nccl; "
		"capture? 9; nccl; ");
	poll_gives = 1;
	stream_poll();
	assert_rows(seq, "in 0 1 async; out 0 4 async; out 1  async;nostats");
}

static void test_carried_in_group(void **state)
{
	struct call c;
	uint64_t seq;

	(void)state;
	begin_carried(&c);
	call_below(&f_start, NULL, true);
	call_below(&f_start, NULL, true);
	call_below(&f_nccl, &tensors.out, true);
	call_below(&f_nccl, &tensors.out.at[2], true);
	call_below(&f_end, NULL, true);
	assert_null(strstr(events, "copy"));
	call_below(&f_end, NULL, true);
	call_below(&f_nccl, &tensors.out2, true);
	seq = end(&c);
	assert_string_equal(events,
		"nccl; capture? 7; nccl; capture? 7; copy o on 7; nccl; capture? 7; copy p "
		"on 7; capture? 9; ");
	poll_gives = 1;
	stream_poll();
	assert_rows(seq, "in 0 1 async; out 0 4 async; out 1 5 async");
}

/* A group that was open before holds everything back for an unknown time. */
static void test_carried_in_open_group(void **state)
{
	struct call g = {.api = &f_start, .ok = true}, c;
	uint64_t seq;

	(void)state;
	stream_group(&g, 0);
	begin_carried(&c);
	call_below(&f_nccl, &tensors.out, true);
	seq = end(&c);
	g.api = &f_end;
	g.end = clock_ticks();
	stream_group(&g, 0);
	assert_null(strstr(events, "copy"));
	poll_gives = 1;
	stream_poll();
	assert_rows(seq, "in 0 1 async; out 0  async;nostats; out 1  async;nostats");
}

/* If nested calls are recorded, they have the statistics; the data on the caller's stream may not be there yet. */
static void test_nested(void **state)
{
	struct call c;
	uint64_t seq;

	(void)state;
	generation_first.cfg.nested = true;
	begin_carried(&c);
	assert_false(thread_state.carrying);
	seq = end(&c);
	assert_string_equal(events, "capture? 9; ");
	poll_gives = 1;
	stream_poll();
	assert_rows(seq, "in 0 1 async; out 0  async;nostats; out 1  async;nostats");
}

/* The call was left by an exception: what comes later is not its own. */
static void test_unwound(void **state)
{
	struct call c;

	(void)state;
	begin_carried(&c);
	stream_remove_operation(&c.op);
	c.op.nout = 0;
	record_close(c.rec, &c.op, clock_ticks(), false, 0);
	assert_false(thread_state.carrying);
	assert_int_equal(held, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_operator, on, off),
		cmocka_unit_test_setup_teardown(test_strides, on, off),
		cmocka_unit_test_setup_teardown(test_segments, on, off),
		cmocka_unit_test_setup_teardown(test_host_result, on, off),
		cmocka_unit_test_setup_teardown(test_only_the_result_is_on_a_device, on, off),
		cmocka_unit_test_setup_teardown(test_capture, on, off),
		cmocka_unit_test_setup_teardown(test_no_room, on, off),
		cmocka_unit_test_setup_teardown(test_carried, on, off),
		cmocka_unit_test_setup_teardown(test_carried_in_group, on, off),
		cmocka_unit_test_setup_teardown(test_carried_in_open_group, on, off),
		cmocka_unit_test_setup_teardown(test_nested, on, off),
		cmocka_unit_test_setup_teardown(test_unwound, on, off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
