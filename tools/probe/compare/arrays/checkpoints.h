/* SPDX-License-Identifier: Apache-2.0 */
/* Two checkpoints, files or folders of them: how far each parameter is from its namesake. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_CHECKPOINTS_H
#define PROBE_TOOLS_PROBE_COMPARE_CHECKPOINTS_H

#include <stdbool.h>

/* out: folder for ckpt_similarity.json, NULL: none is written; json: it goes to stdout. Returns the exit status. */
int compare_checkpoints(const char *path_a, const char *path_b, const char *out, bool json);

#endif
