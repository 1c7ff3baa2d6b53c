/* SPDX-License-Identifier: Apache-2.0 */
/* What `probe compare` finds in a folder of dumps: each dump.json with the step and the rank of its path. */
#include "run_helper.h"

#include "tools/probe/compare/entries/compare.h"

static void put_dump(const char *step, const char *rank)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, step);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s", step, rank);
	fclose(create(path, "dump.json"));
}

static void check_place(const struct dump_place *p, int64_t step, int64_t rank, const char *end)
{
	assert_int_equal(p->step, step);
	assert_int_equal(p->rank, rank);
	assert_string_equal(p->path + strlen(top), end);
}

static void dumps_are_sorted_by_step_and_rank(void **state)
{
	struct compared side;

	(void)state;
	put_dump("step10", "rank0");
	put_dump("step2", "rank1");
	put_dump("step2", "rank0");
	assert_int_equal(find_side_contents(&side, top), 0);
	assert_int_equal(side.contents, CONTENT_DUMP);
	assert_int_equal(side.ndump, 3);
	check_place(&side.dump[0], 2, 0, "/step2/rank0/dump.json");
	check_place(&side.dump[1], 2, 1, "/step2/rank1/dump.json");
	check_place(&side.dump[2], 10, 0, "/step10/rank0/dump.json");
	free_side(&side);
}

static void a_single_process_has_no_rank(void **state)
{
	struct compared side;

	(void)state;
	put_dump("step0", "proc4711");
	assert_int_equal(find_side_contents(&side, top), 0);
	assert_int_equal(side.ndump, 1);
	check_place(&side.dump[0], 0, -1, "/step0/proc4711/dump.json");
	free_side(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			dumps_are_sorted_by_step_and_rank, make_top, remove_top),
		cmocka_unit_test_setup_teardown(a_single_process_has_no_rank, make_top, remove_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
