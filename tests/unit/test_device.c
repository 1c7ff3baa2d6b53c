/* SPDX-License-Identifier: Apache-2.0 */
/* Whose memory is it, and can it be read: asked of the kernel, and of a runtime that this test plays. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "device/device.h"

static bool usable;
static unsigned attached;
static const char *device_from, *device_to;

static bool attach(void)
{
	attached++;
	return usable;
}

static enum device_memory memory(const void *p)
{
	return (const char *)p >= device_from && (const char *)p < device_to ? DEVICE_MEMORY
									     : DEVICE_HOST;
}

static const struct device_backend fake = {
	.name = "fake", .library = "libcmocka", .attach = attach, .memory = memory};
const struct device_backend *const device_backends[] = {&fake, NULL};

static char *map;
static size_t page;

static int setup(void **state)
{
	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	map = mmap(NULL, 8 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return -1;
	return mprotect(map + page, 2 * page, PROT_READ | PROT_WRITE) |
	       mprotect(map + 4 * page, page, PROT_READ);
}

/* 0: all answers are right; else which one is not. */
static int wrong_answer(void)
{
	const struct {
		const void *p;
		size_t n;
		bool readable;
	} ask[] = {
		{map + page, 1, true},
		{map + page, 2 * page, true},
		{map + 3 * page - 1, 1, true},
		{map + 4 * page, page, true}, /* not writable */
		{map + page, 2 * page + 1, false},
		{map + page - 1, 2, false},
		{map + 3 * page, 1, false},
		{map + 3 * page - 1, 2, false},
		{map + page, 4 * page, true}, /* a hole in it is not noticed */
		{map, 0, true},
		{NULL, 0, true},
		{NULL, 4, false},
		{(void *)8, 4, false},
		{(void *)0x8000000000000000ull, 4, false},
		{(void *)-8ll, 8, false},
		{(void *)-8ll, 16, false}, /* wraps around */
		{map + page, SIZE_MAX, false},
		{wrong_answer, 16, true},
	};

	for (int i = 0; i < (int)(sizeof(ask) / sizeof(*ask)); i++) {
		errno = 77;
		if (device_probe(ask[i].p, ask[i].n) != ask[i].readable || errno != 77)
			return i + 1;
	}
	return 0;
}

/* The same in a child for which one of the two calls is refused (0: none), as in sandboxes. -1: no seccomp here. */
static int in_sandbox(long refused, long refused_too, int error, int (*ask)(void))
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refused, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refused_too, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(filter) / sizeof(*filter), filter};
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
			_exit(200);
		_exit(ask());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 200 ? -1 : WEXITSTATUS(status);
}

static int anything_readable(void)
{
	return device_probe(map + page, 1) || device_probe(map, 1);
}

static void test_probe(void **state)
{
	(void)state;
	/* Children first: what the kernel answers is remembered. */
	if (in_sandbox(SYS_process_vm_readv, SYS_process_vm_readv, EPERM, wrong_answer) == -1) {
		print_message("no seccomp here\n");
	} else {
		assert_int_equal(
			in_sandbox(SYS_process_vm_readv, SYS_process_vm_readv, EPERM, wrong_answer),
			0);
		assert_int_equal(in_sandbox(SYS_process_vm_readv, SYS_process_vm_readv, ENOSYS,
					 wrong_answer),
			0);
		assert_int_equal(
			in_sandbox(SYS_rt_sigprocmask, SYS_rt_sigprocmask, EPERM, wrong_answer), 0);
		/* No answer means no. */
		assert_int_equal(in_sandbox(SYS_rt_sigprocmask, SYS_process_vm_readv, EPERM,
					 anything_readable),
			0);
	}
	assert_int_equal(wrong_answer(), 0);
}

static void test_present(void **state)
{
	enum device_memory kind;

	(void)state;
	usable = false;
	assert_null(device_present());
	assert_int_equal(attached, 1);
	/* Not asked again until something is loaded. */
	assert_null(device_present());
	assert_int_equal(attached, 1);
	assert_null(device_known());
	assert_true(device_is_host(NULL, map, 4, &kind));
	assert_int_equal(kind, DEVICE_IDLE);
}

/* Longer than a look lasts, so that the next one is a new one. */
static void pass_time(void)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + 20000;

	while (clock_ns(CLOCK_MONOTONIC) < end)
		;
}

/* The first of `calls` calls that sees the device, from 1 on; 0: none. */
static int seen_at(int calls)
{
	for (int i = 1; i <= calls; i++)
		if (device_watch())
			return i;
	return 0;
}

static int load_told(void)
{
	device_loading(false);
	if (!dlopen("libresolv.so.2", RTLD_NOW))
		return 100;
	pass_time();
	return seen_at(100);
}

/* This one loads unseen: as after RTLD_DEEPBIND. */
static int load_behind_us(void)
{
	device_loading(true);
	pass_time();
	if (device_watch())
		return 101;
	pass_time();
	return !dlopen("libresolv.so.2", RTLD_NOW) ? 100 : seen_at(100);
}

static int in_child(int (*fn)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(fn());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_watch(void **state)
{
	(void)state;
	usable = true;
	/* The initial state has been checked: quiet. */
	pass_time();
	assert_int_equal(seen_at(1 + 64), 0);
	assert_int_equal(in_child(load_told), 1);
	assert_int_equal(in_child(load_behind_us), 1);
	/* In no known way: checked soon all the same, and then no more. */
	assert_non_null(dlopen("libresolv.so.2", RTLD_NOW));
	pass_time();
	assert_in_range(seen_at(2048), 1, 1024);
	assert_ptr_equal(device_watch(), &fake);
	assert_ptr_equal(device_known(), &fake);
}

static void test_both_ends(void **state)
{
	enum device_memory kind;

	(void)state;
	device_from = map;
	device_to = map + page;
	assert_false(device_is_host(&fake, map, 4, &kind));
	assert_int_equal(kind, DEVICE_MEMORY);
	assert_true(device_is_host(&fake, map + page, 4, &kind));
	assert_int_equal(kind, DEVICE_HOST);
	assert_false(device_is_host(&fake, map + page - 2, 4, &kind));
	assert_false(device_is_host(&fake, map - 2, 4, &kind));
	assert_true(device_is_host(&fake, map - 2, 2, &kind));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_present),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_both_ends),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
