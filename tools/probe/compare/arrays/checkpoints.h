/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two checkpoints, files or folders of them: the distance of each pair of parameters of the same name. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_CHECKPOINTS_H
#define PROBE_TOOLS_PROBE_COMPARE_CHECKPOINTS_H

#include <stdbool.h>

/* out: folder for ckpt_similarity.json, NULL: it is not written; json: prints it to stdout. Returns the exit status. */
int compare_checkpoints(const char *path_a, const char *path_b, const char *out, bool json);

#endif
