/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that make MPI calls and have relatives that do, too: mpi_children HOW, without mpirun. Each that calls MPI
 * makes 10 calls of MPI_Allreduce on MPI_COMM_SELF, and 10 more if it has waited for a child. HOW:
 *
 *   alone     one process
 *   fork      forks in the midst of its calls; the child makes 10 calls with what it inherited, and ends by _exit
 *   first     forks before MPI_Init; both initialise MPI
 *   exec      starts itself as `alone` with its own first environment, RANK included, and waits for it
 *   daemon    goes into the background as daemons do (two forks, a session of its own, folder /), then calls
 */
#include "app.h"
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static void calls(const char *who)
{
	float in[10], out[10];

	for (int k = 0; k < 10; k++) {
		for (int i = 0; i < 10; i++)
			in[i] = (float)(k + i);
		MPI_Allreduce(in, out, 10, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);
		CHECK(!memcmp(in, out, sizeof(in)), "%s: call %d", who, k);
	}
	app_say("%s: 10 calls", who);
}

static void see_end(const char *who, pid_t pid)
{
	int status = -1;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "%s ended with 0x%x", who,
		status);
}

static int alone(int argc, char **argv)
{
	app_init(&argc, &argv);
	calls("alone");
	MPI_Finalize();
	return 0;
}

static int with_fork(int argc, char **argv)
{
	pid_t pid;

	app_init(&argc, &argv);
	calls("parent");
	pid = fork();
	if (pid == 0) {
		calls("child");
		_exit(0);
	}
	see_end("child", pid);
	calls("parent again");
	MPI_Finalize();
	return 0;
}

static int with_fork_first(int argc, char **argv)
{
	int turn[2];
	char go = 0;
	pid_t pid;

	CHECK(pipe(turn) == 0, "pipe");
	pid = fork();
	/* The parent goes first, or the child could be over before there is anything of the parent. */
	if (pid == 0)
		CHECK(read(turn[0], &go, 1) == 1, "no turn for the child");
	app_init(&argc, &argv);
	calls(pid ? "parent" : "child");
	if (pid) {
		CHECK(write(turn[1], "k", 1) == 1, "write");
		see_end("child", pid);
	}
	MPI_Finalize();
	return 0;
}

static int with_exec(int argc, char **argv, char **env)
{
	char how[] = "alone", *args[] = {argv[0], how, NULL};
	pid_t pid;

	app_init(&argc, &argv);
	calls("parent");
	pid = fork();
	if (pid == 0) {
		execve(argv[0], args, env);
		_exit(99);
	}
	see_end("child", pid);
	calls("parent again");
	MPI_Finalize();
	return 0;
}

static int with_daemon(int argc, char **argv)
{
	int done[2], null, status = 99;
	char end;

	CHECK(pipe(done) == 0, "pipe");
	if (fork()) {
		close(done[1]);
		CHECK(wait(&status) > 0 && status == 0, "first child: 0x%x", status);
		CHECK(read(done[0], &end, 1) == 1 && end == 'k', "the daemon failed");
		app_say("daemon: ok");
		return 0;
	}
	setsid();
	if (fork())
		_exit(0);
	close(done[0]);
	null = open("/dev/null", O_RDWR);
	if (chdir("/") || dup2(null, 0) || dup2(null, 1) != 1 || dup2(null, 2) != 2)
		return 1;
	app_init(&argc, &argv);
	calls("daemon");
	MPI_Finalize();
	return write(done[1], "k", 1) != 1;
}

int main(int argc, char **argv)
{
	extern char **environ;
	const char *how = argc > 1 ? argv[1] : "";
	char **env = environ;
	int n = 0;

	app_set_name(argv);
	/* MPI puts into it what no second process may find. */
	while (env[n])
		n++;
	env = calloc((size_t)n + 1, sizeof(*env));
	for (int i = 0; env && i < n; i++)
		env[i] = strdup(environ[i]);
	if (!strcmp(how, "alone"))
		return alone(argc, argv);
	if (!strcmp(how, "fork"))
		return with_fork(argc, argv);
	if (!strcmp(how, "first"))
		return with_fork_first(argc, argv);
	if (!strcmp(how, "exec"))
		return with_exec(argc, argv, env);
	if (!strcmp(how, "daemon"))
		return with_daemon(argc, argv);
	fprintf(stderr, "usage: mpi_children alone|fork|first|exec|daemon\n");
	return 2;
}
