/* SPDX-License-Identifier: Apache-2.0 */
/* Handles journals that are outside the ranks' folders and belong to processes that have ended. */
#ifndef PROBE_TOOLS_CLEAN_H
#define PROBE_TOOLS_CLEAN_H

#include <stdbool.h>

#include "tools/probe/model/host/outside.h"
#include "tools/probe/recover/recover.h"

enum clean_result {
	CLEAN_LIVES, /* its process runs, or may run */
	CLEAN_WAITS, /* it belongs to a folder that `probe recover` would complete */
	CLEAN_ORPHAN, /* its folder does not exist; only `--clean` removes such a journal */
	CLEAN_RECOVERED, /* its folder was completed, and the journal removed */
	CLEAN_REMOVED,
	CLEAN_FAILED, /* the reason is in `why` */
};

struct clean_outcome {
	enum clean_result result;
	char *folder; /* path of its folder now; "" if it does not exist */
	struct recover_info info; /* only for CLEAN_RECOVERED */
	char why[256];
};

/* Decides what has to be done with journal o, and does it if `remove` is true. */
void handle_outside_journal(const struct outside *o, bool remove, struct clean_outcome *out);

extern const char *const clean_name[]; /* names of enum clean_result in JSON */

#endif
