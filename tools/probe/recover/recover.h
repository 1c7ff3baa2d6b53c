/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_RECOVER_H
#define PROBE_TOOLS_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/probe/model/host/rank_owner.h"

enum recover_result {
	RECOVER_NOTHING, /* there is no journal: the folder is complete */
	RECOVER_DONE, /* rows were added, or the folder was marked as recovered */
	RECOVER_LIVES, /* its process runs, or that is not known: nothing was changed */
	RECOVER_FAILED, /* the reason is in `why` */
};

struct recover_info {
	enum recover_result result;
	uint64_t rows; /* number of rows added */
	uint64_t open; /* of these, rows of calls that had not ended */
	uint64_t spilled; /* asynchronous calls that were not in the journal and are lost */
	uint64_t damaged;
	char why[256];
	char owner[160]; /* "host vm, pid 123" */
	bool found; /* the journal was found although meta.json had no path of it, or an old one */
};

/*
 * Completes a rank's folder from its journal, in place. dirfd: the folder. force: do so even if it
 * is unknown whether the owner still runs (because it is on another host). If this is interrupted,
 * it can be run again: rows are committed as in the running library.
 */
void recover_folder(int dirfd, bool force, struct recover_info *out);

#endif
