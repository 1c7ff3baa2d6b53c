/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every file may know of the configuration: that there is one, and where a room of its keys begins in it. The keys
 * themselves stand in config/rooms/<room>.h, a struct each, and a file includes those rooms whose keys it reads:
 * get_dump_keys(config)->level. Each room has the same space, so a further key moves no other room and compiles only those
 * who read its room. config/config.h has all rooms together, for those who load, print or make a configuration.
 */
#ifndef PROBE_CONFIG_ROOMS_ROOM_H
#define PROBE_CONFIG_ROOMS_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All rooms; another one is appended here and has its header in config/rooms/. */
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

#define CONFIG_ROOM_BYTES 256 /* config/config.h checks that no room has more */
#define CONFIG_ROOM_PLACE(room) CONFIG_AT_##room,
enum config_room { CONFIG_ROOMS(CONFIG_ROOM_PLACE) };

struct config; /* config/config.h */

/* struct <room>_keys has been declared: get_<room>_keys() finds them in a configuration. */
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
 * Is that step recorded? collect_times counts the steps that the other keys allow, from start_iteration on, or from where
 * this configuration came into use: which step this training begins with decides of none before it.
 */
bool config_step_wanted(const struct config *c, uint64_t step);
/* The first from `from` on that is recorded; UINT64_MAX: none. */
uint64_t config_step_next(const struct config *c, uint64_t from);

/* Receives one finding, a single line without newline. Called from config_load and wraplist_load. */
typedef void config_report_fn(void *arg, const char *line);

#endif
