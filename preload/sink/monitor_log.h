/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What msprobe's cc_log_only logs: of each collective operation of the first two recorded steps where it was called from, with which
 * type, in which group, each once. There the training is ended behind it; here it goes on.
 */
#ifndef PROBE_SINK_MONITOR_LOG_H
#define PROBE_SINK_MONITOR_LOG_H

#include "sink/files.h"
#include "sink/record.h"

#define MONITOR_LOG_FILE "cc_log.json"

struct monitor_log;

/* said: behind the last of these steps one line on stderr says where it is. NULL: no memory. */
struct monitor_log *monitor_log_new(bool said);
void monitor_log_free(struct monitor_log *l);

/* Outermost calls on communicators only. What was given and not written may be given again. */
void monitor_log_record(struct monitor_log *l, const struct record *r);
void monitor_log_stack(struct monitor_log *l, const struct record_stack *e);
void monitor_log_comm(struct monitor_log *l, const struct record_comm *e);

/* The steps below `next` have ended. */
void monitor_log_step(struct monitor_log *l, uint32_t next);

/* Writes the file anew if there is something new. dirfd: its folder; path: the same, for the line. */
void monitor_log_write(struct monitor_log *l, int dirfd, const char *path);

#endif
