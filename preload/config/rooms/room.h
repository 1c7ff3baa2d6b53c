/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only part of the configuration that every file may include: its type, and at which offset
 * each group of keys ("room") begins in it. The keys themselves are in config/rooms/<room>.h, one
 * struct each. A file includes the headers whose keys it reads: get_dump_keys(config)->level. All
 * rooms have the same size, so a new key moves no other room and recompiles only the files that
 * use its room. config/config.h has all rooms together, for files that load, print or make a
 * configuration.
 */
#ifndef PROBE_CONFIG_ROOMS_ROOM_H
#define PROBE_CONFIG_ROOMS_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All rooms of keys. A new one is appended, and has its header in config/rooms/. */
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
	ROOM(process)      \
	ROOM(slices)

#define CONFIG_ROOM_BYTES 256 /* maximum size of a group of keys, checked in config/config.h */
#define CONFIG_ROOM_PLACE(room) CONFIG_AT_##room,
enum config_room { CONFIG_ROOMS(CONFIG_ROOM_PLACE) };

struct config; /* config/config.h */

/*
 * For a declared struct <room>_keys: defines get_<room>_keys(), which returns these keys of a
 * configuration.
 */
#define CONFIG_ROOM(room)                                                                          \
	static inline const struct room##_keys *get_##room##_keys(const struct config *config)     \
	{                                                                                          \
		return (const struct room##_keys *)((const char *)config +                         \
						    (size_t)CONFIG_AT_##room * CONFIG_ROOM_BYTES); \
	}

/* A list of integers as sorted, disjoint ranges [lo, hi]. Empty: all integers. */
struct range {
	uint64_t lo, hi;
};

struct ranges {
	uint32_t n;
	struct range *item;
};

bool ranges_has(const struct ranges *r, uint64_t v); /* true when r is empty */

/*
 * True if `step` is to be recorded. collect_times counts the steps that the other keys allow,
 * from start_iteration on, or from the step in which this configuration came into use.
 */
bool config_step_wanted(const struct config *c, uint64_t step);
/* Returns the first step >= from that is to be recorded; UINT64_MAX: none. */
uint64_t config_find_next_step(const struct config *c, uint64_t from);

/* Receives one message, a single line without newline, from config_load() or wraplist_load(). */
typedef void config_report_fn(void *arg, const char *line);

#endif
