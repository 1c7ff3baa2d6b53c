/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of Slurm (SPANK): `srun --probe[=DIR] ./train` preloads libprobe.so into each task, and DIR becomes its PROBE_OUTPUT_DIR. It is
 * loaded by srun, sbatch, salloc and slurmstepd; only the latter changes anything, in the environment of a task and as its user.
 *
 *	plugstack.conf: optional /usr/local/lib/slurm/spank_probe.so [library=/path/libprobe.so]
 *
 * Whatever goes wrong, the task runs: without the preload, and with a line in its stderr.
 */
#include <slurm/spank.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

SPANK_PLUGIN(probe, 1)

#ifndef PROBE_LIBRARY
#define PROBE_LIBRARY "/usr/local/lib/libprobe.so"
#endif

#define PATH_SIZE 4096
#define LIST_SIZE 16384 /* of LD_PRELOAD */

static char library[PATH_SIZE] = PROBE_LIBRARY;

static int handle_probe_option(int val, const char *dir, int remote)
{
	(void)val;
	(void)remote;
	if (!dir || strlen(dir) < PATH_SIZE)
		return 0;
	slurm_error("probe: --probe: the folder's name is longer than %d bytes", PATH_SIZE - 1);
	return -1;
}

/* Option values are passed to the tasks' nodes by Slurm. */
static struct spank_option probe_option = {.name = "probe",
	.arginfo = "DIR",
	.usage = "record the communication of all tasks with libprobe, into DIR (default: "
		 "./probe_output)",
	.has_arg = 2,
	.cb = handle_probe_option};

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	static const char name[] = "library=";

	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], name, strlen(name)) != 0)
			slurm_error("probe: %s in plugstack.conf: accepted: library=PATH", argv[i]);
		else if (strlen(argv[i] + strlen(name)) < sizeof(library))
			strcpy(library, argv[i] + strlen(name));
	}
	return spank_option_register(spank, &probe_option) == ESPANK_SUCCESS ? 0 : -1;
}

static bool has_entry(const char *list, const char *entry)
{
	size_t n = strlen(entry), k;

	for (; *list; list += k + (list[k] != 0)) {
		k = strcspn(list, ": ");
		if (k == n && strncmp(list, entry, n) == 0)
			return true;
	}
	return false;
}

/* Runs in each task, as its user, before the program begins. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	char list[LIST_SIZE] = "", *dir = NULL;
	size_t n = strlen(library);

	(void)argc;
	(void)argv;
	if (spank_option_getopt(spank, &probe_option, &dir) != ESPANK_SUCCESS)
		return 0;
	if (access(library, R_OK)) {
		slurm_error(
			"probe: %s cannot be read on this node: the task is not recorded", library);
		return 0;
	}
	/* What is preloaded already, comes after it; room for a colon is kept. */
	if (spank_getenv(spank, "LD_PRELOAD", list + n + 1, (int)(sizeof(list) - n - 1)) ==
		ESPANK_NOSPACE) {
		slurm_error("probe: LD_PRELOAD is too long: the task is not recorded");
		return 0;
	}
	if (!has_entry(list + n + 1, library)) {
		memcpy(list, library, n);
		list[n] = list[n + 1] ? ':' : 0;
		if (spank_setenv(spank, "LD_PRELOAD", list, 1) != ESPANK_SUCCESS)
			slurm_error("probe: LD_PRELOAD cannot be set: the task is not recorded");
	}
	if (dir && *dir && spank_setenv(spank, "PROBE_OUTPUT_DIR", dir, 1) != ESPANK_SUCCESS)
		slurm_error("probe: PROBE_OUTPUT_DIR cannot be set");
	return 0;
}
