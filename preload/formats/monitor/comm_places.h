/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of msprobe's cc_log_only: for each collective operation in the first two recorded
 * steps, its call site, data type and group, each combination once. msprobe ends the training
 * after these steps; libprobe does not.
 */
#ifndef PROBE_SINK_COMM_PLACES_H
#define PROBE_SINK_COMM_PLACES_H

#include "sink/files.h"
#include "sink/record.h"

#define COMM_PLACES_FILE "cc_log.json"

struct comm_places;

/*
 * said: after the last of these steps, report on stderr where the file is. Returns NULL if there
 * is no memory.
 */
struct comm_places *comm_places_init(bool reported);
void comm_places_free(struct comm_places *l);

/*
 * Handles outermost calls on communicators, and ignores others. Records that were not written yet
 * may be passed again.
 */
void comm_places_record(struct comm_places *l, const struct record *r);
void comm_places_add_stack(struct comm_places *l, const struct record_stack *e);
void comm_places_add_comm(struct comm_places *l, const struct record_comm *e);

/* Called when the steps below `next` have ended. */
void comm_places_handle_step_end(struct comm_places *l, uint32_t next);

/*
 * Rewrites the file if there are new calls. dirfd: its folder; path: the folder's path, for the
 * message.
 */
void comm_places_write(struct comm_places *l, int dirfd, const char *path);

#endif
