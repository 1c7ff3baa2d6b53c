/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_threads THREADS CALLS [kill|fork]: THREADS threads that live at once make CALLS calls each, of a library whose functions do
 * nothing (tests/bench/standin.c). Prints the memory that the process has then, in KiB: what is its own alone, and the most that it
 * ever had in all. kill: then it is killed. fork: a child forked while all threads live does the same again, before its parent ends.
 */
#include "../bench/standin.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t all;
static int calls;

static void *work(void *arg)
{
	float in[2] = {(float)(size_t)arg, 1}, out[2];

	pthread_barrier_wait(&all);
	for (int i = 0; i < calls; i++)
		MPI_Allreduce(in, out, 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	pthread_barrier_wait(&all);
	/* The main thread looks at the memory. */
	pthread_barrier_wait(&all);
	return NULL;
}

static void print_field(const char *file, const char *name)
{
	char line[256];
	FILE *f = fopen(file, "r");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			printf("%s %ld\n", name, atol(line + strlen(name) + 1));
	if (f)
		fclose(f);
}

static void run_threads(int n, const char *then)
{
	pthread_t *thread = calloc((size_t)n + 1, sizeof(*thread));
	pthread_attr_t attr;

	pthread_barrier_init(&all, NULL, (unsigned)n + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	for (int i = 0; i < n; i++)
		if (pthread_create(&thread[i], &attr, work, (void *)(size_t)i)) {
			perror("pthread_create");
			exit(1);
		}
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	print_field("/proc/self/smaps_rollup", "Rss");
	print_field("/proc/self/smaps_rollup", "Anonymous");
	print_field("/proc/self/status", "VmHWM");
	fflush(stdout);
	if (strcmp(then, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(then, "fork") == 0) {
		int status = 1;
		pid_t child = fork();

		if (child == 0) {
			run_threads(n, "");
			exit(0);
		}
		if (waitpid(child, &status, 0) < 0 || status) {
			fprintf(stderr, "the child: status %#x\n", (unsigned)status);
			exit(1);
		}
	}
	pthread_barrier_wait(&all);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	free(thread);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0;
	const char *then = argc > 3 ? argv[3] : "";

	calls = argc > 2 ? atoi(argv[2]) : 0;
	MPI_Init(&argc, &argv);
	run_threads(n, then);
	MPI_Finalize();
	return 0;
}
