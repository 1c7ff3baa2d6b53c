/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The origin of a bad result. It may be attributed to the operation itself only if the inputs of all its ranks were read and
 * measured: the rows of that one operation are read once more for this.
 */
#ifndef PROBE_TOOLS_INPUTS_H
#define PROBE_TOOLS_INPUTS_H

#include "tools/probe/model/gather.h"

/*
 * "all inputs were finite, so the operation made it", or what is not known; malloc'd. *awaited: set if one of its ranks still runs and has
 * written no row of it yet: that row may say more soon.
 */
char *inputs_origin(struct gather *g, const struct bad_row *b, bool *awaited);

/* True if a process still runs, or its journal is not read to its end, so that rows may still appear there. */
bool may_write_more(const struct gather *g, const struct rank_dir *d);

/*
 * For a NaN in the input of a minimum or maximum reduction: how many ranks' results do not have it, which depends on the
 * library (docs/reference/compatibility.md), as the end of a sentence; "" if all have it, or nothing is known. malloc'd.
 */
char *lost_nan_text(struct gather *g, const struct bad_row *b);

#endif
