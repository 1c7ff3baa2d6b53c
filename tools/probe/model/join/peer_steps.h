/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of ranks that end none themselves (an actor, a parameter server: no optimizer steps there) while others do: those of the
 * operations and messages that they share with ranks that have steps.
 */
#ifndef PROBE_TOOLS_PROBE_JOIN_PEER_STEPS_H
#define PROBE_TOOLS_PROBE_JOIN_PEER_STEPS_H

#include <stdbool.h>

#include "tools/probe/model/join/rounds.h"
#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/read/overlay.h"

/*
 * Fills in dir[i].round of each rank without steps that shares calls with one that has some. overlay[i]: NULL or what its journal
 * has beyond its files. Nothing is done where all ranks are alike in that, or the run is too large.
 */
void number_by_peers(
	struct folders *f, const struct overlay *const *overlay, const struct numbering *how);

#endif
