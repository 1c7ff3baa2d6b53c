/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only part of the configuration that every file may include: that it exists, and where a room of its keys begins in it.
 * The keys themselves are in config/rooms/<room>.h, a struct each, and a file includes the rooms whose keys it reads:
 * get_dump_keys(config)->level. All rooms have the same size, so a further key moves no other room and recompiles only the
 * files that use its room. config/config.h has all rooms together, for files that load, print or make a configuration.
 */
#ifndef PROBE_CONFIG_ROOMS_ROOM_H
#define PROBE_CONFIG_ROOMS_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All rooms; a new one is appended here and has its header in config/rooms/. */
#define CONFIG_ROOMS(ROOM) \
	ROOM(files)        \
	ROOM(calls)        \
	ROOM(steps)        \
	ROOM(training)     \
	ROOM(kinds)        \
	ROOM(tensorboard)  \
	ROOM(monitor)      \
	ROOM(dump)         \
	ROOM(alerts)       \
	ROOM(process)

#define CONFIG_ROOM_BYTES 256 /* config/config.h checks that no room exceeds it */
#define CONFIG_ROOM_PLACE(room) CONFIG_AT_##room,
enum config_room { CONFIG_ROOMS(CONFIG_ROOM_PLACE) };

struct config; /* config/config.h */

/* struct <room>_keys has been declared: get_<room>_keys() returns them from a configuration. */
#define CONFIG_ROOM(room)                                                                          \
	static inline const struct room##_keys *get_##room##_keys(const struct config *config)     \
	{                                                                                          \
		return (const struct room##_keys *)((const char *)config +                         \
						    (size_t)CONFIG_AT_##room * CONFIG_ROOM_BYTES); \
	}

/* A list of integers, sorted, ranges expanded lazily: [lo, hi] pairs. Empty: everything. */
struct range {
	uint64_t lo, hi;
};

struct ranges {
	uint32_t n;
	struct range *item;
};

bool ranges_contain(const struct ranges *r, uint64_t v); /* true when r is empty */

/*
 * Whether that step is recorded. collect_times counts the steps that the other keys allow, from start_iteration on, or from the
 * step at which this configuration came into use: earlier steps do not depend on where this training begins.
 */
bool config_step_wanted(const struct config *c, uint64_t step);
/* The first recorded step from `from` on; UINT64_MAX: none. */
uint64_t config_step_next(const struct config *c, uint64_t from);

/* Receives one finding, a single line without newline. Called from config_load and wraplist_load. */
typedef void config_report_fn(void *arg, const char *line);

#endif
