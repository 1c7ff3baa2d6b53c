/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other hosts for some ranks of a job on one machine, to be preloaded before libprobe:
 * HOST_CLOCKS='1,3:node1:40:1000 2:node2:-25:-500'. The clocks of ranks 1 and 3 are ahead by 40 ms when the process starts and gain
 * 1000 millionths; gethostname() answers the name. With HOST_CLOCK_LOG=FILE, FILE.<rank> has the start, ns ahead and ns gained per ns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static long long ahead_ns, began;
static double gain;
static char name[64];

static long long ask_kernel(clockid_t which)
{
	struct timespec t;

	syscall(SYS_clock_gettime, which, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Whether the list, up to a colon, has that rank. */
static int lists_rank(const char *list, const char *rank)
{
	for (const char *p = list; *p && *p != ':'; p += *p == ',') {
		size_t n = strcspn(p, ",:");

		if (n == strlen(rank) && strncmp(p, rank, n) == 0)
			return 1;
		p += n;
	}
	return 0;
}

__attribute__((constructor)) static void choose_host(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *log = getenv("HOST_CLOCK_LOG");
	char path[4096];
	double ahead, ppm;
	FILE *f;

	if (!rank)
		rank = getenv("PMI_RANK");
	for (const char *p = getenv("HOST_CLOCKS"); rank && p && *p;
		p += strcspn(p, " "), p += *p == ' ')
		if (lists_rank(p, rank) &&
			sscanf(p, "%*[^:]:%63[^:]:%lf:%lf", name, &ahead, &ppm) == 3) {
			ahead_ns = (long long)(ahead * 1e6);
			gain = ppm * 1e-6;
			began = ask_kernel(CLOCK_MONOTONIC);
		}
	if (!began || !log)
		return;
	snprintf(path, sizeof(path), "%s.%s", log, rank);
	f = fopen(path, "w");
	if (!f)
		return;
	fprintf(f, "%lld %lld %.9f\n",
		ask_kernel(CLOCK_REALTIME) - (ask_kernel(CLOCK_MONOTONIC) - began), ahead_ns, gain);
	fclose(f);
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

	if (!*name && uname(&self))
		return -1;
	strncpy(to, *name ? name : self.nodename, n);
	return 0;
}
