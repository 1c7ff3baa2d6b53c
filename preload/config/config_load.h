/* SPDX-License-Identifier: Apache-2.0 */
/* What reading the file and reading the environment share. */
#ifndef PROBE_CONFIG_CONFIG_LOAD_H
#define PROBE_CONFIG_CONFIG_LOAD_H

#include <stdint.h>

#include "config/config_report.h"
#include "config/config_value.h"

struct loader {
	struct config *cfg;
	struct path_base base;
	struct report report;
	/* By place in config_keys[]: the value is the file's; it is that of the environment. */
	bool from_file[CONFIG_KEYS_MAX], from_env[CONFIG_KEYS_MAX];
	char *const *env; /* as config_load() was given */
	int error; /* 0 or -ENOMEM */
};

/* Reports a wrong value of the file; k has its default. value: quoted, or "" where `what` says all. */
void loader_wrong(struct loader *l, const struct config_key *k, size_t line, size_t col,
	const char *what, const char *value);

/* Applies PROBE_<KEY>; env: NULL-terminated NAME=value strings, or NULL. */
void loader_env(struct loader *l, char *const env[]);

#endif
