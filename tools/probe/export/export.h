/* SPDX-License-Identifier: Apache-2.0 */
/* Used by all formats of `probe export`: the selected part of the run, and its data. */
#ifndef PROBE_TOOLS_PROBE_EXPORT_H
#define PROBE_TOOLS_PROBE_EXPORT_H

#include "tools/lib/progress.h"
#include "tools/lib/target.h"
#include "tools/probe/model/join/walk.h"
#include "tools/probe/export/tb_files.h"
#include "tools/probe/views/focus.h"

#define EXPORT_RANKS_MAX 64u /* maximum number of ranks if the user selected none */

struct export
{
	struct report report;
	const char *dir, *output; /* output NULL: the default path of the format */
	const char *format;
	bool all, per_rank, asked_steps, asked_ranks, asked_level;
	unsigned level; /* 0: without stacks; 1: with stacks; 2: also with statistics */
	uint64_t step_lo, step_hi; /* steps to write */
	bool *want; /* by folder */
	unsigned nwant;
	const struct overlay **overlay;
	/* Shallow copies of the dir[] entries of the selected folders, for comms_set_present_members(). */
	struct folders chosen;
	uint64_t limit; /* maximum number of bytes without --all */
	uint64_t base_ns; /* time that the format writes as 0 */
	uint64_t written, calls; /* bytes and calls written */
	struct tb_export tb; /* only for format tensorboard; its member `feed` is not set */
	struct table brief; /* short forms of stacks */
	struct progress bar;
};

/* Selects steps and ranks if the user selected none. */
void export_set_part(struct export *e);

/*
 * Returns 0, or STATUS_USAGE (reported) if the selected ranks have no call in the selected steps.
 */
int export_check_part(const struct export *e);
/* Reports that steps lo to hi of the run in `dir` have no calls, and which steps have some. */
void export_print_no_calls(const char *dir, uint64_t lo, uint64_t hi);

void export_open_walk(const struct export *e, struct walk *w);
/* Like export_open_walk(), for one folder only. */
void export_open_rank_walk(const struct export *e, struct walk *w, unsigned folder_index);

/* Returns "main (train.c:50)", or "" if the stack is not known. */
const char *export_get_stack(struct export *e, uint32_t rank, uint32_t id);

/* Returns the world rank of rank `rank` of communicator `comm`, or -1. */
int export_get_world_rank(const struct export *e, uint64_t comm, int64_t rank);

/*
 * Returns false if the output exceeds its limit (reported, with a command that selects less), or if
 * a signal arrived.
 */
bool export_can_continue(
	struct export *e, const struct target *t, const struct walk *w, uint64_t step);

/* Returns the path of --output, or else the path of the file default_name in the run's folder; malloc'd. */
char *export_format_path(const struct export *e, const char *default_name);

/* Formats "steps 38-40, ranks 0-3, 123 calls"; malloc'd. */
char *export_format_part(const struct export *e);

/* The formats. Each returns 0 or STATUS_USAGE (reported). */
int export_write_trace(struct export *e);
int export_write_flight_recorder(struct export *e);
int export_write_dot(struct export *e);
int export_write_insight(struct export *e);

/* Writes both memory files of a rank's profile, if the rank recorded memory (insight_memory.c). */
int write_insight_memory(struct export *e, const char *dir, unsigned folder_index);

/* The trace of one folder, as --per-rank writes it. */
int export_write_rank_trace(struct export *e, const char *path, int folder_index);

#endif
