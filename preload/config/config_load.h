/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers of the file and of the environment. */
#ifndef PROBE_CONFIG_CONFIG_LOAD_H
#define PROBE_CONFIG_CONFIG_LOAD_H

#include <stdint.h>

#include "config/config_report.h"
#include "config/config_value.h"

struct loader {
	struct config *cfg;
	struct path_base base;
	struct report report;
	/*
	 * For each key, in the order of config_keys[]: whether its value comes from the file or
	 * from the environment.
	 */
	bool from_file[CONFIG_KEYS_MAX], from_env[CONFIG_KEYS_MAX];
	char *const *env; /* the one passed to config_load() */
	int error; /* 0 or -ENOMEM */
};

/*
 * Reports a wrong value in the file; k keeps its default. what: the error; value: quoted, or ""
 * if `what` contains it.
 */
void loader_record_wrong(struct loader *l, const struct config_key *k, size_t line, size_t col,
	const char *what, const char *value);

/* Applies the variables PROBE_<KEY> of env: NULL-terminated NAME=value strings, or NULL. */
void loader_read_env(struct loader *l, char *const env[]);

#endif
