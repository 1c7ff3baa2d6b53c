/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files through which ranks exchange their judgements of checkpoints, and the results (training/health/health.c):
 *
 *	health/rank<R>.jsonl    {"rank", "world_size", "host", "pid", "begun_ns"}, for each process; and for each checkpoint
 *	                        {"ckpt_name", "path", "folder", "step", "begun_ns", "embedding_local_norm", "threshold", "is_health", "why"}
 *	health_ckpts.json       [{"is_health": 0 healthy, 1 not, "ckpt_name"}, ...]
 */
#ifndef PROBE_SINK_HEALTH_FILES_H
#define PROBE_SINK_HEALTH_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "sink/files.h"

#define HEALTH_WHY_MAX 256

struct health_ckpt {
	char *path;
	bool folder, judged, healthy; /* by this rank */
	bool written; /* the entry says what the votes say */
	uint64_t begun_ns;
	int64_t asked_step; /* that another rank found; -1: by begun_ns */
	uint32_t step;
	double value;
	unsigned votes, against; /* lines of ranks, including this one's */
	char alert[HEALTH_WHY_MAX]; /* "": none spoke */
};

/* A line about a checkpoint. */
struct health_line {
	char path[4200];
	bool folder, healthy;
	uint64_t begun_ns;
	int64_t step;
};

struct health_peers {
	struct health_peer {
		int rank;
		uint64_t offset; /* how much of its file has been read */
		bool active; /* of this job */
	} * at;
	unsigned n, cap, active;
};

typedef void health_line_fn(void *arg, const struct health_line *l);

/* Reads all ranks' new lines, including this one's. */
void health_read_peers(
	struct health_peers *p, const struct files *f, health_line_fn *take, void *arg);
bool health_is_lowest(const struct health_peers *p, int rank);
void health_peers_free(struct health_peers *p);

/* Returns 0 or -errno (reported). */
int health_write_head(const struct files *f);
int health_write_line(const struct files *f, const struct health_ckpt *c);
/*
 * Locks the entries against other ranks. Returns a descriptor to close afterwards, or -errno. -EWOULDBLOCK: another
 * rank is writing, and will read the lines again afterwards.
 */
int health_lock_entries(const struct files *f);
int health_write_entry(const struct files *f, const struct health_ckpt *c);

/* True if an alert of the rank's folder fired in a step after `before`, up to `step`. `why` gets its text. */
bool health_alert_between(int dirfd, int64_t before, uint32_t step, char *why, size_t cap);

#endif
