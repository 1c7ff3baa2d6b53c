/* SPDX-License-Identifier: Apache-2.0 */
/* The keys by topic: six groups, and the few that are set often. */
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

/* The heading of each group: "Where: files, folders, messages". */
extern const char *const key_group_titles[KEY_GROUPS];

/* The group of key number i of config_keys. */
enum key_group find_key_group(size_t i);

/* True for the 25 keys that `probe config --common` shows. */
bool is_common_key(const struct config_key *k);

#endif
