/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CALL_DESCRIBE_H
#define PROBE_CALL_DESCRIBE_H

#include "call/call.h"

/* Fills c->what from the arguments of a TASK_DATA call. The library must be ready. False: this call is none. */
bool describe(struct call *c);

#endif
