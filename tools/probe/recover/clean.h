/* SPDX-License-Identifier: Apache-2.0 */
/* Handles journals outside the ranks' folders whose processes are dead. */
#ifndef PROBE_TOOLS_CLEAN_H
#define PROBE_TOOLS_CLEAN_H

#include <stdbool.h>

#include "tools/probe/model/host/outside.h"
#include "tools/probe/recover/recover.h"

enum clean_result {
	CLEAN_LIVES, /* its process runs, or may run */
	CLEAN_WAITS, /* it belongs to a folder that `recover` would complete */
	CLEAN_ORPHAN, /* its folder is gone: only `--clean` removes it */
	CLEAN_RECOVERED, /* its folder was completed, and the journal was removed */
	CLEAN_REMOVED,
	CLEAN_FAILED, /* reason in `why` */
};

struct clean_one {
	enum clean_result result;
	char *folder; /* the folder that it belongs to now; "" if none exists */
	struct recover_info info; /* of CLEAN_RECOVERED */
	char why[256];
};

/* Decides what to do with one journal; `remove`: also does it. */
void clean_one(const struct outside *o, bool remove, struct clean_one *out);

extern const char *const clean_name[]; /* of enum clean_result, for JSON */

#endif
