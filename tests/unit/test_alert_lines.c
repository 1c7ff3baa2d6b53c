/* SPDX-License-Identifier: Apache-2.0 */
/* alerts.jsonl as the command reads it: also with lines that are damaged, and while it is being written. */
#include "folder_helper.h"

#include <sys/stat.h>

#include "tools/lib/files/whole_file.h"
#include "tools/probe/model/read/alert_lines.h"

static char seen[256];

static void add_seen_rule(void *arg, const struct alert_line *a)
{
	size_t n = strlen(seen);

	(void)arg;
	snprintf(seen + n, sizeof(seen) - n, "%s%s:%llu", n ? " " : "", a->rule,
		(unsigned long long)a->count);
}

/* Returns how many lines are damaged. */
static uint64_t read_alerts_of_text(const char *text)
{
	FILE *f = fopen(at("alerts.jsonl"), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	*seen = 0;
	return read_alert_lines(out, add_seen_rule, NULL);
}

static void damaged_lines_are_skipped_and_counted(void **state)
{
	(void)state;
	assert_int_equal(read_alerts_of_text("{\"rule\": \"inf\", \"count\": 3}\n{\"rule\": \"ze\n"
					     "[1]\n\n{\"rule\": \"slow\", \"count\": 1}\n"),
		3);
	assert_string_equal(seen, "inf:3 slow:1");
}

static void a_line_that_is_being_written_is_not_damaged(void **state)
{
	(void)state;
	assert_int_equal(
		read_alerts_of_text("{\"rule\": \"inf\", \"count\": 3}\n{\"rule\": \"ze"), 0);
	assert_string_equal(seen, "inf:3");
}

static void a_missing_file_has_no_lines(void **state)
{
	(void)state;
	*seen = 0;
	assert_int_equal(read_alert_lines(out, add_seen_rule, NULL), 0);
	assert_string_equal(seen, "");
}

static void a_fifo_is_not_opened(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(at("alerts.jsonl"), 0600), 0);
	*seen = 0;
	assert_int_equal(read_alert_lines(out, add_seen_rule, NULL), 0);
	assert_string_equal(seen, "");
}

static void a_link_is_opened_unless_refused(void **state)
{
	FILE *f;

	(void)state;
	read_alerts_of_text("{}\n");
	assert_int_equal(symlink("alerts.jsonl", at("link")), 0);
	f = open_regular_stream(at("link"), 0);
	assert_non_null(f);
	fclose(f);
	assert_null(open_regular_stream(at("link"), O_NOFOLLOW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(damaged_lines_are_skipped_and_counted, begin, end),
		cmocka_unit_test_setup_teardown(
			a_line_that_is_being_written_is_not_damaged, begin, end),
		cmocka_unit_test_setup_teardown(a_missing_file_has_no_lines, begin, end),
		cmocka_unit_test_setup_teardown(a_fifo_is_not_opened, begin, end),
		cmocka_unit_test_setup_teardown(a_link_is_opened_unless_refused, begin, end),
	};

	return cmocka_run_group_tests_name("alert lines", tests, NULL, NULL);
}
