/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_cost RUNS PROGRAM LIBRARY...: runs PROGRAM under LD_PRELOAD of each LIBRARY (the first is what the others are
 * compared with), in turn, and prints for each a line `LIBRARY faults N us T`: medians of minor page faults and of the
 * time from its start to its end.
 */
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench.h"

struct preload {
	char variable[4096];
	double *faults, *us;
};

static int run_once(const char *program, struct preload *p, size_t i)
{
	char *argv[] = {(char *)(uintptr_t)program, NULL};
	char path[] = "PATH=/usr/bin:/bin", home[] = "HOME=/";
	char *env[] = {p->variable, path, home, NULL};
	struct rusage used;
	uint64_t t = now();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, argv, env) ||
		wait4(pid, &status, 0, &used) != pid)
		return -1;
	p->us[i] = (double)(now() - t) * 1e-3;
	p->faults[i] = (double)used.ru_minflt;
	return status;
}

int main(int argc, char **argv)
{
	size_t runs = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
	int n = argc - 3;

	if (!runs) {
		fprintf(stderr, "usage: start_cost RUNS PROGRAM LIBRARY...\n");
		return 2;
	}

	struct preload *list = calloc((size_t)n, sizeof(*list));

	for (int k = 0; k < n; k++) {
		snprintf(list[k].variable, sizeof(list[k].variable), "LD_PRELOAD=%s", argv[3 + k]);
		list[k].faults = calloc(runs, sizeof(double));
		list[k].us = calloc(runs, sizeof(double));
	}
	/* In turn, so that other work on the machine meets all of them. */
	for (size_t i = 0; i < runs; i++)
		for (int k = 0; k < n; k++)
			if (run_once(argv[2], &list[k], i)) {
				fprintf(stderr, "start_cost: %s failed under %s\n", argv[2],
					argv[3 + k]);
				return 1;
			}
	for (int k = 0; k < n; k++)
		printf("%s faults %.0f us %.1f\n", argv[3 + k], median(list[k].faults, runs),
			median(list[k].us, runs));
	return 0;
}
