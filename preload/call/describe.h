/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CALL_DESCRIBE_H
#define PROBE_CALL_DESCRIBE_H

#include "call/call.h"

/*
 * Fills c->op from the arguments of a TASK_DATA call. The library must be ready. Returns false if
 * the call moves no data.
 */
bool describe_call(struct call *c);

/*
 * Like describe_call(), but uses only the row's roles and kind, on communicator comm (NULL: not
 * known), without the adapter's describe(). For adapters whose describe() adds to it.
 */
void describe_by_kind(struct call *c, struct comm *comm);

#endif
