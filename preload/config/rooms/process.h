/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the process as a whole. */
#ifndef PROBE_CONFIG_ROOMS_PROCESS_H
#define PROBE_CONFIG_ROOMS_PROCESS_H

#include "config/rooms/room.h"

enum config_fork { FORK_OFF, FORK_FOLLOW };
enum config_preset { PRESET_NONE, PRESET_COMM, PRESET_NAN, PRESET_OPS, PRESET_DUMP, PRESET_STATE };

struct process_keys {
	int64_t seed; /* value of `probe run --seed`; -1: none */
	bool deterministic; /* `probe run --deterministic` */
	/* values for keys that are set nowhere else (config/preset.h) */
	enum config_preset preset;
	bool unreadable; /* not a key: the file is not YAML with keys, so nothing is recorded */
	/* not a key: the tool whose file it was: enum import_kind (config/import/import.h) */
	int imported;
	int64_t log_level;
	bool disable;
	enum config_fork fork;
};

CONFIG_ROOM(process)

#endif
