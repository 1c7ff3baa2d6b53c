/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What msprobe's cc_log_only logs: of each collective operation of the first two recorded steps where it was called from, with which
 * type, in which group, each once. There the training is ended behind it; here it goes on.
 */
#ifndef PROBE_SINK_COMM_PLACES_H
#define PROBE_SINK_COMM_PLACES_H

#include "sink/files.h"
#include "sink/record.h"

#define COMM_PLACES_FILE "cc_log.json"

struct comm_places;

/* said: behind the last of these steps one line on stderr says where it is. NULL: no memory. */
struct comm_places *comm_places_new(bool said);
void comm_places_free(struct comm_places *l);

/* Outermost calls on communicators only. What was given and not written may be given again. */
void comm_places_record(struct comm_places *l, const struct record *r);
void comm_places_stack(struct comm_places *l, const struct record_stack *e);
void comm_places_comm(struct comm_places *l, const struct record_comm *e);

/* The steps below `next` have ended. */
void comm_places_step(struct comm_places *l, uint32_t next);

/* Writes the file again if there is something new. dirfd: its folder; path: the same, for the line. */
void comm_places_write(struct comm_places *l, int dirfd, const char *path);

#endif
