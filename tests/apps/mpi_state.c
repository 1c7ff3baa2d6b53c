/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What belongs to the process and to the thread stays as it is over an MPI call: errno, a pending dlerror(), signal
 * mask, handlers, folder, umask, the open files, the locale. On MPI_COMM_SELF, so that MPI itself has nothing to do.
 *
 * mpi_state steal BELOW FILE DIR: after some calls every open file below the folder BELOW is closed, as programs do that
 * close all they do not know; FILE and DIR get their numbers. Whatever a tool then writes must not go into these.
 */
#include "app.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FDS = 400 };

/* Files that are open, by number. A tool may keep its own, far above those that a program counts on. */
static void open_files(char *set)
{
	struct stat st;

	for (int fd = 0; fd < FDS; fd++)
		set[fd] = fstat(fd, &st) == 0;
}

/* What a number stands for, for the message. */
static const char *name_of(int fd)
{
	static char to[4096];
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, to, sizeof(to) - 1);
	to[n < 0 ? 0 : n] = 0;
	return to;
}

static void see_call(int k, float *in, float *out)
{
	static const char bogus[] = "/no/such/library.so";
	sigset_t mask, after;
	char here[4096], there[4096], *err;
	mode_t files;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, k % 2 ? SIGTERM : SIGCHLD);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	CHECK(!dlopen(bogus, RTLD_NOW), "dlopen");
	CHECK(getcwd(here, sizeof(here)) != NULL, "getcwd");
	umask(027);
	errno = 4321;
	if (k % 3 == 0)
		MPI_Barrier(MPI_COMM_SELF);
	else if (k % 3 == 1)
		MPI_Bcast(in, 10, MPI_FLOAT, 0, MPI_COMM_SELF);
	else
		MPI_Allreduce(in, out, 10, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);
	CHECK(errno == 4321, "call %d: errno is %d", k, errno);
	err = dlerror();
	CHECK(err && strstr(err, bogus), "call %d: dlerror is %s", k, err ? err : "none");
	files = umask(022);
	CHECK(files == 027, "call %d: umask is %o", k, (unsigned)files);
	sigprocmask(SIG_SETMASK, NULL, &after);
	for (int s = 1; s < 65; s++)
		CHECK(sigismember(&mask, s) == sigismember(&after, s), "call %d: signal %d", k, s);
	CHECK(getcwd(there, sizeof(there)) && !strcmp(here, there), "call %d: in %s", k, there);
	CHECK(!strcmp(setlocale(LC_ALL, NULL), "C"), "call %d: locale", k);
}

static void steal(const char *below, const char *file, const char *dir)
{
	char path[64], to[4096];
	struct stat st;

	for (int fd = 3; fd < 1024; fd++) {
		ssize_t n;
		int own;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		if (n < 0 || strncmp(to, below, strlen(below)) || fstat(fd, &st))
			continue;
		own = S_ISDIR(st.st_mode) ? open(dir, O_RDONLY | O_DIRECTORY) : open(file, O_RDWR);
		CHECK(own >= 0 && dup2(own, fd) == fd, "%s gets no number %d", file, fd);
		close(own);
	}
}

int main(int argc, char **argv)
{
	float in[10] = {1, 2, 3}, out[10];
	char before[FDS], after[FDS];
	struct sigaction handler;
	int same = 0;

	app_init(&argc, &argv);
	if (argc == 5) {
		for (int k = 0; k < 40; k++) {
			if (k == 20) {
				usleep(1300000); /* a tool that writes in the background has its files open now */
				steal(argv[2], argv[3], argv[4]);
			}
			see_call(k, in, out);
		}
		return app_done();
	}
	open_files(before);
	for (int k = 0; k < 3000; k++)
		see_call(k, in, out);
	usleep(1300000); /* a tool that writes in the background has done so by now */
	/*
	 * A tool's own thread may have one open at this moment (a file that it replaces, a module whose names it reads), and,
	 * of the lowest priority, wait for a processor before it closes it.
	 */
	for (int try = 0; try < 2000 && !same; try++) {
		usleep(try ? 10000 : 0);
		open_files(after);
		same = !memcmp(before, after, sizeof(before));
	}
	for (int fd = 0; fd < FDS; fd++)
		CHECK(before[fd] == after[fd], "file %d was %s: %s", fd,
			before[fd] ? "closed" : "opened", name_of(fd));
	for (int s = 1; s < 32; s++)
		if (!sigaction(s, NULL, &handler))
			app_mix(&(char){handler.sa_handler == SIG_DFL}, 1);
	return app_done();
}
