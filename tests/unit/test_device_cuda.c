/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of CUDA's driver as wrappers/gpu uses them, on the stand-in for libcuda.so.1, which has two devices and refuses
 * what a real driver refuses: streams of another context, memory that is not mapped, work on a stream that is captured.
 */
#include "tmp_helper.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "device/measure.h"
#include "life/life.h"
#include "wrappers/gpu/gpu.h"
#include "wrappers/layout_facts.h"
#include "../doubles/cuda/cuda_double.h"

#define DRIVER(name) ((__typeof__(&name))dlsym(driver, #name))

void session_record_layout_fact(unsigned fact, bool holds)
{
	assert_int_equal(fact, LAYOUT_CUDA_DRIVER);
	assert_true(holds);
}

static void *driver;
static CUstream stream;
static CUcontext second;
static const struct device_backend *cuda;

static int start(void **state)
{
	char path[256];

	(void)state;
	snprintf(
		path, sizeof(path), "%s/doubles/libcuda.so.1", getenv("B") ? getenv("B") : "build");
	driver = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	assert_non_null(driver);
	cuda = device_backends[0];
	assert_true(cuda->attach());
	assert_int_equal(DRIVER(cuInit)(0), 0);
	assert_int_equal(DRIVER(cuStreamCreate)(&stream, 0), 0);
	return 0;
}

/* Numbers 1, 2, 3 ... in memory of the current context. */
static float *make_numbers(unsigned n)
{
	CUdeviceptr p;
	float *host;

	assert_int_equal(DRIVER(cuMemAlloc_v2)(&p, n * sizeof(float)), 0);
	host = DRIVER(double_device_alias)((void *)(uintptr_t)p);
	for (unsigned i = 0; i < n; i++)
		host[i] = (float)(i + 1);
	return (float *)(uintptr_t)p;
}

static uint32_t measure(void *on, const float *at, uint64_t n, bool *dropped)
{
	struct device_tensor t = {.address = (uintptr_t)at,
		.lo = (uintptr_t)at,
		.hi = (uintptr_t)(at + n),
		.count = n,
		.dtype = DT_FLOAT32,
		.eps = 1e-8};
	struct device_batch b;
	uint32_t snapshot;

	if (!device_batch_open(&b, cuda, (uintptr_t)on, at, dropped))
		return 0;
	snapshot = device_batch_add(&b, &t, dropped);
	device_batch_close(&b);
	return snapshot;
}

/* The greatest of n numbers, measured there; 0: they were not measured. */
static double max_of(void *on, const float *at, uint64_t n)
{
	bool dropped = true;
	uint32_t snapshot = 0, crc;
	struct stats s;
	int state = 0;

	/* At the start the kernel is not there yet. */
	for (int i = 0; i < 5000 && dropped; i++) {
		snapshot = measure(on, at, n, &dropped);
		if (dropped)
			usleep(1000);
	}
	if (!snapshot)
		return 0;
	for (int i = 0; i < 5000 && !state; i++) {
		state = device_measured(snapshot, &s, &crc);
		usleep(state ? 0 : 1000);
	}
	assert_int_equal(state, 1);
	device_measured_drop(snapshot);
	return s.max.f;
}

/* It compiles on the caller's stack, which is small where libprobe runs. */
static void *prepare_on_a_small_stack(void *arg)
{
	(void)arg;
	thread_self(); /* as each thread that comes to a wrapper */
	if (DRIVER(cuInit)(0) == 0)
		device_prepare(cuda);
	return NULL;
}

static void test_the_driver_has_stack_to_compile_the_kernel(void **state)
{
	pthread_attr_t a;
	pthread_t t;

	(void)state;
	pthread_attr_init(&a);
	/* The stand-in uses 3 MiB. A sanitizer forbids other stacks than the thread's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	pthread_attr_setstacksize(&a, 8 << 20);
#else
	pthread_attr_setstacksize(&a, 512 << 10);
#endif
	assert_int_equal(pthread_create(&t, &a, prepare_on_a_small_stack, NULL), 0);
	pthread_join(t, NULL);
	assert_true(max_of(stream, make_numbers(100), 100) == 100);
}

static void test_every_started_device_is_prepared_with_a_communicator(void **state)
{
	CUcontext before = NULL, after = NULL;
	int active = 1;
	unsigned flags, before_waits;
	CUstream other;
	float *numbers;
	uint32_t snapshot;

	(void)state;
	/* A device that the program has not started stays so. */
	device_prepare(cuda);
	assert_int_equal(DRIVER(cuDevicePrimaryCtxGetState)(1, &flags, &active), 0);
	assert_int_equal(active, 0);
	assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&second, 1), 0);
	DRIVER(cuCtxGetCurrent)(&before);
	device_prepare(cuda);
	DRIVER(cuCtxGetCurrent)(&after);
	assert_ptr_equal(before, after);
	device_collective_begins(cuda);
	DRIVER(cuCtxPushCurrent_v2)(second);
	assert_int_equal(DRIVER(cuStreamCreate)(&other, 0), 0);
	numbers = make_numbers(50);
	DRIVER(cuCtxPopCurrent_v2)(&after);
	/* The thread's context is the first device's. */
	assert_true(max_of(other, numbers, 50) == 50);
	assert_true(max_of(stream, make_numbers(60), 60) == 60);
	assert_null(log_loss_text(LOSS_DEVICE));
	/* Copies were not prepared: their host memory is not allocated any more. */
	before_waits = DRIVER(double_waits)();
	assert_int_equal(cuda->copy((uintptr_t)stream, make_numbers(4), 16, &snapshot), -EIO);
	assert_int_equal(DRIVER(double_waits)(), before_waits + 1); /* make_numbers() */
	assert_non_null(log_loss_text(LOSS_DEVICE));
	/* Memory of a peer. */
	assert_true(max_of(stream, numbers, 50) == 0);
	DRIVER(cuCtxGetCurrent)(&after);
	assert_ptr_equal(before, after);
	/* What was retained was released. */
	DRIVER(cuDevicePrimaryCtxRelease_v2)(1);
	assert_int_equal(DRIVER(cuDevicePrimaryCtxGetState)(1, &flags, &active), 0);
	assert_int_equal(active, 0);
	assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&second, 1), 0);
}

static void test_default_streams_are_those_of_the_memorys_context(void **state)
{
	CUcontext popped;
	float *numbers;

	(void)state;
	numbers = make_numbers(40);
	DRIVER(cuDevicePrimaryCtxRetain)(&second, 1);
	DRIVER(cuCtxPushCurrent_v2)(second);
	/* 0, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD */
	for (uintptr_t i = 0; i < 3; i++)
		assert_true(max_of((void *)i, numbers, 40) == 40);
	DRIVER(cuCtxPopCurrent_v2)(&popped);
	assert_ptr_equal(popped, second);
}

/* Of 4 numbers from 2 before to 2 after the start of each piece. */
static void check_pieces(char *map, int pieces, size_t bytes, int bad)
{
	for (int i = 1; i < pieces; i++) {
		const float *at = (const float *)(void *)(map + (size_t)i * bytes) - 2;

		((float *)DRIVER(double_device_alias)(map))[0] = 0;
		if (i == bad || i - 1 == bad)
			assert_int_equal(measure(stream, at, 4, &(bool){0}), 0);
		else
			assert_int_not_equal(measure(stream, at, 4, &(bool){0}), 0);
	}
}

static void test_memory_mapped_piece_by_piece_is_read_where_it_is_mapped(void **state)
{
	char *whole = DRIVER(double_map)(8, 4096, -1, -1),
	     *hole = DRIVER(double_map)(8, 4096, 4, -1),
	     *locked = DRIVER(double_map)(8, 4096, -1, 3);
	const uint64_t all = 8 * 4096 / sizeof(float);
	bool dropped;

	(void)state;
	for (int i = 0; i < 2; i++) {
		((float *)DRIVER(double_device_alias)(whole))[100] = 7;
		assert_true(max_of(stream, (float *)(void *)whole, all) == 7);
		check_pieces(whole, 8, 4096, -1);
		check_pieces(hole, 8, 4096, 4);
		check_pieces(locked, 8, 4096, 3);
		assert_int_equal(measure(stream, (float *)(void *)hole, all, &dropped), 0);
		assert_int_equal(measure(stream, (float *)(void *)locked, all, &dropped), 0);
		assert_int_equal(measure(stream, (float *)(void *)whole, all + 1, &dropped), 0);
		/* Drivers that do not answer cuMemGetAddressRange for such memory. */
		setenv("DOUBLE_NO_RANGE", "1", 1);
	}
	unsetenv("DOUBLE_NO_RANGE");
}

static void test_host_memory_is_read_only_at_the_kernels_own_address(void **state)
{
	float *elsewhere = DRIVER(double_register_elsewhere)(4096), *pinned;

	(void)state;
	assert_int_equal(DRIVER(cuMemHostAlloc)((void **)&pinned, 4096, 0), 0);
	pinned[3] = 9;
	assert_true(max_of(stream, pinned, 8) == 9);
	assert_int_equal(measure(stream, elsewhere, 8, &(bool){0}), 0);
}

/* A call on the legacy stream would invalidate the capture of any blocking stream. */
static void test_the_legacy_stream_is_left_alone_during_a_capture(void **state)
{
	float *numbers = make_numbers(10);
	CUgraph graph;
	CUstream other;

	(void)state;
	assert_int_equal(DRIVER(cuStreamCreate)(&other, 0), 0);
	assert_int_equal(DRIVER(cuStreamBeginCapture_v2)(stream, 0), 0);
	assert_true(cuda->capturing(0));
	assert_true(cuda->capturing((uintptr_t)stream));
	assert_false(cuda->capturing((uintptr_t)other));
	assert_true(max_of(other, numbers, 10) == 10);
	assert_int_equal(DRIVER(cuStreamEndCapture)(stream, &graph), 0);
	assert_false(cuda->capturing(0));
}

/* As a stream whose queue is full of the job's work: who holds the lock does not come back. */
static void *hold_lock(void *arg)
{
	struct device_batch b;
	bool dropped;
	int *go = arg;

	assert_true(device_batch_open(&b, cuda, (uintptr_t)stream, NULL, &dropped));
	__atomic_store_n(go, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(go, __ATOMIC_ACQUIRE) != 2)
		usleep(1000);
	device_batch_close(&b);
	return NULL;
}

static void test_a_thread_blocked_in_a_launch_blocks_no_other(void **state)
{
	float *numbers = make_numbers(10);
	uint32_t before, crc;
	bool dropped = false;
	struct stats s;
	pthread_t t;
	int go = 0;

	(void)state;
	before = measure(stream, numbers, 10, &dropped);
	assert_int_not_equal(before, 0);
	while (!device_measured(before, &s, &crc))
		usleep(1000);
	assert_int_equal(pthread_create(&t, NULL, hold_lock, &go), 0);
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		usleep(1000);
	assert_int_equal(measure(stream, numbers, 10, &dropped), 0);
	assert_true(dropped);
	assert_int_equal(device_measured(before, &s, &crc), 1);
	device_measured_drop(before);
	__atomic_store_n(&go, 2, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	assert_true(max_of(stream, numbers, 10) == 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_driver_has_stack_to_compile_the_kernel),
		cmocka_unit_test(test_every_started_device_is_prepared_with_a_communicator),
		cmocka_unit_test(test_default_streams_are_those_of_the_memorys_context),
		cmocka_unit_test(test_memory_mapped_piece_by_piece_is_read_where_it_is_mapped),
		cmocka_unit_test(test_host_memory_is_read_only_at_the_kernels_own_address),
		cmocka_unit_test(test_the_legacy_stream_is_left_alone_during_a_capture),
		cmocka_unit_test(test_a_thread_blocked_in_a_launch_blocks_no_other),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
