/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fork_walk LIBRARY`: a user library (user.c). A thread is inside dl_iterate_phdr(), as any unwinder is now and then,
 * while another forks. The child calls the library's function for the first time, which needs no loader; the walking
 * thread is not there. Prints the child's answer, or that it hung.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef float user_fn(float x);

static atomic_int inside, leave;

static int stay(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	(void)arg;
	inside = 1;
	while (!leave)
		usleep(1000);
	return 1;
}

static void *walk(void *arg)
{
	(void)arg;
	dl_iterate_phdr(stay, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	void *h = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	user_fn *f = h ? (user_fn *)dlsym(h, "user_call") : NULL;
	pthread_t t;
	pid_t pid;
	int status;

	if (!f)
		return 2;
	pthread_create(&t, NULL, walk, NULL);
	while (!inside)
		usleep(1000);
	pid = fork();
	if (pid == 0) {
		alarm(10);
		printf("%g\n", f(1) + f(2));
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status)
		puts("the child hung");
	leave = 1;
	pthread_join(t, NULL);
	return 0;
}
