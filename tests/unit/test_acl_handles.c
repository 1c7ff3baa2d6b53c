/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ascend's tensors and lists of them while a call that ends one is on the way: no thread finds it, what is made under its handle
 * meanwhile stays, and where the call fails it is what it was.
 */
#include "session_helper.h"

#include "wrappers/aclnn/acl_tensor.c"

static char memory[2];

static void make(uint64_t handle, int which)
{
	static const int64_t dims[] = {2, 3};

	acl_tensor_add(
		handle, &(struct acl_tensor_args){.dims = dims, .n = 2, .data = &memory[which]});
}

/* Whose memory the tensor of that handle has; -1: there is none. */
static int found(uint64_t handle)
{
	struct acl_tensor t;

	return acl_tensor_get(handle, &t) ? (int)(t.data - memory) : -1;
}

static void test_ended_tensor(void **state)
{
	(void)state;
	make(64, 0);
	acl_tensor_start_ending(64);
	assert_int_equal(found(64), -1);
	acl_tensor_handle_ended(64, false);
	assert_int_equal(found(64), 0);
	acl_tensor_start_ending(64);
	make(64, 1); /* by another thread, before the call has come back */
	assert_int_equal(found(64), 1);
	acl_tensor_handle_ended(64, true);
	assert_int_equal(found(64), 1);
	acl_tensor_start_ending(64);
	acl_tensor_handle_ended(64, true);
	assert_int_equal(found(64), -1);
}

static void test_ended_list(void **state)
{
	uint64_t items[] = {64, 128}, got[ACL_LIST_MAX];

	(void)state;
	make(64, 0);
	make(128, 1);
	acl_list_add(192, items, 2);
	acl_list_start_ending(192);
	assert_int_equal(acl_list_get(192, got), 0);
	assert_int_equal(found(64), -1);
	acl_list_handle_ended(192, false);
	assert_int_equal(acl_list_get(192, got), 2);
	assert_int_equal(got[1], 128);
	assert_int_equal(found(128), 1);
	acl_list_start_ending(192);
	make(64, 1);
	acl_list_add(192, items, 1);
	acl_list_handle_ended(192, true);
	assert_int_equal(acl_list_get(192, got), 1);
	assert_int_equal(found(64), 1);
	acl_list_start_ending(192);
	acl_list_handle_ended(192, true);
	assert_int_equal(acl_list_get(192, got), 0);
	assert_int_equal(found(64), -1);
	/* It is still in the list that was taken for the new one. */
	acl_tensor_handle_ended(128, true);
	assert_int_equal(found(128), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ended_tensor),
		cmocka_unit_test(test_ended_list),
	};

	return cmocka_run_group_tests_name("acl_handles", tests, NULL, NULL);
}
