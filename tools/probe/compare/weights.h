/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `probe compare --weights A B`: weights that one program (A, a training) sends to another (B, which serves them), by their
 * checksums: which ones B has, which of these are outdated, and which ones a transfer skipped.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_WEIGHTS_H
#define PROBE_TOOLS_PROBE_COMPARE_WEIGHTS_H

#include <stdbool.h>

#include "config/rooms/room.h"

/* Folders with calls that have checksums. Returns the exit status: 0 all are equal, 1 some are not, 2 nothing to compare. */
int check_weights(const char *path_a, const char *path_b, const struct ranges *ranks,
	const struct ranges *steps, bool json);

#endif
