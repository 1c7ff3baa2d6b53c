/* SPDX-License-Identifier: Apache-2.0 */
/* Whole calls, from call_enter() to call_leave(), in a session of a process of its own: see session_child.h. */
#ifndef TESTS_UNIT_CALL_CHILD_H
#define TESTS_UNIT_CALL_CHILD_H

#include "session_child.h"

#include "call/call.h"

#endif
