/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_RECOVER_H
#define PROBE_TOOLS_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/probe/model/host/rank_owner.h"

enum recover_result {
	RECOVER_NOTHING, /* no journal: the folder is complete */
	RECOVER_DONE, /* rows were added, or the folder was marked recovered */
	RECOVER_LIVES, /* its owner runs, or its state is unknown: not touched */
	RECOVER_FAILED, /* reason in `why` */
};

struct recover_info {
	enum recover_result result;
	uint64_t rows; /* added */
	uint64_t open; /* rows of calls that had not ended */
	uint64_t spilled; /* asynchronous calls that were outside the journal and are lost */
	uint64_t damaged;
	char why[256];
	char owner[160]; /* "host vm, pid 123" */
	bool found; /* meta.json did not name the journal, or named an old place */
};

/*
 * Completes one rank's folder from its journal, in place. After an interruption at any time it can be run again: rows are
 * committed as in the running library. dirfd: the folder. force: also if it is unknown whether the owner still runs (because
 * its host is another one).
 */
void recover_folder(int dirfd, bool force, struct recover_info *out);

#endif
