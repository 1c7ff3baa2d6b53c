/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What collectives and messages carried in a step, all calls of an operation together: least and largest value, norm over
 * all elements, weighted mean, counts. What was started in a step that has ended and completed now belongs to the present one, as
 * msprobe has it, which looks at it in wait().
 */
#ifndef PROBE_SINK_MONITOR_COMM_H
#define PROBE_SINK_MONITOR_COMM_H

#include "sink/record.h"

struct monitor_sum {
	char op[40];
	uint8_t io, dtype; /* dtype: DT_OTHER where they differ */
	uint16_t index;
	uint32_t step;
	bool alike; /* all had `count` elements */
	bool blind; /* one was not measured */
	uint64_t count; /* of the last one */
	uint64_t n, zeros, nans, infs;
	double min, max, sum, squares;
};

struct monitor_comm;

/* inputs: also what the calls were given. NULL: no memory. */
struct monitor_comm *monitor_comm_new(bool inputs);
void monitor_comm_free(struct monitor_comm *m);

/* Outermost calls on communicators only. */
void monitor_comm_add(struct monitor_comm *m, const struct record *r);

/* The i-th sum, NULL: no more; its statistics. */
const struct monitor_sum *monitor_comm_at(const struct monitor_comm *m, unsigned i);
struct stats monitor_sum_stats(const struct monitor_sum *s);

/* Those of steps below next are written. */
void monitor_comm_end(struct monitor_comm *m, uint32_t next);

/* The last add or end was not. */
void monitor_comm_undo(struct monitor_comm *m);
/* As a sink's commit(). */
void monitor_comm_commit(struct monitor_comm *m, bool written);

#endif
