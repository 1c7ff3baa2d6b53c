/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attempts of a job that its launcher restarted. All attempts write to one output folder:
 * rank<R> is the folder of the newest attempt, rank<R>.<n> those of earlier ones. Attempts are
 * never joined, because each has its own ranks and world size.
 */
#ifndef PROBE_TOOLS_RULES_ATTEMPTS_H
#define PROBE_TOOLS_RULES_ATTEMPTS_H

#include "tools/probe/model/read/folders.h"

struct attempt {
	char *name; /* the launcher's count of restarts; "" if the launcher does not count them */
	int world_size; /* -1: not known */
	unsigned ranks; /* number of folders */
	uint64_t last_step; /* the last step of the rank that got farthest */
	uint64_t start_ns; /* Unix epoch */
	bool runs;
	struct bad_end {
		int rank; /* -1: no rank ended badly */
		uint64_t at_ns; /* Unix epoch, by the clock of the rank's host */
		char *how; /* "by exit with code 3"; "" if not known */
	} first, second; /* the two ranks that ended badly first */
};

struct attempts {
	struct attempt *at; /* in the order of their starts */
	unsigned n, cap;
};

/*
 * Reads the meta.json of the folders that do not belong to this run. Finds no attempts if the job
 * has neither an id nor a count of restarts.
 */
void read_attempts(struct attempts *a, const struct folders *f);
void free_attempts(struct attempts *a);

/*
 * Returns true if the first rank ended so long before the second one that the order is certain,
 * however long each process took to end. A rank whose peer ended fails within moments, and its
 * process may be gone before the peer's.
 */
bool is_first_end_clear(const struct attempt *a);

/* Formats "4 of 4 ranks, to step 37; rank 2 ended first, by exit with code 3". malloc'd. */
char *format_attempt(const struct attempt *a);

#endif
