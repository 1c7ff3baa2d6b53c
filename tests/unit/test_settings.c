/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=io_read_file -Wl,--wrap=pthread_create -Wl,--wrap=opendir -Wl,--wrap=modules_handle_each */
/*
 * Python's packages in meta.json, from a folder on a file server that does not answer: no thread of the program waits for
 * it, whichever thread made the first call, and its end does not either.
 */
#include "session_child.h"

#include "elf/loaded/modules.h"

static _Atomic bool reading, answers;

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);

DIR *__wrap_opendir(const char *path)
{
	if (strstr(path, "/site-packages")) {
		reading = true;
		for (int i = 0; i < 1000 && !answers; i++)
			poll(NULL, 0, 10);
	}
	return __real_opendir(path);
}

void __real_modules_handle_each(void (*fn)(void *arg, const struct module *m), void *arg);
void __wrap_modules_handle_each(void (*fn)(void *arg, const struct module *m), void *arg);

void __wrap_modules_handle_each(void (*fn)(void *arg, const struct module *m), void *arg)
{
	static struct module m;

	__real_modules_handle_each(fn, arg);
	snprintf(m.path, sizeof(m.path), "%s", path_in("site-packages", "numpy/core.so"));
	fn(arg, &m);
}

static void make_package(void)
{
	CHECK(mkdir(path_in("site-packages", ""), 0755) == 0);
	CHECK(mkdir(path_in("site-packages", "numpy-2.1.0.dist-info"), 0755) == 0);
}

static bool tells_package(void)
{
	return meta_says("rank0", "\"packages\": {\"numpy\": \"2.1.0\"}") && meta_is_json("rank0");
}

static uint64_t now_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

static void *call_first(void *arg)
{
	(void)arg;
	CHECK(call());
	return NULL;
}

/* In the folder, for readers: as long as it takes, all the program's threads go on. */
static void server_is_slow(void)
{
	pthread_t first;
	uint64_t t0;

	make_package();
	session_set_rank(0, 1);
	CHECK(pthread_create(&first, NULL, call_first, NULL) == 0);
	while (!reading)
		poll(NULL, 0, 1);
	t0 = now_ms();
	for (int i = 0; i < 10; i++)
		CHECK(call());
	session_record_library("MPI", "1");
	CHECK(now_ms() - t0 < 2000);
	pthread_join(first, NULL);
	CHECK(now_ms() - t0 < 2000);
	answers = true;
	session_end();
	CHECK(tells_package() && rows("rank0") == 11);
}

/* It never answers: the end does not wait for it. */
static void server_is_gone(void)
{
	uint64_t t0;

	make_package();
	session_set_rank(0, 1);
	CHECK(call());
	while (!reading)
		poll(NULL, 0, 1);
	t0 = now_ms();
	session_end();
	CHECK(now_ms() - t0 < 2000);
	CHECK(rows("rank0") == 1 && meta_says("rank0", "\"finished\"") &&
		!meta_says("rank0", "numpy"));
}

/* The program has ended before the writer ran, or has no writer. */
static void no_writer_yet(void)
{
	answers = true;
	make_package();
	session_set_rank(0, 1);
	CHECK(call());
	session_end();
	CHECK(tells_package());
}

static void writer_never_runs(void)
{
	lame_threads = true;
	no_writer_yet();
}

static void written_by_the_program(void)
{
	no_threads = true;
	no_writer_yet();
}

static void child_that_is_followed(void)
{
	char *folder;
	int status;
	pid_t pid;

	set("PROBE_FORK=follow");
	answers = true;
	make_package();
	session_set_rank(0, 1);
	CHECK(call());
	session_flush();
	pid = fork();
	if (pid == 0) {
		alarm(20);
		CHECK(call());
		session_end();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(asprintf(&folder, "rank0-pid%d", (int)pid) > 0);
	CHECK(meta_says(folder, "\"packages\": {\"numpy\": \"2.1.0\"}"));
	session_end();
	CHECK(tells_package());
}

static void test_slow_server(void **state)
{
	(void)state;
	in_child(server_is_slow);
	in_child(server_is_gone);
}

static void test_no_writer(void **state)
{
	(void)state;
	in_child(no_writer_yet);
	in_child(writer_never_runs);
	in_child(written_by_the_program);
}

static void test_followed_child(void **state)
{
	(void)state;
	in_child(child_that_is_followed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_server),
		cmocka_unit_test(test_no_writer),
		cmocka_unit_test(test_followed_child),
	};

	return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
