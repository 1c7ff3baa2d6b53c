/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of DeepSpeed's ZeRO that this rank's optimizer updates, read from frames and objects made by hand: with
 * partition_id in the optimizer (stages 1 and 2), and without (stage 3).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "wrappers/torch/names/module_shards.c"

struct session session = {.world_rank = 5};

/* ---- Python, of which only one frame, one optimizer, its list and numbers are made ---- */

static struct {
	const char *file, *function, *number_name;
	double number;
	double parts[3];
	bool has_parts;
} py;
static char optimizer, parts_list;

int py_get_frames(struct py_frame *f, int max)
{
	assert_true(max >= 1);
	f[0].at = 1;
	return 1;
}

bool py_get_frame_name(
	const struct py_frame *f, char *file, size_t nfile, char *function, size_t nfunction)
{
	(void)f;
	snprintf(file, nfile, "%s", py.file);
	snprintf(function, nfunction, "%s", py.function);
	return true;
}

void *py_find_local(const struct py_frame *f, const char *name)
{
	(void)f;
	if (strcmp(name, "self") == 0)
		return &optimizer;
	return strcmp(name, py.number_name) == 0 ? &py.number : NULL;
}

void *py_get_attribute(const void *o, const char *name)
{
	return o == &optimizer && py.has_parts && strcmp(name, "partition_id") == 0 ? &parts_list
										    : NULL;
}

bool py_get_number(const void *o, double *out)
{
	*out = *(const double *)o;
	return true;
}

bool py_is_list(const void *o)
{
	return o == &parts_list;
}

size_t py_get_item_count(const void *o)
{
	return o == &parts_list ? 3 : 0;
}

void *py_get_item(const void *o, size_t i)
{
	assert_true(o == &parts_list && i < 3);
	return &py.parts[i];
}

/* Not called for an optimizer. */

bool py_is_tuple(const void *o)
{
	(void)o;
	return false;
}

bool py_is_dict(const void *o)
{
	(void)o;
	return false;
}

bool py_is_instance(const void *o, const void *type)
{
	(void)o;
	(void)type;
	return false;
}

const char *py_get_class_name(const void *o)
{
	(void)o;
	return "";
}

bool py_get_next_entry(const void *dict, size_t *at, void **key, void **value)
{
	(void)dict;
	(void)at;
	(void)key;
	(void)value;
	return false;
}

bool py_get_text(const void *o, char *out, size_t cap)
{
	(void)o;
	(void)out;
	(void)cap;
	return false;
}

void py_handle_referents(void *o, py_visit_fn *visit, void *arg)
{
	(void)o;
	(void)visit;
	(void)arg;
}

/* ---- tests ---- */

static void stage_3_updates_the_part_of_this_rank(void **state)
{
	uint32_t group = 99, part = 99;

	(void)state;
	py = (__typeof__(py)){.file = "/x/deepspeed/runtime/zero/stage3.py",
		.function = "DeepSpeedZeroOptimizer_Stage3._optimizer_step",
		.number_name = "sub_group_id",
		.number = 2};
	session.world_rank = 5;
	assert_true(find_zero_partition(&group, &part));
	assert_int_equal(group, 2);
	assert_int_equal(part, 5);
	/* Not known yet. */
	session.world_rank = -1;
	assert_true(find_zero_partition(&group, &part));
	assert_int_equal(part, 0);
	session.world_rank = 5;
}

/* A data-parallel group is not always the world. */
static void partition_id_takes_precedence_over_the_rank(void **state)
{
	uint32_t group = 99, part = 99;

	(void)state;
	py = (__typeof__(py)){.file = "/x/deepspeed/runtime/zero/stage_1_and_2.py",
		.function = "DeepSpeedZeroOptimizer._optimizer_step",
		.number_name = "group_no",
		.number = 1,
		.parts = {7, 3, 8},
		.has_parts = true};
	assert_true(find_zero_partition(&group, &part));
	assert_int_equal(group, 1);
	assert_int_equal(part, 3);
	/* A group after the end of the list. */
	py.number = 3;
	assert_true(find_zero_partition(&group, &part));
	assert_int_equal(group, 3);
	assert_int_equal(part, 5);
}

static void another_optimizer_has_no_partition(void **state)
{
	uint32_t group, part;

	(void)state;
	py = (__typeof__(py)){.file = "/x/mine/zero/stage3.py",
		.function = "Mine._optimizer_step",
		.number_name = "sub_group_id"};
	assert_false(find_zero_partition(&group, &part));
	py.file = "/x/deepspeed/runtime/zero/stage3.py";
	py.function = "DeepSpeedZeroOptimizer_Stage3.step";
	assert_false(find_zero_partition(&group, &part));
	py.function = "DeepSpeedZeroOptimizer_Stage3._optimizer_step";
	py.number_name = "other";
	assert_false(find_zero_partition(&group, &part));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stage_3_updates_the_part_of_this_rank),
		cmocka_unit_test(partition_id_takes_precedence_over_the_rank),
		cmocka_unit_test(another_optimizer_has_no_partition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
