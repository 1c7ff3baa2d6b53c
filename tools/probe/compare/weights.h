/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `probe compare --weights A B`: weights that one program (A, a training) gives to another (B, which serves them), by
 * their checksums: which ones B has, which ones it has from an earlier time, and which ones a transfer skipped.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_WEIGHTS_H
#define PROBE_TOOLS_PROBE_COMPARE_WEIGHTS_H

#include <stdbool.h>

#include "config/rooms/room.h"

/* Folders with calls that have checksums. An exit status: 0 all are the same, 1 some are not, 2 there is nothing to compare. */
int check_weights(const char *path_a, const char *path_b, const struct ranges *ranks,
	const struct ranges *steps, bool json);

#endif
