/* SPDX-License-Identifier: Apache-2.0 */
/* Keys skip and only: which of the listed functions are recorded, by operation, by name, by pattern. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "config/config.h"
#include "config/list/chosen.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_without_words),
		cmocka_unit_test(an_operation_names_all_its_forms),
		cmocka_unit_test(patterns_match_names),
		cmocka_unit_test(skip_wins_over_only),
		cmocka_unit_test(cxx_names_match_without_their_namespace),
		cmocka_unit_test(an_operator_names_its_overloads),
	};

	return cmocka_run_group_tests_name("chosen", tests, NULL, NULL);
}
