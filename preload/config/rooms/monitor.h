/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of format monitor and of rank<R>/monitor.log. */
#ifndef PROBE_CONFIG_ROOMS_MONITOR_H
#define PROBE_CONFIG_ROOMS_MONITOR_H

#include "config/rooms/room.h"

enum config_monitor_layout { MONITOR_V1, MONITOR_V2 };

struct monitor_keys {
	char *monitor_dir; /* for format monitor; "": <output_dir>/monitor */
	/* rank<R>/monitor.log */
	uint64_t monitor_log; /* which lines: bits of enum monitor_log_word (terms/metric.h) */
	bool monitor_stderr; /* write these lines to stderr, too */
	int64_t print_interval; /* steps */
	int64_t tokens_log_interval; /* micro steps */
	struct ranges tokens_log_layers; /* empty: all */
	bool print_loss_mean; /* when the loss is printed, also print its mean over the epoch */
	int64_t epochs, steps_per_epoch, total_steps; /* 0: not known */
	enum config_monitor_layout monitor_layout;
	int64_t ndigits; /* decimals of numbers in monitor.log; -1: %.9g */
	/* format monitor: communication; also the inputs of its calls */
	bool cc_distribution, cc_pre_hook;
	/* format monitor: only the call sites of communication, in the first two steps */
	bool cc_log_only;
	bool stack_info; /* format monitor: file of call stacks */
};

CONFIG_ROOM(monitor)

#endif
