/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `probe compare --weights A B`: weights that one program (A, a training) sends to another (B, an
 * inference server). Their checksums show which weights B has, which of them are outdated, and
 * which ones a transfer skipped.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_WEIGHTS_H
#define PROBE_TOOLS_PROBE_COMPARE_WEIGHTS_H

#include <stdbool.h>

#include "config/rooms/room.h"

/*
 * path_a, path_b: output folders of libprobe with checksums. Returns the exit status: 0 if all
 * weights are equal, 1 if some are not, 2 if there is nothing to compare.
 */
int check_weights(const char *path_a, const char *path_b, const struct ranges *ranks,
	const struct ranges *steps, bool json);

#endif
