/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all formats of `probe export`: the part of the run that is written, and its data. */
#ifndef PROBE_TOOLS_PROBE_EXPORT_H
#define PROBE_TOOLS_PROBE_EXPORT_H

#include "tools/lib/progress.h"
#include "tools/lib/target.h"
#include "tools/probe/model/join/walk.h"
#include "tools/probe/export/tb_files.h"
#include "tools/probe/views/focus.h"

#define EXPORT_RANKS_MAX 64u /* if no ranks were named */

struct export
{
	struct report report;
	const char *dir, *output; /* output: NULL: the format's default place */
	const char *format;
	bool all, per_rank, asked_steps, asked_ranks, asked_level;
	unsigned level; /* 0: without stacks, 1: with stacks, 2: also with statistics */
	uint64_t step_lo, step_hi; /* the steps to write */
	bool *want; /* by folder */
	unsigned nwant;
	const struct overlay **overlay;
	struct folders chosen; /* the chosen folders, for comms_settle(): dir[] only, not owned */
	uint64_t limit; /* bytes without --all */
	uint64_t base_ns; /* ts 0 */
	uint64_t written, calls; /* bytes, calls */
	struct tb_export tb; /* only for format tensorboard; its member feed is not set */
	struct table brief; /* of stacks */
	struct progress bar;
};

/* Chooses steps and ranks, if they were not given. */
void export_choose(struct export *e);

/* Returns 0, or STATUS_USAGE (reported): no call of the chosen ranks is in the chosen steps. */
int export_check_part(const struct export *e);
/* Reports that steps lo to hi of the run in that folder have no calls, and which steps it has. */
void export_report_no_calls(const char *dir, uint64_t lo, uint64_t hi);

void export_walk(const struct export *e, struct walk *w);
/* The same for one folder. */
void export_walk_rank(const struct export *e, struct walk *w, unsigned index);

/* "main (train.c:50)", "" if nothing is known. */
const char *export_stack(struct export *e, uint32_t rank, uint32_t id);

/* World rank of a rank of the communicator in its own order, or -1. */
int export_world_rank(const struct export *e, uint64_t comm, int64_t rank);

/* False: the output is too long (reported with a command that selects less), or a signal arrived. */
bool export_goes_on(struct export *e, const struct target *t, const struct walk *w, uint64_t step);

/* Path of an output in the run's folder, or from --output; malloc'd. */
char *export_path(const struct export *e, const char *own);

/* "steps 38-40, ranks 0-3, 123 calls"; malloc'd. */
char *export_part_text(const struct export *e);

/* The formats: each returns 0 or STATUS_USAGE (reported). */
int export_trace(struct export *e);
int export_flight_recorder(struct export *e);
int export_dot(struct export *e);
int export_insight(struct export *e);

/* Two files of memory in a rank's folder of a profile, if its scalars tell anything of it (insight_memory.c). */
int write_insight_memory(struct export *e, const char *dir, unsigned index);

/* The trace of one folder, as --per-rank writes it. */
int export_rank_trace(struct export *e, const char *path, int index);

#endif
