/* SPDX-License-Identifier: Apache-2.0 */
/* Which process gets which folder: new ones, ones that were left, others', and renaming when the rank becomes known. */
#include "folder_helper.h"

#include "folder/folder_mark.h"

static void test_new_folders(void **state)
{
	struct folder f;
	struct journal_owner o = me();
	const char *other;

	(void)state;
	check_take("rank0", false);
	assert_int_equal(take(&f, -1, &other), 0);
	assert_string_equal(f.path, at("host-%s-pid%d", o.host, (int)getpid()));
	folder_close(&f);
	/* Parents are made. */
	strcat(out, "/a/b");
	assert_int_equal(take(&f, 12, &other), 0);
	assert_string_equal(f.path, at("rank12"));
	folder_close(&f);
	out[strlen(out) - 4] = 0;
}

static void test_left_folders_move(void **state)
{
	struct journal_owner o = dead(), reused = me(), boot = me();

	(void)state;
	old_folder("rank0", &o, "running", "/nowhere");
	check_take("rank0", false);
	assert_true(exists(at("rank0.1/old")) && !exists(at("rank0/old")));
	/* Its owner is now ourselves of a moment ago (exec). */
	check_take("rank0", false);
	assert_true(exists(at("rank0.2/meta.json")) && !exists(at("rank0.2/old")));
	remove_tree(at("rank0"));
	/* The pid is another process' by now, or the machine was started again. */
	reused.pid = getppid();
	reused.start_time = 1;
	old_folder("rank0", &reused, "running", "");
	check_take("rank0", false);
	remove_tree(at("rank0"));
	strcpy(boot.boot_id, "an-earlier-boot");
	old_folder("rank0", &boot, "running", "");
	check_take("rank0", false);
	assert_true(exists(at("rank0.4/old")));
	/* Finished, by any process. */
	remove_tree(at("rank0"));
	strcpy(boot.host, "elsewhere");
	old_folder("rank0", &boot, "finished", "");
	check_take("rank0", false);
	remove_tree(at("rank0"));
	old_folder("rank0", &boot, "recovered", "");
	/* An empty one of that number is no obstacle. */
	mkdir(at("rank0.6"), 0777);
	check_take("rank0", false);
	assert_true(exists(at("rank0.7/old")));
}

static void test_others_folders_stay(void **state)
{
	struct journal_owner there = me(), ns = me();

	(void)state;
	strcpy(there.host, "elsewhere");
	old_folder("rank0", &there, "running", "");
	check_take(second_name(), true);
	remove_tree(at("%s", second_name()));
	remove_tree(at("rank0"));
	ns.pid_ns++;
	old_folder("rank0", &ns, "running", "");
	check_take(second_name(), true);
	remove_tree(at("%s", second_name()));
	remove_tree(at("rank0"));
	/* Not to be judged: no owner in it. */
	mkdir(at("rank0"), 0777);
	fclose(fopen(at("rank0/meta.json"), "w"));
	check_take(second_name(), true);
	assert_true(exists(at("rank0/meta.json")));
}

/* ---- the mark ---- */

static void test_mark_of_a_dead_mover(void **state)
{
	struct journal_owner o = dead();

	(void)state;
	old_folder("rank0", &o, "running", "");
	fclose(fopen(at("rank0/moving"), "w"));
	check_take("rank0", false);
	assert_true(exists(at("rank0.1/old")) && !exists(at("rank0.1/moving")));
}

/* A mark is its process' for as long as that lives, however old it looks. */
static void age_mark(void)
{
	struct timespec old[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};

	assert_int_equal(utimensat(AT_FDCWD, at("rank0/moving"), old, 0), 0);
}

static void test_mark_of_a_living_mover(void **state)
{
	struct journal_owner o = dead();
	int mark, folder;

	(void)state;
	old_folder("rank0", &o, "running", "");
	folder = open(at("rank0"), O_RDONLY | O_DIRECTORY);
	mark = mark_folder(folder);
	assert_true(mark >= 0);
	age_mark();
	check_take(second_name(), true);
	assert_true(exists(at("rank0/old")));
	assert_int_equal(mark_folder(folder), -EBUSY);
	unmark_folder(folder, mark);
	assert_false(exists(at("rank0/moving")));
	close(folder);
}

static int resume_at_once(void *arg, int dir, int dirfd, const char *name)
{
	(void)arg, (void)dir, (void)dirfd, (void)name;
	return 0;
}

static int resume_folder_with(struct folder *f, int (*prepare)(void *, int, int, const char *))
{
	struct folder_resume resume = {prepare, NULL};
	struct journal_owner o = me();
	const char *other;
	char meta[2048];
	size_t n = meta_for(meta, sizeof(meta), &o, "running", "");

	return folder_take(f, out, 0, &o, meta, n, &resume, &other);
}

/* It takes an hour; then another newcomer comes. */
static int resume_slowly(void *arg, int dir, int dirfd, const char *name)
{
	int status;
	pid_t pid;

	(void)arg, (void)dir, (void)dirfd, (void)name;
	age_mark();
	pid = fork();
	if (pid == 0) {
		struct folder f;

		_exit(resume_folder_with(&f, resume_at_once) ||
			strcmp(f.path, at("rank0-pid%d", (int)getpid())));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return 0;
}

static void test_slow_resume(void **state)
{
	struct journal_owner o = dead();
	struct folder f;

	(void)state;
	old_folder("rank0", &o, "running", "");
	assert_int_equal(resume_folder_with(&f, resume_slowly), 0);
	assert_string_equal(f.path, at("rank0"));
	assert_true(exists(at("rank0/old")) && !exists(at("rank0/moving")));
	folder_close(&f);
}

/* ---- renaming, when the rank becomes known ---- */

static void test_rename(void **state)
{
	struct folder f;
	struct journal_owner o = me(), there = me();
	const char *other;

	(void)state;
	assert_int_equal(take(&f, -1, &other), 0);
	assert_int_equal(folder_rename(&f, out, 3, &o), 0);
	assert_string_equal(f.path, at("rank3"));
	assert_true(exists(at("rank3/meta.json")));
	folder_close(&f);
	assert_int_equal(take(&f, -1, &other), 0);
	assert_int_equal(folder_rename(&f, out, 3, &o), 0); /* the one there is our own of before */
	assert_true(exists(at("rank3.1/meta.json")));
	folder_close(&f);
	strcpy(there.host, "elsewhere");
	old_folder("rank4", &there, "running", "");
	assert_int_equal(take(&f, -1, &other), 0);
	assert_int_equal(folder_rename(&f, out, 4, &o), 0);
	assert_string_equal(f.path, at("rank4-pid%d", (int)getpid()));
	folder_close(&f);
}

static void test_no_folder_to_be_had(void **state)
{
	struct folder f;
	const char *other;

	(void)state;
	fclose(fopen(at("file"), "w"));
	strcat(out, "/file");
	assert_int_equal(take(&f, 0, &other), -ENOTDIR);
	assert_int_equal(f.dir.fd, -1);
	out[strlen(out) - 5] = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_new_folders, begin, end),
		cmocka_unit_test_setup_teardown(test_left_folders_move, begin, end),
		cmocka_unit_test_setup_teardown(test_others_folders_stay, begin, end),
		cmocka_unit_test_setup_teardown(test_mark_of_a_dead_mover, begin, end),
		cmocka_unit_test_setup_teardown(test_mark_of_a_living_mover, begin, end),
		cmocka_unit_test_setup_teardown(test_slow_resume, begin, end),
		cmocka_unit_test_setup_teardown(test_rename, begin, end),
		cmocka_unit_test_setup_teardown(test_no_folder_to_be_had, begin, end),
	};

	return cmocka_run_group_tests_name("folder", tests, NULL, NULL);
}
