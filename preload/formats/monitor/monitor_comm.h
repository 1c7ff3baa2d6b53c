/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data of collectives and messages in a step, for each operation over all its calls: smallest and
 * largest value, norm over all elements, weighted mean, counts. A call that was started in an
 * earlier step and completes now belongs to the current step, as in msprobe, which measures it in
 * wait().
 */
#ifndef PROBE_SINK_MONITOR_COMM_H
#define PROBE_SINK_MONITOR_COMM_H

#include "sink/record.h"

struct monitor_sum {
	char op[40];
	uint8_t io, dtype; /* dtype: DT_OTHER if calls differ */
	uint16_t index;
	uint32_t step;
	bool alike; /* every call had `count` elements */
	bool blind; /* a call was not measured */
	uint64_t count; /* elements of the last call */
	uint64_t n, zeros, nans, infs;
	double min, max, sum, squares;
};

struct monitor_comm;

/* inputs: measure the calls' inputs, too. Returns NULL if there is no memory. */
struct monitor_comm *monitor_comm_init(bool inputs);
void monitor_comm_free(struct monitor_comm *m);

/* Adds an outermost call on a communicator; other records are ignored. */
void monitor_comm_add(struct monitor_comm *m, const struct record *r);

/* Returns the i-th sum, or NULL after the last. The second function computes its statistics. */
const struct monitor_sum *monitor_comm_get_sum(const struct monitor_comm *m, unsigned i);
struct stats monitor_sum_compute_stats(const struct monitor_sum *s);

/* To be called when the sums of steps below `next` have been written: drops them. */
void monitor_comm_remove_written(struct monitor_comm *m, uint32_t next);

/* Undoes the last add or end. */
void monitor_comm_reset_last(struct monitor_comm *m);
/* For the sink's commit(). */
void monitor_comm_commit(struct monitor_comm *m, bool written);

#endif
