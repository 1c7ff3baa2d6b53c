/* SPDX-License-Identifier: Apache-2.0 */
/* The keys by topic: six groups, and the keys that are set often. */
#ifndef PROBE_TOOLS_KEY_GROUPS_H
#define PROBE_TOOLS_KEY_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

enum key_group {
	GROUP_WHERE,
	GROUP_WHAT,
	GROUP_WHEN,
	GROUP_TRAINING,
	GROUP_ALERTS,
	GROUP_FORMATS,
	KEY_GROUPS
};

struct config_key;

/* The title of each group: "Where: files, folders, messages". */
extern const char *const key_group_titles[KEY_GROUPS];

/* Returns the group of config_keys[i]. */
enum key_group find_key_group(size_t i);

/* Returns true for the 25 keys that `probe config --common` shows. */
bool is_common_key(const struct config_key *k);

#endif
