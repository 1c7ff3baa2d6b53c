/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/key_groups.h"

#include <string.h>

#include "config/config_value.h"

const char *const key_group_titles[KEY_GROUPS] = {
	[GROUP_WHERE] = "Where: folders, files, messages",
	[GROUP_WHAT] = "What is recorded of each call",
	[GROUP_WHEN] = "When, and on which ranks",
	[GROUP_TRAINING] = "The training: parameters, gradients, scalars",
	[GROUP_ALERTS] = "Alerts and checkpoints",
	[GROUP_FORMATS] = "Formats of other tools",
};

/* The table of keys is sorted by topic. Each row here is the first key of a run with the same group. */
static const struct {
	const char *first;
	enum key_group group;
} runs[] = {
	{"output_dir", GROUP_WHERE},
	{"only", GROUP_WHAT},
	{"journal_mib", GROUP_WHERE},
	{"statistics", GROUP_WHAT},
	{"names", GROUP_TRAINING},
	{"rank", GROUP_WHEN},
	{"scalars", GROUP_TRAINING},
	{"tensorboard_dir", GROUP_FORMATS},
	{"metrics", GROUP_TRAINING},
	{"monitor_log", GROUP_FORMATS},
	{"preset", GROUP_WHAT},
	{"kinds", GROUP_TRAINING},
	{"dump_path", GROUP_FORMATS},
	{"alerts", GROUP_ALERTS},
	{"monitor_layout", GROUP_FORMATS},
	{"log_level", GROUP_WHERE},
};

static const char *const common[] = {"output_dir", "format", "preset", "only", "skip",
	"custom_apis", "rank", "step", "step_interval", "step_marker", "step_anchor", "dynamic_on",
	"statistics", "checksum", "max_bytes", "stack", "device", "backward", "names", "scalars",
	"kinds", "targets", "alerts", "output_limit_mib", "log_level"};

enum key_group find_key_group(size_t i)
{
	enum key_group group = runs[0].group;
	size_t run = 1;

	for (size_t k = 0; k <= i && run < sizeof(runs) / sizeof(*runs); k++)
		if (strcmp(config_keys[k].name, runs[run].first) == 0)
			group = runs[run++].group;
	return group;
}

bool is_common_key(const struct config_key *k)
{
	for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++)
		if (strcmp(k->name, common[i]) == 0)
			return true;
	return false;
}
