/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attempts of a job that its launcher restarted, whose folders lie beside each other: rank<R> are of the newest one, rank<R>.<n> of
 * earlier ones. They are never joined; each has its own ranks and world size.
 */
#ifndef PROBE_TOOLS_RULES_ATTEMPTS_H
#define PROBE_TOOLS_RULES_ATTEMPTS_H

#include "tools/probe/model/read/folders.h"

struct attempt {
	char *name; /* the launcher's count; "": it does not count them */
	int world_size; /* -1: not known */
	unsigned ranks; /* folders */
	uint64_t last_step; /* the farthest rank's */
	uint64_t start_ns; /* Unix epoch */
	bool runs;
	struct bad_end {
		int rank; /* -1: none */
		uint64_t at_ns; /* Unix epoch, by the clock of its host */
		char *how; /* "by exit with code 3"; "": none */
	} first, second; /* that ended badly */
};

struct attempts {
	struct attempt *at; /* in the order of their starts */
	unsigned n, cap;
};

/* Reads the meta.json of the folders that were left out. None where the job has neither an id nor a count of restarts. */
void read_attempts(struct attempts *a, const struct folders *f);
void free_attempts(struct attempts *a);

/*
 * Did the first one end so long before the second that it is no chance of which process took longer to end? A rank whose peer left
 * fails within moments, and may be gone before it.
 */
bool is_first_end_clear(const struct attempt *a);

/* "4 of 4 ranks, to step 37; rank 2 ended first, by exit with code 3"; malloc'd. */
char *format_attempt(const struct attempt *a);

#endif
