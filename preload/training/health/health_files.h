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
	/* the checkpoint is a folder; this rank has judged it; this rank found it healthy */
	bool folder, judged, healthy;
	bool written; /* the entry in health_ckpts.json agrees with the votes */
	uint64_t begun_ns;
	int64_t asked_step; /* step for which another rank judged the checkpoint; -1: to be found by begun_ns */
	uint32_t step;
	double value;
	/* ranks that voted, and that voted "not healthy"; including this rank */
	unsigned votes, against;
	char alert[HEALTH_WHY_MAX]; /* text of an alert that fired; "": none */
};

/* A rank's line about a checkpoint. */
struct health_line {
	char path[4200];
	bool folder, healthy;
	uint64_t begun_ns;
	int64_t step;
};

struct health_peers {
	struct health_peer {
		int rank;
		uint64_t offset; /* bytes of the rank's file that have been read */
		bool active; /* belongs to this job */
	} * at;
	unsigned n, cap, active;
};

typedef void health_line_fn(void *arg, const struct health_line *l);

/* Reads all ranks' new lines, including this one's. */
void health_read_peers(
	struct health_peers *p, const struct files *f, health_line_fn *take, void *arg);
bool health_is_lowest(const struct health_peers *p, int rank);
void health_peers_free(struct health_peers *p);

/* Write this rank's first line, and a line about a checkpoint. Return 0 or -errno (reported). */
int health_write_head(const struct files *f);
int health_write_line(const struct files *f, const struct health_ckpt *c);
/*
 * Locks the entries against other ranks. Returns a descriptor that the caller must close, or
 * -errno. -EWOULDBLOCK: another rank is writing, and will read all lines again afterwards.
 */
int health_lock_entries(const struct files *f);
int health_write_entry(const struct files *f, const struct health_ckpt *c);

/*
 * True if an alert of the rank's folder fired in a step after `before`, up to `step`. `why`
 * receives its text.
 */
bool health_find_alert_between(int dirfd, int64_t before, uint32_t step, char *why, size_t cap);

#endif
