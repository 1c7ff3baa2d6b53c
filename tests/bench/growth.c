/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call costs, and how much memory is used, with N of something: for tests/bench/growth.py, which fits the exponents. The MPI is
 * standin.c's. All is processor time of the whole process, that of the writer included.
 *
 *	growth KIND N
 *
 * KIND: sites     all-reduces from N call sites: stacks of 24 frames that differ
 *       comms     all-reduces on N communicators
 *       requests  N sends under way at once, then N waits, the oldest first
 *       threads   N threads at once, each with all-reduces on a communicator of its own
 *       calls     N all-reduces
 * Prints, one a line: `first` ns of the first use of all N (communicators: with MPI_Comm_dup), `again` ns of one more use of each, a mean of as
 * many passes as make CALLS calls, `end` ns of MPI_Finalize, `kib` of memory more than before the first.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "preload/probe.h"
#include "standin.h"

#define CALLS 100000
#define THREAD_CALLS 20000
#define DEPTH 24

static float in[2] = {1, 2}, out[2];
static long items;
static int *comms, *requests;

static uint64_t used(void)
{
	return now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void flush(void)
{
	if (probe_flush)
		probe_flush();
}

/* So often that no record is lost because the journal is full, and as often for any N. */
static void flush_sometimes(void)
{
	static _Thread_local unsigned calls;

	if (++calls % 1024 == 0)
		flush();
}

static void reduce(int comm)
{
	MPI_Allreduce(in, out, 2, MPI_FLOAT, MPI_SUM, comm);
}

/* One of two return addresses at each depth: the bits of `path` say which. */
__attribute__((noinline)) static int descend(long path, int left)
{
	int a;

	if (!left) {
		reduce(MPI_COMM_WORLD);
		return 0;
	}
	if (path & 1) {
		a = descend(path >> 1, left - 1);
		__asm__ volatile(
			"# one"); /* otherwise the compiler would make one call of the two */
		return a + 1;
	}
	a = descend(path >> 1, left - 1);
	__asm__ volatile("# other");
	return a + 2;
}

static void use_sites(void)
{
	for (long i = 0; i < items; i++) {
		descend(i, DEPTH);
		flush_sometimes();
	}
}

static void use_comms(void)
{
	for (long i = 0; i < items; i++) {
		if (!comms[i])
			MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
		reduce(comms[i]);
		flush_sometimes();
	}
}

static void use_requests(void)
{
	for (long i = 0; i < items; i++) {
		MPI_Isend(in, 2, MPI_FLOAT, 0, (int)i + 1, MPI_COMM_WORLD, &requests[i]);
		flush_sometimes();
	}
	for (long i = 0; i < items; i++) {
		MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
		flush_sometimes();
	}
}

static void *one_thread(void *arg)
{
	int *comm = arg;

	if (!*comm)
		MPI_Comm_dup(MPI_COMM_WORLD, comm);
	for (long i = 0; i < THREAD_CALLS; i++) {
		reduce(*comm);
		flush_sometimes();
	}
	return NULL;
}

static void use_threads(void)
{
	pthread_t *t = calloc((size_t)items, sizeof(*t));

	if (!t)
		exit(2);
	for (long i = 0; i < items; i++)
		if (pthread_create(&t[i], NULL, one_thread, &comms[i]))
			exit(2);
	for (long i = 0; i < items; i++)
		pthread_join(t[i], NULL);
	free(t);
}

static void use_calls(void)
{
	for (long i = 0; i < items; i++) {
		reduce(MPI_COMM_WORLD);
		flush_sometimes();
	}
}

static const struct {
	const char *name;
	void (*use)(void);
	long calls; /* of an item */
} kinds[] = {
	{"sites", use_sites, 1},
	{"comms", use_comms, 1},
	{"requests", use_requests, 2},
	{"threads", use_threads, THREAD_CALLS},
	{"calls", use_calls, 1},
};

/* KiB that the process has in memory, without those of mapped files: the journal is one. */
static long resident(void)
{
	char line[200];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

int main(int argc, char **argv)
{
	uint64_t t0, first, again;
	long passes, before;
	unsigned k = 0;

	while (argc == 3 && k < sizeof(kinds) / sizeof(*kinds) &&
		strcmp(kinds[k].name, argv[1]) != 0)
		k++;
	if (argc != 3 || k == sizeof(kinds) / sizeof(*kinds))
		return 2;
	items = strtol(argv[2], NULL, 10);
	comms = calloc((size_t)items, sizeof(*comms));
	requests = calloc((size_t)items, sizeof(*requests));
	if (!comms || !requests)
		return 2;
	memset(requests, 1, (size_t)items * sizeof(*requests));
	memset(comms, 0, (size_t)items * sizeof(*comms));
	MPI_Init(&argc, &argv);
	for (int i = 0; i < 1000; i++)
		reduce(MPI_COMM_WORLD);
	flush();
	before = resident();
	t0 = used();
	kinds[k].use();
	flush();
	first = used() - t0;
	passes = CALLS / (items * kinds[k].calls) + 1;
	t0 = used();
	for (long i = 0; i < passes; i++)
		kinds[k].use();
	flush();
	again = used() - t0;
	printf("first %llu\nagain %.0f\nkib %ld\n", (unsigned long long)first,
		(double)again / (double)passes, resident() - before);
	t0 = used();
	MPI_Finalize();
	printf("end %llu\n", (unsigned long long)(used() - t0));
	return 0;
}
