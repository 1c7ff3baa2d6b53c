/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's meta.json for the commands. Members whose key is missing are 0, "" or -1: other versions
 * write fewer or more keys.
 */
#ifndef PROBE_TOOLS_PROBE_READ_READ_META_H
#define PROBE_TOOLS_PROBE_READ_READ_META_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/ending.h"
#include "journal/layout.h"
#include "journal/meta_part.h"

#define META_LIST_MAX 32

struct meta_count {
	char *name;
	uint64_t n;
};

struct meta_text {
	char *name, *text;
};

/*
 * How the process ended, as it recorded itself, or as another process found out after its end.
 * Unknown strings are "".
 */
struct meta_ending {
	char *how, *inside, *text, *shown;
	int code, signal; /* ENDING_NONE: not known */
	uint64_t at_ns; /* Unix epoch; 0: not known */
};

/*
 * Latest measurements of the rank's writer about the process and its descendants
 * (preload/writer/progress.h).
 */
struct rank_progress {
	bool known;
	bool unseen; /* some descendants could not be examined */
	/*
	 * Time in ns during which no process used processor time, read or wrote. 0 if one did, or
	 * was waiting to.
	 */
	uint64_t still_ns;
	unsigned cpu_percent; /* percent of one core, in the second before the measurement */
};

#define META_THINNED_MAX 64 /* a rank writes at most this many */

struct meta {
	char *state; /* "running", "finished", "recovered" */
	bool has_owner;
	struct journal_owner owner;
	char *journal_path;
	bool crash_safe;
	uint64_t outside, damaged;
	char *run;
	/* The launcher's count of restarts; "" if the launcher does not count them. */
	char *attempt;
	int rank, world_size; /* -1: not known */
	bool rank_guessed;
	char *version;
	/* Unix epoch: first reading of the clock, latest drain of the journal. */
	uint64_t clock_first_ns, clock_last_ns;
	uint64_t process_start_ns; /* Unix epoch; 0: not known */
	uint64_t first_record_ns, last_record_ns; /* 0: no record */
	uint64_t step_now;
	int64_t step_last; /* -1: no row yet */
	/* Optimizer steps before the first one that was observed; 0: none, or not known. */
	uint64_t steps_before;
	/* First step whose optimizer began before its gradients were reduced; -1: none, or not known. */
	int64_t unfinished_reduction;
	uint64_t cfg_start_iteration;
	char *step_source;
	uint64_t block_steps; /* steps per calls file */
	uint64_t seen, recorded, rows, lost_rows, removed_blocks;
	unsigned ndropped, nskipped, nmissing, nlibraries, ninvisible;
	struct meta_count dropped[META_LIST_MAX], skipped[META_LIST_MAX];
	struct meta_text missing[META_LIST_MAX]; /* kind of loss and its description */
	struct meta_text libraries[META_LIST_MAX]; /* name, version */
	struct meta_text invisible[META_LIST_MAX]; /* what could not be observed, and the reason */
	double own_calls_s, own_writer_s;
	struct rank_progress progress;
	/* Names of scalars that were computed and not observed, each between two spaces. */
	char *derived;
	double own_start_s; /* part of own_calls_s before the third step; -1: not known */
	uint64_t own_start_ns; /* end of the time that own_start_s covers, Unix epoch */
	char costly[96]; /* enabled keys that cost time, separated by commas */
	char *program; /* the command line, quoted where needed */
	/* From the effective configuration; "": not set. */
	char *cfg_step, *cfg_rank, *cfg_step_marker, *cfg_only, *cfg_skip;
	char *cfg_alerts; /* words of the rules, separated by commas */
	/*
	 * For each of these rules whether it has checked a value: "true,false"; "": not known.
	 */
	char *alerts_checked;
	bool cfg_stack, cfg_statistics, cfg_device_copy;
	struct meta_ending end;
	/* A file of the control group that counts the processes killed for lack of memory. */
	char *memory_events;
	int64_t oom_kills; /* this count when the process started; -1: not known */
	bool cfg_dynamic_on; /* the value now in use */
	uint64_t cfg_ctl_margin_s;
	char *cfg_armable;
	uint64_t config_from_step; /* first step with the configuration now in use */
	/*
	 * The rank skipped calls to keep max_overhead, so a call without a record may have been
	 * made.
	 */
	bool thinned;
	/* The rank did not measure the largest tensors, to keep max_overhead. */
	bool thinned_values;
	struct thinned_steps {
		/*
		 * First and last step. Both may also contain a part in which everything was
		 * recorded.
		 */
		uint64_t from, to;
		/* calls: some calls are not recorded. values: some tensors have no values. */
		bool calls, values;
	} thinned_at[META_THINNED_MAX];
	unsigned nthinned;
	/*
	 * Steps in which a gradient scaler skipped the optimizer, first and last of each range. If the rank
	 * listed no further ranges, one more lasts until its last such step: each step in it may be one.
	 */
	struct step_range {
		uint64_t from, to;
	} skipped_at[META_SKIPPED_RANGES + 1];
	unsigned nskipped_at;
	uint64_t switches; /* how often the configuration changed */
	uint64_t switch_asked; /* the step from which the last change was to apply; 0: no change */
	bool switch_late;
};

/*
 * Reads the file. Returns NULL, or a description of the problem, malloc'd. *m can be freed in any
 * case.
 */
char *meta_read(struct meta *m, const char *path);
/* Like meta_read(), from n bytes of JSON text. */
char *meta_read_text(struct meta *m, const char *text, size_t n);
void meta_free(struct meta *m);

struct journal;

/*
 * Returns the parts (enum meta_part) of meta.json that a journal's dictionary has, n at most, as a JSON object,
 * malloc'd; NULL: it has none of them. A process that died in its first second has written no
 * meta.json with them.
 */
char *meta_find_members(const struct journal *j, const uint16_t *part, unsigned n);

/*
 * Copies the members `end`, `memory_group`, `attempt` and `process_start_ns` of json, an object
 * with members of meta.json, if it has them.
 */
void meta_copy_members(struct meta *m, const char *json);

/*
 * Returns the time in ns without activity. Both parameters are times of CLOCK_MONOTONIC, as in
 * struct journal_progress.
 */
uint64_t compute_still_ns(uint64_t moved_ns, uint64_t quiet_ns);

/*
 * Returns true if in `step` calls may be missing (if `calls`) or values may be missing (if
 * `values`), because the rank kept max_overhead.
 */
bool meta_step_is_thinned(const struct meta *m, uint64_t step, bool calls, bool values);

/* Returns the range of steps without an optimizer step that contains `step`, or NULL. */
const struct step_range *meta_find_skipped(const struct meta *m, uint64_t step);

/* Returns true if the rank has completed any step. */
bool meta_has_steps(const struct meta *m);

#endif
