/* SPDX-License-Identifier: Apache-2.0 */
/* Rank, size and run from every combination of what launchers set, against the order of the contract. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/identity.h"

static const char *const vars[] = {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
	"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID",
	"SLURM_NTASKS", "SLURM_STEP_ID", "SLURM_JOB_ID", "PMIX_NAMESPACE", "TORCHELASTIC_RUN_ID",
	"RANK_ID", "RANK_SIZE", "MS_NODE_ID", "MS_WORKER_NUM", "TORCHELASTIC_RESTART_COUNT",
	"SLURM_RESTART_COUNT"};

#define NVARS (sizeof(vars) / sizeof(*vars))

static void clear(void)
{
	for (size_t i = 0; i < NVARS; i++)
		unsetenv(vars[i]);
}

static struct identity read_it(void)
{
	struct identity id;

	memset(&id, 0x5a, sizeof(id));
	identity_read(&id);
	return id;
}

/*
 * The first of: RANK with WORLD_SIZE; OMPI_COMM_WORLD_RANK; PMIX_RANK; PMI_RANK with PMI_SIZE; SLURM_PROCID inside a
 * step with SLURM_NTASKS > 1.
 */
static void test_every_combination(void **state)
{
	(void)state;
	for (unsigned set = 0; set < 1u << 11; set++) {
		int rank = -1, size = -1;
		unsigned ntasks = set & 1 ? 8 : 1;

		clear();
		for (unsigned i = 0; i < 11; i++) {
			char value[8] = {(char)('1' + (i >> 1)), 0};

			if (strcmp(vars[i], "SLURM_NTASKS") == 0)
				value[0] = (char)('0' + ntasks);
			if (set >> i & 1)
				setenv(vars[i], value, 1);
		}
		if ((set & 3) == 3)
			rank = 1, size = 1;
		else if (set >> 2 & 1)
			rank = 2, size = set >> 3 & 1 ? 2 : -1;
		else if (set >> 4 & 1)
			rank = 3, size = set >> 5 & 1 ? 3 : -1;
		else if ((set >> 6 & 3) == 3)
			rank = 4, size = 4;
		else if ((set >> 8 & 7) == 7 && ntasks > 1)
			rank = 5, size = (int)ntasks;

		struct identity id = read_it();

		if (id.rank != rank || id.size != size)
			fail_msg("set %#x: rank %d size %d, not %d %d", set, id.rank, id.size, rank,
				size);
	}
	clear();
}

/* MindSpore's: of a worker that msrun started, of one that HCCL's launcher did, and of one with a name for a node. */
static void test_mindspore(void **state)
{
	struct identity id;

	(void)state;
	clear();
	setenv("MS_WORKER_NUM", "4", 1);
	setenv("MS_NODE_ID", "3", 1);
	id = read_it();
	assert_int_equal(id.rank, 3);
	assert_int_equal(id.size, 4);
	setenv("RANK_ID", "2", 1);
	assert_int_equal(read_it().rank, 2);
	setenv("RANK_SIZE", "8", 1);
	assert_int_equal(read_it().size, 8);
	clear();
	setenv("RANK_ID", "2", 1); /* alone it may be of anything */
	assert_int_equal(read_it().rank, -1);
	setenv("MS_WORKER_NUM", "4", 1);
	setenv("RANK_ID", "worker-a", 1);
	setenv("MS_NODE_ID", "node-b", 1);
	assert_int_equal(read_it().rank, -1);
	setenv("RANK", "1", 1);
	setenv("WORLD_SIZE", "2", 1);
	setenv("RANK_ID", "0", 1);
	assert_int_equal(read_it().rank, 1);
	clear();
}

static void test_values_that_are_no_ranks(void **state)
{
	static const char *const bad[] = {"", "-1", "abc", "1x", "3 ", "99999999999", "0x2", "1.5"};

	(void)state;
	clear();
	setenv("WORLD_SIZE", "4", 1);
	setenv("OMPI_COMM_WORLD_RANK", "7", 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		setenv("RANK", bad[i], 1);
		errno = 42;
		assert_int_equal(read_it().rank, 7);
		assert_int_equal(errno, 42);
	}
	setenv("RANK", "0", 1);
	assert_int_equal(read_it().rank, 0);
	clear();
}

static void test_run(void **state)
{
	char expect[600] = "", value[600];

	(void)state;
	for (unsigned set = 0; set < 64; set++) {
		clear();
		strcpy(expect, "");
		if (set & 1)
			setenv("PMIX_NAMESPACE", "prterun-7", 1);
		if (set & 2)
			setenv("SLURM_JOB_ID", "123", 1);
		if (set & 4)
			setenv("SLURM_STEP_ID", set & 32 ? "" : "4", 1);
		if (set & 8)
			setenv("TORCHELASTIC_RUN_ID", set & 16 ? "none" : "elastic9", 1);
		if (set & 1)
			strcpy(expect, "prterun-7");
		else if ((set & 6) == 6 && !(set & 32))
			strcpy(expect, "123.4");
		else if ((set & 24) == 8)
			strcpy(expect, "elastic9");
		assert_string_equal(read_it().run, expect);
	}
	/* Longer than there is room for: cut, and ended. */
	clear();
	memset(value, 'n', sizeof(value) - 1);
	value[sizeof(value) - 1] = 0;
	setenv("PMIX_NAMESPACE", value, 1);
	assert_int_equal(strlen(read_it().run), sizeof(read_it().run) - 1);
	clear();
}

static void attempt_is_the_launchers_count_of_restarts(void **state)
{
	(void)state;
	clear();
	assert_string_equal(read_it().attempt, "");
	setenv("SLURM_RESTART_COUNT", "3", 1);
	assert_string_equal(read_it().attempt, "3");
	setenv("TORCHELASTIC_RESTART_COUNT", "0", 1);
	/* After a requeue torchrun counts from 0 again. */
	assert_string_equal(read_it().attempt, "3.0");
	unsetenv("SLURM_RESTART_COUNT");
	assert_string_equal(read_it().attempt, "0");
	setenv("JOBSET_RESTART_ATTEMPT", "2", 1);
	assert_string_equal(read_it().attempt, "2.0");
	setenv("TORCHELASTIC_RESTART_COUNT", "", 1);
	assert_string_equal(read_it().attempt, "2");
	unsetenv("JOBSET_RESTART_ATTEMPT");
	clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_combination),
		cmocka_unit_test(test_mindspore),
		cmocka_unit_test(test_values_that_are_no_ranks),
		cmocka_unit_test(test_run),
		cmocka_unit_test(attempt_is_the_launchers_count_of_restarts),
	};

	return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
