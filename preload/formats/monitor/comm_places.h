/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of msprobe's cc_log_only: for each collective operation in the first two recorded steps, where it was called
 * from, with which type, in which group, each once. msprobe ends the training after it; here it continues.
 */
#ifndef PROBE_SINK_COMM_PLACES_H
#define PROBE_SINK_COMM_PLACES_H

#include "sink/files.h"
#include "sink/record.h"

#define COMM_PLACES_FILE "cc_log.json"

struct comm_places;

/* said: after the last of these steps, one line on stderr tells where the file is. NULL: no memory. */
struct comm_places *comm_places_new(bool said);
void comm_places_free(struct comm_places *l);

/* Only outermost calls on communicators. Records that were not written yet may be passed again. */
void comm_places_record(struct comm_places *l, const struct record *r);
void comm_places_stack(struct comm_places *l, const struct record_stack *e);
void comm_places_comm(struct comm_places *l, const struct record_comm *e);

/* The steps below `next` have ended. */
void comm_places_step(struct comm_places *l, uint32_t next);

/* Writes the file again if there is something new. dirfd: its folder; path: the same, for the line. */
void comm_places_write(struct comm_places *l, int dirfd, const char *path);

#endif
