/* SPDX-License-Identifier: Apache-2.0 */
/* run_cost COMMAND...: runs it with its output thrown away; prints `wall` s, `cpu` s, `memory` MiB at most. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

int main(int argc, char **argv)
{
	struct rusage u;
	int status = 0, fd;
	uint64_t t = now();
	pid_t pid = argc > 1 ? fork() : -1;

	if (pid < 0)
		return 2;
	if (!pid) {
		fd = open("/dev/null", O_WRONLY);
		dup2(fd, 1);
		dup2(fd, 2);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &u) != pid)
		return 2;
	printf("wall %.3f\ncpu %.3f\nmemory %.1f\n", (double)(now() - t) * 1e-9,
		(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
			(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6,
		(double)u.ru_maxrss / 1024);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
