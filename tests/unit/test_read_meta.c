/* SPDX-License-Identifier: Apache-2.0 */
/* meta.json as the commands read it: all keys, missing ones, odd texts, damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib/files/whole_file.h"
#include "tools/probe/model/read/read_meta.h"

static const char whole[] =
	"{\n \"format\": 1,\n \"state\": \"running\",\n"
	" \"owner\": {\"host\": \"vm\", \"boot_id\": \"b085\", \"pid_ns\": 4026531836, \"pid\": "
	"15527, \"start_time\": 434753},\n"
	" \"journal_path\": \"/tmp/a \\\"b\\\"/journal.bin\",\n"
	" \"journal\": {\"bytes\": 16777216, \"crash_safe\": true, \"outside\": 3, \"damaged\": "
	"4},\n"
	" \"run\": \"1349713921\",\n \"rank\": 5,\n \"rank_guessed\": true,\n \"world_size\": 4,\n "
	"\"version\": \"0.1.0\",\n"
	" \"clock\": {\"first\": {\"tick\": 1, \"real_ns\": 1795189907043876954, \"ns_per_tick\": "
	"0.38461536274681951}, "
	"\"last\": {\"real_ns\": 1795189907414569394}},\n"
	" \"first_record_ns\": 1795189907052075945,\n \"last_record_ns\": 18446744073709551615,\n"
	" \"steps\": {\"current\": 12, \"last_recorded\": 11, \"source\": \"api\", \"per_file\": "
	"100},\n"
	" \"calls\": {\"seen\": 2013, \"recorded\": 2000, \"dropped\": {\"journal_full\": 13, "
	"\"stack_only\": 1}, "
	"\"skipped\": {\"rank\": 0, \"step\": 6}},\n"
	" \"rows\": 3996,\n \"lost_rows\": 8,\n \"removed_blocks\": 9,\n"
	" \"own_time\": {\"in_calls_s\": 0.0185892, \"writer_s\": 1e-05},\n"
	" \"missing\": {\"journal_full\": \"the journal is full: raise journal_mib (now 16)\"},\n"
	" \"config\": {\"stack\": false, \"statistics\": true, \"rank\": [0, \"4-6\"], \"step\": "
	"[], \"step_marker\": \"MPI_Barrier\"},\n"
	" \"libraries\": {\"mpi\": \"Open MPI v4.1.4\"},\n"
	" \"invisible\": {\"graphs\": \"compiled: not seen\"},\n"
	" \"optimizer_steps_before\": 500,\n"
	" \"unfinished_reduction_step\": 3,\n"
	" \"memory_group\": {\"events\": \"/sys/fs/cgroup/job/memory.events\", \"oom_kills\": 2},\n"
	" \"program\": [\"/usr/bin/python3\", \"train.py\", \"--name\", \"two words\", \"\", "
	"\"a\\nb\"]\n}\n";

static struct meta m;

static char *read_it(const char *text)
{
	return meta_read_text(&m, text, strlen(text));
}

static void all_keys(void **state)
{
	(void)state;
	assert_null(read_it(whole));
	assert_string_equal(m.state, "running");
	assert_true(m.has_owner);
	assert_string_equal(m.owner.host, "vm");
	assert_string_equal(m.owner.boot_id, "b085");
	assert_int_equal(m.owner.pid_ns, 4026531836u);
	assert_int_equal(m.owner.pid, 15527);
	assert_int_equal(m.owner.start_time, 434753);
	assert_string_equal(m.journal_path, "/tmp/a \"b\"/journal.bin");
	assert_true(m.crash_safe);
	assert_int_equal(m.outside, 3);
	assert_int_equal(m.damaged, 4);
	assert_string_equal(m.run, "1349713921");
	assert_int_equal(m.rank, 5);
	assert_true(m.rank_guessed);
	assert_int_equal(m.world_size, 4);
	assert_string_equal(m.version, "0.1.0");
	assert_int_equal(m.clock_first_ns, 1795189907043876954);
	assert_int_equal(m.clock_last_ns, 1795189907414569394);
	assert_int_equal(m.first_record_ns, 1795189907052075945);
	assert_true(m.last_record_ns == UINT64_MAX);
	assert_int_equal(m.step_now, 12);
	assert_int_equal(m.step_last, 11);
	assert_string_equal(m.step_source, "api");
	assert_int_equal(m.seen, 2013);
	assert_int_equal(m.recorded, 2000);
	assert_int_equal(m.ndropped, 2);
	assert_string_equal(m.dropped[0].name, "journal_full");
	assert_int_equal(m.dropped[0].n, 13);
	assert_int_equal(m.nskipped, 2);
	assert_int_equal(m.skipped[1].n, 6);
	assert_int_equal(m.rows, 3996);
	assert_int_equal(m.lost_rows, 8);
	assert_int_equal(m.removed_blocks, 9);
	assert_true(m.own_calls_s == 0.0185892 && m.own_writer_s == 1e-05);
	assert_int_equal(m.nmissing, 1);
	assert_string_equal(m.missing[0].text, "the journal is full: raise journal_mib (now 16)");
	assert_string_equal(m.libraries[0].text, "Open MPI v4.1.4");
	assert_string_equal(m.program, "/usr/bin/python3 train.py --name 'two words' '' 'a b'");
	assert_string_equal(m.cfg_rank, "0,4-6");
	assert_string_equal(m.cfg_step, "");
	assert_string_equal(m.cfg_step_marker, "MPI_Barrier");
	assert_int_equal(m.ninvisible, 1);
	assert_int_equal(m.steps_before, 500);
	assert_int_equal(m.unfinished_reduction, 3);
	assert_string_equal(m.memory_events, "/sys/fs/cgroup/job/memory.events");
	assert_int_equal(m.oom_kills, 2);
	assert_string_equal(m.invisible[0].name, "graphs");
	assert_string_equal(m.invisible[0].text, "compiled: not seen");
	assert_false(m.cfg_stack);
	assert_true(m.cfg_statistics);
	meta_free(&m);
}

static void nearly_nothing(void **state)
{
	(void)state;
	assert_null(read_it("{}"));
	assert_string_equal(m.state, "");
	assert_false(m.has_owner);
	assert_int_equal(m.rank, -1);
	assert_int_equal(m.world_size, -1);
	assert_int_equal(m.step_last, -1);
	assert_int_equal(m.oom_kills, -1);
	assert_string_equal(m.memory_events, "");
	assert_int_equal(m.first_record_ns, 0);
	assert_string_equal(m.program, "");
	meta_free(&m);
	assert_null(read_it("{\"rank\": null, \"world_size\": null, \"steps\": {\"last_recorded\": "
			    "null}, \"state\": null}"));
	assert_int_equal(m.rank, -1);
	assert_int_equal(m.world_size, -1);
	assert_int_equal(m.step_last, -1);
	assert_string_equal(m.state, "");
	meta_free(&m);
}

/* Keys with values of another kind than expected count as missing. */
static void other_kinds(void **state)
{
	(void)state;
	assert_null(read_it("{\"owner\": [1, 2], \"rank\": \"x\", \"calls\": 7, \"missing\": "
			    "[\"a\"], \"program\": \"a\", "
			    "\"libraries\": {\"mpi\": {\"a\": 1}}, \"state\": [\"finished\"], "
			    "\"world_size\": 99999999999}"));
	assert_false(m.has_owner);
	assert_int_equal(m.rank, -1);
	assert_int_equal(m.world_size, -1);
	assert_int_equal(m.nmissing, 0);
	assert_string_equal(m.libraries[0].text, "");
	assert_string_equal(m.state, "");
	meta_free(&m);
}

/* The file says what the job was given. */
static void odd_characters_are_read_as_they_are(void **state)
{
	(void)state;
	assert_null(read_it("{\"run\": \"a\x7f"
			    "b\tc\xc2\x81"
			    "d\xc3\xa4\\u00e4\\/\"}"));
	assert_string_equal(m.run, "a\x7f"
				   "b\tc\xc2\x81"
				   "d\xc3\xa4\xc3\xa4/");
	meta_free(&m);
}

static void damaged(void **state)
{
	static const char *const bad[] = {"", " ", "[]", "7", "{", "{\"a\"",
		"{\"a\": ", "{\"a\": \"", "\xff\xfe", "{\"a\": {"};
	char *why;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		why = read_it(bad[i]);
		assert_non_null(why);
		assert_string_equal(m.run, "");
		free(why);
		meta_free(&m);
	}
	/* Every cut of a good file. */
	for (size_t n = 0; n + 3 < sizeof(whole); n++) {
		why = meta_read_text(&m, whole, n);
		assert_non_null(why);
		free(why);
		meta_free(&m);
	}
	why = meta_read(&m, "/nonexistent/meta.json");
	assert_non_null(strstr(why, "No such file"));
	free(why);
	meta_free(&m);
}

static void long_lists(void **state)
{
	char *text = malloc(1 << 20), *at = text;

	(void)state;
	at += sprintf(at, "{\"missing\": {");
	for (int i = 0; i < 100; i++)
		at += sprintf(at, "%s\"k%d\": \"v\"", i ? ", " : "", i);
	at += sprintf(at, "}, \"program\": [\"p\"");
	for (int i = 0; i < 3000; i++)
		at += sprintf(at, ", \"argument%d\"", i);
	strcpy(at, "]}");
	assert_null(read_it(text));
	assert_int_equal(m.nmissing, META_LIST_MAX);
	assert_true(strlen(m.program) < 4200);
	assert_string_equal(m.program + strlen(m.program) - 4, " ...");
	meta_free(&m);
	free(text);
}

/* A file's size is no size that was set before: one that fills the room, one that is larger, an empty one, one of /proc, none. */
static void a_file_is_read_whole(void **state)
{
	char path[] = "/tmp/probe-whole-XXXXXX", *text;
	static const size_t sizes[] = {0, 1, 9, 10, 11, 4096};
	int fd = mkstemp(path);
	ssize_t n;

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char want[4097];

		memset(want, 'x', sizes[i]);
		want[sizes[i]] = 0;
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, want, sizes[i], 0), sizes[i]);
		text = read_whole_file(path, 10, &n);
		assert_int_equal(n, sizes[i] <= 10 ? sizes[i] : 11);
		want[n] = 0;
		assert_string_equal(text, want);
		free(text);
	}
	close(fd);
	unlink(path);
	text = read_whole_file("/proc/self/maps", 1 << 20, &n);
	assert_true(n > 300 && strlen(text) == (size_t)n);
	assert_non_null(strstr(text, "[stack]"));
	free(text);
	text = read_whole_file(path, 10, &n);
	assert_int_equal(n, -ENOENT);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_keys),
		cmocka_unit_test(nearly_nothing),
		cmocka_unit_test(other_kinds),
		cmocka_unit_test(odd_characters_are_read_as_they_are),
		cmocka_unit_test(damaged),
		cmocka_unit_test(long_lists),
		cmocka_unit_test(a_file_is_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
