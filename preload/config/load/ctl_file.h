/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl.yaml in an output folder: what `probe ctl` wants of a running job, and from which step on. It wins over the
 * configuration file and the environment.
 *
 *	effective_step: 240        the first step that is recorded so; now: true: at once
 *	run: "slurm 4711.0"        whose it is, with world_size and written_ns (Unix epoch)
 *	step_interval: "10"        any key of the configuration
 *	earlier:                   changes that some rank may not have reached yet
 *	  - effective_step: 120
 *	    dynamic_on: "false"
 *
 * A change has all keys that differ from the configuration, not only those that it changes.
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
	bool now; /* as soon as it is seen, not at the end of a step */
	/* "PROBE_KEY=VALUE" strings, each with its NUL, as in an environment */
	char *keys;
	size_t len;
};

struct ctl_file {
	struct ctl_change change[CTL_CHANGES_MAX]; /* by effective_step */
	unsigned n;
	char run[128]; /* "": not given */
	int64_t world_size; /* -1: not given */
	uint64_t written_ns; /* 0: not given */
};

/*
 * Reads the file's text; `name` is its name in messages. Values are checked like the configuration's. Returns 0,
 * -EINVAL (each problem is reported, and it must not be used), or -ENOMEM. Always free with ctl_free().
 */
int ctl_parse(struct ctl_file *c, const char *name, const char *text, size_t len,
	config_report_fn *report, void *arg);
void ctl_free(struct ctl_file *c);

/* The change in force at that step, or NULL. */
const struct ctl_change *ctl_change_at(const struct ctl_file *c, uint64_t step);

/*
 * The environment preceded by the change's keys, for config_load_text(). NULL: no memory. Free the array with free(); its
 * strings belong to the change and env. change NULL: env alone.
 */
char **ctl_environment(const struct ctl_change *change, char *const env[]);

/*
 * Adds PROBE_KEY=VALUE to the change and replaces an earlier value of the key; an empty value removes it. Returns 0 or
 * -ENOMEM.
 */
int ctl_set(struct ctl_change *change, const char *key, const char *value, size_t len);

#endif
