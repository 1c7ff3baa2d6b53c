/* SPDX-License-Identifier: Apache-2.0 */
/* What reading the file and reading the environment share. */
#ifndef PROBE_CONFIG_LOAD_H
#define PROBE_CONFIG_LOAD_H

#include <stdint.h>

#include "config/report.h"
#include "config/value.h"

struct loader {
	struct config *cfg;
	struct path_base base;
	struct report report;
	uint64_t from_file; /* bit i: the value of config_keys[i] is the file's */
	int error; /* 0 or -ENOMEM */
};

/* Reports a wrong value of the file; k has its default. value: quoted, or "" where `what` says all. */
void loader_wrong(struct loader *l, const struct config_key *k, size_t line, size_t col,
	const char *what, const char *value);

/* Applies PROBE_<KEY>; env: NULL-terminated NAME=value strings, or NULL. */
void loader_env(struct loader *l, char *const env[]);

#endif
