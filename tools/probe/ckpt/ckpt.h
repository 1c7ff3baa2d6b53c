/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which checkpoints of a run are healthy: what their files say of themselves, and what the ranks recorded of the step that they
 * were begun behind.
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
	uint64_t begun_ns; /* when its first file was made, Unix epoch */
	int64_t step; /* the last step that had ended then; -1: none had */
	bool judged, healthy;
	double value; /* largest of the ranks; NAN: none has one */
	int rank; /* that the value, or the reason, is of; -1: none */
	char *reason; /* "": healthy, or not judged */
};

struct checkpoints {
	struct checkpoint *at;
	unsigned n, cap;
};

/* ---- ckpt_files.c ---- */

/* Adds what the pattern (of a shell) names, or, of a folder, the checkpoints in it. False: nothing is there. */
bool checkpoints_find(struct checkpoints *c, const char *pattern);
/* Those that the job itself has judged (key health_checkpoint), as far as they are there. */
void checkpoints_from_health(struct checkpoints *c, const char *dir);
/* By the time at which they were begun. */
void checkpoints_sort(struct checkpoints *c);
void checkpoints_free(struct checkpoints *c);

/* ---- ckpt_judge.c ---- */

struct ckpt_rule {
	double threshold;
	bool l2; /* the norm and not its square */
	bool named; /* name is set */
	regex_t name;
	uint64_t elements; /* of the embedding; 0: not given */
};

/* Judges all of them by what the ranks recorded. Returns a status (reported). */
int checkpoints_judge(struct checkpoints *c, const struct folders *f, const struct ckpt_rule *r);

#endif
