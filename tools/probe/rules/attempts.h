/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attempts of a job that its launcher restarted. Their folders are side by side: rank<R> belong to the newest attempt,
 * rank<R>.<n> to earlier ones. Attempts are never joined: each has its own ranks and world size.
 */
#ifndef PROBE_TOOLS_RULES_ATTEMPTS_H
#define PROBE_TOOLS_RULES_ATTEMPTS_H

#include "tools/probe/model/read/folders.h"

struct attempt {
	char *name; /* the launcher's count; "": it does not count them */
	int world_size; /* -1: not known */
	unsigned ranks; /* folders */
	uint64_t last_step; /* of the rank that got farthest */
	uint64_t start_ns; /* Unix epoch */
	bool runs;
	struct bad_end {
		int rank; /* -1: none */
		uint64_t at_ns; /* Unix epoch, by the clock of its host */
		char *how; /* "by exit with code 3"; "": none */
	} first, second; /* the two ranks that ended badly first */
};

struct attempts {
	struct attempt *at; /* in the order of their starts */
	unsigned n, cap;
};

/*
 * Reads the meta.json of the folders that do not belong to this run. Finds no attempts if the job has neither an id nor a count
 * of restarts.
 */
void read_attempts(struct attempts *a, const struct folders *f);
void free_attempts(struct attempts *a);

/*
 * True if the first rank ended so long before the second that the order is certain, whatever time each process took to end. A
 * rank whose peer left fails within moments, and its process may be gone before the peer's.
 */
bool is_first_end_clear(const struct attempt *a);

/* "4 of 4 ranks, to step 37; rank 2 ended first, by exit with code 3"; malloc'd. */
char *format_attempt(const struct attempt *a);

#endif
