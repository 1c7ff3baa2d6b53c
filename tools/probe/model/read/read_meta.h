/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's meta.json as the commands use it. Missing keys leave their member at 0, "" or -1: other versions write fewer or more. */
#ifndef PROBE_TOOLS_PROBE_READ_READ_META_H
#define PROBE_TOOLS_PROBE_READ_READ_META_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/ending.h"
#include "journal/layout.h"

#define META_LIST_MAX 32

struct meta_count {
	char *name;
	uint64_t n;
};

struct meta_text {
	char *name, *text;
};

/* How its process ended, recorded by itself or by the process that found it gone. Unknown texts are "". */
struct meta_ending {
	char *how, *inside, *text, *shown;
	int code, signal; /* ENDING_NONE */
	uint64_t at_ns; /* Unix epoch; 0: not known */
};

/* What the rank's writer last measured about the process and its descendants (preload/writer/progress.h). */
struct rank_progress {
	bool known;
	bool unseen; /* descendants could not be examined */
	uint64_t
		still_ns; /* for how long nothing used processor time, read or wrote; 0: something did, or was waiting to */
	unsigned cpu_percent; /* of one core, in the second before */
};

#define META_THINNED_MAX 64 /* as many as a rank writes */

struct meta {
	char *state; /* "running", "finished", "recovered" */
	bool has_owner;
	struct journal_owner owner;
	char *journal_path;
	bool crash_safe;
	uint64_t outside, damaged;
	char *run;
	char *attempt; /* the launcher's count of restarts; "": it does not count them */
	int rank, world_size; /* -1: not known */
	bool rank_guessed;
	char *version;
	uint64_t clock_first_ns,
		clock_last_ns; /* Unix epoch: first reading of the clock, latest drain */
	uint64_t process_start_ns; /* Unix epoch; 0: not known */
	uint64_t first_record_ns, last_record_ns; /* 0: none */
	uint64_t step_now;
	int64_t step_last; /* -1: no row yet */
	uint64_t
		steps_before; /* steps of the optimizer before the first one seen; 0: none, or not known */
	uint64_t cfg_start_iteration;
	char *step_source;
	uint64_t block_steps; /* steps per calls file */
	uint64_t seen, recorded, rows, lost_rows, removed_blocks;
	unsigned ndropped, nskipped, nmissing, nlibraries, ninvisible;
	struct meta_count dropped[META_LIST_MAX], skipped[META_LIST_MAX];
	struct meta_text missing[META_LIST_MAX]; /* kind of loss, its text */
	struct meta_text libraries[META_LIST_MAX]; /* name, version */
	struct meta_text invisible[META_LIST_MAX]; /* what could not be observed, and why */
	double own_calls_s, own_writer_s;
	struct rank_progress progress;
	char *derived; /* scalars that were computed, not observed, each between two spaces */
	double own_start_s; /* the part of own_calls_s before the third step; -1: not known */
	uint64_t own_start_ns; /* end of that part, Unix epoch */
	char costly[96]; /* enabled keys that cost time, joined by commas */
	char *program; /* the command line, quoted where needed */
	char *cfg_step, *cfg_rank,
		*cfg_step_marker; /* from the effective configuration; "" = not set */
	bool cfg_stack, cfg_statistics, cfg_device_copy;
	struct meta_ending end;
	char *memory_events; /* a file of its control group that counts processes ... */
	int64_t oom_kills; /* ... killed for lack of memory: the count when this process started; -1: not known */
	bool cfg_dynamic_on; /* the value in use now */
	uint64_t cfg_ctl_margin_s;
	char *cfg_armable;
	uint64_t config_from_step; /* the configuration in use is valid from this step on */
	bool thinned; /* it skipped calls to keep max_overhead: a missing call may have been made */
	bool thinned_values; /* ... or did not measure the largest tensors */
	struct thinned_steps {
		uint64_t from,
			to; /* steps; both count, and may have begun or ended with everything recorded */
		bool calls, values; /* some calls are not recorded; some tensors have no values */
	} thinned_at[META_THINNED_MAX];
	unsigned nthinned;
	uint64_t switches; /* how often the configuration changed */
	uint64_t switch_asked; /* the step that the last change asked for; 0: none */
	bool switch_late;
};

/* Reads the file. NULL: success; otherwise the problem, malloc'd; *m is then empty but may be freed. */
char *meta_read(struct meta *m, const char *path);
/* The same from memory. */
char *meta_read_text(struct meta *m, const char *text, size_t n);
void meta_free(struct meta *m);

/* Takes over the contents of the JSON text of an `end`. */
void meta_take_ending(struct meta *m, const char *json);

/* Times of CLOCK_MONOTONIC, as in struct journal_progress. */
uint64_t compute_still_ns(uint64_t moved_ns, uint64_t quiet_ns);

/* True if in that step some calls may not be recorded (calls), or some tensors may have no values (values), to keep max_overhead. */
bool meta_step_is_thinned(const struct meta *m, uint64_t step, bool calls, bool values);

/* True if anything has ended a step. */
bool meta_has_steps(const struct meta *m);

#endif
