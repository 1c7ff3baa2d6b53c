/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of ranks that mark none themselves (an actor, a parameter server: they have no optimizer steps) while others do: they
 * get the steps of the operations and messages that they share with ranks that have steps.
 */
#ifndef PROBE_TOOLS_PROBE_JOIN_PEER_STEPS_H
#define PROBE_TOOLS_PROBE_JOIN_PEER_STEPS_H

#include <stdbool.h>

#include "tools/probe/model/join/rounds.h"
#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/read/overlay.h"

/*
 * Fills in dir[i].round of each rank without steps that shares calls with a rank that has some. overlay[i]: NULL, or the
 * additional rows of its journal. Does nothing if all ranks have steps, or none has, or if the run is too large.
 */
void number_by_peers(
	struct folders *f, const struct overlay *const *overlay, const struct numbering *how);

#endif
