/* SPDX-License-Identifier: Apache-2.0 */
/* For each function and communicator: number of calls, and time in them. */
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
	uint64_t waited; /* number of async calls whose wait_ns is known */
	/*
	 * From the start of async calls to their completion; the times of overlapping calls add up.
	 */
	double async_ns;
	double wait_ns; /* time in the Wait and Test calls that completed async calls */
	/* Time for which a thread of the job was blocked: synchronous calls, and wait_ns. */
	double blocked_ns;
	/*
	 * Only of calls whose time on the device is known. bus_bytes: device_bytes times
	 * nccl-tests' factor.
	 */
	uint64_t on_device;
	double device_ns, device_bytes, bus_bytes;
	struct hist dur; /* of the completed calls */
	uint64_t first_step, last_step;
};

struct ops {
	struct table table;
	struct op_stat rest; /* calls of all entries that did not fit into the table */
};

/* Returns true if it is known for some of these calls how long they blocked their threads. */
static inline bool ops_blocked_known(const struct op_stat *s)
{
	return s->waited || s->dur.n > s->async;
}

void ops_init(struct ops *o);
void ops_free(struct ops *o);
void ops_add(struct ops *o, const struct call *c);

/* Adds the numbers of `from` to *to; they may be of different communicators or functions. */
void ops_merge(struct op_stat *to, const struct op_stat *from);

#endif
