/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another host for some ranks of a job on one machine, to be preloaded before libprobe: HOST_CLOCK_RANKS=1,3
 * HOST_CLOCK_NAME=node1 HOST_CLOCK_AHEAD_MS=40 HOST_CLOCK_PPM=1000. Their clocks are ahead by so much when the process starts and gain
 * so many millionths; gethostname() answers the name.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static long long ahead_ns, began;
static double gain;
static const char *name;

static long long ask_kernel(clockid_t which)
{
	struct timespec t;

	syscall(SYS_clock_gettime, which, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

__attribute__((constructor)) static void choose_host(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *ranks = getenv("HOST_CLOCK_RANKS");

	if (!rank)
		rank = getenv("PMI_RANK");
	for (const char *p = ranks; rank && p && *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == strlen(rank) && strncmp(p, rank, strlen(rank)) == 0) {
			ahead_ns = atoll(getenv("HOST_CLOCK_AHEAD_MS")) * 1000000;
			gain = atof(getenv("HOST_CLOCK_PPM")) * 1e-6;
			began = ask_kernel(CLOCK_MONOTONIC);
			name = getenv("HOST_CLOCK_NAME");
		}
}

int clock_gettime(clockid_t which, struct timespec *t)
{
	long long now;

	if (!began || (which != CLOCK_REALTIME && which != CLOCK_MONOTONIC))
		return (int)syscall(SYS_clock_gettime, which, t);
	now = ask_kernel(which);
	now += (long long)(gain * (double)(ask_kernel(CLOCK_MONOTONIC) - began));
	if (which == CLOCK_REALTIME)
		now += ahead_ns;
	t->tv_sec = now / 1000000000;
	t->tv_nsec = now % 1000000000;
	return 0;
}

int gethostname(char *to, size_t n)
{
	struct utsname self;

	if (!name && uname(&self))
		return -1;
	strncpy(to, name ? name : self.nodename, n);
	return 0;
}
