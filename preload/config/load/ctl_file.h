/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl.yaml in an output folder: what `probe ctl` requests from a running job, and from which step
 * on. It takes precedence over the configuration file and the environment.
 *
 *	effective_step: 240	the first step that is recorded with it; now: true: at once
 *	run: "slurm 4711.0"	the job it is for, with world_size and written_ns (Unix epoch)
 *	step_interval: "10"	any key of the configuration
 *	earlier:		changes that some rank may not have reached yet
 *	- effective_step: 120
 *	  dynamic_on: "false"
 *
 * A change contains all keys that differ from the configuration, not only those that it changes.
 */
#ifndef PROBE_CONFIG_CTL_FILE_H
#define PROBE_CONFIG_CTL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/rooms/room.h"

#define CTL_FILE "ctl.yaml"
#define CTL_CHANGES_MAX 8
#define CTL_BYTES_MAX ((size_t)64 << 10)

struct ctl_change {
	uint32_t effective_step;
	bool now; /* takes effect as soon as it is seen, not at the end of a step */
	/* "PROBE_KEY=VALUE" strings, each with its NUL, as in an environment */
	char *keys;
	size_t len;
};

struct ctl_file {
	struct ctl_change change[CTL_CHANGES_MAX]; /* ordered by effective_step */
	unsigned n;
	char run[128]; /* "": not given */
	int64_t world_size; /* -1: not given */
	uint64_t written_ns; /* 0: not given */
};

/*
 * Parses the file's text; `name` is its name in messages. Values are checked like those of the
 * configuration. Returns 0, -EINVAL (each problem is reported; the result must not be used), or
 * -ENOMEM. Always free with ctl_free().
 */
int ctl_parse(struct ctl_file *c, const char *name, const char *text, size_t len,
	config_report_fn *report, void *arg);
void ctl_free(struct ctl_file *c);

/* Returns the change that is in force in `step`, or NULL. */
const struct ctl_change *ctl_get_change(const struct ctl_file *c, uint64_t step);

/*
 * Returns the environment preceded by the change's keys, for config_load_text(). change NULL: env
 * alone. Free the array with free(); its strings belong to `change` and env. Returns NULL if
 * there is no memory.
 */
char **ctl_get_environment(const struct ctl_change *change, char *const env[]);

/*
 * Sets PROBE_KEY=VALUE in the change, instead of an earlier value of the key; an empty value
 * removes the key. Returns 0 or -ENOMEM.
 */
int ctl_set(struct ctl_change *change, const char *key, const char *value, size_t len);

#endif
