/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of steps that run again are taken out of the files of a folder; all others stay as they are, byte by byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "sink/split_steps.h"

static char folder[] = "/tmp/libprobe-split.XXXXXX";
static int from, to;

static int make_split_folders(void **state)
{
	char path[sizeof(folder) + 8];

	(void)state;
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/a", folder);
	mkdir(path, 0700);
	from = open(path, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/b", folder);
	mkdir(path, 0700);
	to = open(path, O_RDONLY | O_DIRECTORY);
	return from < 0 || to < 0;
}

static int remove_split_folders(void **state)
{
	char command[sizeof(folder) + 16];

	(void)state;
	close(from);
	close(to);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void put_split_file(const char *name, const char *text)
{
	int fd = openat(from, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void check_split_file(int dir, const char *name, const char *want)
{
	static char have[1 << 16];
	int fd = openat(dir, name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, have, sizeof(have) - 1);

	if (fd >= 0)
		close(fd);
	if (!want) {
		assert_int_equal(fd, -1);
		return;
	}
	assert_true(n >= 0);
	have[n] = 0;
	assert_string_equal(have, want);
}

static struct split_steps split_at(uint32_t first)
{
	struct split_steps done;

	assert_int_equal(move_steps(from, to, first, &done), 0);
	return done;
}

static void test_rows_are_parted(void **state)
{
	struct split_steps done;

	(void)state;
	/* Names with commas, quotes and line breaks; rows not in order, one without a step. */
	put_split_file("actv_0-9.csv", "name,\"odd, one\",step,norm\n"
				       "\"a,5\",x,4,1\n"
				       "\"b\n\"\"9\"\",9,9\",x,5,2\n"
				       "c,x,3,3\n"
				       "d,\"6\n7\",10,4\n"
				       "e,x,,5\n");
	done = split_at(5);
	check_split_file(from, "actv_0-9.csv",
		"name,\"odd, one\",step,norm\n\"a,5\",x,4,1\nc,x,3,3\ne,x,,5\n");
	check_split_file(to, "actv_0-9.csv",
		"name,\"odd, one\",step,norm\n\"b\n\"\"9\"\",9,9\",x,5,2\nd,\"6\n7\",10,4\n");
	assert_int_equal(done.kept, 3);
	assert_int_equal(done.moved, 2);
	/* Again: there is nothing left to be moved, and nothing changes. */
	done = split_at(5);
	assert_int_equal(done.moved, 0);
	check_split_file(from, "actv_0-9.csv",
		"name,\"odd, one\",step,norm\n\"a,5\",x,4,1\nc,x,3,3\ne,x,,5\n");
	check_split_file(from, "actv_0-9.csv.tmp", NULL);
}

static void test_whole_files(void **state)
{
	(void)state;
	put_split_file("calls_0-3.csv", "step\n0\n3\n");
	put_split_file("calls_4-7.csv", "step\n4\n5\n");
	put_split_file("calls_4-7.1.csv", "step\n6\n7\n");
	put_split_file("calls_8-11.csv", "step\n8\n");
	put_split_file("stack_info.csv", "stack_id,first_step\n1,0\n12,9\n7,7\n");
	put_split_file("my_notes.txt", "step 9\n");
	split_at(4);
	check_split_file(from, "calls_0-3.csv", "step\n0\n3\n");
	check_split_file(from, "calls_4-7.csv", NULL);
	check_split_file(from, "calls_4-7.1.csv", NULL);
	check_split_file(from, "calls_8-11.csv", NULL);
	check_split_file(to, "calls_4-7.csv", "step\n4\n5\n");
	check_split_file(to, "calls_4-7.1.csv", "step\n6\n7\n");
	check_split_file(to, "calls_8-11.csv", "step\n8\n");
	check_split_file(from, "my_notes.txt", "step 9\n");
	assert_int_equal(find_column_max(from, "stack_info.csv", "stack_id"), 12);
	assert_int_equal(find_column_max(from, "stack_info.csv", "first_step"), 9);
	assert_int_equal(find_column_max(from, "no.csv", "stack_id"), 0);
	assert_int_equal(copy_between_folders(from, to, "stack_info.csv"), 0);
	check_split_file(to, "stack_info.csv", "stack_id,first_step\n1,0\n12,9\n7,7\n");
}

static void test_nothing_stays(void **state)
{
	(void)state;
	/* All its rows are of steps that run again: no file with a header alone is left. */
	put_split_file("calls_0-99.csv", "api,step\na,50\nb,60\n");
	split_at(40);
	check_split_file(from, "calls_0-99.csv", NULL);
	check_split_file(to, "calls_0-99.csv", "api,step\na,50\nb,60\n");
}

static void test_compressed_and_lines(void **state)
{
	int fd = openat(from, "calls_0-9.csv.gz", O_WRONLY | O_CREAT, 0600);
	gzFile gz = gzdopen(fd, "wb");

	(void)state;
	gzputs(gz, "step,api\n1,a\n5,b\n");
	gzclose(gz);
	put_split_file("alerts.jsonl",
		"{\"rank\": 0, \"step\": 3, \"name\": \"a \\\" b\", \"first_step\": 9}\n"
		"{\"rank\": 0, \"step\": 5, \"first_step\": 1}\n");
	split_at(5);
	check_split_file(from, "calls_0-9.csv", "step,api\n1,a\n");
	check_split_file(from, "calls_0-9.csv.gz", NULL);
	check_split_file(to, "calls_0-9.csv", "step,api\n5,b\n");
	check_split_file(from, "alerts.jsonl",
		"{\"rank\": 0, \"step\": 3, \"name\": \"a \\\" b\", \"first_step\": 9}\n");
	check_split_file(to, "alerts.jsonl", "{\"rank\": 0, \"step\": 5, \"first_step\": 1}\n");
}

static void test_long_files(void **state)
{
	/* Rows that lie across what is read at once, by the boundaries of its buffer. */
	struct split_steps done;
	FILE *f;
	int fd = openat(from, "calls_0-99.csv", O_WRONLY | O_CREAT, 0600);

	(void)state;
	f = fdopen(fd, "w");
	fputs("step,name\n", f);
	for (int i = 0; i < 300000; i++)
		fprintf(f, "%d,\"n\n%d\"\n", i / 3000, i);
	fclose(f);
	done = split_at(30);
	assert_int_equal(done.kept, 90000);
	assert_int_equal(done.moved, 210000);
	assert_int_equal(find_column_max(from, "calls_0-99.csv", "step"), 29);
	assert_int_equal(find_column_max(to, "calls_0-99.csv", "step"), 99);
}

static void test_what_is_no_table(void **state)
{
	struct split_steps done;

	(void)state;
	put_split_file("calls_0-99.csv", "api,name\na,b\n");
	assert_int_equal(move_steps(from, to, 5, &done), -EPROTO);
	check_split_file(from, "calls_0-99.csv", "api,name\na,b\n");
	put_split_file("calls_0-99.csv", "");
	assert_int_equal(move_steps(from, to, 5, &done), 0);
}

#define WITH_FOLDERS(f) cmocka_unit_test_setup_teardown(f, make_split_folders, remove_split_folders)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDERS(test_rows_are_parted),
		WITH_FOLDERS(test_whole_files),
		WITH_FOLDERS(test_nothing_stays),
		WITH_FOLDERS(test_compressed_and_lines),
		WITH_FOLDERS(test_long_files),
		WITH_FOLDERS(test_what_is_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
