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
	uint64_t last_step, start_ns, end_ns; /* Unix epoch; the farthest rank's */
	bool runs;
	int first_rank; /* that ended badly before the others; -1: none did */
	char *end; /* how: "by exit with code 3"; "": all ended properly, or run */
};

struct attempts {
	struct attempt *at; /* in the order of their starts */
	unsigned n, cap;
};

/* Reads the meta.json of the folders that were left out. None where the job has neither an id nor a count of restarts. */
void read_attempts(struct attempts *a, const struct folders *f);
void free_attempts(struct attempts *a);

/* "4 of 4 ranks, to step 37; rank 2 ended first, by exit with code 3"; malloc'd. */
char *format_attempt(const struct attempt *a);

#endif
