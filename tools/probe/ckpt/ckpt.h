/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which checkpoints of a run are healthy: judged by their files, and by the records of the ranks for the last step before the
 * files were created.
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
	uint64_t begun_ns; /* when its first file was created, Unix epoch */
	int64_t step; /* the last step that had ended at that time; -1: none had */
	bool judged, healthy;
	double value; /* largest of the ranks; NAN: none has one */
	int rank; /* the rank of the value or of the reason; -1: none */
	char *reason; /* "": healthy, or not judged */
};

struct checkpoints {
	struct checkpoint *at;
	unsigned n, cap;
};

/* ---- ckpt_files.c ---- */

/* Adds the files that match the shell pattern, or the checkpoints in a folder. False: there are none. */
bool checkpoints_find(struct checkpoints *c, const char *pattern);
/* Adds those that the job itself has judged (key health_checkpoint), if they still exist. */
void checkpoints_from_health(struct checkpoints *c, const char *dir);
/* Sorts by the time at which they were created. */
void checkpoints_sort(struct checkpoints *c);
void checkpoints_free(struct checkpoints *c);

/* ---- ckpt_judge.c ---- */

struct ckpt_rule {
	double threshold;
	bool l2; /* the norm instead of its square */
	bool named; /* name is set */
	regex_t name;
	uint64_t elements; /* elements of the embedding; 0: not given */
};

/* Judges all of them by the ranks' records. Returns a status (reported). */
int checkpoints_judge(struct checkpoints *c, const struct folders *f, const struct ckpt_rule *r);

#endif
