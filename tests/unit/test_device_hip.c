/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values on an AMD GPU, on a stand-in for libamdhip64.so: the runtime is not started, the program's error and its current device are
 * as it left them, and the code object is the chip's. No AMD GPU was ever used.
 */
#include "tmp_helper.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "device/measure.h"
#include "wrappers/gpu/gpu.h"

static void *library;
#define HIP(name, ...) ((int (*)(__VA_ARGS__))dlsym(library, #name))

static void *(*alias)(const void *);
static void *stream;
static float *numbers;

static int start(void **state)
{
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/doubles/libamdhip64.so",
		getenv("B") ? getenv("B") : "build");
	library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	assert_non_null(library);
	*(void **)&alias = dlsym(library, "double_device_alias");
	assert_true(hip_device.attach());
	return 0;
}

static void test_the_runtime_is_not_started_for_us(void **state)
{
	bool (*started)(void);
	int before;

	(void)state;
	*(void **)&started = (void *)dlsym(library, "double_hip_started");
	assert_int_equal(hip_device.memory(&before), DEVICE_IDLE);
	assert_false(hip_device.capturing(0));
	device_prepare(&hip_device);
	hip_device.init_copies();
	assert_false(started());
	assert_int_equal(HIP(hipGetDevice, int *)(&before), 0);
	assert_true(started());
	usleep(10000); /* seen within 5 ms */
	assert_int_equal(hip_device.memory(&before), DEVICE_HOST);
}

static double max_of(void *on, const float *at, uint64_t n)
{
	struct device_tensor t = {.address = (uintptr_t)at,
		.lo = (uintptr_t)at,
		.hi = (uintptr_t)(at + n),
		.count = n,
		.dtype = DT_FLOAT32,
		.eps = 1e-8};
	uint32_t snapshot = 0, crc;
	struct device_batch b;
	bool dropped = true;
	struct stats s;
	int done = 0;

	for (int i = 0; i < 5000 && dropped; i++) {
		if (device_batch_open(&b, &hip_device, (uintptr_t)on, at, &dropped)) {
			snapshot = device_batch_add(&b, &t, &dropped);
			device_batch_close(&b);
		}
		usleep(dropped ? 1000 : 0);
	}
	for (int i = 0; i < 5000 && snapshot && !done; i++) {
		done = device_measured(snapshot, &s, &crc);
		usleep(done ? 0 : 1000);
	}
	if (snapshot)
		device_measured_drop(snapshot);
	return done == 1 ? s.max.f : 0;
}

static void test_values_of_both_devices(void **state)
{
	float *far;
	void *other;
	int now = -1;

	(void)state;
	assert_int_equal(HIP(hipStreamCreateWithFlags, void **, unsigned)(&stream, 0), 0);
	assert_int_equal(HIP(hipMalloc, void **, size_t)((void **)&numbers, 4096), 0);
	((float *)alias(numbers))[17] = 5;
	assert_int_equal(HIP(hipSetDevice, int)(1), 0);
	assert_int_equal(HIP(hipStreamCreateWithFlags, void **, unsigned)(&other, 0), 0);
	assert_int_equal(HIP(hipMalloc, void **, size_t)((void **)&far, 4096), 0);
	((float *)alias(far))[1000] = 6;
	device_prepare(&hip_device);
	hip_device.init_copies();
	device_collective_begins(&hip_device);
	assert_true(max_of(stream, numbers, 1024) == 5);
	assert_true(max_of(other, far, 1024) == 6);
	assert_true(max_of(NULL, numbers, 1024) == 5);
	/* A peer's, beyond the end, and not HIP's. */
	assert_true(max_of(stream, far, 1024) == 0);
	assert_true(max_of(stream, numbers, 1025) == 0);
	assert_int_equal(HIP(hipGetDevice, int *)(&now), 0);
	assert_int_equal(now, 1);
	assert_null(log_loss_text(LOSS_DEVICE));
	assert_int_equal(HIP(hipSetDevice, int)(0), 0);
}

static void test_memory_is_told_apart_by_the_releases_numbers(void **state)
{
	void *pinned;

	(void)state;
	assert_int_equal(HIP(hipHostMalloc, void **, size_t, unsigned)(&pinned, 4096, 0), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(hip_device.memory(&pinned), DEVICE_HOST);
		assert_int_equal(hip_device.memory(pinned), DEVICE_PINNED);
		assert_int_equal(hip_device.memory(numbers), DEVICE_MEMORY);
		setenv("DOUBLE_ROCM_5", "1", 1);
	}
	assert_true(max_of(stream, numbers, 1024) == 5);
	unsetenv("DOUBLE_ROCM_5");
}

/* hipGetLastError() is how PyTorch checks its launches. */
static void check_errors(void)
{
	const void *at = NULL;
	uint32_t snapshot;
	int state = 0;

	/* Calls of ours fail. */
	hip_device.memory(&at);
	assert_int_equal(HIP(hipPeekAtLastError, void)(), 0);
	max_of(stream, numbers, 1025);
	assert_int_equal(HIP(hipPeekAtLastError, void)(), 0);
	assert_int_equal(hip_device.copy((uintptr_t)stream, numbers, 4096, &snapshot), 0);
	for (int i = 0; i < 5000 && !state; i++) {
		state = hip_device.poll(snapshot, &at);
		usleep(state ? 0 : 1000);
	}
	assert_int_equal(state, 1);
	assert_true(((const float *)at)[17] == 5);
	assert_int_equal(HIP(hipPeekAtLastError, void)(), 0);
	/* The program has failed, and has not looked yet. */
	assert_int_equal(HIP(hipSetDevice, int)(9), 101);
	assert_int_equal(hip_device.memory(numbers), DEVICE_MEMORY);
	assert_true(hip_device.capturing((uintptr_t)stream));
	assert_true(max_of(stream, numbers, 1024) == 0);
	assert_int_equal(hip_device.poll(snapshot, &at), 0);
	hip_device.drop(snapshot);
	assert_int_equal(HIP(hipGetLastError, void)(), 101);
	assert_true(max_of(stream, numbers, 1024) == 5);
}

static void test_the_programs_errors_are_left_as_found(void **state)
{
	(void)state;
	check_errors();
	setenv("DOUBLE_ROCM_7", "1", 1);
	check_errors();
	unsetenv("DOUBLE_ROCM_7");
}

/* Not forked really: what a child's handler does. */
static void test_a_forked_child_does_not_call_the_parents_runtime(void **state)
{
	(void)state;
	device_forked();
	assert_int_equal(hip_device.memory(numbers), DEVICE_IDLE);
	assert_false(hip_device.capturing((uintptr_t)stream));
	assert_true(max_of(stream, numbers, 1024) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_runtime_is_not_started_for_us),
		cmocka_unit_test(test_values_of_both_devices),
		cmocka_unit_test(test_memory_is_told_apart_by_the_releases_numbers),
		cmocka_unit_test(test_the_programs_errors_are_left_as_found),
		cmocka_unit_test(test_a_forked_child_does_not_call_the_parents_runtime),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
