/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which checkpoints of a run are healthy: from their files, and from the data that the ranks
 * recorded in the last step before the files were created.
 */
#ifndef PROBE_TOOLS_CKPT_H
#define PROBE_TOOLS_CKPT_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/probe/model/read/folders.h"

enum ckpt_state { CKPT_COMPLETE, CKPT_PARTIAL };

struct checkpoint {
	char *path, *name; /* name: last part of the path */
	const char *format; /* torch, safetensors, dcp, other */
	enum ckpt_state state;
	uint64_t begun_ns; /* time at which its first file was created, Unix epoch */
	int64_t step; /* the last step that had ended at begun_ns; -1: none */
	bool judged, healthy;
	double value; /* the largest value of any rank; NAN: no rank has one */
	int rank; /* the rank with that value, or the rank that the reason is about; -1: none */
	char *reason; /* "" if healthy or not judged */
};

struct checkpoints {
	struct checkpoint *at;
	unsigned n, cap;
};

/* ---- ckpt_files.c ---- */

/*
 * Adds the files that match a shell pattern, or the checkpoints in a folder. Returns false if there
 * are none.
 */
bool checkpoints_find(struct checkpoints *c, const char *pattern);
/* Adds the checkpoints that the job itself judged (key health_checkpoint) and that still exist. */
void checkpoints_read_health(struct checkpoints *c, const char *dir);
/* Sorts by the time of creation. */
void checkpoints_sort(struct checkpoints *c);
void checkpoints_free(struct checkpoints *c);

/* ---- ckpt_judge.c ---- */

struct ckpt_rule {
	double threshold;
	bool l2; /* use the norm instead of its square */
	bool named; /* `name` is set */
	regex_t name;
	uint64_t elements; /* elements of the embedding; 0: not given */
};

/*
 * Judges all checkpoints by the records of the ranks. Returns an exit status (errors are reported).
 */
int checkpoints_check(struct checkpoints *c, const struct folders *f, const struct ckpt_rule *r);

#endif
