/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CALL_DESCRIBE_H
#define PROBE_CALL_DESCRIBE_H

#include "call/call.h"

/* Fills c->op from the arguments of a TASK_DATA call. The library must be ready. False: this call moves no data. */
bool describe_call(struct call *c);

/*
 * The same by the row's roles and kind, on that communicator (NULL: not known), whatever the adapter. For the
 * describe() of an adapter that adds more.
 */
void describe_by_kind(struct call *c, struct comm *comm);

#endif
