/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=io_read_file -Wl,--wrap=pthread_create -Wl,--wrap=files_remove_oldest */
/*
 * A recording from its first call to its end, whole: folders that vanish or are taken, ranks that become known later,
 * any command line.
 */
#include "session_child.h"

static void whole_life(void)
{
	session_set_rank(3, 4);
	CHECK(!exists("rank3", "")); /* nothing before the first record */
	for (int i = 0; i < 100; i++)
		CHECK(call());
	CHECK(exists("rank3", "journal.bin") && meta_says("rank3", "\"running\"") &&
		meta_is_json("rank3"));
	session_record_library("MPI", "some\nversion \"1\"");
	session_flush();
	CHECK(rows("rank3") == 100);
	session_exec();
	for (int i = 0; i < 20; i++)
		CHECK(call());
	session_end();
	CHECK(!call());
	session_end();
	CHECK(rows("rank3") == 120 && !exists("rank3", "journal.bin"));
	CHECK(meta_says("rank3", "\"state\": \"finished\"") &&
		meta_says("rank3", "\"recorded\": 120"));
	CHECK(meta_says("rank3", "some\\u000aversion \\\"1\\\"") &&
		meta_says("rank3", "\"world_size\": 4"));
	CHECK(meta_is_json("rank3"));
}

static void test_whole_life(void **state)
{
	(void)state;
	in_child(whole_life);
}

/* If meta.json cannot be rewritten, that is reported as for other files, and recorded in it as soon as it can be. */
static void meta_in_the_way(void)
{
	session_set_rank(3, 4);
	CHECK(call());
	session_flush();
	CHECK(mkdir(path_in("rank3", "meta.json.tmp"), 0777) == 0);
	CHECK(call());
	session_flush();
	CHECK(log_loss_text(LOSS_WRITE));
	CHECK(rmdir(path_in("rank3", "meta.json.tmp")) == 0);
	session_flush();
	CHECK(meta_says("rank3", "\"write\": \"writing meta.json in") && rows("rank3") == 2);
	session_end();
}

static void test_meta_in_the_way(void **state)
{
	(void)state;
	in_child(meta_in_the_way);
}

/* A disk that keeps the writer waiting. */
static _Atomic unsigned disk_ms;

uint32_t __real_files_remove_oldest(struct files *f);
uint32_t __wrap_files_remove_oldest(struct files *f);

uint32_t __wrap_files_remove_oldest(struct files *f)
{
	poll(NULL, 0, (int)disk_ms);
	return __real_files_remove_oldest(f);
}

/* The cost of writing is processor time, not elapsed time. */
static void slow_disk(void)
{
	struct timespec cpu;
	uint64_t own, all;

	session_set_rank(3, 4);
	CHECK(call());
	session_flush();
	disk_ms = 300;
	for (int i = 0; i < 3; i++) {
		CHECK(call());
		session_flush();
	}
	session_end();
	own = __atomic_load_n(&session.journal.head->writer_ns, __ATOMIC_RELAXED);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	all = (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
	CHECK(own > 0 && own <= all);
	CHECK(all > 800000000 || meta_says("rank3", "\"writer_s\": 0.0"));
}

static void test_slow_disk(void **state)
{
	(void)state;
	in_child(slow_disk);
}

static void rank_known_later(void)
{
	char *host = NULL;

	CHECK(call());
	CHECK(asprintf(&host, "host-%s-pid%d", session.owner.host, (int)getpid()) > 0);
	CHECK(exists(host, "journal.bin"));
	session_set_rank(5, 8);
	CHECK(!exists(host, "") && exists("rank5", "journal.bin"));
	CHECK(strcmp(session.journal.head->journal_path, path_in("rank5", "journal.bin")) == 0);
	CHECK(call());
	session_end();
	CHECK(rows("rank5") == 2 && !exists("rank5", "journal.bin"));
	CHECK(meta_says("rank5", "\"rank\": 5,") && meta_says("rank5", "\"world_size\": 8"));
}

/* The journal is elsewhere: where it was asked to be, or in a segment because that cannot be. */
static const char *host_folder(void)
{
	static char name[200];

	snprintf(name, sizeof(name), "host-%s-pid%d", session.owner.host, (int)getpid());
	return name;
}

static void journal_elsewhere(const char *assignment, const char *dir)
{
	char *was;

	set(assignment);
	CHECK(call());
	was = strdup(session.journal.head->journal_path);
	CHECK(strncmp(was, dir, strlen(dir)) == 0 && has_journal(was));
	CHECK(meta_says(host_folder(), was));
	session_set_rank(5, 8);
	CHECK(strcmp(session.journal.head->journal_path, was) == 0);
	CHECK(call());
	session_end();
	CHECK(rows("rank5") == 2 && !has_journal(was));
}

static void journal_in_segment(void)
{
	journal_elsewhere("PROBE_JOURNAL_DIR=/nonexistent/folder", "shm:");
}

static void journal_in_segment_asked(void)
{
	journal_elsewhere("PROBE_JOURNAL_DIR=shm", "shm:");
}

static void journal_where_asked(void)
{
	char *assignment, *dir = path_in("j", "");

	CHECK(mkdir(dir, 0777) == 0);
	CHECK(asprintf(&assignment, "PROBE_JOURNAL_DIR=%s", dir) > 0);
	journal_elsewhere(assignment, dir);
}

static void test_rank_known_later(void **state)
{
	(void)state;
	in_child(rank_known_later);
	in_child(journal_where_asked);
	in_child(journal_in_segment);
	in_child(journal_in_segment_asked);
}

/* Whatever the command line holds, and however long it is. */
static void odd_command_line(void)
{
	static char line[8192];

	memset(line, '\n', sizeof(line));
	memcpy(line, "python3\0-c\0\xff\"\\", 15);
	for (size_t i = 40; i < sizeof(line); i += 7)
		line[i] = i % 3 ? (char)0xe6 : 0;
	cmdline = line;
	cmdline_bytes = sizeof(line);
	session_set_rank(0, 1);
	CHECK(call());
	session_end();
	CHECK(meta_is_json("rank0"));
	CHECK(meta_says("rank0", "[\"python3\", \"-c\", \"\\\\xff\\\"\\\\"));
	CHECK(meta_says("rank0", "\"...\"]"));
}

static void test_odd_command_line(void **state)
{
	(void)state;
	in_child(odd_command_line);
}

static void folder_removed(void)
{
	session_set_rank(0, 1);
	CHECK(call());
	session_flush();
	remove_tree(path_in("rank0", ""));
	CHECK(call());
	session_flush();
	CHECK(rows("rank0") == 1 && meta_says("rank0", "\"crash_safe\": false"));
	CHECK(call());
	session_end();
	CHECK(rows("rank0") == 2 && meta_says("rank0", "\"finished\"") && meta_is_json("rank0"));
}

static void folder_taken_by_another(void)
{
	char *second;
	int fd;

	session_set_rank(0, 1);
	CHECK(call());
	session_flush();
	remove_tree(path_in("rank0", ""));
	/* A newcomer whose owner cannot be judged from here. */
	CHECK(mkdir(path_in("rank0", ""), 0777) == 0);
	fd = open(path_in("rank0", "meta.json"), O_CREAT | O_WRONLY, 0666);
	CHECK(write(fd, "{}", 2) == 2);
	close(fd);
	CHECK(call());
	session_end();
	CHECK(asprintf(&second, "rank0-pid%d", (int)getpid()) > 0);
	CHECK(rows(second) == 1 && meta_says(second, "\"finished\""));
	CHECK(count_files(path_in("rank0", ""), "calls_") == 0 && !meta_says("rank0", "owner"));
}

static void test_folder_removed(void **state)
{
	(void)state;
	in_child(folder_removed);
	in_child(folder_taken_by_another);
}

static void nothing_to_be_written(void)
{
	int fd = open(path_in("", "file"), O_CREAT | O_WRONLY, 0666);

	close(fd);
	for (int i = 0; env[i]; i++)
		if (strncmp(env[i], "PROBE_OUTPUT_DIR=", 17) == 0)
			CHECK(asprintf(&env[i], "PROBE_OUTPUT_DIR=%s/file", out) > 0);
	session_set_rank(0, 1);
	CHECK(!call() && !call());
	session_end();
}

static void disabled(void)
{
	set("PROBE_DISABLE=1");
	CHECK(!call());
	CHECK(count_files(out, "rank") + count_files(out, "host") == 0);
}

static void test_off(void **state)
{
	(void)state;
	in_child(nothing_to_be_written);
	in_child(disabled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_life),
		cmocka_unit_test(test_meta_in_the_way),
		cmocka_unit_test(test_slow_disk),
		cmocka_unit_test(test_rank_known_later),
		cmocka_unit_test(test_odd_command_line),
		cmocka_unit_test(test_folder_removed),
		cmocka_unit_test(test_off),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
