/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends in the middle of its work, without MPI_Finalize: mpi_exit HOW [CALLS [RANK]]. After CALLS (100) calls of
 * MPI_Allreduce of 10 floats, rank RANK (0; -1: all) ends in that way; the others go on until they are stopped.
 * Before it ends, the rank says so on stdout: everything up to there has been done.
 */
#include "app.h"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *other_thread(void *arg)
{
	(void)arg;
	_exit(7);
}

static int end(const char *how)
{
	pthread_t thread;

	if (!strcmp(how, "return")) /* from main: destructors and exit handlers run */
		return 0;
	if (!strcmp(how, "exit"))
		exit(3);
	if (!strcmp(how, "_exit"))
		_exit(4);
	if (!strcmp(how, "_Exit"))
		_Exit(5);
	if (!strcmp(how, "quick_exit"))
		quick_exit(6);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "term"))
		kill(getpid(), SIGTERM);
	if (!strcmp(how, "mpi_abort"))
		MPI_Abort(MPI_COMM_WORLD, 8);
	if (!strcmp(how, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
	if (!strcmp(how, "thread") && !pthread_create(&thread, NULL, other_thread, NULL))
		pthread_join(thread, NULL);
	if (!strcmp(how, "finalize_exit")) {
		MPI_Finalize();
		_exit(0);
	}
	if (!strcmp(how, "finalize")) {
		MPI_Finalize();
		return 0;
	}
	fprintf(stderr, "mpi_exit: I know no such end as \"%s\"\n", how);
	return 2;
}

int main(int argc, char **argv)
{
	long calls = argc > 2 ? atol(argv[2]) : 100;
	int who = argc > 3 ? atoi(argv[3]) : 0;
	float in[10], out[10];

	app_init(&argc, &argv);
	if (argc < 2) {
		fprintf(stderr, "usage: mpi_exit HOW [CALLS [RANK]]\n"
				"HOW: return exit _exit _Exit quick_exit abort segv kill term "
				"mpi_abort exec\n"
				"     thread finalize finalize_exit\n");
		MPI_Finalize();
		return 2;
	}
	for (long k = 0; who < 0 || k < calls || app_rank != who; k++) {
		if (who < 0 && k == calls)
			break;
		for (int i = 0; i < 10; i++)
			in[i] = (float)(k % 1000 + i);
		MPI_Allreduce(in, out, 10, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < 10; i++)
			CHECK(out[i] == (float)app_size * in[i], "call %ld: %g", k, out[i]);
	}
	app_say("%ld calls, then %s", calls, argv[1]);
	return end(argv[1]);
}
