/* SPDX-License-Identifier: Apache-2.0 */
/* `probe report --json`: one document, in which each table is a member of the outermost object. */
#include "run_helper.h"

#include "journal/columns.h"
#include "tools/lib/files/json_read.h"
#include "tools/probe/rules/report.h"

#define JSON_WORLD "00000000000000aa"

/* Members of the outermost object, each with a blank before and after it. */
static void read_members(const char *path, char *members, size_t cap)
{
	static struct json_in j;
	enum json_token token;
	size_t n = 0;

	members[0] = 0;
	assert_int_equal(json_open(&j, path), 0);
	while ((token = json_read_token(&j)) != JSON_DONE) {
		assert_int_not_equal(token, JSON_WRONG);
		if (token == JSON_KEY && j.depth == 1)
			n += (size_t)snprintf(members + n, cap - n, " %s ", j.text);
		assert_true(n < cap);
	}
	json_close(&j);
}

static void print_run(const char *path)
{
	static struct report report;
	struct gather_options o = {.path = top, .top = 5, .step_hi = UINT64_MAX};
	int old;

	assert_int_equal(report_gather(&report, &o), 0);
	fflush(stdout);
	old = dup(1);
	assert_non_null(freopen(path, "w", stdout));
	print_report_json(&report);
	fflush(stdout);
	dup2(old, 1);
	close(old);
	report_free(&report);
}

static void each_table_is_a_member_of_the_document(void **state)
{
	static const char *const tables[] = {"left_out", "findings", "operations", "ranks"};
	char path[128], members[2048], member[64];
	FILE *f;

	(void)state;
	put_run_meta("rank0", (struct run_meta){.rank = 0,
				      .world = 1,
				      .first = 100,
				      .last = 9000,
				      .clock_first = 1,
				      .clock_last = 20000});
	f = create("rank0", "comms.csv");
	fprintf(f, "%s" JSON_WORLD ",mpi,1,0,world,,W,0-0\n", COMM_HEADER);
	fclose(f);
	f = create("rank0", "calls_0-99.csv");
	fputs(ROW_HEADER, f);
	for (int i = 1; i < 3; i++)
		fprintf(f,
			"0,,%d,mpi,MPI_all_reduce,all_reduce," JSON_WORLD
			",%d,0,,sum,,,in,0,float32,,10,40,-1,2,0,1,0,0,0,%d,5,9,,,,,,,,,,,,\n",
			i, i, 1000 * i);
	fclose(f);
	snprintf(path, sizeof(path), "%s/report.json", top);
	print_run(path);
	read_members(path, members, sizeof(members));
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		snprintf(member, sizeof(member), " %s ", tables[i]);
		assert_non_null(strstr(members, member));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			each_table_is_a_member_of_the_document, make_top, remove_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
