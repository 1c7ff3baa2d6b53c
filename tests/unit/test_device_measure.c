/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values on a device, on one that this test plays: streams are threads that run the kernel's form in C in order. What is under
 * way is bounded, what is not there any more is never read, and threads may measure at the same time.
 */
#include "tmp_helper.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "device/device.h"
#include "device/measure.h"
#include "../doubles/cuda/stats_host.h"

/* ---- the device ---- */

struct work {
	struct work *next;
	struct stats_launch launch;
	uint32_t blocks;
	uint64_t clear;
	size_t bytes;
};

#define STREAMS 10
static struct stream {
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct work *first, **end;
	bool held;
	pthread_t thread;
} streams[STREAMS];
static _Atomic bool refuses, uncovered, no_load;
static _Atomic uint64_t context_id;
static _Atomic unsigned loads, jobs; /* jobs: tensors in all launches */

static void *stream_main(void *arg)
{
	struct stream *s = arg;

	for (;;) {
		struct work *w;

		pthread_mutex_lock(&s->lock);
		while (!s->first || s->held)
			pthread_cond_wait(&s->change, &s->lock);
		w = s->first;
		s->first = w->next;
		if (!s->first)
			s->end = &s->first;
		pthread_mutex_unlock(&s->lock);
		if (w->clear)
			memset((void *)(uintptr_t)w->clear, 0, w->bytes);
		stats_run_on_host(&w->launch, w->blocks);
		free(w);
	}
	return NULL;
}

static void give(struct stream *s, struct work *w)
{
	pthread_mutex_lock(&s->lock);
	w->next = NULL;
	*s->end = w;
	s->end = &w->next;
	pthread_cond_signal(&s->change);
	pthread_mutex_unlock(&s->lock);
}

static void hold(struct stream *s, bool held)
{
	pthread_mutex_lock(&s->lock);
	s->held = held;
	pthread_cond_signal(&s->change);
	pthread_mutex_unlock(&s->lock);
}

static bool enter(struct device_guard *g, uint64_t stream, const void *memory)
{
	(void)stream;
	(void)memory;
	*g = (struct device_guard){.context = &streams, .id = context_id};
	return true;
}

static bool enter_current(struct device_guard *g)
{
	return enter(g, 0, NULL);
}

/* One device, whose context is the thread's. */
static int enter_device(struct device_guard *g, unsigned n)
{
	enter(g, 0, NULL);
	return n ? -1 : 1;
}

static void leave(struct device_guard *g)
{
	(void)g;
}

static bool covers(const struct device_guard *g, uint64_t lo, uint64_t hi)
{
	(void)g;
	return !uncovered && lo < hi;
}

static bool load(void **function, uint64_t *ns)
{
	*function = streams;
	*ns = 1000;
	loads++;
	return !no_load;
}

static bool share(void *host, size_t bytes, uint64_t *device)
{
	(void)bytes;
	*device = (uint64_t)(uintptr_t)host;
	return true;
}

static bool allocate(uint64_t *device, size_t bytes)
{
	*device = (uint64_t)(uintptr_t)malloc(bytes);
	return true;
}

static bool launch(
	void *function, uint32_t blocks, const void *arguments, size_t size, uint64_t stream)
{
	struct work *w;

	assert_ptr_equal(function, streams);
	assert_int_equal(size, sizeof(w->launch));
	if (refuses)
		return false;
	w = calloc(1, sizeof(*w));
	memcpy(&w->launch, arguments, size);
	jobs += w->launch.jobs;
	w->blocks = blocks;
	give(&streams[stream], w);
	return true;
}

static bool warm(void *function, uint64_t clear, size_t bytes, const void *arguments, size_t size)
{
	struct work *w = calloc(1, sizeof(*w));

	assert_ptr_equal(function, streams);
	memcpy(&w->launch, arguments, size);
	w->blocks = 1;
	w->clear = clear;
	w->bytes = bytes;
	give(&streams[0], w);
	return true;
}

static const struct device_driver driver = {
	enter, enter_current, enter_device, leave, covers, load, share, allocate, warm, launch};

static enum device_memory memory_is_started(const void *p)
{
	(void)p;
	return DEVICE_HOST;
}

static const struct device_backend backend = {
	.name = "played", .memory = memory_is_started, .driver = &driver};

/* ---- what measures ---- */

static float numbers[4096];

static struct device_tensor tensor(const float *at, uint64_t n)
{
	return (struct device_tensor){.address = (uintptr_t)at,
		.lo = (uintptr_t)at,
		.hi = (uintptr_t)(at + n),
		.count = n,
		.dtype = DT_FLOAT32,
		.eps = 1e-8};
}

/* Measures n numbers on that stream; the shot, or 0. */
static uint32_t measure(uint64_t stream, const float *at, uint64_t n, bool *dropped)
{
	struct device_tensor t = tensor(at, n);
	struct device_batch b;
	uint32_t snapshot;

	if (!device_batch_open(&b, &backend, stream, at, dropped))
		return 0;
	snapshot = device_batch_add(&b, &t, dropped);
	device_batch_close(&b);
	return snapshot;
}

static int arrival(uint32_t snapshot, struct stats *s)
{
	uint32_t crc;
	int state;

	for (int i = 0; i < 20000; i++) {
		state = device_measured(snapshot, s, &crc);
		if (state)
			return state;
		usleep(500);
	}
	return 0;
}

/* Until the played device has run the kernel once. */
static void get_ready(void)
{
	bool dropped = true;
	uint32_t snapshot = 0;

	device_prepare(&backend);
	for (int i = 0; i < 20000 && !snapshot; i++) {
		snapshot = measure(0, numbers, 4, &dropped);
		if (!snapshot)
			usleep(500);
	}
	assert_int_not_equal(snapshot, 0);
	device_measured_drop(snapshot);
}

static int start(void **state)
{
	(void)state;
	for (unsigned i = 0; i < STREAMS; i++) {
		pthread_mutex_init(&streams[i].lock, NULL);
		pthread_cond_init(&streams[i].change, NULL);
		streams[i].end = &streams[i].first;
		assert_int_equal(
			pthread_create(&streams[i].thread, NULL, stream_main, &streams[i]), 0);
	}
	for (unsigned i = 0; i < 4096; i++)
		numbers[i] = (float)i;
	log_level_set(0);
	get_ready();
	return 0;
}

static void test_a_list_has_its_values(void **state)
{
	struct device_batch b;
	uint32_t snapshot[70], crc, mark;
	uint64_t begin, end;
	bool dropped;

	(void)state;
	assert_true(device_batch_open(&b, &backend, 1, numbers, &dropped));
	for (unsigned i = 0; i < 70; i++) {
		struct device_tensor t = tensor(numbers + i, 50 * (i + 1) % 4000 + 1);

		snapshot[i] = device_batch_add(&b, &t, &dropped);
		assert_int_not_equal(snapshot[i], 0);
		assert_false(dropped);
	}
	mark = device_batch_add_mark(&b, true);
	device_batch_close(&b);
	for (unsigned i = 0; i < 70; i++) {
		struct stats s;

		assert_int_equal(arrival(snapshot[i], &s), 1);
		assert_true(s.min.f == (double)i);
		assert_int_equal(s.n, 50 * (i + 1) % 4000 + 1);
		assert_int_equal(device_measured(snapshot[i], &s, &crc), 1);
	}
	assert_true(device_get_times(mark, &begin, &end));
	assert_true(begin && end >= begin);
	device_measured_drop(mark);
	for (unsigned i = 0; i < 70; i++)
		device_measured_drop(snapshot[i]);
}

#define AGAIN 3000

/* Of one tensor that is given several times at one point, and others that begin at the same address. */
static void test_the_same_tensor_is_read_once(void **state)
{
	struct device_tensor t[5] = {tensor(numbers + 7, 100), tensor(numbers + 7, 100),
		tensor(numbers + 7, 101), tensor(numbers + 7, 100), tensor(numbers + 7, 100)};
	static uint32_t snapshot[AGAIN];
	unsigned before = jobs;
	struct device_batch b;
	bool dropped;

	(void)state;
	t[3].dtype = DT_INT32;
	t[4].eps = 50;
	assert_true(device_batch_open(&b, &backend, 1, numbers, &dropped));
	for (unsigned i = 0; i < 5; i++)
		snapshot[i] = device_batch_add(&b, &t[i], &dropped);
	device_batch_close(&b);
	assert_int_equal(jobs - before, 4);
	for (unsigned i = 0; i < 5; i++) {
		struct stats s;

		assert_int_equal(arrival(snapshot[i], &s), 1);
		if (i != 3)
			assert_true(s.min.f == 7 && s.max.f == 106 + (i == 2));
		else
			assert_true(s.max.i == 0x42d40000);
		assert_int_equal(s.zeros, i == 4 ? 43 : 0);
		device_measured_drop(snapshot[i]);
	}
	/* More than the results of one launch: each number is valid, and its launch is free again when all are dropped. */
	for (unsigned k = 0; k < 40; k++) {
		assert_true(device_batch_open(&b, &backend, 1, numbers, &dropped));
		for (unsigned i = 0; i < AGAIN; i++)
			snapshot[i] = device_batch_add(&b, &t[0], &dropped);
		device_batch_close(&b);
		for (unsigned i = 0; i < AGAIN; i++) {
			struct stats s;

			assert_int_equal(arrival(snapshot[i], &s), 1);
			assert_true(s.max.f == 106);
			device_measured_drop(snapshot[i]);
		}
	}
}

static void test_a_stream_that_does_not_get_on_takes_no_more_than_its_share(void **state)
{
	uint32_t snapshot[MEASURE_STREAM_MAX];
	struct stats s;
	bool dropped;

	(void)state;
	hold(&streams[2], true);
	for (unsigned i = 0; i < MEASURE_STREAM_MAX; i++) {
		snapshot[i] = measure(2, numbers + i, 10, &dropped);
		assert_int_not_equal(snapshot[i], 0);
		assert_int_equal(device_measured(snapshot[i], NULL, NULL), 0);
	}
	assert_int_equal(measure(2, numbers, 10, &dropped), 0);
	assert_true(dropped);
	/* Another stream is not concerned. */
	snapshot[0] = snapshot[0];
	{
		uint32_t other = measure(3, numbers + 7, 10, &dropped);

		assert_int_equal(arrival(other, &s), 1);
		assert_true(s.min.f == 7);
		device_measured_drop(other);
	}
	/* Abandoned while in flight: their memory is not reused before the stream has completed them. */
	for (unsigned i = 0; i < MEASURE_STREAM_MAX; i += 2)
		device_measured_drop(snapshot[i]);
	assert_int_equal(measure(2, numbers, 10, &dropped), 0);
	hold(&streams[2], false);
	for (unsigned i = 1; i < MEASURE_STREAM_MAX; i += 2) {
		assert_int_equal(arrival(snapshot[i], &s), 1);
		assert_true(s.min.f == (double)i);
		device_measured_drop(snapshot[i]);
	}
	snapshot[0] = measure(2, numbers + 3, 10, &dropped);
	assert_int_equal(arrival(snapshot[0], &s), 1);
	device_measured_drop(snapshot[0]);
}

static void hold_all(bool held)
{
	for (unsigned i = 0; i < STREAMS; i++)
		hold(&streams[i], held);
}

static void drop_arrived(const uint32_t *snapshot, unsigned n, double min)
{
	struct stats s;

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(arrival(snapshot[i], &s), 1);
		assert_true(s.min.f == min);
		device_measured_drop(snapshot[i]);
	}
}

static void test_a_full_ring_drops_what_it_has_no_slot_for(void **state)
{
	static uint32_t snapshot[STREAMS * MEASURE_STREAM_MAX];
	unsigned n = 0, refused = 0;
	bool dropped;

	(void)state;
	hold_all(true);
	for (unsigned i = 0; i < STREAMS * MEASURE_STREAM_MAX; i++) {
		snapshot[n] = measure(i % STREAMS, numbers + 5, 10, &dropped);
		n += snapshot[n] != 0;
		refused += dropped;
	}
	assert_int_equal(n, 1024);
	assert_int_equal(refused, STREAMS * MEASURE_STREAM_MAX - 1024);
	hold_all(false);
	drop_arrived(snapshot, n, 5);
}

/* Each takes a sixtieth of the scratch memory: 2 million times the same number. */
static uint32_t measure_large(uint32_t *lost)
{
	static double number = 3;
	struct device_tensor t = {.address = (uintptr_t)&number,
		.lo = (uintptr_t)&number,
		.hi = (uintptr_t)(&number + 1),
		.count = 2 << 20,
		.dtype = DT_FLOAT64,
		.ndim = 1,
		.size = {2 << 20}};
	struct device_batch b;
	uint32_t snapshot;
	bool dropped;

	assert_true(device_batch_open(&b, &backend, 1, &number, &dropped));
	snapshot = device_batch_add(&b, &t, &dropped);
	assert_false(dropped);
	*lost = device_batch_close(&b);
	return snapshot;
}

static void test_values_without_scratch_memory_are_counted(void **state)
{
	uint32_t snapshot[62], lost, n = 0, all = 0;

	(void)state;
	hold(&streams[1], true);
	for (unsigned i = 0; i < 62; i++) {
		snapshot[n] = measure_large(&lost);
		all += lost;
		if (lost) {
			assert_int_equal(device_measured(snapshot[n], NULL, NULL), -EIO);
			device_measured_drop(snapshot[n]);
		} else {
			n++;
		}
	}
	assert_int_equal(n, 1024 / 17);
	assert_int_equal(all, 62 - n);
	hold(&streams[1], false);
	drop_arrived(snapshot, n, 3);
	snapshot[0] = measure_large(&lost);
	assert_int_equal(lost, 0);
	drop_arrived(snapshot, 1, 3);
}

static void test_what_is_not_all_there_is_not_measured(void **state)
{
	bool dropped;

	(void)state;
	uncovered = true;
	assert_int_equal(measure(1, numbers, 10, &dropped), 0);
	assert_false(dropped);
	uncovered = false;
}

static void *measure_many(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < 600; i++) {
		unsigned at = rand_r(&seed) % 2000, n = rand_r(&seed) % 2000 + 1;
		uint32_t snapshot;
		struct stats s;
		bool dropped;

		snapshot = measure(rand_r(&seed) % STREAMS, numbers + at, n, &dropped);
		if (!snapshot) {
			assert_true(dropped);
			continue;
		}
		if (rand_r(&seed) % 4) {
			assert_int_equal(arrival(snapshot, &s), 1);
			assert_true(s.min.f == (double)at && s.max.f == (double)(at + n - 1));
		}
		device_measured_drop(snapshot);
	}
	return NULL;
}

static void test_threads_measure_at_the_same_time(void **state)
{
	pthread_t t[4];

	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, measure_many, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void test_nothing_is_made_while_collectives_may_be_under_way(void **state)
{
	unsigned before = loads;
	bool dropped;

	(void)state;
	device_collective_begins(&backend);
	context_id = 5; /* another context, at the same address */
	device_prepare(&backend);
	assert_int_equal(measure(1, numbers, 10, &dropped), 0);
	assert_int_equal(loads, before);
	assert_non_null(log_loss_text(LOSS_DEVICE));
	context_id = 0;
	assert_int_not_equal(measure(1, numbers, 10, &dropped), 0);
}

static void test_after_a_refused_launch_nothing_is_tried(void **state)
{
	uint32_t snapshot, under_way;
	struct stats s;
	bool dropped;

	(void)state;
	hold(&streams[1], true);
	under_way = measure(1, numbers, 10, &dropped);
	refuses = true;
	snapshot = measure(1, numbers, 10, &dropped);
	assert_int_equal(arrival(snapshot, &s), -EIO);
	assert_int_equal(arrival(under_way, &s), -EIO);
	device_measured_drop(snapshot);
	device_measured_drop(under_way);
	refuses = false;
	assert_int_equal(measure(1, numbers, 10, &dropped), 0);
	hold(&streams[1], false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_list_has_its_values),
		cmocka_unit_test(test_the_same_tensor_is_read_once),
		cmocka_unit_test(test_a_stream_that_does_not_get_on_takes_no_more_than_its_share),
		cmocka_unit_test(test_a_full_ring_drops_what_it_has_no_slot_for),
		cmocka_unit_test(test_values_without_scratch_memory_are_counted),
		cmocka_unit_test(test_what_is_not_all_there_is_not_measured),
		cmocka_unit_test(test_threads_measure_at_the_same_time),
		cmocka_unit_test(test_nothing_is_made_while_collectives_may_be_under_way),
		cmocka_unit_test(test_after_a_refused_launch_nothing_is_tried),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
