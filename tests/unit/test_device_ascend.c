/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of an NPU's memory in the order of its streams, on a stand-in for libascendcl.so. No NPU was ever used. */
#include "tmp_helper.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/device.h"
#include "device/measure.h"
#include "device/snapshots.h"
#include "wrappers/gpu/gpu.h"

static void *acl;
#define ACL(name, ...) ((int (*)(__VA_ARGS__))dlsym(acl, #name))

static void *(*alias)(const void *);
static void (*hold)(void *), (*release)(void *);
static void *stream;
static float *numbers; /* on the device */

static int start(void **state)
{
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/doubles/libascendcl.so",
		getenv("B") ? getenv("B") : "build");
	acl = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!acl)
		print_message("# %s\n", dlerror());
	assert_non_null(acl);
	*(void **)&alias = dlsym(acl, "double_device_alias");
	*(void **)&hold = dlsym(acl, "double_hold");
	*(void **)&release = dlsym(acl, "double_release");
	assert_true(ascend_device.attach());
	return 0;
}

static void test_before_the_runtime_is_started_nothing_is_its(void **state)
{
	(void)state;
	assert_int_equal(ascend_device.memory(&stream), DEVICE_IDLE);
	assert_false(ascend_device.capturing(0));
	assert_int_equal(ACL(cuInit, unsigned)(0), 0);
	assert_int_equal(ACL(aclrtCreateStream, void **)(&stream), 0);
	assert_int_equal(ACL(aclrtMalloc, void **, size_t, int)((void **)&numbers, 65536, 0), 0);
}

static void test_memory_is_told_apart(void **state)
{
	void *pinned;

	(void)state;
	assert_int_equal(ACL(aclrtMallocHost, void **, size_t)(&pinned, 4096), 0);
	assert_int_equal(ascend_device.memory(&stream), DEVICE_HOST);
	assert_int_equal(ascend_device.memory(pinned), DEVICE_PINNED);
	assert_int_equal(ascend_device.memory(numbers), DEVICE_MEMORY);
}

static const float *arrival(uint32_t snapshot)
{
	const void *at = NULL;

	for (int i = 0; i < 5000; i++) {
		int state = ascend_device.poll(snapshot, &at);

		assert_true(state >= 0);
		if (state)
			return at;
		usleep(1000);
	}
	return NULL;
}

#define COPY_MIB 128u

/* A communicator is made, and then collectives begin: from then on nothing is allocated. */
static void test_copies_are_prepared_before_collectives_begin(void **state)
{
	unsigned (*waits)(void), before;
	uint32_t snapshot;

	(void)state;
	*(void **)&waits = dlsym(acl, "double_waits");
	snapshots_set_size((size_t)COPY_MIB << 20);
	ascend_device.init_copies();
	/* Allocated memory keeps its size. */
	snapshots_set_size((size_t)1 << 20);
	device_collective_begins(&ascend_device);
	before = waits();
	assert_int_equal(ascend_device.copy((uintptr_t)stream, numbers, 16, &snapshot), 0);
	assert_int_equal(waits(), before);
	ascend_device.drop(snapshot);
}

static void test_a_copy_has_what_the_stream_has_come_to(void **state)
{
	float *seen = alias(numbers);
	const void *at;
	uint32_t before, after;

	(void)state;
	seen[0] = 1;
	hold(stream);
	assert_int_equal(ascend_device.copy((uintptr_t)stream, numbers, 16, &before), 0);
	assert_int_equal(ascend_device.poll(before, &at), 0);
	release(stream);
	assert_true(arrival(before)[0] == 1);
	seen[0] = 2;
	assert_int_equal(ascend_device.copy((uintptr_t)stream, numbers, 16, &after), 0);
	assert_true(arrival(after)[0] == 2);
	assert_true(arrival(before)[0] == 1);
	ascend_device.drop(before);
	ascend_device.drop(after);
}

static void test_too_much_is_refused(void **state)
{
	uint32_t snapshot;

	(void)state;
	assert_int_equal(ascend_device.copy((uintptr_t)stream, numbers,
				 ((size_t)COPY_MIB << 20) + 1, &snapshot),
		-ENOBUFS);
}

/* A tensor of 100 MiB is whole; the next one finds no room until the first one is dropped. */
static void test_a_large_copy_is_whole(void **state)
{
	const size_t bytes = (size_t)100 << 20, last = bytes / sizeof(float) - 1;
	uint32_t large, other;
	float *tensor, *seen;

	(void)state;
	assert_int_equal(ACL(aclrtMalloc, void **, size_t, int)((void **)&tensor, bytes, 0), 0);
	seen = alias(tensor);
	seen[0] = 3;
	seen[last / 2] = 4;
	seen[last] = 5;
	assert_int_equal(ascend_device.copy((uintptr_t)stream, tensor, bytes, &large), 0);
	assert_int_equal(ascend_device.copy((uintptr_t)stream, tensor, bytes, &other), -ENOBUFS);
	assert_true(arrival(large)[0] == 3 && arrival(large)[last / 2] == 4);
	assert_true(arrival(large)[last] == 5);
	ascend_device.drop(large);
	assert_int_equal(ascend_device.copy((uintptr_t)stream, tensor, bytes, &other), 0);
	assert_true(arrival(other)[last] == 5);
	ascend_device.drop(other);
}

static void test_a_capture_is_seen(void **state)
{
	void *graph;

	(void)state;
	assert_int_equal(ACL(cuStreamBeginCapture_v2, void *, int)(stream, 2), 0);
	assert_true(ascend_device.capturing((uintptr_t)stream));
	assert_int_equal(ACL(cuStreamEndCapture, void *, void **)(stream, &graph), 0);
	assert_false(ascend_device.capturing((uintptr_t)stream));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_the_runtime_is_started_nothing_is_its),
		cmocka_unit_test(test_memory_is_told_apart),
		cmocka_unit_test(test_copies_are_prepared_before_collectives_begin),
		cmocka_unit_test(test_a_copy_has_what_the_stream_has_come_to),
		cmocka_unit_test(test_too_much_is_refused),
		cmocka_unit_test(test_a_large_copy_is_whole),
		cmocka_unit_test(test_a_capture_is_seen),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
