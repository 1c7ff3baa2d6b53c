/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a bad result came from. That an operation made it may be said only if the inputs of all its ranks were read and
 * measured: the rows of that one operation are read once more for it.
 */
#ifndef PROBE_TOOLS_INPUTS_H
#define PROBE_TOOLS_INPUTS_H

#include "tools/probe/model/gather.h"

/*
 * "all inputs were finite, so the operation made it", or what is not known; malloc'd. *awaited: a rank of it whose process lives
 * has no row of it yet: that may say more soon.
 */
char *inputs_origin(struct gather *g, const struct bad_row *b, bool *awaited);

/* Does a process live, or is its journal not read to its end, that may still write rows there? */
bool may_write_more(const struct gather *g, const struct rank_dir *d);

/*
 * Of a NaN that went into a reduction by the least or largest value: how many ranks' results do not have it, which the library decides
 * (docs/reference/compatibility.md), as the end of a sentence; "" where all have it, or nothing is known. malloc'd.
 */
char *lost_nan_text(struct gather *g, const struct bad_row *b);

#endif
