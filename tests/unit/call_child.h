/* SPDX-License-Identifier: Apache-2.0 */
/* Whole calls, from call_enter() to call_leave(), in a session of a process of its own: see session_child.h. */
#ifndef TESTS_UNIT_CALL_CHILD_H
#define TESTS_UNIT_CALL_CHILD_H

#include "session_child.h"

#include "call/call.h"

struct api *api_find(const char *symbol)
{
	(void)symbol;
	return NULL;
}

void *api_wrapper(const struct api *a)
{
	(void)a;
	return NULL;
}

/* Of entry/, which nothing here goes through. */
__attribute__((visibility("hidden"))) char bound_stubs[1];
__attribute__((visibility("hidden"))) void bound_enter(void);
const struct kind *const kind_table = &kind_send;
const unsigned kind_count = 1;

void bound_enter(void)
{
}

#endif
