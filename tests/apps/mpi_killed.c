/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills itself after the given number of calls: mpi_killed CALLS COUNTER [HOW]. After each MPI_Allreduce the number of
 * those that have returned is stored in the file COUNTER, which is mapped into memory. Needs no mpirun. HOW:
 *
 *   now    at once (without HOW, too)
 *   child  a forked child, which makes no calls, stays for 30 seconds
 *   wait   not at all: stays in MPI_Recv, for a message that never comes
 *   stay   not at all: calls on, 1000 a second, until the file COUNTER.end is there, and ends properly
 */
#include "app.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile uint64_t *counter_at(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	void *p = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, 8) == 0)
		p = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	close(fd);
	return p;
}

static void all_reduce(volatile uint64_t *counter)
{
	double in = 1, sum = 0;

	MPI_Allreduce(&in, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (sum != app_size)
		app_fail(__FILE__, __LINE__, "sum %g, not %d", sum, app_size);
	(*counter)++;
}

/* Returns when the child is on its own: before that it has what its parent had open. */
static void leave_child(void)
{
	char ready = 0;
	int at[2];

	if (pipe(at))
		app_fail(__FILE__, __LINE__, "no pipe");
	if (fork() == 0) {
		if (write(at[1], &ready, 1) == 1)
			sleep(30);
		_exit(0);
	}
	if (read(at[0], &ready, 1) != 1)
		app_fail(__FILE__, __LINE__, "no child");
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[3] : "now";
	volatile uint64_t *counter;
	char end[4096], nothing;

	if (argc < 3)
		return 2;
	app_init(&argc, &argv);
	counter = counter_at(argv[2]);
	snprintf(end, sizeof(end), "%s.end", argv[2]);
	for (int i = 0; i < atoi(argv[1]); i++)
		all_reduce(counter);
	if (!strcmp(how, "child"))
		leave_child();
	if (!strcmp(how, "wait"))
		MPI_Recv(&nothing, 1, MPI_CHAR, app_rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (!strcmp(how, "stay")) {
		while (access(end, F_OK) < 0) {
			all_reduce(counter);
			usleep(1000);
		}
		return app_done();
	}
	kill(getpid(), SIGKILL);
	return 1;
}
