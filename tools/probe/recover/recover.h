/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_RECOVER_H
#define PROBE_TOOLS_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink/owner.h"

enum recover_result {
	RECOVER_NOTHING, /* no journal: the folder is complete */
	RECOVER_DONE, /* rows were added, or the folder was marked recovered */
	RECOVER_LIVES, /* its owner lives (or cannot be judged): left alone */
	RECOVER_FAILED, /* reason in `why` */
};

struct recover_info {
	enum recover_result result;
	uint64_t rows; /* added */
	uint64_t open; /* of them, of calls that had not ended */
	uint64_t spilled; /* asynchronous calls that were outside the journal and are lost */
	uint64_t damaged;
	char why[256];
	char owner[160]; /* "host vm, pid 123" */
};

/*
 * The state of the owner of a folder's journal. path: where the journal is now; it may have been moved since its process
 * noted its place.
 */
enum owner_life recover_owner_life(
	const struct journal_owner *o, const char *noted, const char *path);

/*
 * Completes one rank's folder from its journal, in place. Interrupted at any moment it can be run again: rows are
 * committed as the running library does it. dirfd: the folder. force: also when it cannot be judged whether the owner
 * lives (its host is another one).
 */
void recover_folder(int dirfd, bool force, struct recover_info *out);

#endif
