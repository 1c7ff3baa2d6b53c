/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_threads THREADS CALLS [kill]: so many threads that live at once make so many calls each, of a library whose functions do nothing
 * (tests/bench/standin.c), and is killed then. Prints the memory that the process has then, in KiB: what is its own alone, and the most that it ever had in all.
 */
#include "../bench/standin.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0, dies = argc > 3;
	pthread_t *thread = calloc((size_t)n + 1, sizeof(*thread));
	pthread_attr_t attr;

	calls = argc > 2 ? atoi(argv[2]) : 0;
	MPI_Init(&argc, &argv);
	pthread_barrier_init(&all, NULL, (unsigned)n + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	for (int i = 0; i < n; i++)
		if (pthread_create(&thread[i], &attr, work, (void *)(size_t)i)) {
			perror("pthread_create");
			return 1;
		}
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	print_field("/proc/self/smaps_rollup", "Rss");
	print_field("/proc/self/smaps_rollup", "Anonymous");
	print_field("/proc/self/status", "VmHWM");
	fflush(stdout);
	if (dies)
		raise(SIGKILL);
	pthread_barrier_wait(&all);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	MPI_Finalize();
	return 0;
}
