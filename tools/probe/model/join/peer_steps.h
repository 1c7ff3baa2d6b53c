/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step numbers for ranks that mark no steps (an actor, a parameter server) in a run whose other
 * ranks do. Such a rank takes the steps of the operations and messages that it shares with ranks
 * that have steps.
 */
#ifndef PROBE_TOOLS_PROBE_JOIN_PEER_STEPS_H
#define PROBE_TOOLS_PROBE_JOIN_PEER_STEPS_H

#include <stdbool.h>

#include "tools/probe/model/join/rounds.h"
#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/read/overlay.h"

/*
 * Fills in dir[i].round of each rank without steps that shares calls with a rank that has steps.
 * overlay[i]: the additional rows of the rank's journal, or NULL. Does nothing if all ranks have
 * steps, if no rank has any, or if the run is too large.
 */
void number_by_peers(
	struct folders *f, const struct overlay *const *overlay, const struct numbering *how);

#endif
