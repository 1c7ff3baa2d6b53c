/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that wait for one, for reasons that are faults and for reasons that are not: WHAT [STEP [SECONDS]]. Rank 2 (of `circle` ranks 0 and
 * 1) does it before the collective of that step; what ends goes on for ten steps. "BEGIN <ns of the epoch>" says when.
 *
 *	circle        two ranks receive from each other
 *	gone, stopped it ends itself by SIGKILL, or stops itself
 *	polled        it stops itself, and the others test for something between sleeps
 *	asleep        it sleeps for ever, or for SECONDS
 *	spin          it computes for ever, or for SECONDS, as a compilation does
 *	child         another program computes for it
 *	loading       it reads a file, with long pauses
 *	start         it sleeps before its first call
 */
#include "nccl_app.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

extern void probe_step(void) __attribute__((weak));

#define STEPS_AFTER 10
#define STEP_US 20000
#define FOREVER 1000000

static double now_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void say_begin(void)
{
	printf("BEGIN %.0f\n", now_s(CLOCK_REALTIME) * 1e9);
	fflush(stdout);
}

static void spin(double seconds)
{
	double end = now_s(CLOCK_MONOTONIC) + seconds;

	while (now_s(CLOCK_MONOTONIC) < end)
		for (volatile int i = 0; i < 1000000; i++)
			;
}

static void sleep_for(double seconds)
{
	double end = now_s(CLOCK_MONOTONIC) + seconds;

	while (now_s(CLOCK_MONOTONIC) < end)
		usleep(100000);
}

static void compute_in_child(double seconds)
{
	pid_t pid = fork();

	if (!pid) {
		spin(seconds);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void read_slowly(double seconds)
{
	static char block[1 << 16];
	double end = now_s(CLOCK_MONOTONIC) + seconds;
	int fd = open("/dev/zero", O_RDONLY);

	while (now_s(CLOCK_MONOTONIC) < end) {
		if (read(fd, block, sizeof(block)) < 0)
			exit(2);
		usleep(500000);
	}
	close(fd);
}

static void stay_away(const char *what, double seconds, ncclComm_t c)
{
	float x[4] = {0};

	if (strcmp(what, "circle") == 0) {
		if (app_rank < 2)
			NCCL(ncclRecv(x, 4, ncclFloat32, 1 - app_rank, c, NULL));
		return;
	}
	if (strcmp(what, "polled") == 0 && app_rank != 2)
		sleep_for(seconds);
	if (app_rank != 2)
		return;
	if (strcmp(what, "gone") == 0)
		raise(SIGKILL);
	else if (strcmp(what, "stopped") == 0 || strcmp(what, "polled") == 0)
		raise(SIGSTOP);
	else if (strcmp(what, "asleep") == 0)
		sleep_for(seconds);
	else if (strcmp(what, "spin") == 0)
		spin(seconds);
	else if (strcmp(what, "child") == 0)
		compute_in_child(seconds);
	else if (strcmp(what, "loading") == 0)
		read_slowly(seconds);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int at = argc > 2 ? atoi(argv[2]) : 40;
	double seconds = argc > 3 ? atof(argv[3]) : FOREVER;
	float x[256];
	ncclComm_t c;

	for (int i = 0; i < 256; i++)
		x[i] = (float)i;
	c = app_init();
	if (strcmp(what, "start") == 0 && app_rank == 2) {
		say_begin();
		sleep_for(seconds);
	}
	for (int k = 0; k < at + STEPS_AFTER; k++) {
		if (k == at && strcmp(what, "start") != 0) {
			if (app_rank == 2)
				say_begin();
			stay_away(what, seconds, c);
		}
		NCCL(ncclAllReduce(x, x, 256, ncclFloat32, ncclMax, c, NULL));
		usleep(STEP_US);
		if (probe_step)
			probe_step();
	}
	return 0;
}
