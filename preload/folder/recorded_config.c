/* SPDX-License-Identifier: Apache-2.0 */
#include "folder/recorded_config.h"

#include <errno.h>
#include <string.h>

#include "config/config_value.h"
#include "journal/meta_part.h"

int recorded_config_text(struct config *cfg, const char *json, const char *output_dir)
{
	const struct config_key *k = config_key_find("output_dir", 10, false);
	/*
	 * Keys that only other versions know, and values that are too long, are ignored silently.
	 */
	int err = config_load_text(cfg, "meta.json", json ? json : "{}", json ? strlen(json) : 2,
		NULL, "/", NULL, NULL);

	if (!err && config_set(cfg, k, output_dir, strlen(output_dir), &(struct path_base){0}) ==
			    config_oom)
		err = -ENOMEM;
	return err;
}

int recorded_config(struct config *cfg, const struct journal *j, const char *output_dir)
{
	const char *part = journal_dict_get(j, DICT_META, META_CONFIG);

	return recorded_config_text(cfg, part ? part + strlen(part) + 1 : NULL, output_dir);
}
