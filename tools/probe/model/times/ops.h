/* SPDX-License-Identifier: Apache-2.0 */
/* Calls per function and communicator: how often, and for how long. */
#ifndef PROBE_TOOLS_OPS_H
#define PROBE_TOOLS_OPS_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/times/hist.h"
#include "tools/lib/table.h"

struct op_stat {
	struct table_key key; /* a: communicator, b: names */
	uint32_t lib, api, op;
	uint64_t comm;
	uint64_t calls, rows, bytes, open, errors, async;
	uint64_t waited; /* async calls whose wait_ns is known */
	double async_ns; /* from the start of async calls to their completion; overlapping ones are counted each */
	double wait_ns; /* async calls: time in the Wait and Test calls that completed them */
	double blocked_ns; /* time that a thread of the job was blocked: synchronous calls, and wait_ns */
	/* For the calls whose time on the device is known; bus_bytes: times nccl-tests' factor. */
	uint64_t on_device;
	double device_ns, device_bytes, bus_bytes;
	struct hist dur; /* of the completed calls */
	uint64_t first_step, last_step;
};

struct ops {
	struct table table;
	struct op_stat rest; /* calls that came when the table was full */
};

/* Whether it is known how long the job's threads were blocked in some of these calls. */
static inline bool ops_blocked_known(const struct op_stat *s)
{
	return s->waited || s->dur.n > s->async;
}

void ops_init(struct ops *o);
void ops_free(struct ops *o);
void ops_add(struct ops *o, const struct call *c);

/* Adds `from` (another communicator, another function) to *to. */
void ops_merge(struct op_stat *to, const struct op_stat *from);

#endif
