/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the kernel's log about a process, as kernels from 4.19 to 6.18 and NVIDIA's driver write them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "folder/owner.h"
#include "tools/probe/model/host/kernel_log.h"

static const struct {
	const char *message;
	int64_t id;
	int signal;
	bool memory;
} about[] = {
	{"Out of memory: Killed process 4711 (python3) total-vm:1kB, anon-rss:1kB", 4711, SIGKILL,
		true},
	{"Memory cgroup out of memory: Killed process 4711 (pt_main_thread) total-vm:1kB", 4711,
		SIGKILL, true},
	{"train[4711]: segfault at 8 ip 00007f error 4 in libc.so.6[7f+1000]", 4711, SIGSEGV,
		false},
	{"traps: train[4711] general protection fault ip:7f sp:7f error:0", 4711, SIGSEGV, false},
	{"traps: train[4711] trap invalid opcode ip:40 sp:7f error:0 in train[40+1]", 4711, SIGILL,
		false},
	{"traps: train[4711] trap divide error ip:40 sp:7f error:0", 4711, SIGFPE, false},
	{"train[4711]: unhandled exception: DABT (lower EL), ESR 0x92000006, level 2", 4711, 0,
		false},
	{"Memory failure: 0x1: Killing train:4711 due to hardware memory corruption", 4711, SIGBUS,
		false},
	{"NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python, GPU has fallen off the bus.", 4711,
		0, false},
	{"NVRM: Xid (PCI:0000:3b:00): 31, pid='4711', name=python, Ch 00000008", 4711, 0, false},
};

static void about_a_process(void **state)
{
	struct kernel_word w;

	(void)state;
	for (unsigned i = 0; i < sizeof(about) / sizeof(*about); i++) {
		assert_true(parse_kernel_word(about[i].message, about[i].id, &w));
		assert_int_equal(w.signal, about[i].signal);
		assert_int_equal(w.memory, about[i].memory);
		assert_string_equal(w.line, about[i].message);
		/* Numbers that are a part of it, or have it as a part. */
		assert_false(parse_kernel_word(about[i].message, 471, &w));
		assert_false(parse_kernel_word(about[i].message, 711, &w));
		assert_false(parse_kernel_word(about[i].message, 47110, &w));
	}
}

static void about_something_else(void **state)
{
	static const char *const list[] = {
		"python3 invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0",
		"tokio-rt-worker (4711): drop_caches: 3",
		"oom_reaper: reaped process 4711 (python3), now anon-rss:0kB",
		"usb 1-1: new device number 4711",
		"[ 4711]     0  4711    1000      100",
	};
	struct kernel_word w;

	(void)state;
	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
		assert_false(parse_kernel_word(list[i], 4711, &w));
}

/* A long message is cut, without its second line. */
static void one_line(void **state)
{
	char text[2000];
	struct kernel_word w;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	memcpy(text, "a[7]: segfault at ", 18);
	assert_true(parse_kernel_word(text, 7, &w));
	assert_int_equal(strlen(w.line), sizeof(w.line) - 1);
	assert_true(parse_kernel_word("a[7]: segfault at 0\n SUBSYSTEM=x\n", 7, &w));
	assert_string_equal(w.line, "a[7]: segfault at 0");
}

/* Nothing is known about a process on another machine, in another PID namespace or at another time. */
static void whose_log(void **state)
{
	struct kernel_message m = {1000, (char *)"a[7]: segfault at 0"};
	struct kernel_log l = {.readable = true, .from_ns = 10, .message = &m, .n = 1};
	struct journal_owner me;
	struct kernel_word w;

	(void)state;
	owner_self(&me);
	me.pid = 7;
	me.pid_ns = 0xeffffffc;
	assert_int_equal(ask_kernel_log(&l, &me, 0, 900, &w), KERNEL_SAYS);
	assert_int_equal(w.at_ns, 1000);
	assert_int_equal(ask_kernel_log(&l, &me, 0, 1001, &w), KERNEL_IS_SILENT);
	assert_int_equal(ask_kernel_log(&l, &me, 0, 5, &w), KERNEL_SAYS);
	me.pid = 8;
	assert_int_equal(ask_kernel_log(&l, &me, 0, 900, &w), KERNEL_IS_SILENT);
	assert_int_equal(ask_kernel_log(&l, &me, 7, 900, &w), KERNEL_SAYS);
	assert_int_equal(ask_kernel_log(&l, &me, 0, 5, &w), KERNEL_UNREAD);
	me.pid = 7;
	me.pid_ns++;
	assert_int_equal(ask_kernel_log(&l, &me, 0, 900, &w), KERNEL_UNREAD);
	me.pid_ns--;
	me.boot_id[0] ^= 1;
	assert_int_equal(ask_kernel_log(&l, &me, 0, 900, &w), KERNEL_UNREAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(about_a_process),
		cmocka_unit_test(about_something_else),
		cmocka_unit_test(one_line),
		cmocka_unit_test(whose_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
