/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data of collectives and messages in a step, all calls of an operation together: smallest and largest value, norm over
 * all elements, weighted mean, counts. A call that was started in an earlier step and completes now belongs to the
 * current step, as in msprobe, which looks at it in wait().
 */
#ifndef PROBE_SINK_MONITOR_COMM_H
#define PROBE_SINK_MONITOR_COMM_H

#include "sink/record.h"

struct monitor_sum {
	char op[40];
	uint8_t io, dtype; /* dtype: DT_OTHER if they differ */
	uint16_t index;
	uint32_t step;
	bool alike; /* all had `count` elements */
	bool blind; /* one was not measured */
	uint64_t count; /* of the last one */
	uint64_t n, zeros, nans, infs;
	double min, max, sum, squares;
};

struct monitor_comm;

/* inputs: also the calls' inputs. NULL: no memory. */
struct monitor_comm *monitor_comm_new(bool inputs);
void monitor_comm_free(struct monitor_comm *m);

/* Only outermost calls on communicators. */
void monitor_comm_add(struct monitor_comm *m, const struct record *r);

/* The i-th sum, NULL: no more; its statistics. */
const struct monitor_sum *monitor_comm_at(const struct monitor_comm *m, unsigned i);
struct stats monitor_sum_stats(const struct monitor_sum *s);

/* The sums of steps below next have been written. */
void monitor_comm_end(struct monitor_comm *m, uint32_t next);

/* Undoes the last add or end. */
void monitor_comm_undo(struct monitor_comm *m);
/* As a sink's commit(). */
void monitor_comm_commit(struct monitor_comm *m, bool written);

#endif
