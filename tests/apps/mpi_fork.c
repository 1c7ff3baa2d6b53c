/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between collectives each rank makes child processes in all the ways that training scripts do. The children make no
 * MPI call; they must end as they should, and the rank must go on undisturbed. Fork handlers, exit handlers and
 * destructors of a preloaded tool run in them.
 */
#include "app.h"
#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void collectives(void)
{
	float in[100], out[100];
	int x = app_rank, y;

	for (int turn = 0; turn < 20; turn++) {
		for (int i = 0; i < 100; i++)
			in[i] = (float)(i + turn + app_rank);
		MPI_Allreduce(in, out, 100, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < 100; i++) {
			int want = app_size * (i + turn) + app_size * (app_size - 1) / 2;

			CHECK(out[i] == (float)want, "sum [%d] is %g, not %d", i, out[i], want);
		}
	}
	MPI_Sendrecv(&x, 1, MPI_INT, (app_rank + 1) % app_size, 0, &y, 1, MPI_INT,
		(app_rank + app_size - 1) % app_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(y == (app_rank + app_size - 1) % app_size, "Sendrecv: %d", y);
	app_mix(out, sizeof(out));
}

static void see_exit(const char *how, pid_t pid, int want)
{
	int status = -1;

	CHECK(pid > 0, "%s: no child: %s", how, strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == want, "%s: child ended with status 0x%x",
		how, status);
}

static char sh[] = "sh", dash_c[] = "-c", exit_3[] = "exit 3";
static char *const shell_exit_3[] = {sh, dash_c, exit_3, NULL};

static void by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		exit(5);
	see_exit("fork, exit", pid, 5);
	pid = fork();
	if (pid == 0)
		_exit(6);
	see_exit("fork, _exit", pid, 6);
	pid = fork();
	if (pid == 0) {
		execv("/bin/sh", shell_exit_3);
		_exit(99);
	}
	see_exit("fork, exec", pid, 3);
}

/* As a data loader does: works for a while, and has a child of its own. */
static void by_fork_of_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		char *work = calloc(1, 1 << 20);
		pid_t grandchild = fork();
		int status = -1;

		if (grandchild == 0)
			exit(7);
		if (!work || waitpid(grandchild, &status, 0) != grandchild ||
			WEXITSTATUS(status) != 7)
			_exit(98);
		free(work);
		exit(8);
	}
	see_exit("fork of a fork", pid, 8);
}

/* The child shares this process's memory until it executes. */
static void by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execv("/bin/sh", shell_exit_3);
		_exit(99);
	}
	see_exit("vfork, exec", pid, 3);
	pid = vfork();
	if (pid == 0)
		_exit(4);
	see_exit("vfork, _exit", pid, 4);
	pid = vfork();
	if (pid == 0) {
		execv("/nonexistent/program", shell_exit_3);
		_exit(9);
	}
	see_exit("vfork, failing exec", pid, 9);
}

static void by_library(void)
{
	pid_t pid = -1;
	char line[64] = "";
	FILE *f;

	errno = posix_spawn(&pid, "/bin/sh", NULL, NULL, shell_exit_3, environ);
	see_exit("posix_spawn", pid, 3);
	CHECK(WEXITSTATUS(system("exit 11")) == 11, "system");
	f = popen("echo from the child", "r");
	CHECK(f && fgets(line, sizeof(line), f) && !strcmp(line, "from the child\n"),
		"popen read \"%s\"", line);
	CHECK(pclose(f) == 0, "pclose");
}

int main(int argc, char **argv)
{
	static void (*const ways[])(void) = {by_fork, by_fork_of_fork, by_vfork, by_library};
	static const char *const names[] = {
		"fork", "fork of a fork", "vfork", "spawn, system, popen"};

	app_init(&argc, &argv);
	app_need_ranks(2);
	collectives();
	for (int i = 0; i < 4; i++) {
		fflush(NULL); /* or a child that ends by exit() would print it again */
		ways[i]();
		app_say("%s", names[i]);
		collectives();
	}
	return app_done();
}
