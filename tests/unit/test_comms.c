/* SPDX-License-Identifier: Apache-2.0 */
/* Members of communicators as comms.csv lists them, also where a file is damaged. */
#include "tmp_helper.h"

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/comms.h"

static char folder[64];

static void lists_of_ranks_are_plausible(void **state)
{
	static const char *const sound[] = {
		"", "0", "0-3", "0-3;8", "3;1;2", "0-1|2-3", "0-3;8...", "...", "0-1048575"};
	static const char *const damaged[] = {"0-4294967295", "0-1048576", "0-1048575;2000000",
		"4294967295", "5-3", "0-3;-1", "-1", "0--5", "0-3 ", "0-9223372036854775807",
		"0-18446744073709551615", "99999999999999999999999"};

	(void)state;
	for (unsigned i = 0; i < sizeof(sound) / sizeof(*sound); i++)
		assert_true(is_plausible_rank_list(sound[i]));
	for (unsigned i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
		assert_false(is_plausible_rank_list(damaged[i]));
}

static void write_list(const char *ranks)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/comms.csv", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "comm,lib,size,rank,kind,parent,name,world_ranks\n");
	fprintf(f, "c26e9b518417f402,mpi,2,0,intercomm,,bridge,%s\n", ranks);
	fclose(f);
}

/* The numbers of a damaged call stay what they are; those of a sound one are in the numbering of both groups. */
static void numbers_of_damaged_calls_stay(void **state)
{
	struct rank_dir dir = {.path = folder};
	struct call c = {.comm = UINT64_C(0xc26e9b518417f402),
		.comm_rank = 0,
		.peer = 1,
		.source = NO_NUMBER,
		.size = NO_NUMBER};
	struct comms comms;

	(void)state;
	comms_init(&comms);
	write_list("0-1|2-3");
	comms_read(&comms, &dir, NULL);
	comms_set_present_members(&comms, &dir, 1);
	comms_set_call_numbers(&comms, &c, 0);
	assert_int_equal(c.comm_rank, 0);
	assert_int_equal(c.peer, 3);
	c.comm_rank = c.peer = INT64_MAX;
	comms_set_call_numbers(&comms, &c, 0);
	assert_true(c.comm_rank == INT64_MAX && c.peer == INT64_MAX);
	comms_free(&comms);
}

static void a_damaged_list_has_no_members(void **state)
{
	struct rank_dir dir = {.path = folder};
	struct comms comms;
	struct comm_info *k;

	(void)state;
	comms_init(&comms);
	write_list("0-4294967295");
	comms_read(&comms, &dir, NULL);
	k = comms_find(&comms, UINT64_C(0xc26e9b518417f402));
	assert_non_null(k);
	assert_null(k->member);
	assert_int_equal(comm_get_member(k, 5), -1);
	/* Another rank's file may list them. */
	write_list("0-1|2-3");
	comms_read(&comms, &dir, NULL);
	assert_int_equal(k->nmember, 4);
	comms_free(&comms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_ranks_are_plausible),
		cmocka_unit_test(numbers_of_damaged_calls_stay),
		cmocka_unit_test(a_damaged_list_has_no_members),
	};

	int failed;

	make_tmp(folder, sizeof(folder));
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests_name("comms", tests, NULL, NULL);
	remove_tree(folder);
	return failed;
}
