/* SPDX-License-Identifier: Apache-2.0 */
/* Keys skip and only: which of the listed functions are recorded, by operation, by name, by pattern. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "config/list/chosen.h"
#include "config/list/chosen_words.h"

static bool is_recorded_with(
	const char *only, const char *skip, const char *symbol, const char *listed, const char *op)
{
	struct config c = {.only = (char *)only, .skip = (char *)skip};

	return is_function_chosen(&c, symbol, listed, op);
}

static void nothing_is_left_without_words(void **state)
{
	(void)state;
	assert_true(is_recorded_with("", "", "MPI_Bcast", "MPI_Bcast", "broadcast"));
	assert_true(is_recorded_with("", "", "MPI_Bcast", NULL, NULL));
}

static void an_operation_names_all_its_forms(void **state)
{
	(void)state;
	assert_false(is_recorded_with("", "broadcast", "MPI_Ibcast", "MPI_Bcast", "broadcast"));
	assert_true(is_recorded_with("", "broadcast", "MPI_Reduce", "MPI_Reduce", "reduce"));
	assert_true(
		is_recorded_with("broadcast", "", "ncclBroadcast", "ncclBroadcast", "broadcast"));
	assert_false(is_recorded_with("broadcast", "", "MPI_Reduce", "MPI_Reduce", "reduce"));
	/* A word is a whole name. */
	assert_true(is_recorded_with("", "reduce", "MPI_Allreduce", "MPI_Allreduce", "all_reduce"));
}

static void patterns_match_names(void **state)
{
	(void)state;
	assert_false(is_recorded_with("", "MPI_I*", "MPI_Ibcast", "MPI_Bcast", "broadcast"));
	assert_true(is_recorded_with("", "MPI_I*", "MPI_Bcast", "MPI_Bcast", "broadcast"));
	assert_false(is_recorded_with("", "*", "x", "y", "z"));
	assert_false(is_recorded_with("", "MPI_[BG]*", "PMPI_Bcast", "MPI_Bcast", "broadcast"));
}

static void skip_wins_over_only(void **state)
{
	(void)state;
	assert_true(
		is_recorded_with("all_reduce\nMPI_I*", "", "MPI_Ibcast", "MPI_Bcast", "broadcast"));
	assert_true(is_recorded_with(
		"all_reduce\nMPI_I*", "", "MPI_Allreduce", "MPI_Allreduce", "all_reduce"));
	assert_false(is_recorded_with(
		"all_reduce\nMPI_I*", "MPI_Ibcast", "MPI_Ibcast", "MPI_Bcast", "broadcast"));
	assert_false(is_recorded_with("all_reduce", "", "MPI_Bcast", "MPI_Bcast", "broadcast"));
}

static void cxx_names_match_without_their_namespace(void **state)
{
	(void)state;
	assert_false(is_recorded_with("", "add*", "aten::add.Tensor", NULL, NULL));
	assert_false(is_recorded_with("", "aten::add*", "aten::add.Tensor", NULL, NULL));
	assert_true(is_recorded_with("", "add", "aten::addmm", NULL, NULL));
	assert_false(
		is_recorded_with("", "allreduce", "c10d::ProcessGroupGloo::allreduce", NULL, "x"));
}

static void an_operator_names_its_overloads(void **state)
{
	(void)state;
	assert_false(
		is_recorded_with("", "mul", "at::_ops::mul_Tensor::call", "mul", "mul.Tensor"));
	assert_false(is_recorded_with("", "aten::mul", "x", NULL, "mul.Tensor"));
	assert_false(is_recorded_with("", "mul.Tensor", "x", NULL, "mul.Tensor"));
	assert_true(is_recorded_with("", "mul.Scalar", "x", NULL, "mul.Tensor"));
	assert_true(is_recorded_with("aten::add*", "", "x", NULL, "addmm"));
}

/* ---- words that name nothing ---- */

static char said[4096];

static void keep_line(void *arg, const char *line)
{
	(void)arg;
	strncat(said, line, sizeof(said) - strlen(said) - 2);
	strcat(said, "\n");
}

/*
 * Loads a configuration with a list of functions, and returns how many words of it are reported;
 * `said` has the lines.
 */
static unsigned unknown_words(const char *yaml, const char *list_text, const char *variable)
{
	char file[] = "/tmp/test_chosen.XXXXXX", *const env[] = {(char *)variable, NULL};
	int fd = mkstemp(file);
	struct wraplist *list =
		wraplist_load_text("list", list_text, strlen(list_text), keep_line, NULL);
	struct config c;
	unsigned n;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, yaml, strlen(yaml)), strlen(yaml));
	close(fd);
	*said = 0;
	assert_int_equal(config_load(&c, file, env, "/", keep_line, NULL), 0);
	assert_string_equal(said, "");
	n = emit_unknown_words(&c, file, env, list, keep_line, NULL);
	unlink(file);
	config_free(&c);
	wraplist_free(list);
	return n;
}

#define LIST "mpi: [MPI_Bcast]\nc10d: [\"c10d::ProcessGroup*::allgather_coalesced\"]\naten: [mul]\n"

static void words_that_name_something_are_not_reported(void **state)
{
	static const char *const known[] = {"broadcast", "all_reduce", "MPI_Bcast", "MPI_Ibcast",
		"PMPI_Bcast", "MPI_I*", "*", "ncclAllReduce", "allgather_coalesced",
		"c10d::ProcessGroupGloo::allgather_coalesced", "c10d::*", "mul", "aten::mul",
		"mul.Tensor", "cblas_sgemm"};

	(void)state;
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char yaml[128];

		snprintf(yaml, sizeof(yaml), "skip: [\"%s\"]\n", known[i]);
		assert_int_equal(unknown_words(yaml, LIST, NULL), 0);
		assert_string_equal(said, "");
	}
	/* Functions that the user describes: their operations are not known here. */
	assert_int_equal(unknown_words("skip: [mine]\n", "custom: [mine_too]\n", NULL), 0);
}

static void a_misspelt_word_is_reported_with_its_place(void **state)
{
	(void)state;
	assert_int_equal(
		unknown_words("rank: [0]\nskip:\n  - reduce\n  - brodcast\n", LIST, NULL), 1);
	assert_non_null(strstr(said, ":4:5: skip: \"brodcast\": no operation and no function"));
	assert_non_null(strstr(said, "did you mean broadcast"));
	assert_int_equal(unknown_words("only: [MPI_Bcas, \"MPI_Z*\"]\n", LIST, NULL), 2);
	assert_non_null(strstr(said, ":1:8: only: \"MPI_Bcas\""));
	assert_non_null(strstr(said, "did you mean MPI_Bcast"));
	assert_non_null(strstr(said, ":1:18: only: \"MPI_Z*\""));
	assert_int_equal(unknown_words("skip: bcast\n", LIST, NULL), 1);
	assert_non_null(strstr(said, ":1:7: skip: \"bcast\""));
	assert_non_null(strstr(said, "MPI_Bcast"));
	/* Operators of PyTorch are known where the list has them. */
	assert_int_equal(unknown_words("skip: [mul]\n", "mpi: [MPI_Bcast]\n", NULL), 1);
}

static void the_environment_is_named(void **state)
{
	(void)state;
	assert_int_equal(unknown_words("skip: [broadcast]\n", LIST, "PROBE_SKIP=[all_reduze]"), 1);
	assert_non_null(strstr(said, "environment: PROBE_SKIP: \"all_reduze\""));
	assert_non_null(strstr(said, "did you mean all_reduce"));
	assert_int_equal(unknown_words("skip: [brodcast]\n", LIST, "PROBE_SKIP=[reduce]"), 0);
	/* An empty value stands for the default. */
	assert_int_equal(unknown_words("skip: [brodcast]\n", LIST, "PROBE_SKIP="), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_without_words),
		cmocka_unit_test(an_operation_names_all_its_forms),
		cmocka_unit_test(patterns_match_names),
		cmocka_unit_test(skip_wins_over_only),
		cmocka_unit_test(cxx_names_match_without_their_namespace),
		cmocka_unit_test(an_operator_names_its_overloads),
		cmocka_unit_test(words_that_name_something_are_not_reported),
		cmocka_unit_test(a_misspelt_word_is_reported_with_its_place),
		cmocka_unit_test(the_environment_is_named),
	};

	return cmocka_run_group_tests_name("chosen", tests, NULL, NULL);
}
