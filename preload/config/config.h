/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All groups of keys ("rooms") in one struct, for files that load, print or make a configuration.
 * The table of keys is in config/key.h.
 */
#ifndef PROBE_CONFIG_CONFIG_H
#define PROBE_CONFIG_CONFIG_H

#include "config/key.h"
#include "config/rooms/alerts.h"
#include "config/rooms/calls.h"
#include "config/rooms/dump.h"
#include "config/rooms/files.h"
#include "config/rooms/kinds.h"
#include "config/rooms/monitor.h"
#include "config/rooms/process.h"
#include "config/rooms/slices.h"
#include "config/rooms/steps.h"
#include "config/rooms/tensorboard.h"
#include "config/rooms/training.h"

/*
 * The rooms in their order, each with its full size. Members have no room in their names here:
 * cfg->step.
 */
#define CONFIG_ROOM_IN(room)                         \
	union {                                      \
		struct room##_keys;                  \
		char room##_room[CONFIG_ROOM_BYTES]; \
	};
struct config {
	CONFIG_ROOMS(CONFIG_ROOM_IN)
};

#define CONFIG_ROOM_FITS(room) &&sizeof(struct room##_keys) <= CONFIG_ROOM_BYTES
_Static_assert(1 CONFIG_ROOMS(CONFIG_ROOM_FITS), "CONFIG_ROOM_BYTES");

#endif
