/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The origin of a bad result. The operation itself can be the origin only if the inputs of all its
 * ranks were recorded and measured. To check that, the rows of this operation are read a second
 * time.
 */
#ifndef PROBE_TOOLS_INPUTS_H
#define PROBE_TOOLS_INPUTS_H

#include "tools/probe/model/gather.h"

/*
 * Returns "all inputs were finite, so the operation made it", or what is not known; malloc'd.
 * *awaited: a rank of the operation still runs and has written no row of it yet, so that the answer
 * may change.
 */
char *inputs_origin(struct gather *g, const struct bad_row *b, bool *awaited);

/*
 * Returns true if more rows may appear in folder d: its process still runs, or its journal has not
 * been read to the end.
 */
bool may_write_more(const struct gather *g, const struct rank_dir *d);

/*
 * For a NaN in the input of a minimum or maximum: formats, as the end of a sentence, on how many
 * ranks the result does not contain it. That depends on the library
 * (docs/reference/compatibility.md). Returns "" if all results contain it, or nothing is known.
 * malloc'd.
 */
char *lost_nan_text(struct gather *g, const struct bad_row *b);

#endif
