/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two checkpoints, which are files or folders of files: the distance of each pair of
 * parameters with the same name.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_CHECKPOINTS_H
#define PROBE_TOOLS_PROBE_COMPARE_CHECKPOINTS_H

#include <stdbool.h>

/*
 * output: folder for ckpt_similarity.json; NULL: no file is written. json: print the result to stdout
 * as JSON. Returns the exit status.
 */
int compare_checkpoints(const char *path_a, const char *path_b, const char *output, bool json);

#endif
