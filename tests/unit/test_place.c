/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory is free for this process, in copies of /proc and /sys; which file systems are local. */
#include "tmp_helper.h"

#include "base/io.h"
#include "journal/place.h"

#define MIB (UINT64_C(1) << 20)

static char root[200];

static void put(const char *path, const char *text)
{
	char full[600], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	slash = strrchr(full, '/');
	*slash = 0;
	assert_int_equal(io_add_folders(full), 0);
	*slash = '/';
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int begin(void **state)
{
	(void)state;
	make_tmp(root, sizeof(root));
	put("/proc/meminfo", "MemTotal:  4096000 kB\nMemAvailable:  1048576 kB\n");
	return 0;
}

static int end(void **state)
{
	(void)state;
	remove_tree(root);
	return 0;
}

static void test_machine(void **state)
{
	(void)state;
	assert_int_equal(place_free_memory(root), 1024 * MIB);
	put("/proc/self/cgroup", "0::/\n");
	assert_int_equal(place_free_memory(root), 1024 * MIB);
	put("/proc/meminfo", "");
	assert_true(place_free_memory(root) == UINT64_MAX);
}

static void test_v2(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/job/step\n");
	put("/sys/fs/cgroup/job/step/memory.max", "max\n");
	put("/sys/fs/cgroup/job/step/memory.current", "1048576\n");
	assert_int_equal(place_free_memory(root), 1024 * MIB);
	/* The one above has the limit; unused files do not count. */
	put("/sys/fs/cgroup/job/memory.max", "104857600\n");
	put("/sys/fs/cgroup/job/memory.current", "94371840\n");
	assert_int_equal(place_free_memory(root), 10 * MIB);
	put("/sys/fs/cgroup/job/memory.stat", "anon 5\nactive_file 7\ninactive_file 41943040\n");
	assert_int_equal(place_free_memory(root), 50 * MIB);
	put("/sys/fs/cgroup/job/memory.current", "204857600\n");
	put("/sys/fs/cgroup/job/memory.stat", "");
	assert_int_equal(place_free_memory(root), 0);
}

static void test_container(void **state)
{
	(void)state;
	/* Of the host: here the mount begins at the group. */
	put("/proc/self/cgroup", "0::/docker/4711\n");
	put("/sys/fs/cgroup/memory.max", "33554432\n");
	put("/sys/fs/cgroup/memory.current", "1048576\n");
	assert_int_equal(place_free_memory(root), 31 * MIB);
}

static void test_v1(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "12:cpuset:/\n5:hugetlb,memory:/job\n1:name=systemd:/x\n0::/\n");
	put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1048576\n");
	assert_int_equal(place_free_memory(root), 1024 * MIB);
	put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "8388608\n");
	assert_int_equal(place_free_memory(root), 7 * MIB);
}

static void test_local(void **state)
{
	static const uint32_t local[] = {0xef53, 0x58465342, 0x01021994, 0x794c7630};
	static const uint32_t other[] = {0x6969 /* nfs */, 0x0bd00bd0 /* lustre */,
		0x65735546 /* fuse */, 0x9123683e /* btrfs */, 0x2fc12fc1 /* zfs */,
		0xff534d42 /* cifs */, 0x47504653 /* gpfs */, 0x19830326 /* beegfs */,
		0x00c36400 /* ceph */, 0x01021997 /* 9p */, 0, 12345};

	(void)state;
	for (unsigned i = 0; i < sizeof(local) / sizeof(*local); i++)
		assert_true(place_type_is_local(local[i]));
	for (unsigned i = 0; i < sizeof(other) / sizeof(*other); i++)
		assert_false(place_type_is_local(other[i]));
	assert_false(place_is_local(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_machine, begin, end),
		cmocka_unit_test_setup_teardown(test_v2, begin, end),
		cmocka_unit_test_setup_teardown(test_container, begin, end),
		cmocka_unit_test_setup_teardown(test_v1, begin, end),
		cmocka_unit_test(test_local),
	};

	return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
